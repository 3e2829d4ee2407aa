"""Who syncs learns which documents have changed."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from search import DocumentChanges, Encoder, Index
from search.indexing.document_changes import SECONDS_BETWEEN, ChangeFinder

LONG = 60  # seconds to wait for what takes about one

Events = queue.Queue[DocumentChanges]


@pytest.fixture
def index(tiny: Encoder, tmp_path: Path) -> Iterator[Index]:
    with Index.create(str(tmp_path / "tickets"), encoder=tiny) as index:
        index.upsert([{"id": name, "text": f"The key of {name}."} for name in "abc"])
        yield index


def test_additions_changes_and_removals_are_named(index: Index) -> None:
    finder = ChangeFinder(index.path)
    assert finder.changes() is None
    index.upsert([{"id": "d", "text": "A bird."}, {"id": "a", "text": "The key of a."}])
    assert finder.changes() == DocumentChanges(index.generation, added=("d",))
    index.set_metadata("b", {"colour": "red"})
    index.delete("c")
    changes = finder.changes()
    assert changes == DocumentChanges(index.generation, changed=("b",), removed=("c",))
    assert changes.documents == 2 and finder.changes() is None


def test_a_callback_is_called_for_changes_by_another_opener_until_it_is_closed(
    index: Index, tiny: Encoder
) -> None:
    events: Events = queue.Queue()
    with index.on_change(events.put):
        Index.open(index.path, encoder=tiny).upsert({"id": "x", "text": "The sun."})
        assert events.get(timeout=LONG).added == ("x",)
        index.delete("x")
    assert events.get(timeout=LONG).removed == ("x",)  # closing reports what has happened so far
    index.delete("a")
    assert events.empty()


def test_a_callback_may_close_its_subscription(index: Index) -> None:
    events: Events = queue.Queue()
    subscription = index.on_change(lambda changes: (events.put(changes), subscription.close()))
    index.delete("a")
    assert events.get(timeout=LONG).removed == ("a",)
    subscription.close()


def test_files_of_a_folder_are_named_by_their_paths(notes: Path, tiny_model: Path) -> None:
    index = Index.build(notes, model=str(tiny_model))
    finder = ChangeFinder(index.path)
    (notes / "ops").mkdir()
    (notes / "ops" / "new.md").write_text("# New key", encoding="utf-8")
    (notes / "keys.md").unlink()
    index.update()
    changes = finder.changes()
    assert changes is not None
    assert (changes.added, changes.removed) == (("ops/new.md",), ("keys.md",))


def test_a_namespace_reports_its_own_changes_only(index: Index) -> None:
    index.upsert({"id": "a", "text": "The sun."}, namespace="acme")
    finder, inner = ChangeFinder(index.path), ChangeFinder(index.namespace("acme").path)
    index.upsert({"id": "n", "text": "The cup."}, namespace="acme")
    assert finder.changes() is None
    assert (changes := inner.changes()) and changes.added == ("n",)


def test_a_subscription_outlives_an_index_that_cannot_be_read_for_a_moment(index: Index) -> None:
    events: Events = queue.Queue()
    database = index.path / "index.db"
    content = database.read_bytes()
    subscription = index.on_change(events.put)
    database.write_bytes(b"damaged" * 1_000)
    time.sleep(1.5 * SECONDS_BETWEEN)
    database.write_bytes(content)
    index.upsert({"id": "d", "text": "A bird."})
    assert events.get(timeout=LONG).added == ("d",)
    subscription.close()


def test_a_removed_index_ends_its_subscriptions(index: Index) -> None:
    subscription = index.on_change(print)
    index.remove()
    subscription.close()
