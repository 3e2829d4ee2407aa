"""One repair, with the lock held."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from search.encoding.encoder import Encoder
from search.encoding.fingerprint import Fingerprint
from search.errors import IndexDamaged, InputError, SearchError, quoted
from search.indexing.plan import listed
from search.indexing.run import Run
from search.records.reports import Progress, RepairStep
from search.store import lexicon, token_vectors
from search.store.database import SCHEMA_VERSION, connect_to_read, connect_to_write, read_meta, translated
from search.store.faiss_file import next_generation, sync_folder, write_file
from search.store.health import examine, mend
from search.store.health.check import Examination, examined, ways_out
from search.store.health.examine_files import leftovers, named_file
from search.store.health.examine_vectors import examine_vectors
from search.store.health.kinds import EXAMPLES, Tally
from search.store.health.proof import proven
from search.store.health.salvage import keep_aside, salvage
from search.store.layout import DATABASE
from search.store.lock import HOLDER
from search.store.schema import migrate
from search.store.settings import PassageSettings, Source
from search.store.vectors import LoadedVectors
from search.store.writer import Writer

# Kinds of damage that are healed in the same way.
BROKEN = ("database unreadable", "database fault", "table unreadable", "schema")
EMBEDDINGS = (
    "no embedding",
    "embedding length",
    "embedding checksum",
    "embedding value",
    "embedding content",
)
ORPHANS = ("orphan document", "orphan passage", "orphan embedding")
TOKEN_VECTORS = ("token vectors", "orphan token_vector")
ANNOTATIONS = ("annotator", "annotation", "orphan annotation")
VECTORS = ("no vectors", "vectors row", "tombstones", "vectors file", "vectors differ", "query")


class RepairRun:
    """One repair, with the lock held.

    Attributes:
        database: what is mended: index.db, or the copy that will take its place.
    """

    def __init__(
        self,
        index: Path,
        offline: bool,
        engine: str,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.index = index
        self.database = index / DATABASE
        self.steps: list[RepairStep] = []
        self.lost: list[str] = []
        self.kept = ""
        self.encoded = 0
        self._offline, self._engine, self._progress = offline, engine, progress

    def run(self) -> None:
        named = self._named()
        self._lay_about = {path.name for path in leftovers(self.index, named)} if named else set()
        if (self.index / "tmp").exists():
            shutil.rmtree(self.index / "tmp", ignore_errors=True)
            self._did("deleted files that lay about", 1, ["tmp"])
        found = self._examined(queries=20)
        if "older format" in found.tally:
            with closing(connect_to_write(self.database)) as connection, translated(self.database):
                migrate(connection)
            self._did("brought the format up to date")
            found = self._examined(queries=20)
        if any(kind in found.tally for kind in ("newer format", "foreign", "emptied", "no tables")):
            self._refuse(found)
        if broken := any(kind in found.tally for kind in BROKEN):
            found = self._salvaged()
        with closing(connect_to_write(self.database)) as connection, translated(self.database):
            self.writer = Writer(examine.lenient(connection))
            self._mend(found, everything=broken)
        if broken:
            self._put_in_place()
        self._tidy()

    def _examined(self, queries: int = 0) -> Examination:
        return examined(self.index, self.database, sources=False, queries=queries, progress=self._progress)

    def _did(self, message: str, count: int = 0, names: list[str] | None = None) -> None:
        self.steps.append(RepairStep(message, count, tuple((names or [])[:EXAMPLES])))

    def _refuse(self, found: Examination) -> None:
        read_meta(self.database, older=True)  # says why, in most cases
        raise IndexDamaged(
            f"'{self.database}' cannot be repaired. Make the index again with: {self._rebuild(found)}"
        )

    def _rebuild(self, found: Examination) -> str:
        return ways_out(self.index, found.meta.get("root", ""))["rebuild"]

    def _salvaged(self) -> Examination:
        """Copy the broken database, as far as it can be read, to where it can be mended."""
        broken, self.database = self.database, self.index / "tmp" / DATABASE
        self.database.parent.mkdir(exist_ok=True)
        with closing(connect_to_write(self.database)) as connection, translated(self.database):
            migrate(connection)
            passages = salvage(broken, connection)
        self._did("copied what can be read of the broken database", passages)
        return self._examined()

    def _mend(self, found: Examination, everything: bool) -> None:
        """Everything but putting a copy in place.

        Args:
            everything: rows may be missing without a trace, so all files are to be read again.
        """
        tally = found.tally
        if any(kind in tally for kind in (*VECTORS, *ORPHANS)):
            self.writer.name_vectors(None)  # queries are exact without it; it is written anew in the end
        self._settings(found)
        self._token_vectors(tally)
        self._annotations(tally)
        if "words" in tally:
            with self.writer.transaction() as connection:
                lexicon.unseal(connection)
        reread = self._mark(tally, everything)
        mend.count_anew(self.writer)
        if "sequence" in tally:
            self._did("corrected the number of the next passage")
        self._encode(tally)
        if reread:
            self._update()
            mend.delete_orphans(self.writer)
            self._drop()
        if self.writer.renew_lexicon():
            self._did("made the table of words anew")
        self._renew_vectors(found)
        if "baseline" in tally:
            self._did(mend.renew_sample(self.writer, lambda: self.encoder))

    def _token_vectors(self, tally: Tally) -> None:
        """Encode those that are damaged again, where the index is to have any."""
        damaged = tally.rows_of(*TOKEN_VECTORS)
        if not damaged:
            return
        mend.delete_token_vectors(self.writer, damaged)
        if self.source.token_vectors:
            for rows, done, total in token_vectors.missing(self.writer.connection, self.encoder):
                self.writer.put_token_vectors(rows)
                if self._progress:
                    self._progress(Progress("token vectors of", done, total, passages=done))
        self._did("encoded token vectors again", len(damaged))

    def _annotations(self, tally: Tally) -> None:
        """Delete those that are damaged or belong to nothing: only a model can make them again."""
        if any(kind in tally for kind in ANNOTATIONS):
            singles = tally.rows_of("annotation", "orphan annotation")
            annotators, others = mend.delete_annotations(self.writer, tally.rows_of("annotator"), singles)
            for one in annotators:
                many = f"{one.annotations:,} annotation{'' if one.annotations == 1 else 's'}"
                way = f": {one.command} --index {quoted(self.index)}" if one.command else ""
                self._did(f"deleted the annotator '{one.name}' with {many}, which has to be run again{way}")
            if others:
                names = [name for kind in ANNOTATIONS[1:] for name in tally.examples.get(kind, ())]
                self._did(
                    "deleted damaged annotations; seewhy tag or seewhy label apply makes them again",
                    others,
                    names,
                )

    def _settings(self, found: Examination) -> None:
        """Restore what describes the index; only the folder and the model cannot be derived."""
        good, doubtful = examine.settings(self.writer.connection)
        root = good.get("root")
        if root is None and "root" in doubtful and Path(doubtful["root"]).is_dir():
            root = doubtful["root"]
        if root is None:
            self._give_up("which folder it is of cannot be read", found)
        made: dict[str, str] | None = good.get("fingerprint") or proven(
            self.writer.connection, doubtful.get("fingerprint"), self._offline, self._engine
        )
        if made is None:
            self._give_up("which model it was made with cannot be read", found)
        self.root, self.made = Path(str(root)), Fingerprint.from_dict(made)
        self.source = Source.from_dict(good["source"]) if "source" in good else Source()
        self._counted = "passages" in good
        if "setting" not in found.tally:
            return
        values = {
            "schema_version": SCHEMA_VERSION,
            "root": str(root),
            "fingerprint": made,
            "source": asdict(self.source),
            "complete": bool(good.get("complete", False)),
            "passages": int(good.get("passages", 0)),
        }
        mend.restore_settings(self.writer, values, good)
        names = found.tally.examples["setting"]
        self._did("restored settings", found.tally.counts["setting"], names)
        if "source" not in good:
            self._did(
                "forgot --include, --exclude, --text-field and --title-field, which were damaged: give them again "
                "to seewhy index"
            )

    def _give_up(self, why: str, found: Examination) -> NoReturn:
        self.kept = str(keep_aside(self.index / DATABASE))
        raise IndexDamaged(
            f"the index in '{self.index}' cannot be repaired: {why}. Its database is kept as '{self.kept}'. Make the "
            f"index again with: {self._rebuild(found)}"
        )

    def _mark(self, tally: Tally, everything: bool) -> bool:
        """Delete what belongs to nothing, mark what must be read again. Returns whether anything was marked."""
        orphans = sum(tally.counts.get(kind, 0) for kind in ORPHANS)
        if orphans:
            mend.delete_orphans(self.writer, embeddings=not everything)
            mend.delete_unusable_embeddings(self.writer, int(self.made.dimension))
            self._did("deleted rows that belonged to nothing", orphans)
        pending = mend.has_marks(self.writer) and self.root.is_dir()
        if "passage count" in tally or not self._counted:
            mend.take_documents_for_changed(self.writer, mend.all_documents(self.writer))
            mend.read_files_again(self.writer, None)
            return True
        passages = tally.rows_of("passage")
        documents = mend.documents_around(self.writer, passages) if passages else set()
        mend.take_documents_for_changed(self.writer, {*documents, *tally.rows_of("document")})
        files = tally.rows_of("file", "file without documents")
        # A damaged or missing document may be any file's.
        whole_folder = everything or bool(orphans) or "document" in tally
        mend.read_files_again(self.writer, None if whole_folder else files)
        return bool(whole_folder or files or documents or pending)

    def _encode(self, tally: Tally) -> None:
        """Damaged embeddings of good texts, from these."""
        mend.disown_embeddings(self.writer, tally.rows_of(*EMBEDDINGS))
        passages = sorted(set(tally.rows_of(*EMBEDDINGS)) - set(tally.rows_of("passage")))
        if not passages:
            return
        done = 0
        for count in mend.encode_again(self.writer, self.encoder, passages):
            done += count
            if self._progress:
                self._progress(Progress("encoding", done, len(passages), passages=done))
        self.encoded += done
        self._did("encoded passages again from their stored text", done)

    @cached_property
    def encoder(self) -> Encoder:
        return Encoder.of(self.made, offline=self._offline, engine=self._engine)

    def _update(self) -> None:
        """The normal update of the folder, which reads what was marked."""
        try:
            files, skipped = listed(self.root, self.index, self.source)
            if not files:
                raise InputError(f"'{self.root}' holds nothing to index")
            settings = PassageSettings.from_json(self.made.passages)
            run = Run(
                self.root,
                self.index,
                self.database,
                self.writer.connection,
                self.encoder,
                settings,
                self.source,
                self._progress,
            )
            report = run.all(files, skipped)
        except InputError as error:
            self._did(f"could not read the folder again: {error}")
            return
        self.encoded += report.encoded
        names = [f"{report.encoded:,} passages encoded, {report.reused:,} known already"]
        self._did("read files of the folder again", report.added + report.changed, names)

    def _drop(self) -> None:
        """What the update could not replace."""
        tally = self._examined().tally
        passages = tally.rows_of("passage", *EMBEDDINGS)
        documents = {*tally.rows_of("document"), *mend.documents_of(self.writer, passages)}
        files = tally.rows_of("file")
        if documents or files:
            lost = mend.drop(self.writer, documents, files)
            self.lost += lost
            self._did("dropped documents that are damaged and could not be read again", len(lost), lost)
        if missing := tally.rows_of("file without documents"):
            names = mend.forget_documents_that_are_missing(self.writer, missing)
            self.lost += names
            self._did("found nothing of files that gave text before", len(names), names)
        mend.count_anew(self.writer)

    def _renew_vectors(self, found: Examination) -> None:
        """Write the FAISS file anew if it does not hold what the database holds now."""
        tally = Tally()
        dimension = int(self.made.dimension)
        examine_vectors(self.writer.connection, dimension, LoadedVectors(self.index), tally)
        if not tally.counts and "query" not in found.tally:
            return
        ann = write_file(self.writer.connection, dimension, self.index, next_generation(self.index))
        self.writer.name_vectors(ann)
        self._did("wrote the FAISS file anew" if ann else "named no FAISS file, as there are no embeddings")

    def _put_in_place(self) -> None:
        """Give the mended copy the name of the broken database, and that another."""
        self.kept = str(keep_aside(self.index / DATABASE))
        self.database.replace(self.index / DATABASE)
        sync_folder(self.index)
        self.database = self.index / DATABASE
        self._did("put the mended copy in place of the broken database, which is kept", 0, [self.kept])

    def _tidy(self) -> None:
        """Delete what nothing needs; only what was there without need at the start is worth a word."""
        lying = [path for path in leftovers(self.index, self._named()) if path.name != HOLDER]
        mend.delete(lying)
        if strange := [path.name for path in lying if path.name in self._lay_about - {"tmp"}]:
            self._did("deleted files that lay about", len(strange), strange)

    def _named(self) -> str:
        """The FAISS file that the index's own database names; "" where that cannot be read."""
        try:
            with closing(connect_to_read(self.index / DATABASE)) as connection:
                return named_file(connection)
        except (SearchError, sqlite3.DatabaseError):
            return ""
