"""The encoder of a server: the same bits alone and beside others, one encoder for indexes made alike."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from search import Encoder, Index, InputError
from search.serving.encoding import Encoders, QueryEncoder
from search.serving.served import Served
from tests.conftest import WORDS

QUERIES = [" ".join(WORDS[i : i + 1 + i % 12]) for i in range(80)]


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
