"""BM25 on a server is that of the index in a folder: every addend, every order, whatever a request may give."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from search.errors import IndexDamaged
from search.store import bm25
from search.store.composing import written
from search.store.milvus import layout, sums, words
from search.store.milvus.address import Address
from search.store.milvus.client import Client
from search.store.milvus.generation import Generation, View
from search.store.milvus.layout import BORN, COUNT, DIED, KEY, PASSAGE, ROW, SPARSE
from search.store.milvus.rows import OF_PASSAGE, passage_row
from search.store.milvus.terms import OF_WORDS, TERM_FIELDS, Known, Terms
from search.store.postings import Block
from search.store.protocol import StoredFile, StoredPassage
from search.store.terms import Stemmer, Term, indexable

STEMMER = Stemmer()
ROOT = "/notes"
FEW = 7  # hits of a request
QUERIES = [
    "w1 w2 w3 w9",
    "w0",
    "w0 w1 w2 w3 w4 w5",
    '"w1 w2" w3',
    '"w0 w0" w4 w0',
    "snakeCase snake_case w2",
    '"w0 w1"',
    "zebra w1",
    '"w1 zebra" w5 w6 w7 w8',
    '"tie tie" tie w1',
    "",
]


def drawn(rng: random.Random, passages: range) -> dict[int, str]:
    said = [f"w{i}" for i in range(30)] + ["snakeCase", "snake_case", "snake", "case"]
    shares = [1 / (i + 1) for i in range(len(said))]
    texts = {id_: " ".join(rng.choices(said, shares, k=rng.choice((0, 1, 4, 12, 40)))) for id_ in passages}
    return texts | {id_: "tie tie w1 w2" for id_ in passages if id_ % 5 == 0}


def local_words(texts: dict[int, str]) -> bm25.Words:
    """All of them but those whose text is "gone"."""
    rows = [(id_, indexable("", text)) for id_, text in texts.items()]
    blocks = [Block(written(STEMMER, part), "words") for part in (rows[:40], rows[40:])]
    alive = [np.array([texts[id_] != "gone" for id_ in block.ids.tolist()], dtype=bool) for block in blocks]
    return bm25.Words(STEMMER, blocks, alive)


@dataclass(frozen=True)
class Filtered:
    """What a filter passes on a server."""

    expression: str


class State:
    """The same passages in blocks and on a server."""

    def __init__(self, client: Client, number: int, texts: dict[int, str], reference: float) -> None:
        self.texts = {id_: text for id_, text in texts.items() if text != "gone"}
        self.local = local_words(texts)
        self.ids = np.array(list(self.texts))
        self.view = View(client, generation(number, len(self.texts), self.local.mean, reference))
        self.server = words.Words(self.view, STEMMER)

    def at(self, ids: NDArray[np.int64]) -> Iterator[str]:
        return (indexable("", self.texts[id_]) for id_ in ids.tolist())

    def both(self, query: str, without: slice = slice(0)) -> tuple[bm25.Matches, words.Matches]:
        terms = terms_of(query)
        return (
            self.local.matches(terms, self.at, terms[without]),
            self.server.matches(terms, terms[without]),
        )


def generation(number: int, passages: int, mean: float, reference: float) -> Generation:
    return Generation(number, 1, "ledger", passages, passages, 0, mean, reference, {}, ROOT, {})


def terms_of(query: str) -> list[Term]:
    return STEMMER.terms(query, phrases=True)


def _fields(schema: Any, kind: str) -> None:
    from pymilvus import DataType

    of_words = TERM_FIELDS if kind == "terms" else dict.fromkeys((*OF_PASSAGE, *OF_WORDS))
    texts = (layout.TERM, layout.CONTENT, ROW)
    schema.add_field(KEY, DataType.VARCHAR, max_length=64, is_primary=True)
    for name in dict.fromkeys((BORN, DIED, *of_words)):
        if name in texts:
            schema.add_field(name, DataType.VARCHAR, max_length=layout.LONGEST)
        elif name != SPARSE:
            schema.add_field(name, DataType.INT64)
    if kind == "terms":
        schema.add_field(layout.NOTHING, DataType.FLOAT_VECTOR, dim=2)
    else:
        schema.add_field(SPARSE, DataType.SPARSE_FLOAT_VECTOR)


def _indexes(indexes: Any, kind: str) -> None:
    name, index = (layout.NOTHING, "FLAT") if kind == "terms" else (SPARSE, "SPARSE_INVERTED_INDEX")
    indexes.add_index(name, index_type=index, metric_type="IP")


def _row(id_: int, text: str, born: int) -> dict[str, Any]:
    stored = StoredPassage(
        id_, f"{ROOT}/{id_}.md", f"{id_}.md", id_, "", "", "", text, 0, len(text), 1, 1, {}, None,
        StoredFile("text", 1, 1, 1, ""),
    )  # fmt: skip
    return passage_row(stored, ROOT, born, tokens=1)


def publish(state: State, known: dict[str, Known], before: set[int]) -> dict[str, Known]:
    """What is another than before, at the state's number."""
    client, born = state.view.client, state.view.generation.number
    terms = Terms(state.local, known)
    new = np.array(sorted(state.texts.keys() - before))
    rows = [
        fields | _row(id_, state.texts[id_], born)
        for id_, fields in terms.vectors(new, state.view.generation.reference)
    ]
    client.put(state.view.collection("passages"), rows)
    client.put(state.view.collection("terms"), list(terms.rows(born)))
    gone = [f"{id_}@1" for id_ in before - state.texts.keys()]
    for kind, keys in (("passages", gone), ("terms", terms.dying())):
        client.put(state.view.collection(kind), [{KEY: key, DIED: born} for key in keys], partial=True)
    return known | terms.known(born)


