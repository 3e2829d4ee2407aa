"""Harness 2: every write, fsync, rename and deletion of a run fails, one run for each.

Whatever fails, the error is one of ours or the system's and names the path, the index answers with what was
committed, nothing stays locked, and the next run brings the index to what the folder is. And the database is given no
room to grow, by SQLite's own means.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from unittest import mock

from search import SearchError
from tests.faults import oracle, steps
from tests.faults.history import History
from tests.faults.kill import SCENARIOS, Scenario, finished, sample, scenario
from tests.faults.outcome import ENOUGH, Outcome

_ERRORS = (errno.EIO, errno.ENOSPC)


def every_failure(place: Path, *, seed: int, most: int | None = None) -> Outcome:
    """Let each call fail once with EIO and once with ENOSPC.

    Args:
        most: so many of the calls of each scenario only, spread over all of them.
    """
    outcome = Outcome("failing calls", seed)
    for title in SCENARIOS:
        case = scenario(title, place / title.replace(" ", "-"), seed)
        case.restore()
        counter = steps.Steps(case.index, steps.nothing, statements=True)
        with counter.patched():
            oracle.run(case.folder, case.index, rebuild=case.rebuild)
        names = counter.names
        outcome.figures[f"calls of {title}"] = len(names)
        faults = [(number, error) for number in range(1, len(names) + 1) for error in _ERRORS]
        for number, error in sample(faults, most, Random(seed)):
            case.restore()
            problems, label = _fail(case, number, error, outcome)
            outcome.failures += [
                f"{title}, {errno.errorcode[error]} at {label}: {problem}" for problem in problems
            ]
            if len(outcome.failures) >= ENOUGH:
                return outcome
    return outcome


def _fail(case: Scenario, number: int, error: int, outcome: Outcome) -> tuple[list[str], str]:
    """One run with one fault: what is wrong afterwards, and where the fault was."""
    problems, label = [], f"{number}"
    outcome.runs += 1
    counter = steps.Steps(case.index, steps.fail_at(number, error), statements=True)
    try:
        with counter.patched():
            oracle.run(case.folder, case.index, rebuild=case.rebuild)
        problems += oracle.different(case.index, case.after)
        outcome.count("did no harm")
    except (SearchError, OSError) as exception:
        if str(case.index) not in str(exception):
            problems.append(f"the error names no path: {type(exception).__name__}: {exception}")
        outcome.count("raised")
    except Exception as exception:
        problems.append(f"it raises {type(exception).__name__}: {exception}")
    if 0 < number <= len(counter.names):
        label = f"{number} ({counter.names[number - 1]})"
    return problems + _afterwards(case), label


def _afterwards(case: Scenario) -> list[str]:
    history = History(case.folder.parent / "log")
    history.restart(case.before)
    for name in case.before.keys() | case.after.keys():
        history.add_version(name, case.after.get(name))
    return case.wrong(history) + finished(case.folder, case.index)


def no_room(place: Path, *, seed: int, most: int | None = None) -> Outcome:
    """Let the database grow by 0, 1, 2, ... pages and no more, until a run succeeds."""
    outcome = Outcome("failing calls: no room", seed)
    for title in ("first run", "update", "rebuild"):
        case = scenario(title, place / title.replace(" ", "-"), seed)
        case.restore()
        oracle.run(case.folder, case.index, rebuild=case.rebuild)
        pages = _pages(case.index)
        case.restore()
        first = 1 if title != "update" else _pages(case.index)
        for limit in sample(list(range(first, pages)), most, Random(seed)):
            case.restore()
            outcome.runs += 1
            problems: list[str] = []
            try:
                with limited(limit):
                    oracle.run(case.folder, case.index, rebuild=case.rebuild)
                outcome.count("had room")
            except (SearchError, OSError) as error:
                if str(case.index) not in str(error) or "full" not in str(error):
                    problems = [f"the error says neither path nor 'full': {error}"]
            except Exception as error:
                problems = [f"it raises {type(error).__name__}: {error}"]
            problems += _afterwards(case)
            outcome.failures += [f"{title}, at most {limit} pages: {problem}" for problem in problems]
    return outcome


def _pages(index: Path) -> int:
    connection = sqlite3.connect(index / "index.db")
    count = int(connection.execute("PRAGMA page_count").fetchone()[0])
    connection.close()
    return count


@contextmanager
def limited(pages: int) -> Iterator[None]:
    connect = sqlite3.connect

    def limited(*args: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)  # type: ignore[call-overload]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    with mock.patch("sqlite3.connect", limited):
        yield
