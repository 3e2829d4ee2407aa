"""Harness 4: processes beside a writer: readers that never stop asking, and an editor that never stops editing.

The whole folder changes from one version to the next at once, and every passage carries the word of its version. All
of it fits in one batch, so it is committed in one transaction: an answer that holds two versions, or another number
of passages, was put together from two states of the index. Where the index is removed meanwhile, a reader may also get
a message that says so.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from random import Random

import numpy as np

from tests.faults import oracle
from tests.faults.contents import fill, put, text_of
from tests.faults.defects import defect
from tests.faults.outcome import Outcome
from tests.faults.processes import Child

_FILES = 40
_REBUILD_EVERY, _REPAIR_EVERY = 7, 5


def against_a_writer(
    place: Path, *, seed: int, readers: int, seconds: float, pause: float = 0.0, name: str = ""
) -> Outcome:
    """Let `readers` processes ask for so many seconds.

    Args:
        pause: seconds between two questions of a reader.
        name: of a defect to plant in readers and writer.
    """
    outcome = Outcome("readers against a writer", seed)
    folder, index = place / "folder", place / "index"
    names = sorted(fill(folder, Random(seed), _FILES))
    _write_version(folder, names, seed, 0)
    n_passages = oracle.run(folder, index, batch=10_000).passages
    asking = [
        Child("reader", str(index), str(seed + i), str(pause), str(n_passages), name) for i in range(readers)
    ]
    for reader in asking:
        reader.hear()
    try:
        with defect(name):
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                outcome.runs += 1
                _write_version(folder, names, seed, outcome.runs)
                oracle.run(folder, index, batch=10_000, rebuild=outcome.runs % _REBUILD_EVERY == 0)
                if outcome.runs % _REPAIR_EVERY == 0:
                    outcome.count("repairs")
                    oracle.repaired_without_faiss_files(index)
    finally:
        _collect(asking, outcome)
    outcome.failures += oracle.different(index, oracle.on_disk(folder)) + oracle.problems(index)
    outcome.figures["passages"] = n_passages
    return outcome


def against_a_removal(place: Path, *, seed: int, readers: int, seconds: float, name: str = "") -> Outcome:
    """Remove the index, and make it again, while `readers` processes ask.

    Args:
        name: of a defect to plant in the readers.
    """
    outcome = Outcome("readers beside a removal", seed)
    folder, index = place / "folder", place / "index"
    names = sorted(fill(folder, Random(seed), _FILES))
    _write_version(folder, names, seed, 0)
    n_passages = oracle.run(folder, index, batch=10_000).passages
    asking = [
        Child("reader", str(index), str(seed + i), "0", str(n_passages), name, "gone") for i in range(readers)
    ]
    for reader in asking:
        reader.hear()
    try:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            outcome.runs += 1
            time.sleep(0.05)  # in which it is there
            shutil.rmtree(index)
            time.sleep(0.02)  # in which it is not
            _write_version(folder, names, seed, outcome.runs)
            oracle.run(folder, index, batch=10_000)
    finally:
        _collect(asking, outcome)
    outcome.failures += oracle.problems(index)
    return outcome


def beside_an_editor(place: Path, *, seed: int, seconds: float, name: str = "") -> Outcome:
    """Index a folder that another process goes on editing, and repair the index of it, in turn.

    Args:
        name: of a defect to plant in the runs.
    """
    outcome = Outcome("an editor beside runs and repairs", seed)
    folder, index = place / "folder", place / "index"
    fill(folder, Random(seed), _FILES)
    with defect(name):
        oracle.run(folder, index)
        editor = Child("editor", str(folder), str(seed))
        editor.hear()
        try:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                outcome.runs += 1
                oracle.run(folder, index)
                oracle.repaired_without_faiss_files(index)
        finally:
            outcome.figures["edits"] = (editor.finish() or {"edits": 0})["edits"]
            editor.wait()
        oracle.run(folder, index)
    oracle.run(folder, place / "clean")
    if oracle.stored(index) != oracle.stored(place / "clean"):
        outcome.failures.append("in the end the index holds something else than a clean build")
    outcome.failures += oracle.different(index, oracle.on_disk(folder)) + oracle.problems(index)
    if not outcome.figures["edits"]:
        outcome.failures.append("nothing was edited")
    return outcome


def _write_version(folder: Path, names: list[str], seed: int, version: int) -> None:
    """All files anew, the same but for the word of the version: so the number of passages never changes."""
    rng = Random(seed)
    for name in names:
        put(folder / name, text_of(rng, Path(name).suffix, f"version{version}"))


def _collect(readers: list[Child], outcome: Outcome) -> None:
    times: list[float] = []
    errors, mixed, notes, refused = 0, 0, 0, 0
    for reader in readers:
        said = reader.finish()
        status = reader.wait()
        if said is None:
            outcome.failures.append(f"a reader ended with status {status}: {reader.last_words()}")
            continue
        times += said["times"]
        errors, mixed, notes = errors + len(said["errors"]), mixed + said["mixed"], notes + said["notes"]
        refused += said["refused"]
        outcome.failures += [f"reader: {error}" for error in said["errors"][:5]]
    if mixed:
        outcome.failures.append(f"{mixed} answers from two states of the index")
    outcome.figures |= {"queries": len(times), "errors": errors, "mixed snapshots": mixed, "notes": notes}
    if refused:
        outcome.figures["refused"] = refused
    for title, percentile in (("p50 ms", 50), ("p99 ms", 99), ("max ms", 100)):
        outcome.figures[title] = round(float(np.percentile(times or [0.0], percentile)) * 1000, 1)
