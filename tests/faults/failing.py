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
from tests.faults.kill import SCENARIOS, Scenario, finished, scenario, some
from tests.faults.outcome import ENOUGH, Outcome

_ERRORS = (errno.EIO, errno.ENOSPC)


def every_failure(place: Path, *, seed: int, most: int | None = None) -> Outcome:
    """Let each call fail once with EIO and once with ENOSPC.

    Args:
        most: so many of the calls of each scenario only, spread over all of them.
    """
    outcome = Outcome("failing calls", seed)
    for title in SCENARIOS:
        made = scenario(title, place / title.replace(" ", "-"), seed)
        made.restore()
        counted = steps.Steps(made.index, steps.nothing, statements=True)
        with counted.patched():
            oracle.run(made.folder, made.index, rebuild=made.rebuild)
        names = counted.names
        outcome.figures[f"calls of {title}"] = len(names)
        faults = [(at, error) for at in range(1, len(names) + 1) for error in _ERRORS]
        for at, error in some(faults, most, Random(seed)):
            made.restore()
            found, where = _fail(made, at, error, outcome)
            outcome.failures += [
                f"{title}, {errno.errorcode[error]} at {where}: {what}" for what in found
            ]
            if len(outcome.failures) >= ENOUGH:
                return outcome
    return outcome


def _fail(made: Scenario, at: int, error: int, outcome: Outcome) -> tuple[list[str], str]:
    """One run with one fault: what is wrong afterwards, and where the fault was."""
    found, where = [], f"{at}"
    outcome.runs += 1
    counted = steps.Steps(made.index, steps.fail_at(at, error), statements=True)
    try:
        with counted.patched():
            oracle.run(made.folder, made.index, rebuild=made.rebuild)
        found += oracle.different(made.index, made.after)
        outcome.count("did no harm")
    except (SearchError, OSError) as raised:
        if str(made.index) not in str(raised):
            found.append(f"the error names no path: {type(raised).__name__}: {raised}")
        outcome.count("raised")
    except Exception as raised:
        found.append(f"it raises {type(raised).__name__}: {raised}")
    if 0 < at <= len(counted.names):
        where = f"{at} ({counted.names[at - 1]})"
    return found + _afterwards(made), where


def _afterwards(made: Scenario) -> list[str]:
    history = History(made.folder.parent / "log")
    history.now(made.before)
    for name in made.before.keys() | made.after.keys():
        history.seen(name, made.after.get(name))
    return made.wrong(history) + finished(made.folder, made.index)


def no_room(place: Path, *, seed: int, most: int | None = None) -> Outcome:
    """Let the database grow by 0, 1, 2, ... pages and no more, until a run succeeds."""
    outcome = Outcome("failing calls: no room", seed)
    for title in ("first run", "update", "rebuild"):
        made = scenario(title, place / title.replace(" ", "-"), seed)
        made.restore()
        oracle.run(made.folder, made.index, rebuild=made.rebuild)
        pages = _pages(made.index)
        made.restore()
        first = 1 if title != "update" else _pages(made.index)
        for limit in some(list(range(first, pages)), most, Random(seed)):
            made.restore()
            outcome.runs += 1
            found: list[str] = []
            try:
                with limited(limit):
                    oracle.run(made.folder, made.index, rebuild=made.rebuild)
                outcome.count("had room")
            except (SearchError, OSError) as error:
                if str(made.index) not in str(error) or "full" not in str(error):
                    found = [f"the error says neither path nor 'full': {error}"]
            except Exception as error:
                found = [f"it raises {type(error).__name__}: {error}"]
            found += _afterwards(made)
            outcome.failures += [f"{title}, at most {limit} pages: {what}" for what in found]
    return outcome


def _pages(index: Path) -> int:
    connection = sqlite3.connect(index / "index.db")
    found = int(connection.execute("PRAGMA page_count").fetchone()[0])
    connection.close()
    return found


@contextmanager
def limited(pages: int) -> Iterator[None]:
    connect = sqlite3.connect

    def limited(*args: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)  # type: ignore[call-overload]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    with mock.patch("sqlite3.connect", limited):
        yield
