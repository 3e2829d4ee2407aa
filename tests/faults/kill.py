"""Harness 1: kill the writer, at random moments and at every step of the protocol.

After each kill the index must open, answer exactly, pass every check, hold each document whose commit was
reported and none that no file ever held; and a run that is not killed must bring it to what the folder is.
SIGKILL leaves what was handed to the operating system; what a loss of power leaves is ordering.py's question.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from search import IndexNotFound, SearchError
from tests.faults import oracle, steps
from tests.faults.contents import Editor, fill
from tests.faults.history import History
from tests.faults.outcome import ENOUGH, Outcome
from tests.faults.processes import Child, Workers

_LONGEST = 0.4  # seconds that a writer is left alive


def random_kills(place: Path, *, seed: int, kills: int, readers: int = 2) -> Outcome:
    """Kill a writer that edits and indexes, `kills` times, while readers ask.

    Args:
        place: an empty folder to work in.
    """
    outcome = Outcome("kill: random moments", seed)
    rng = Random(seed)
    folder, index, log = place / "folder", place / "index", place / "log"
    fill(folder, rng)
    oracle.run(folder, index)
    log.touch()
    history = History(log)
    history.restart(oracle.on_disk(folder))
    asking = [Child("reader", str(index), str(seed + i), "0.02", "0") for i in range(readers)]
    workers = Workers("worker")
    try:
        for number in range(kills):
            worker = workers.take()
            task = {"folder": str(folder), "index": str(index), "log": str(log)}
            worker.say(do="loop", seed=seed * 100_000 + number, **task)
            time.sleep(rng.uniform(0.0, _LONGEST))
            by_itself = worker.ended
            worker.kill()
            if by_itself:
                outcome.failures.append(
                    f"kill {number}: the writer ended by itself: {worker.last_words()}"
                )
            outcome.runs += 1
            outcome.count("left a journal", (index / "index.db-journal").exists())
            history.read()
            _look_at_disk(history, folder)
            problems = _sorted_out(index, history, outcome)
            if rng.random() < 0.5:
                unfinished = finished(folder, index)
                problems += unfinished
                if not unfinished:
                    history.restart(oracle.on_disk(folder))
                outcome.count("recoveries")
            outcome.failures += [f"kill {number}: {problem}" for problem in problems]
            if len(outcome.failures) >= ENOUGH:
                break
    finally:
        workers.close()
        outcome.figures["commits reported"] = history.reported
        _collect(asking, outcome)
    return outcome


def _look_at_disk(history: History, folder: Path) -> None:
    """Take files that a worker was killed in writing as versions, too."""
    files = oracle.on_disk(folder)
    for name in history.versions.keys() | files.keys():
        history.add_version(name, files.get(name))


def _sorted_out(index: Path, history: History, outcome: Outcome) -> list[str]:
    problems = oracle.problems(index)
    outcome.count("failed opens", sum("a query fails" in problem for problem in problems))
    wrong = history.wrong(index) if not problems else []
    outcome.count("lost", sum(problem.startswith("lost") for problem in wrong))
    outcome.count("phantoms", sum(problem.startswith("phantom") for problem in wrong))
    return problems + wrong


def finished(folder: Path, index: Path) -> list[str]:
    """Problems after a run that nobody disturbs, and a second one that has nothing to do."""
    try:
        oracle.run(folder, index)
        problems = (
            oracle.different(index, oracle.on_disk(folder))
            + oracle.problems(index)
            + oracle.leftovers(index)
        )
        again = oracle.run(folder, index)
    except Exception as error:
        return [f"the next run fails: {type(error).__name__}: {error}"]
    return problems + ([] if again.nothing_changed else ["a second run finds something to do"])


def _collect(readers: Iterable[Child], outcome: Outcome) -> None:
    queries = errors = 0
    for reader in readers:
        report = reader.hear() and reader.finish()
        if report is None:
            outcome.failures.append(f"a reader died: {reader.last_words()}")
        else:
            queries, errors = queries + len(report["times"]), errors + len(report["errors"])
            outcome.failures += [f"reader: {error}" for error in report["errors"][:5]]
        reader.wait()
    outcome.figures |= {"queries meanwhile": queries, "errors of readers": errors}


@dataclass
class Scenario:
    """A folder, an index of an earlier state of it, and the run that is to be killed.

    Attributes:
        before, after: the files that the index holds, and those that the folder has.
    """

    name: str
    folder: Path
    base: Path
    index: Path
    rebuild: bool = False
    before: dict[str, bytes] = field(default_factory=dict)
    after: dict[str, bytes] = field(default_factory=dict)

    def restore(self) -> None:
        """The index as it was before the run."""
        shutil.rmtree(self.index, ignore_errors=True)
        if self.base.exists():
            shutil.copytree(self.base, self.index)

    def wrong(self, history: History) -> list[str]:
        """Problems of the index after a run that was killed or failed."""
        try:
            oracle.opened(self.index)
        except SearchError as error:
            if not self._may_be_refused(error):
                return [f"it does not open: {type(error).__name__}: {error}"]
            return ["it holds nothing though a commit was reported"] if history.reported else []
        problems = oracle.problems(self.index) or history.wrong(self.index)
        if self.rebuild and not problems:
            old, new = (oracle.different(self.index, files) for files in (self.before, self.after))
            problems = ["neither the old index nor the new one"] if old and new else []
        return problems

    def _may_be_refused(self, error: SearchError) -> bool:
        """True if queries may be refused: nothing was there yet."""
        return self.name == "first run" and isinstance(error, IndexNotFound)


SCENARIOS = ("first run", "update", "rebuild")


def scenario(name: str, place: Path, seed: int) -> Scenario:
    """Make the folder and the index for a scenario, in a folder that is empty or not there."""
    rng = Random(seed)
    case = Scenario(name, place / "folder", place / "base", place / "index", rebuild=name == "rebuild")
    files = fill(case.folder, rng)
    if name != "first run":
        oracle.run(case.folder, case.index)
        case.before = oracle.on_disk(case.folder)
        editor = Editor(case.folder, files, rng, "e")
        for _ in range(8):
            editor.apply(editor.plan())
        shutil.copytree(case.index, case.base)
    case.after = oracle.on_disk(case.folder)
    return case


def count_steps(case: Scenario) -> list[str]:
    """The names of the steps that a run goes through when nobody disturbs it."""
    case.restore()
    counter = steps.Steps(case.index, steps.nothing)
    with counter.patched():
        oracle.run(case.folder, case.index, rebuild=case.rebuild)
    return counter.names


def kills_at_steps(place: Path, *, seed: int, most: int | None = None) -> Outcome:
    """Kill a run before and after each of its steps.

    Args:
        most: kill at so many of the steps only, spread over all of them; None for every one.
    """
    outcome = Outcome("kill: every step", seed)
    workers = Workers("worker")
    try:
        for title in SCENARIOS:
            case = scenario(title, place / title.replace(" ", "-"), seed)
            names = count_steps(case)
            outcome.figures[f"steps of {title}"] = len(names)
            moments = [
                (number, moment) for number in range(1, len(names) + 1) for moment in ("before", "after")
            ]
            for number, moment in sample(moments, most, Random(seed)):
                problems = _kill_at(case, workers, outcome, at=number, when=moment)
                label = f"{title}, {moment} step {number} ({names[number - 1]})"
                outcome.failures += [f"{label}: {problem}" for problem in problems]
                if len(outcome.failures) >= ENOUGH:
                    return outcome
    finally:
        workers.close()
    return outcome


def _kill_at(case: Scenario, workers: Workers, outcome: Outcome, **task: Any) -> list[str]:
    case.restore()
    log = case.folder.parent / "log"
    log.unlink(missing_ok=True)
    log.touch()
    worker = workers.take()
    places = {"folder": str(case.folder), "index": str(case.index), "log": str(log)}
    worker.say(do="step", rebuild=case.rebuild, **places, **task)
    status = worker.wait()
    outcome.runs += 1
    if status == 0:
        return ["the run came to its end and should have been killed"]
    if status == 1:
        return [f"the run failed before it could be killed: {worker.last_words()}"]
    history = History(log)
    history.restart(case.before)
    for name in case.before.keys() | case.after.keys():
        history.add_version(name, case.after.get(name))
    history.read()
    return case.wrong(history) + finished(case.folder, case.index)


def sample(moments: list[Any], most: int | None, rng: Random) -> list[Any]:
    """Choose one moment at random out of each of `most` equal parts; all of them where `most` is None."""
    if most is None or most >= len(moments):
        return moments
    edges = [round(i * len(moments) / most) for i in range(most + 1)]
    return [moments[rng.randrange(edges[i], edges[i + 1])] for i in range(most)]
