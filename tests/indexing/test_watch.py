"""Keeping an index up to date while files change."""

import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from search import Index, IndexLocked, Report, SearchError

LONG = 60  # seconds to wait for what should take less than one


@pytest.fixture
def watched(
    notes: Path, tiny_model: Path
) -> Iterator[tuple[Index, "queue.Queue[Report | SearchError | OSError]"]]:
    index = Index.build(notes, model=str(tiny_model))
    stop, outcomes = threading.Event(), queue.Queue[Report | SearchError | OSError]()
    ready = threading.Event()

    def watch() -> None:
        for outcome in index.watch(stop):
            outcomes.put(outcome)
            ready.set()

    # What changed before the watch began is found when it begins, which also tells when that was.
    (notes / "before.txt").write_text("first of all", encoding="utf-8")
    thread = threading.Thread(target=watch)
    thread.start()
    assert ready.wait(LONG)
    assert getattr(outcomes.get(), "added", None) == 1
    yield index, outcomes
    stop.set()
    thread.join(LONG)
    assert not thread.is_alive()


def test_a_watch_indexes_saved_and_deleted_files(
    notes: Path, watched: tuple[Index, "queue.Queue[Report | SearchError | OSError]"]
) -> None:
    index, outcomes = watched
    (notes / "deep" / "later.txt").write_text("the water is over the door", encoding="utf-8")
    report = outcomes.get(timeout=LONG)
    assert isinstance(report, Report) and report.added == 1
    assert index.query("the water is over the door", k=1)[0].document == "deep/later.txt"
    (notes / "keys.md").unlink()
    report = outcomes.get(timeout=LONG)
    assert isinstance(report, Report) and report.removed == 1


def test_a_watch_continues_after_an_error(
    notes: Path, watched: tuple[Index, "queue.Queue[Report | SearchError | OSError]"]
) -> None:
    index, outcomes = watched
    with FileLock(index.path / "writer.lock"):
        (notes / "x.txt").write_text("one word", encoding="utf-8")
        assert isinstance(outcomes.get(timeout=LONG), IndexLocked)
    (notes / "y.txt").write_text("one more word", encoding="utf-8")
    report = outcomes.get(timeout=LONG)
    assert isinstance(report, Report) and report.added == 2
