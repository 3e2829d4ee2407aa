"""Make an index whole again.

    examine -> delete what is damaged -> read its files again -> make anew what is derived -> check

What is wrong is found by `examined`, as for a check. Rows that are damaged are deleted in one transaction that also
marks their files, so that the ordinary run of indexing that follows reads them again; a repair that was stopped in
between can be done again, or be left to the next run. What can be made from the rows is made anew: the words, the FAISS
file, the sample of random pairs, the numbers. A database that SQLite finds fault with, and one that has lost rows
without a trace, is not repaired: index the folder again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cached_property
from pathlib import Path

from search.encoding.encoder import Encoder
from search.encoding.fingerprint import Fingerprint
from search.errors import IndexDamaged, IndexNotFound, InputError, SearchError, quoted
from search.indexing.check import Examination, check, examined, ways_out
from search.indexing.plan import listed
from search.indexing.run import Run, renew_vectors
from search.records.reports import Progress, RepairReport, RepairStep
from search.store import lexicon, token_vectors
from search.store.calibration import forget_baseline, renew_baseline
from search.store.database import (
    Connection,
    connect_to_read,
    connect_to_write,
    count_anew,
    put_meta,
    read_meta,
    translated,
)
from search.store.files import DATABASE, HOLDER, delete_leftovers, leftovers
from search.store.health import mend
from search.store.health.derived import named_file
from search.store.health.kinds import EXAMPLES, Tally
from search.store.health.rows import lenient
from search.store.layout import is_index
from search.store.lock import writer_lock
from search.store.settings import PassageSettings, Source
from search.store.writer import Writer

_HOPELESS = {
    "database unreadable": "SQLite cannot read it",
    "database fault": "SQLite finds fault with it",
    "table unreadable": "a part of it cannot be read",
    "emptied": "it is empty",
    "foreign": "it is a database, but not of this program",
    "older format": "it is of an earlier version",
    "newer format": "it is of a later version",
    "schema": "its tables are not as they should be",
    "passage count": "passages are missing, and nothing tells of which file",
}
_NOT_DERIVED = ("schema_version", "root", "fingerprint", "source")
_EMBEDDINGS = (
    "no embedding", "embedding length", "embedding checksum", "embedding value", "embedding content",
)  # fmt: skip
_ORPHANS = ("orphan document", "orphan passage", "orphan embedding")
_TOKEN_VECTORS = ("token vectors", "orphan token_vector")
_VECTORS = ("no vectors", "vectors row", "tombstones", "vectors file", "vectors differ", "query")
_READ_AGAIN = ("file", "file without documents", "document", "passage", *_EMBEDDINGS)

# What was done about each kind, or would have been.
_STEPS: dict[tuple[str, ...], str] = {
    ("setting", "sequence"): "restored settings",
    _ORPHANS: "deleted rows that belong to nothing",
    _READ_AGAIN: "read damaged documents again from the folder",
    ("words",): "made the table of words anew",
    _TOKEN_VECTORS: "encoded token vectors again",
    (
        "annotation",
        "orphan annotation",
    ): "deleted damaged annotations; seewhy tag or seewhy label apply makes them again",
    _VECTORS: "replaced the FAISS file",
    (
        "baseline",
    ): "renewed the sample of random pairs; without the model the next run of indexing takes another",
    ("leftover",): "deleted files that lie about",
}


def repair(
    index: Path,
    *,
    offline: bool = False,
    engine: str = "auto",
    dry_run: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> RepairReport:
    """Mend what `check` finds damaged, as far as index.db and the indexed folder allow.

    Args:
        index: the folder of the index.
        offline, engine: as for `Encoder`; a model is loaded only if something must be encoded.
        dry_run: change nothing, only say what would be done.
        progress: called often with how far the work is.

    Raises:
        IndexNotFound: there is no index.db, or one that was begun and never filled.
        IndexOutdated, IndexDamaged: it cannot be repaired; the message says how to make it again.
        IndexLocked: another process is writing to it.
        ModelError: something must be encoded and the model cannot be found.
    """
    started = time.monotonic()
    if not is_index(index):
        raise IndexNotFound(f"there is no index in '{index}'. Make one with: seewhy index FOLDER")
    work = _Repair(index, offline, engine, progress)
    if dry_run:
        found = examined(index, sources=False, progress=progress)
        after = found.report(time.monotonic() - started)
        work.plan(found)
    else:
        with writer_lock(index):
            work.run()
        after = check(index, progress=progress)
    return RepairReport(
        index=str(index),
        folder=after.folder,
        dry_run=dry_run,
        steps=tuple(work.steps),
        lost=tuple(work.lost),
        encoded=work.encoded,
        check=after,
        seconds=time.monotonic() - started,
    )


class _Repair:
    """One repair, with the lock held."""

    def __init__(
        self,
        index: Path,
        offline: bool,
        engine: str,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.index = index
        self.steps: list[RepairStep] = []
        self.lost: list[str] = []
        self.encoded = 0
        self._offline, self._engine, self._progress = offline, engine, progress

    def plan(self, found: Examination) -> None:
        """Say what would be done."""
        self._refuse(found)
        for kinds in _STEPS:
            self._did(found.tally, kinds, "would have ")

    def run(self) -> None:
        found = examined(self.index, sources=False, queries=20, progress=self._progress)
        self._refuse(found)
        self._note_leftovers(found.tally)
        tally, database = found.tally, self.index / DATABASE
        with closing(lenient(connect_to_write(database))) as connection, translated(database):
            self._writer = Writer(connection)
            self._restore_settings(tally)
            meta = read_meta(database)
            self._made, self._source = (
                Fingerprint.from_dict(meta["fingerprint"]),
                Source.from_dict(meta["source"]),
            )
            self._delete(tally, Path(meta["root"]).is_dir())
            if mend.has_marks(connection) or "file" in tally:
                self._read_again(Path(meta["root"]))
            self._renew(tally)
            delete_leftovers(self.index, named_file(connection))
            self._did(tally, ("leftover",))

    def _refuse(self, found: Examination) -> None:
        """Raise IndexDamaged, or what fits better, if nothing can be done."""
        tally = found.tally
        if "no tables" in tally or "older format" in tally:
            read_meta(self.index / DATABASE)  # says it
        why = [said for kind, said in _HOPELESS.items() if kind in tally]
        lacking = [name for name in _NOT_DERIVED if name in tally.examples.get("setting", ())]
        why += [f"its setting '{name}' cannot be read" for name in lacking]
        if why:
            way = ways_out(self.index, found.meta.get("root", ""))["rebuild"]
            raise IndexDamaged(
                f"the index in '{self.index}' cannot be repaired: {why[0]}. Make the index again with: {way}"
            )

    def _did(self, tally: Tally, kinds: tuple[str, ...], before: str = "") -> None:
        """Note what is done about some kinds, if any of them was found."""
        count = len(tally.rows_of(*kinds)) or sum(tally.counts.get(kind, 0) for kind in kinds)
        names = [name for kind in kinds for name in tally.examples.get(kind, ())]
        if count:
            self.steps.append(RepairStep(before + _STEPS[kinds], count, tuple(names[:EXAMPLES])))

    def _restore_settings(self, tally: Tally) -> None:
        """Derive what can be derived of what describes the index."""
        damaged = tally.examples.get("setting", [])
        with self._writer.transaction() as connection:
            for name in damaged:
                self._writer.delete("meta", "key = ?", name)
            if "complete" in damaged:
                put_meta(connection, {"complete": False})
            if "lexicon" in damaged:
                lexicon.unseal(connection)
            if "last_passage" in damaged or "passages" in damaged or "sequence" in tally:
                count_anew(connection)
        self._did(tally, ("setting", "sequence"))

    def _note_leftovers(self, tally: Tally) -> None:
        """Count what lies about: a check does not, while the lock is held."""
        with closing(connect_to_read(self.index / DATABASE)) as connection:
            for path in leftovers(self.index, named_file(connection)):
                if path.name != HOLDER:
                    tally.add("leftover", path.relative_to(self.index).as_posix())

    def _delete(self, tally: Tally, folder: bool) -> None:
        """Delete damaged rows, and mark the files that are to be read again.

        Args:
            folder: it is there, so nothing is lost if more is read again than needs be.
        """
        passages = tally.rows_of("passage")
        files = tally.rows_of("file")
        deleted = any(kind in tally for kind in (*_ORPHANS, *_READ_AGAIN))
        with self._writer.transaction() as connection:
            documents = mend.documents_of_files(connection, files) | set(tally.rows_of("document"))
            self._misnamed = set(mend.names_of(connection, documents))
            documents |= mend.documents_of(connection, tally.rows_of("passage", *_EMBEDDINGS))
            if passages and folder:
                documents |= mend.documents_around(connection, passages)
            self.lost = mend.names_of(connection, documents)
            everything = any(kind in tally for kind in ("document", *_ORPHANS))  # which may be any file's
            mend.mark_files(connection, documents, tally.rows_of("file without documents"), everything)
            mend.delete_rows(connection, "documents", documents)
            mend.delete_rows(connection, "files", files)
            mend.delete_rows(connection, "token_vectors", tally.rows_of("token vectors"))
            mend.delete_rows(connection, "annotations", tally.rows_of("annotation"))
            for row in tally.rows_of("annotator"):
                self._forget_annotator(connection, row)
            mend.delete_orphans(connection)
            if deleted:
                self._writer.delete("ann", "1")
                self._writer.delete("tombstones", "1")
                lexicon.unseal(connection)
                count_anew(connection)
        for kinds in (_ORPHANS, _READ_AGAIN, ("annotation", "orphan annotation")):
            self._did(tally, kinds)

    def _forget_annotator(self, connection: Connection, row: int) -> None:
        """Delete an annotator with all that it said, and say what makes it again."""
        name, n, command = mend.delete_annotator(connection, row)
        again = f": {command} --index {quoted(self.index)}" if command else ""
        many = f"{n:,} annotation{'' if n == 1 else 's'}"
        said = f"deleted the annotator '{name}' with {many}, which has to be run again{again}"
        self.steps.append(RepairStep(said))

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder.of(self._made, offline=self._offline, engine=self._engine)

    def _read_again(self, root: Path) -> None:
        """The ordinary run of indexing, which reads the files that are marked."""
        try:
            files, skipped = listed(root, self.index, self._source)
            settings = PassageSettings.from_json(self._made.passages)
            run = Run(
                root,
                self.index,
                self.index / DATABASE,
                self._writer,
                self._encoder,
                settings,
                self._source,
                self._progress,
            )
            self.encoded = run.all(files, skipped).encoded
            self.lost = sorted(set(self.lost) - self._misnamed)  # all files were compared with the folder
        except InputError as error:
            self.steps.append(RepairStep(f"could not read the folder again: {error}"))
        there = mend.names_of(self._writer.connection, mend.all_documents(self._writer.connection))
        self.lost = sorted(set(self.lost) - set(there))

    def _renew(self, tally: Tally) -> None:
        """Make anew what is derived of the rows."""
        connection = self._writer.connection
        if "words" in tally:
            with self._writer.transaction():
                lexicon.unseal(connection)
        self._writer.renew_lexicon()
        renew_vectors(
            self._writer, self.index, int(self._made.dimension), any(kind in tally for kind in _VECTORS)
        )
        if any(kind in tally for kind in _TOKEN_VECTORS) and self._source.token_vectors:
            for rows, done, total in token_vectors.missing(connection, self._encoder):
                self._writer.put_token_vectors(rows)
                if self._progress:
                    self._progress(Progress("token vectors of", done, total, passages=done))
        if "baseline" in tally:
            with self._writer.transaction():
                forget_baseline(connection)
            with suppress(SearchError):  # no model at hand: the next run takes another sample
                renew_baseline(self._writer, self._encoder)
        for kinds in (("words",), _TOKEN_VECTORS, _VECTORS, ("baseline",)):
            self._did(tally, kinds)
