"""What survives: kills, failing disks, readers beside a writer, damaged files.

    python benchmarks/faults.py [--full] [--only GROUP,...] [--seed N] [--place FOLDER]

Groups: kill, full, io, sequences, readers, flips, mutate, cache.

The harnesses of tests/faults/, which the suite runs small. With --full as large as the
figures in benchmarks/README.md say, which takes an hour. Exits with 1 when anything was found.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from machine import headline

from tests.faults import failing, kill, memory, mutate, oracle, ordering, readers, sequences
from tests.faults.outcome import Outcome
from tests.faults.shim import compiled

GROUPS = ("kill", "full", "io", "sequences", "readers", "flips", "mutate", "cache")
Harness = Callable[[Path], Outcome]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="the large version")
    parser.add_argument("--only", default=",".join(GROUPS), help=f"some of {','.join(GROUPS)}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--place", type=Path, help="a folder to work in; a temporary one by default")
    args = parser.parse_args()
    print(headline("faiss-cpu", "sqlite-utils", "hypothesis", "numpy"))
    print(f"SQLite {sqlite_version()}, seed {args.seed}, {'full' if args.full else 'small'}\n")
    print("| harness | faults | failures | seconds | figures |")
    print("|---|---|---|---|---|", flush=True)
    place = Path(tempfile.mkdtemp(prefix="seewhy-faults-", dir=args.place)).resolve()
    os.environ["TMPDIR"] = tempfile.tempdir = str(place)
    found: list[Outcome] = []
    try:
        for group in args.only.split(","):
            for number, harness in enumerate(harnesses(group, args.full, args.seed, place)):
                started = time.monotonic()
                with oracle.few_are_many():
                    outcome = harness(place / f"{group}{number}")
                shutil.rmtree(place / f"{group}{number}", ignore_errors=True)
                print(row(outcome, time.monotonic() - started), flush=True)
                found.append(outcome)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    for outcome in found:
        for failure in outcome.failures:
            print(f"\n{outcome.name}: {failure}")
    sys.exit(any(outcome.failures for outcome in found))


def harnesses(group: str, full: bool, seed: int, place: Path) -> Iterator[Harness]:
    """The harnesses of a group, each to be given an empty folder."""
    most = None if full else 12
    if group == "kill":
        yield lambda p: kill.random_kills(p, seed=seed, kills=300 if full else 15)
        yield lambda p: kill.kills_at_steps(p, seed=seed, most=most)
        yield lambda p: memory.kills(p, seed=seed, kills=200 if full else 10)
    elif group == "full":
        yield lambda p: failing.no_room(p, seed=seed, most=17 if full else 4)
        yield lambda p: memory.no_room(p, seed=seed, most=20 if full else 3)
    elif group == "io":
        yield lambda p: failing.every_failure(p, seed=seed, most=most)
        if (library := compiled(place)) is not None:
            yield lambda p: ordering.losses_of_power(library, p, seed=seed, states=8 if full else 1)
    elif group == "sequences":
        yield lambda p: sequences.of_a_folder(p, seed=seed, sequences=35 if full else 2)
        yield lambda p: sequences.with_pending_passages(p, seed=seed, sequences=60 if full else 2)
        yield lambda p: sequences.of_documents(p, seed=seed, sequences=35 if full else 2)
    elif group == "readers":
        yield lambda p: readers.against_a_writer(
            p, seed=seed, readers=8 if full else 2, seconds=60 if full else 3
        )
    elif group == "flips":
        yield lambda p: mutate.flipped_segments(p, seed=seed, files=1000 if full else 60)
        yield lambda p: mutate.flipped_databases(p, seed=seed, files=500 if full else 30)
    elif group == "mutate":
        files = 1000 if full else 60
        yield lambda p: mutate.damaged_inputs(p, seed=seed, files=files)
        yield lambda p: mutate.damaged_packages(p, seed=seed, files=files // 2)
    elif group == "cache":
        yield lambda p: mutate.damaged_models(p, seed=seed, files=1000 if full else 60)
    else:
        sys.exit(f"there is no harness '{group}'; choose from {', '.join(GROUPS)}.")


def row(outcome: Outcome, seconds: float) -> str:
    figures = ", ".join(f"{name} {value}" for name, value in outcome.figures.items())
    return f"| {outcome.name} | {outcome.runs:,} | {len(outcome.failures)} | {seconds:.0f} | {figures} |"


def sqlite_version() -> str:
    import sqlite3

    return sqlite3.sqlite_version


if __name__ == "__main__":
    main()
