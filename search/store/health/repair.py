"""Make an index whole again.

    examine -> restore what is derived -> encode again what has a good text -> read again what has not
    -> drop what could not be replaced -> renew the FAISS file -> check

What is wrong is found by `examined`, as for a check. Repairs are made in index.db itself, in short transactions
after which it can always be repaired again, and old rows stay until the new ones take their place. A
database that SQLite finds fault with is left alone: what can be read of it is copied to `tmp/index.db`, which
is mended there and then takes its name, while the broken one is kept under another.

    repair_run.py  the order of things
    mend.py        the single steps
    salvage.py     what can be read of a broken database
    proof.py       which model made the embeddings, if that cannot be read
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from search.errors import IndexNotFound
from search.records.reports import Progress, RepairReport, RepairStep
from search.store.health.check import Examination, check, examined
from search.store.health.kinds import EXAMPLES
from search.store.health.repair_run import (
    ANNOTATIONS,
    BROKEN,
    EMBEDDINGS,
    ORPHANS,
    TOKEN_VECTORS,
    VECTORS,
    RepairRun,
)
from search.store.layout import is_index
from search.store.lock import writer_lock

# What a repair would do about each kind, for a dry run.
_PLAN: dict[tuple[str, ...], str] = {
    ("older format",): "bring the format up to date",
    BROKEN: "copy what can be read to a new database, read the folder again, keep the broken database aside",
    ("setting",): "restore settings",
    ORPHANS: "delete rows that belong to nothing",
    ("file", "file without documents"): "read files again from the folder",
    ("document", "passage"): "read documents again from the folder",
    ("passage count",): "read all documents again from the folder",
    EMBEDDINGS: "encode passages again from their stored text",
    ("sequence",): "correct the number of the next passage",
    ("words",): "make the table of words anew",
    TOKEN_VECTORS: "encode token vectors again",
    ANNOTATIONS: "delete damaged annotations, which seewhy tag or seewhy label apply makes again",
    VECTORS: "write the FAISS file anew",
    ("baseline",): "take the sample of random pairs anew",
    ("leftover",): "delete files that lie about",
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
        IndexDamaged: it cannot be repaired; the message says how to make it again.
        IndexLocked: another process is writing to it.
        ModelError: something must be encoded and the model cannot be found.
    """
    started = time.monotonic()
    if not is_index(index):
        raise IndexNotFound(f"there is no index in '{index}'. Make one with: seewhy index FOLDER")
    if dry_run:
        found = examined(index, sources=False, progress=progress)
        seconds = time.monotonic() - started
        return RepairReport(
            str(index), found.meta.get("root", ""), True, _planned(found), (), "", 0, found.report(seconds), seconds
        )  # fmt: skip
    with writer_lock(index):
        work = RepairRun(index, offline, engine, progress)
        work.run()
    after = check(index, progress=progress)
    return RepairReport(
        index=str(index),
        folder=after.folder,
        dry_run=False,
        steps=tuple(work.steps),
        lost=tuple(work.lost),
        kept=work.kept,
        encoded=work.encoded,
        check=after,
        seconds=time.monotonic() - started,
    )


def _planned(found: Examination) -> tuple[RepairStep, ...]:
    steps = []
    for kinds, sentence in _PLAN.items():
        count = sum(found.tally.counts.get(kind, 0) for kind in kinds)
        names = [name for kind in kinds for name in found.tally.examples.get(kind, ())]
        if count:
            steps.append(RepairStep(f"would {sentence}", count, tuple(names[:EXAMPLES])))
    return tuple(steps)
