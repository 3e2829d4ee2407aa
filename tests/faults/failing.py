"""Harness 2: every write, fsync, rename and deletion of a run fails, one run for each.

Whatever fails, the error is one of ours or the system's and names the path, the index answers with what was
committed, nothing stays locked, and the next run brings the index to what the folder is. The faults are made at two
levels: in the calls that Python makes (everywhere), and in those of the C library (Linux with a C compiler),
where SQLite and FAISS are seen, too. And the database is given no room to grow, by SQLite's own means.

    python -m tests.faults.failing LIBRARY PLACE SEED MOST DEFECT      with LIBRARY in LD_PRELOAD
"""

from __future__ import annotations

import errno
import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Protocol
from unittest import mock

from search import SearchError
from tests.faults import oracle, steps
from tests.faults.defects import defect
from tests.faults.history import History
from tests.faults.kill import SCENARIOS, Scenario, finished, scenario, some
from tests.faults.outcome import ENOUGH, Outcome
from tests.faults.processes import Child
from tests.faults.shim import Shim

_ERRORS = (errno.EIO, errno.ENOSPC)


class Level(Protocol):
    """Where faults are made."""

    name: str

    def failing(self, made: Scenario, at: int, error: int) -> AbstractContextManager[list[str]]:
        """Let the `at`-th call fail; 0 for none. The list holds the names of the calls, at the end."""


class InPython:
    """The steps that steps.py numbers, with every statement."""

    name = "Python"

    @contextmanager
    def failing(self, made: Scenario, at: int, error: int) -> Iterator[list[str]]:
        counted = steps.Steps(made.index, steps.fail_at(at, error), statements=True)
        with counted.patched():
            yield counted.names


class InLibrary:
    """The calls of the C library. A disk that is full stays full until the end of the run."""

    name = "C library"

    def __init__(self, shim: Shim) -> None:
        self._shim = shim

    @contextmanager
    def failing(self, made: Scenario, at: int, error: int) -> Iterator[list[str]]:
        names: list[str] = []
        self._shim.arm(made.index, at, error, again=error == errno.ENOSPC)
        try:
            yield names
        finally:
            n_calls, path = self._shim.disarm(), self._shim.failed()
            names += [f"call {i}" for i in range(1, n_calls + 1)]
            if at and path:
                names[min(at, len(names)) - 1] += f" on {Path(path).name}"


def every_failure(
    place: Path,
    level: Level,
    *,
    seed: int,
    most: int | None = None,
    enough: int = ENOUGH,
    name: str = "",
) -> Outcome:
    """Let each call fail once with EIO and once with ENOSPC.

    Args:
        most: so many of the calls of each scenario only, spread over all of them.
        enough: stop after so many failures.
        name: of a defect to plant.
    """
    outcome = Outcome(f"failing calls: {level.name}", seed)
    for title in SCENARIOS:
        made = scenario(title, place / title.replace(" ", "-"), seed)
        made.restore()
        with defect(name), level.failing(made, 0, 0) as names:
            oracle.run(made.folder, made.index, rebuild=made.rebuild)
        outcome.figures[f"calls of {title}"] = len(names)
        faults = [(at, error) for at in range(1, len(names) + 1) for error in _ERRORS]
        for at, error in some(faults, most, Random(seed)):
            made.restore()
            with defect(name):
                found, where = _fail(made, level, at, error, outcome)
            outcome.failures += [f"{title}, {errno.errorcode[error]} at {where}: {what}" for what in found]
            if len(outcome.failures) >= enough:
                return outcome
    return outcome


def _fail(made: Scenario, level: Level, at: int, error: int, outcome: Outcome) -> tuple[list[str], str]:
    """One run with one fault: what is wrong afterwards, and where the fault was."""
    found, where = [], f"{at}"
    outcome.runs += 1
    try:
        with level.failing(made, at, error) as names:
            oracle.run(made.folder, made.index, rebuild=made.rebuild)
        found += oracle.different(made.index, made.after)
        outcome.count("did no harm")
    except (SearchError, OSError) as raised:
        if str(made.index) not in str(raised):
            found.append(f"the error names no path: {type(raised).__name__}: {raised}")
        outcome.count("raised")
    except Exception as raised:
        found.append(f"it raises {type(raised).__name__}: {raised}")
    if 0 < at <= len(names):
        where = f"{at} ({names[at - 1]})"
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
                with _limited(limit):
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
def _limited(pages: int) -> Iterator[None]:
    connect = sqlite3.connect

    def limited(*args: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)  # type: ignore[call-overload]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    with mock.patch("sqlite3.connect", limited):
        yield


def in_library(library: Path, place: Path, *, seed: int, most: int | None = None, name: str = "") -> Outcome:
    """`every_failure` at the level of the C library, in a child that has the shim."""
    arguments = (str(library), str(place), str(seed), str(most or 0), name)
    child = Child("failing", *arguments, environment={"LD_PRELOAD": str(library)})
    said = child.hear(patience=3600)
    child.wait()
    if said is None:
        raise RuntimeError(f"the child with the shim ended: {child.last_words()}")
    return Outcome(**said)


def main() -> None:
    library, place, seed, most, name = sys.argv[1:]
    level = InLibrary(Shim(Path(library)))
    outcome = every_failure(Path(place), level, seed=int(seed), most=int(most) or None, name=name)
    print(json.dumps(asdict(outcome)), flush=True)


if __name__ == "__main__":
    main()
