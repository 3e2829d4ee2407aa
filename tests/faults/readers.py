"""Harness 4: readers that never stop asking, beside a writer.

The whole folder changes from one version to the next at once, and every passage carries the word of its version. All
of it fits in one batch, so it is committed in one transaction: an answer that holds two versions, or another number
of passages, was put together from two states of the index.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import numpy as np

from tests.faults import oracle
from tests.faults.contents import fill, put, text_of
from tests.faults.outcome import Outcome
from tests.faults.processes import Child

_FILES = 40
_REBUILD_EVERY, _REPAIR_EVERY = 7, 5


def against_a_writer(
    place: Path, *, seed: int, readers: int, seconds: float, pause: float = 0.0
) -> Outcome:
    """Let `readers` processes ask for so many seconds.

    Args:
        pause: seconds between two questions of a reader.
    """
    outcome = Outcome("readers against a writer", seed)
    folder, index = place / "folder", place / "index"
    names = sorted(fill(folder, Random(seed), _FILES))
    _write_version(folder, names, seed, 0)
    n_passages = oracle.run(folder, index, batch=10_000).passages
    asking = [
        Child("reader", str(index), str(seed + i), str(pause), str(n_passages)) for i in range(readers)
    ]
    for reader in asking:
        reader.hear()
    try:
        until = time.monotonic() + seconds
        while outcome.runs < 2 or time.monotonic() < until:
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


def _write_version(folder: Path, names: list[str], seed: int, version: int) -> None:
    """Write all files again, the same but for the word of the version: so the number of passages never changes."""
    rng = Random(seed)
    for name in names:
        put(folder / name, text_of(rng, Path(name).suffix, f"version{version}"))


def _collect(readers: list[Child], outcome: Outcome) -> None:
    times: list[float] = []
    errors, mixed, notes = 0, 0, 0
    for reader in readers:
        report = reader.finish()
        status = reader.wait()
        if report is None:
            outcome.failures.append(f"a reader ended with status {status}: {reader.last_words()}")
            continue
        times += report["times"]
        errors, mixed, notes = (
            errors + len(report["errors"]),
            mixed + report["mixed"],
            notes + report["notes"],
        )
        outcome.failures += [f"reader: {error}" for error in report["errors"][:5]]
    if mixed:
        outcome.failures.append(f"{mixed} answers from two states of the index")
    outcome.figures |= {
        "queries": len(times),
        "errors": errors,
        "mixed snapshots": mixed,
        "notes": notes,
    }
    for title, percentile in (("p50 ms", 50), ("p99 ms", 99), ("max ms", 100)):
        outcome.figures[title] = round(float(np.percentile(times or [0.0], percentile)) * 1000, 1)
