"""Harness 2, second part: what was not forced to disk is lost, as when the power fails.

A run is made under the shim, which writes down every change that reaches the operating system. Then the disk is
imagined (disk.py) as it may be found after a loss of power behind the n-th change. Each such disk must open as the
index between two commits, with nothing lost that was reported as committed by then.

    python -m tests.faults.ordering LIBRARY PLACE SEED MOST STATES      with LIBRARY in LD_PRELOAD
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from tests.faults import oracle
from tests.faults.disk import Disk, changes
from tests.faults.history import History
from tests.faults.kill import SCENARIOS, Scenario, sample, scenario
from tests.faults.outcome import ENOUGH, Outcome
from tests.faults.processes import Child
from tests.faults.shim import Shim
from tests.faults.worker import reported

_KEEP = ("nothing", "all", "names", "bytes")

Report = tuple[int, dict[str, Any]]  # how long the log was, and what was reported as committed


def losses_of_power(
    library: Path,
    place: Path,
    *,
    seed: int,
    states: int,
    most: int | None = None,
) -> Outcome:
    """Lose the power after each change that a run makes, in a child that has the shim.

    Args:
        states: how many disks to imagine for each loss; the first four keep nothing, all, only names and
            only bytes of what was not forced to disk, the others some of it at random.
        most: so many losses in each scenario only, spread over the run; None for all.
    """
    numbers = (str(seed), str(most or 0), str(states))
    child = Child(
        "ordering", str(library), str(place), *numbers, environment={"LD_PRELOAD": str(library)}
    )
    message = child.hear(patience=7200)
    child.wait()
    if message is None:
        raise RuntimeError(f"the child with the shim ended: {child.last_words()}")
    return Outcome(**message)


class _Reports:
    """Takes what a worker would log, together with how far the run has come."""

    def __init__(self, log: int) -> None:
        self._log = log
        self.reports: list[Report] = []

    def write(self, **line: Any) -> None:
        self.reports.append((os.fstat(self._log).st_size, line))


def _losses(shim: Shim, case: Scenario, outcome: Outcome, most: int | None, states: int) -> None:
    case.restore()
    case.index.mkdir(exist_ok=True)
    disk = Disk(case.index)
    log = case.folder.parent / "changes"
    descriptor = os.open(log, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    reports = _Reports(descriptor)
    with reported(reports, at_once=not case.rebuild):
        shim.arm(case.index, log=descriptor)
        oracle.run(case.folder, case.index, rebuild=case.rebuild)
        shim.disarm()
    reports.write(done=True)
    os.close(descriptor)
    all_changes = list(changes(log.read_bytes()))
    outcome.figures[f"changes of {case.name}"] = len(all_changes)
    selection = set(sample(list(range(len(all_changes))), most, Random(outcome.seed))) | {
        len(all_changes) - 1
    }
    for number, change in enumerate(all_changes):
        disk.apply(change)
        if number not in selection:
            continue
        for state in range(states):
            rng = Random(f"{outcome.seed} {number} {state}")
            keep = _KEEP[state] if state < len(_KEEP) else "some"
            problems = _look(case, disk.after_a_loss(keep, rng), reports.reports, change.end)
            outcome.runs += 1
            label = f"{case.name}, behind change {number + 1} of {len(all_changes)} ({Path(change.path).name})"
            outcome.failures += [f"{label}, {keep} kept: {problem}" for problem in problems]
        if len(outcome.failures) >= ENOUGH:
            return


def _look(case: Scenario, files: dict[str, bytes], reports: list[Report], end: int) -> list[str]:
    """Problems of an index that is found after a loss of power."""
    shutil.rmtree(case.index, ignore_errors=True)
    case.index.mkdir()
    for name, raw in files.items():
        (case.index / name).parent.mkdir(parents=True, exist_ok=True)
        (case.index / name).write_bytes(raw)
    history = History(case.folder)
    history.restart(case.before)
    for name in case.before.keys() | case.after.keys():
        history.add_version(name, case.after.get(name))
    for length, line in reports:
        if length <= end:
            history.take(line)
    return case.wrong(history)


def main() -> None:
    library, place, seed, most, states = sys.argv[1:]
    shim, outcome = Shim(Path(library)), Outcome("losses of power", int(seed))
    for title in SCENARIOS:
        case = scenario(title, Path(place) / title.replace(" ", "-"), int(seed))
        _losses(shim, case, outcome, int(most) or None, int(states))
    print(json.dumps(asdict(outcome)), flush=True)


if __name__ == "__main__":
    main()
