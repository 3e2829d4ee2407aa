"""The encoder of a server: the same bits alone and beside others, one encoder for indexes made alike."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from search import Encoder, Index, InputError
from search.encoding import engine
from search.serving import encoding
from search.serving.encoding import Encoders, QueryEncoder
from search.serving.served import Served
from tests.conftest import WORDS

QUERIES = [" ".join(WORDS[i : i + 1 + i % 12]) for i in range(80)]


class Held:
    """An engine that waits until it may go on, and counts the texts of each batch."""

    def __init__(self, inner: engine.Engine) -> None:
        self._inner, self.batches = inner, list[int]()
        self.may_go_on, self.asked = threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def run(self, batches: Any, layers: Sequence[int]) -> Iterator[Any]:
        self.asked.set()
        assert self.may_go_on.wait(10)
        plan = [list(batch) for batch in batches]
        self.batches += map(len, plan)
        return self._inner.run(plan, layers)


@pytest.fixture
def encoder(tiny_model: Path) -> QueryEncoder:
    return QueryEncoder(str(tiny_model))


def alone(model: Path, queries: Sequence[str]) -> list[bytes]:
    """The bits of queries that are encoded one by one."""
    encoder = Encoder(str(model))
    return [encoder.encode([query], role="query").tobytes() for query in queries]


def asked_by_many(encoder: Encoder, queries: Sequence[str], threads: int = 8) -> list[bytes]:
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda query: encoder.encode([query], role="query").tobytes(), queries))


def test_alone_and_under_load_the_bits_are_the_same(encoder: QueryEncoder, tiny_model: Path) -> None:
    assert asked_by_many(encoder, QUERIES) == alone(tiny_model, QUERIES)
    assert asked_by_many(encoder, QUERIES) == alone(tiny_model, QUERIES)  # those that are kept


def test_only_queries_of_one_length_share_a_batch(encoder: QueryEncoder, tiny_model: Path) -> None:
    held = Held(encoder.engine)
    encoder._engine = held  # type: ignore[assignment]
    queries = ["the key", "look at the door", "down water", "see the long day", "a word", "index", "the door"]
    with ThreadPoolExecutor(len(queries) + 1) as pool:
        first = pool.submit(encoder.encode, ["turn"], role="query")
        assert held.asked.wait(10)
        rest = [pool.submit(encoder.encode, [query], role="query") for query in queries]
        while len(encoder._waiting) < len(queries):
            pass
        held.may_go_on.set()
        found = [one.result().tobytes() for one in (first, *rest)]
    assert held.batches[0] == 1
    assert sorted(held.batches[1:]) == [1, 2, 4]
    assert found == alone(tiny_model, ["turn", *queries])


def test_an_engine_whose_batches_differ_gets_one_query_at_a_time(tiny_model: Path) -> None:
    encoder = QueryEncoder(str(tiny_model), engine="torch")
    held = Held(encoder.engine)
    held.may_go_on.set()
    encoder._engine = held  # type: ignore[assignment]
    asked_by_many(encoder, QUERIES[:20])
    assert set(held.batches) == {1}


def test_what_is_asked_again_is_not_encoded_again(
    encoder: QueryEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "KEPT", 2)
    held = Held(encoder.engine)
    held.may_go_on.set()
    encoder._engine = held  # type: ignore[assignment]
    first = encoder.encode(["key"], role="query")
    first[:] = 0  # a copy
    for query in ("door", "key", "water", "key"):
        encoder.encode([query], role="query")
    assert len(held.batches) == 3
    assert encoder.encode(["key"], role="query").any()
    encoder.encode(["door"], role="query")  # was dropped
    assert len(held.batches) == 4


def test_an_error_is_of_all_who_waited_and_the_next_query_is_answered(
    encoder: QueryEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: Callable[..., Any] = encoder._embed

    def fails(hidden: Any) -> Any:
        raise InputError("broken")

    monkeypatch.setattr(encoder, "_embed", fails)
    with ThreadPoolExecutor(4) as pool:
        for one in [pool.submit(encoder.encode, [query], role="query") for query in QUERIES[:8]]:
            with pytest.raises(InputError, match="broken"):
                one.result()
    monkeypatch.setattr(encoder, "_embed", whole)
    assert encoder.encode(["key"], role="query").shape == (1, encoder.dimension)


def test_a_query_that_is_too_long_is_refused_alone(encoder: QueryEncoder) -> None:
    with ThreadPoolExecutor(2) as pool:
        long = pool.submit(encoder.encode, ["key " * 500], role="query")
        fits = pool.submit(encoder.encode, ["key"], role="query")
        with pytest.raises(InputError, match="tokens"):
            long.result()
        assert fits.result().any()


def test_indexes_made_alike_share_an_encoder_and_others_do_not(
    indexed: Path, tiny_model: Path, tmp_path: Path
) -> None:
    more = tmp_path / "more"
    more.mkdir()
    (more / "a.md").write_text("# Water\n\nThe water is cold.\n", encoding="utf-8")
    Index.build(more, model=str(tiny_model))
    other = tmp_path / "other"
    shutil.copytree(more, other)
    Index.build(other, model=str(tiny_model), pooling="max")
    served = Served.open([str(indexed), str(more), str(other)])
    first, second, third = served.indexes.values()
    assert first.encoder is second.encoder
    assert third.encoder is not first.encoder
    Index.build(other, model=str(tiny_model), pooling="mean", rebuild=True)
    assert third.query("water", k=1)[0].document == "a.md"
    assert third.encoder is first.encoder


def test_an_encoder_that_no_index_uses_any_more_goes(tiny_model: Path) -> None:
    find, made = Encoders(), Encoder(str(tiny_model)).fingerprint
    kept = find(made)
    assert find(made) is kept
    del kept
    assert not find._held
