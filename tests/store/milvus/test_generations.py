"""A generation is there when its part 0 is; what is damaged is an error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from search.errors import IndexDamaged
from search.store.milvus import generation as generations_of
from search.store.milvus.address import Address
from search.store.milvus.client import Client
from search.store.milvus.collections import make_generations
from search.store.milvus.generation import Generation, forget, load, newest, published, put
from search.store.milvus.layout import CONTENT, KEY, PART, generations

ONE = Generation(
    number=5, stamp=1, ledger="a", passages=2, documents=1, tokens=9, mean=4.5, reference=4.5,
    fingerprint={"model": "m"}, root="/notes", source={}, facets=[{"name": "é" * 300}],
)  # fmt: skip


@pytest.fixture
def client(milvus: str, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(generations_of, "_PART", 100)
    return Client(Address.parse(milvus))


def test_the_newest_that_is_whole_answers(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert newest(client) is None
    make_generations(client)
    assert newest(client) is None
    put(client, ONE)
    assert newest(client) == ONE

    def killed(collection: str, rows: list[dict[str, object]]) -> None:
        written(collection, [row for row in rows if row[PART]])

    written = client.put
    with monkeypatch.context() as patch:
        patch.setattr(client, "put", killed)
        put(client, replace(ONE, number=6))
    assert (sorted(published(client)), newest(client), load(client, 6)) == ([5], ONE, None)
    put(client, replace(ONE, number=6))
    assert (sorted(published(client)), newest(client)) == ([5, 6], replace(ONE, number=6))
    forget(client, "generation > 5")
    assert (sorted(published(client)), newest(client)) == ([5], ONE)


def test_one_that_is_damaged_is_an_error(client: Client) -> None:
    make_generations(client)
    put(client, ONE)
    name = generations(client.address.name)
    (row,) = client.query(name, "key == '5/1'", [CONTENT])
    client.put(name, [{KEY: "5/1", CONTENT: row[CONTENT].swapcase()}], partial=True)
    with pytest.raises(IndexDamaged, match="generation 5 of milvus://.* is damaged. .*--store-anew"):
        newest(client)
