"""Make an index whole again.

    examine -> delete what is damaged -> read its files again -> make anew what is derived -> check

What is wrong is found as for a check. Documents of which a row is damaged are deleted in one transaction that also
marks their files, so that the ordinary run of indexing that follows reads them again; a repair that was stopped in
between can be done again, or be left to the next run. What can be made from the rows is made anew: the
segments, the sample of random pairs, the numbers. A database that SQLite finds fault with, and one that has lost rows
without a trace, is not repaired: index the folder again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from search.encoding.encoder import Encoder
from search.encoding.fingerprint import Fingerprint
from search.errors import IndexDamaged, IndexNotFound, InputError, SearchError, quoted
from search.indexing.check import check, encode_again, reported, told, ways_out
from search.indexing.plan import listed
from search.indexing.run import Run, renew_token_vectors
from search.records.reports import Progress, RepairReport, RepairStep
from search.store import mend, sealing
from search.store.calibration import renew_baseline
from search.store.database import connect_to_write, read_meta, translated
from search.store.files import DATABASE, delete_leftovers, leftovers, writer_lock
from search.store.folders import Folders, Named
from search.store.health import Examination, lenient
from search.store.layout import confirmed, is_index, is_own
from search.store.segments import named_files, recorded_files
from search.store.settings import PassageSettings, Source
from search.store.sqlite import SQLiteSnapshot, SQLiteStore
from search.store.writer import Writer

# What is done about each kind of damage.
_STEPS = {
    "settings": "restored what is counted",
    "documents": "read damaged documents again from the folder",
    "annotations": "deleted damaged annotations; seewhy tag or seewhy label apply makes them again",
    "words": "made the words anew",
    "vectors": "replaced the FAISS files",
    "token vectors": "encoded token vectors again",
    "baseline": "renewed the sample of random pairs; without the model the next run of indexing takes another",
    "leftovers": "deleted files that lie about",
}


def repair(
    index: Path,
    *,
    folder: Named | None = None,
    offline: bool = False,
    engine: str = "auto",
    dry_run: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> RepairReport:
    """Mend what `check` finds damaged, as far as index.db and the indexed folder allow.

    Args:
        index: the folder of the index.
        folder: that was indexed, or several, to be named where the index lies outside of the user's own.
        offline, engine: as for `Encoder`; a model is loaded only if something must be encoded.
        dry_run: change nothing, only say what would be done.
        progress: called often with how far the work is.

    Raises:
        IndexNotFound: there is no index.db, or one that was begun and never filled.
        IndexOutdated, IndexDamaged: it cannot be repaired; the message says how to make it again.
        IndexLocked: another process is writing to it.
        ModelError: something must be encoded and the model cannot be found.
        InputError: the folder has to be named, or is another.
    """
    started = time.monotonic()
    if not is_index(index):
        raise IndexNotFound(f"there is no index in '{index}'. Make one with: seewhy index FOLDER")
    work = _Repair(Examination(index, progress), folder, offline, engine, progress)
    if dry_run:
        work.examine()
        for step in _STEPS:
            work.did(step, "would have ")
        encode_again(work.found)
        after = reported(work.found, started, encode=True)
    else:
        with writer_lock(index):
            work.examine()
            work.run()
        after = check(index, encode=True, progress=progress)
    return RepairReport(
        index=str(index),
        folder=after.folder,
        dry_run=dry_run,
        steps=tuple(work.steps),
        lost=tuple(sorted(work.lost)),
        encoded=work.encoded,
        check=after,
        seconds=time.monotonic() - started,
    )


@dataclass
class _Repair:
    """One repair, with the lock held."""

    found: Examination
    folder: Named | None
    offline: bool
    engine: str
    progress: Callable[[Progress], None] | None
    steps: list[RepairStep] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    encoded: int = 0

    def examine(self) -> None:
        """Find what is wrong.

        Raises:
            IndexDamaged, or what fits better: nothing can be done.
        """
        meta = self.found.run().meta
        self._index = index = self.found.index
        if self.found.counts["database"] or "root" not in meta:
            with suppress(IndexDamaged):
                # Of an earlier format, and of what was never filled, this says more.
                read_meta(index / DATABASE)
            raise IndexDamaged(
                f"the index in '{index}' cannot be repaired: {self.found.names['database'][0]}. "
                f"Make the index again with: {ways_out(index, told(meta))['rebuild']}"
            )
        self._root = confirmed(index, Folders.from_meta(meta), self.folder).root
        self._source = Source.from_dict(meta["source"])
        self._made = Fingerprint.from_dict(meta["fingerprint"])

    def run(self) -> None:
        found, index = self.found, self._index
        database = index / DATABASE
        with closing(lenient(connect_to_write(database))) as connection, translated(database):
            writer = self._writer = Writer(connection)
            if found.counts["settings"]:
                mend.restore_settings(writer)
            commands = mend.commands_of(connection, found)
            lay_about = leftovers(index, recorded_files(connection))
            self.lost, misnamed = mend.discard(writer, found, folder=self._root.is_dir())
            if (found.counts["documents"] or mend.has_marks(connection)) and self._read_again():
                self.lost -= misnamed  # all files were compared with the folder
            self.lost -= mend.names_of(connection)
            self._renew()
            for path in delete_leftovers(index, named_files(connection)):
                if path in lay_about:  # and was not left by this repair
                    found.add("leftovers", path.relative_to(index).as_posix())
        ways = " and ".join(f"{command} --index {quoted(index)}" for command in commands)
        for name in _STEPS:
            self.did(name, after=f": {ways}" if ways and name == "annotations" else "")

    def did(self, name: str, before: str = "", after: str = "") -> None:
        """Note what is done about a kind of damage, if any was found."""
        if count := self.found.counts[name]:
            examples = tuple(self.found.names[name])
            self.steps.append(RepairStep(f"{before}{_STEPS[name]}{after}", count, examples))

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder.of(self._made, offline=self.offline, engine=self.engine, trusted=is_own(self._index))

    def _read_again(self) -> bool:
        """The ordinary run of indexing, which reads the files that are marked. Returns whether the folder is there."""
        try:
            files, skipped = listed(self._root, self._index, self._source)
            run = Run(
                self._root,
                self._index,
                self._index / DATABASE,
                self._writer,
                self._encoder,
                PassageSettings.from_json(self._made.passages),
                self._source,
                self.progress,
            )
            self.encoded = run.all(files, skipped).encoded
        except InputError as error:
            self.steps.append(RepairStep(f"could not read the folder again: {error}"))
            return False
        return True

    def _renew(self) -> None:
        """Make anew what is derived of the rows."""
        counts, writer = self.found.counts, self._writer
        damaged = counts["words"] + counts["vectors"] > 0
        sealing.renew(writer, self._index, int(self._made.dimension), always=damaged)
        if counts["token vectors"] and self._source.token_vectors:
            renew_token_vectors(writer, self._encoder, self.progress)
        if counts["baseline"]:
            with writer.transaction():
                writer.delete("baseline", "1")
            with suppress(SearchError):  # no model at hand: the next run takes another sample
                renew_baseline(
                    writer, SQLiteSnapshot(SQLiteStore(self._index), writer.connection), self._encoder
                )