@pytest.fixture(scope="module")
def states(milvus_server: Any) -> Iterator[list[State]]:
    """Two states of one index; in the second many passages are gone, others new, and passages are longer."""
    client = Client(Address.parse(f"{milvus_server.uri}/words"))
    rng = random.Random(5)
    first = drawn(rng, range(1, 90))
    mean = local_words(first).mean
    second = {id_: text if rng.random() < 0.8 else "gone" for id_, text in first.items()}
    new = drawn(rng, range(100, 130))
    while local_words(second | new).mean < 1.07 * mean:
        longer = rng.choice(list(new))
        new[longer] += f" w{rng.randrange(30)}"
    states = [State(client, 1, first, mean), State(client, 2, second | new, mean)]
    for kind in ("passages", "terms"):
        name = states[0].view.collection(kind)
        client.create(name, partial(_fields, kind=kind), partial(_indexes, kind=kind))
    known = publish(states[0], {}, set())
    publish(states[1], known, set(first))
    yield states
    client.close()


@pytest.fixture(params=[FEW, layout.MOST_HITS])
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many hits a server gives at most, which is as strict about it as a cluster, and has its own order of ties."""
    asked = sums._search

    def strict(view: View, vector: Any, limit: int, *args: Any, **options: Any) -> Any:
        assert limit <= request.param
        hits = asked(view, vector, 1000, *args, **options)
        return sorted(hits, key=lambda hit: (-hit["distance"], -hit["entity"][PASSAGE]))[:limit]

    monkeypatch.setattr(layout, "MOST_HITS", request.param)
    monkeypatch.setattr(sums, "_FIRST", 3)
    monkeypatch.setattr(sums, "_search", strict)
    return int(request.param)


@pytest.mark.parametrize("number", [0, 1])
def test_addends_and_orders_are_those_of_the_folder(states: list[State], number: int, most: int) -> None:
    state = states[number]
    others = np.union1d(state.ids, [0, 3000])
    for query in QUERIES if most > FEW else QUERIES[number::4]:
        terms = terms_of(query)
        assert state.server.counts(terms) == state.local.counts(terms, state.at)
        assert state.server.telling(terms) == state.local.telling(terms, state.at)
        for without in (slice(0), slice(1)):
            local, server = state.both(query, without)
            assert server.scale == local.scale
            for n in (1, 2, 4, 7, 12, 1000):
                _same(server.best(n), local.best(n))
            for part in (-1.0, 0.0, 0.2, 0.5, float(local.parts(state.ids).max()), 2.0):
                _same(server.at_least(part), local.at_least(part))
            assert server.addends(others).tolist() == local.addends(others).tolist()
            assert server.parts(others).tolist() == local.parts(others).tolist()


def test_of_those_that_pass_a_filter(states: list[State], most: int) -> None:
    for state, queries in zip(states, (QUERIES[:4], QUERIES[4:]), strict=True):
        even = state.ids[state.ids % 2 == 0]
        for query in queries:
            local, server = state.both(query)
            _, alone = state.both(query)
            for among in (even, Filtered(f"{PASSAGE} in {even.tolist()}")):
                for n in (1, 5, 1000):
                    _same(server.best(n, among), local.best(n, even))
                for part in (0.0, 0.3):
                    _same(alone.at_least(part, among), local.at_least(part, even))


def test_a_state_that_was_read_before_is_as_it_was(states: list[State]) -> None:
    """Though passages died since, and terms have other counts."""
    first, second = states
    assert first.texts.keys() - second.texts.keys()
    terms = terms_of("w0 w1")
    assert first.server.counts(terms) != second.server.counts(terms)


def test_damage_is_told(states: list[State], monkeypatch: pytest.MonkeyPatch) -> None:
    state = states[1]
    asked = state.view.client.query

    def altered(collection: str, where: str, fields: Any, **options: Any) -> Any:
        rows = asked(collection, where, fields, **options)
        if rows and name in rows[0]:
            rows[0][name] = change(rows[0][name])
        return rows

    monkeypatch.setattr(Client, "query", lambda self, *args, **options: altered(*args, **options))
    ids = state.ids[:5]
    name, change = SPARSE, lambda sparse: sparse | {min(sparse): max(sparse.values()) / 2}
    with pytest.raises(IndexDamaged, match="the words of passage"):
        state.both("w0 w1")[1].parts(ids)
    name, change = COUNT, lambda count: count + 1
    with pytest.raises(IndexDamaged, match="the row of term"):
        words.Words(state.view, STEMMER).counts(terms_of("w0 w1"))
    name, change = ROW, lambda row: row.replace("w0", "w1")
    with pytest.raises(IndexDamaged):
        words.Words(state.view, STEMMER).counts(terms_of('"w0 w1"'))


def test_a_server_that_multiplies_otherwise_is_told(
    states: list[State], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As milvus-lite 3.2.1, which gave BM25 of its own."""
    asked = sums._search

    def otherwise(*args: Any, **options: Any) -> Any:
        hits = asked(*args, **options)
        hits[-1]["distance"] *= 1.0001
        return hits

    monkeypatch.setattr(sums, "_search", otherwise)
    with pytest.raises(IndexDamaged, match="inner product for the words of passage"):
        states[0].both("w1 w2")[1].best(5)


def _same(found: tuple[Any, Any], expected: tuple[Any, Any]) -> None:
    """To the last bit."""
    assert [part.tolist() for part in found] == [part.tolist() for part in expected]
