"""What is published is the index in the folder, generation by generation; what is killed changes no answer."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial, partialmethod
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from search import Index
from search.encoding import Encoder
from search.errors import IndexDamaged, InputError
from search.store.milvus import generation as generations
from search.store.milvus import layout, recall
from search.store.milvus.address import Address
from search.store.milvus.client import Client
from search.store.milvus.generation import View, newest
from search.store.milvus.ledger import Place, change_kind, keep_place
from search.store.milvus.publishing import KINDS, publish
from search.store.milvus.rows import OF_PASSAGE, stored_passage
from search.store.milvus.words import Words
from search.store.sqlite import SQLiteStore
from search.store.terms import Stemmer


def on_server(address: str) -> dict[int, object]:
    """All passages of the state that answers."""
    client = Client(Address.parse(address))
    generation = newest(client)
    assert generation
    view = View(client, generation)
    rows = client.query(view.collection("passages"), view.there(), OF_PASSAGE)
    found = {row["passage"]: stored_passage(row, generation.root) for row in rows}
    assert len(found) == len(rows) == generation.passages
    client.close()
    return found


def in_folder(index: Path) -> dict[int, object]:
    with SQLiteStore(index).reading() as snapshot:
        return dict(snapshot.stored(snapshot.ids().tolist()))


pytestmark = pytest.mark.usefixtures("_published_by_hand")


@pytest.fixture
def published(notes: Path, tiny: Encoder, tiny_model: Path, milvus: str) -> Path:
    """An index that is published."""
    age(notes)
    index = Index.build(notes, model=str(tiny_model)).path
    keep_place(index, Place(milvus, "FLAT"))
    publish(index, tiny)
    return index


def age(notes: Path) -> None:
    """A file that was changed a moment ago is looked at again by the next run, which may find another time."""
    for path in filter(Path.is_file, notes.rglob("*")):
        os.utime(path, (1_700_000_000, 1_700_000_000))


def changed(notes: Path, index: Path) -> None:
    """Files that are new, renamed, changed and gone."""
    (notes / "keys.md").write_text("# Keys\n\nThe lock is on the door.\n", encoding="utf-8")
    (notes / "table.csv").unlink()
    (notes / "deep" / "time.txt").rename(notes / "deep" / "long.txt")
    (notes / "new.md").write_text("# Water\n\nA long time on the water.\n", encoding="utf-8")
    age(notes)
    Index.open(index).update()


@pytest.mark.usefixtures("_any_mean")
def test_the_server_has_what_the_folder_has(published: Path, notes: Path, tiny: Encoder, milvus: str) -> None:
    before = in_folder(published)
    assert on_server(milvus) == before
    assert publish(published, tiny).nothing
    changed(notes, published)
    done = publish(published, tiny)
    now = in_folder(published)
    assert on_server(milvus) == now
    assert (done.anew, done.ended) == (False, len(before))
    assert done.written == sum(before.get(id_) != passage for id_, passage in now.items())
    (notes / "deep" / "long.txt").write_text("The water.\n", encoding="utf-8")
    age(notes)
    Index.open(published).update()
    one_more = publish(published, tiny)
    assert (one_more.written, one_more.ended) == (1, 1)
    assert on_server(milvus) == in_folder(published)


def test_a_mean_length_that_moved_writes_all_anew(
    published: Path, notes: Path, tiny: Encoder, milvus: str
) -> None:
    changed(notes, published)
    done = publish(published, tiny)
    assert (done.anew, done.written) == (True, len(in_folder(published)))
    assert on_server(milvus) == in_folder(published)


def test_another_index_does_not_take_a_name(
    published: Path, tmp_path: Path, tiny: Encoder, tiny_model: Path, milvus: str
) -> None:
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "a.txt").write_text("The key is in the door.\n", encoding="utf-8")
    other = Index.build(tmp_path / "others", model=str(tiny_model)).path
    keep_place(other, Place(milvus, "FLAT"))
    with pytest.raises(InputError, match=r"published from another index .* --store-anew"):
        publish(other, tiny)
    assert on_server(milvus) == in_folder(published)
    assert publish(other, tiny, anew=True).anew
    assert on_server(milvus) == in_folder(other)
    with pytest.raises(InputError, match="published from another index"):
        publish(published, tiny)


@pytest.mark.usefixtures("_any_mean")
def test_words_of_what_was_published_again_are_those_of_the_folder(
    published: Path, notes: Path, tiny: Encoder, milvus: str
) -> None:
    changed(notes, published)
    publish(published, tiny)
    (notes / "deep" / "long.txt").write_text("The water, *the* water.\n", encoding="utf-8")
    Index.open(published).update()
    publish(published, tiny)
    client = Client(Address.parse(milvus))
    generation = newest(client)
    assert generation
    server = Words(View(client, generation), Stemmer())
    with SQLiteStore(published).reading() as snapshot:
        assert generation.mean == snapshot.indexed.mean != generation.reference
        ids = snapshot.ids()
        for query in ('"the water" key', '"long time" on the door', "the water"):
            found = snapshot.terms(query, phrases=True)
            local, here = snapshot.matches(found), server.matches(found)
            assert here.addends(ids).tolist() == local.addends(ids).tolist()
            assert here.best(9)[0].tolist() == local.best(9)[0].tolist() != []
    client.close()


class Killed(BaseException):
    """As by kill -9: nothing is cleaned up that needs an Exception."""


@pytest.mark.usefixtures("_any_mean")
def test_a_writer_that_is_killed_leaves_one_state_or_the_other(
    published: Path, notes: Path, tiny: Encoder, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = in_folder(published)
    changed(notes, published)
    new = in_folder(published)
    outcomes, step = [], 0
    while True:
        with monkeypatch.context() as patch:
            die_at(step, patch)
            try:
                publish(published, tiny)
            except Killed:
                outcomes.append(on_server(milvus) == new)
                assert on_server(milvus) in (old, new), step
            else:
                break
        step += 1
    assert outcomes == sorted(outcomes) and {False, True} == set(
        outcomes
    )  # first the old state, then the new
    assert on_server(milvus) == new
    assert publish(published, tiny).nothing
    assert rows_of_no_use(milvus) == 0


def test_after_a_kill_before_all_that_is_anew_answers_the_next_run_goes_on(
    published: Path, notes: Path, tiny: Encoder, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = in_folder(published)
    changed(notes, published)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr("search.store.milvus.publishing.put", mock.Mock(side_effect=Killed))
        publish(published, tiny, anew=True)
    assert on_server(milvus) == old
    assert publish(published, tiny).anew
    assert on_server(milvus) == in_folder(published)
    assert rows_of_no_use(milvus) == 0


def test_a_stamp_is_never_given_twice(published: Path, tiny: Encoder, milvus: str) -> None:
    with closing(Client(Address.parse(milvus))) as client:
        first = newest(client)
        for name in client.collections():
            if name.startswith(f"seewhy_{client.address.name}_"):
                client.drop(name)
        again = publish(published, tiny).generation
    assert first is not None
    assert again.stamp > first.stamp


@pytest.mark.parametrize("kind", KINDS)
def test_a_collection_that_was_dropped_is_said_and_written_anew(
    published: Path, tiny: Encoder, milvus: str, kind: str
) -> None:
    with closing(Client(Address.parse(milvus))) as client:
        generation = newest(client)
        assert generation
        client.drop(View(client, generation).collection(kind))
        with pytest.raises(IndexDamaged, match="not on the server any more.*--store-anew"):
            client.query(View(client, generation).collection(kind), "", [])
    assert publish(published, tiny).anew
    assert on_server(milvus) == in_folder(published)


def test_a_generation_of_which_a_part_is_gone_is_damaged(published: Path, tiny: Encoder, milvus: str) -> None:
    with closing(Client(Address.parse(milvus))) as client:
        generation = newest(client)
        assert generation
        name = layout.generations(client.address.name)
        client.put(name, [{"key": f"{generation.number}/0", "parts": 2}], partial=True)
        with pytest.raises(IndexDamaged, match="is damaged"):
            newest(client)
    assert publish(published, tiny, anew=True).anew
    assert on_server(milvus) == in_folder(published)


def die_at(step: int, patch: pytest.MonkeyPatch) -> None:
    """Be killed before the server gets the so many-th request that changes something."""
    steps = iter(range(step))

    def failing(really: Any, *args: Any, **options: Any) -> None:
        if next(steps, None) is None:
            raise Killed
        really(*args, **options)

    for name in ("put", "delete", "drop", "create"):
        patch.setattr(Client, name, partialmethod(partial(failing, getattr(Client, name))))


def rows_of_no_use(address: str) -> int:
    """Rows that no generation has that can be read."""
    client = Client(Address.parse(address))
    oldest, generation = min(generations.published(client)), newest(client)
    assert generation
    view = View(client, generation)
    return sum(
        client.count(view.collection(kind), f"born > {generation.number} or died <= {oldest}")
        for kind in KINDS
    )


def test_what_an_approximate_index_finds_is_measured(published: Path, tiny: Encoder, milvus: str) -> None:
    change_kind(published, "HNSW")
    done = publish(published, tiny)
    dense = done.generation.dense
    assert (done.anew, dense["kind"], dense["recall@10"]) == (
        True,
        "HNSW",
        1.0,
    )  # of five passages all are found
    assert 0 < dense["queries"] <= 5
    assert not newest(Client(Address.parse(milvus))).exact
    assert publish(published, tiny).nothing


def test_what_is_found_is_compared_with_the_folders_index(
    published: Path, tiny: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(view: View, query: Any, k: int, where: str, count: int) -> list[tuple[int, float]]:
        with SQLiteStore(published).reading() as snapshot:
            return snapshot.nearest(query, k)[:2]

    monkeypatch.setattr(recall, "nearest", half)
    change_kind(published, "IVF_FLAT")
    assert publish(published, tiny).generation.dense["recall@10"] == 2 / 5


def test_a_generation_that_is_damaged_is_written_anew_under_another_number(
    published: Path, tiny: Encoder, milvus: str
) -> None:
    client = Client(Address.parse(milvus))
    before = newest(client)
    assert before
    name = layout.generations(client.address.name)
    client.put(name, [{layout.KEY: f"{before.number}/0", layout.CONTENT: "{}"}], partial=True)
    with pytest.raises(IndexDamaged, match="--store-anew"):
        publish(published, tiny)
    assert publish(published, tiny, anew=True).generation.number > before.number
    assert on_server(milvus) == in_folder(published)
