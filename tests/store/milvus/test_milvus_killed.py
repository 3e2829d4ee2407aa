"""A server that is killed while it is written to: no state is lost, none is mixed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from search import Index
from search.encoding import Encoder
from search.errors import ChangedMeanwhile, StoreUnavailable
from search.store.milvus import client as requests
from search.store.milvus.address import Address
from search.store.milvus.client import Client
from search.store.milvus.ledger import Place, keep_place
from search.store.milvus.publishing import publish
from search.store.milvus.store import MilvusStore
from tests.milvus_server import MilvusServer
from tests.store.milvus.test_publishing import age, changed, in_folder, on_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MilvusServer]:
    started = MilvusServer(tmp_path / "data")
    started.start()
    yield started
    started.kill()


@pytest.mark.usefixtures("_any_mean", "_published_by_hand")
def test_a_server_that_is_killed_in_the_middle_keeps_its_state(
    server: MilvusServer, notes: Path, tiny: Encoder, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(notes)
    address, index = f"{server.uri}/notes", Index.build(notes, model=str(tiny_model)).path
    keep_place(index, Place(address, "FLAT"))
    publish(index, tiny)
    old = in_folder(index)
    changed(notes, index)
    put, left = Client.put, iter(range(3))

    def killing(self: Client, *args: Any, **options: Any) -> None:
        put(self, *args, **options)
        if next(left, None) == 2:
            server.kill()

    with monkeypatch.context() as patch:
        patch.setattr(Client, "put", killing)
        patch.setattr(requests, "_FIRST_PAUSE", 0.01)
        with pytest.raises(StoreUnavailable, match="does not answer"):
            publish(index, tiny)
    server.start()
    assert on_server(address) == old
    publish(index, tiny)
    new = in_folder(index)
    server.kill()
    server.start()
    assert on_server(address) == new != old


@pytest.mark.usefixtures("_any_mean", "_published_by_hand")
def test_who_reads_a_state_reads_it_to_its_end_or_is_told(
    notes: Path, tiny: Encoder, tiny_model: Path, milvus: str
) -> None:
    age(notes)
    index = Index.build(notes, model=str(tiny_model)).path
    keep_place(index, Place(milvus, "FLAT"))
    publish(index, tiny)
    old, store = in_folder(index), MilvusStore(Address.parse(milvus))
    with store.reading() as snapshot:
        changed(notes, index)
        publish(index, tiny)
        assert snapshot.stored(snapshot.ids().tolist()) == old
    with pytest.raises(ChangedMeanwhile), store.reading() as snapshot:
        for word in ("cold", "warmer"):
            (notes / "new.md").write_text(f"# Water\n\nThe water is {word}.\n", encoding="utf-8")
            age(notes)
            Index.open(index).update()
            publish(index, tiny)
        snapshot.stored(snapshot.ids().tolist())
