"""Shares of the words of a query in the scores of its hits, for which no passage is read."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import Encoder, Index
from search.explaining.explanation import TracedHits
from search.explaining.traced import Tracer
from search.explaining.traced_numpy import NumpyTracer
from search.explaining.traced_torch import TorchTracer
from search.explaining.tracers import tracer
from search.explaining.xray import xray
from search.index import searcher_of
from search.ranking.question import Question
from search.records.explanations import STOP_WORDS
from search.records.hits import Hit
from search.records.shares import Share
from search.render.page import why as why_page
from search.render.page import xray_page
from search.render.page.hit_list import PageRequest, viewed
from search.render.page.search import SearchView
from search.render.page.search import search as search_page
from tests.conftest import save_tiny_bert
from tests.explaining.test_traced import BERT_LIKE, POOLINGS, save_random

QUERY = "where is the key of the water tank, and who has the lock"
TEXT = "the key is in the water, over and over"


def summed(of_tracer: Tracer, encoder: Encoder, groups: list[list[int]]) -> Any:
    """The addends of groups as sums of the addends of tokens, each of which goes through the model alone."""
    addends = of_tracer.trace(encoder.inputs([TEXT]), precise=True).addends(0, 0)
    return np.stack([*(addends[group].sum(axis=0) for group in groups), addends[-1]])


def grouped(encoder: Encoder) -> list[list[int]]:
    """Groups of a single token, of several apart, of none, and of all others."""
    n = len(encoder.inputs([TEXT])[0].tokens)
    return [[2], [4, 1, 7], [], [at for at in range(n) if at not in (1, 2, 4, 7)]]


@pytest.mark.parametrize("family", BERT_LIKE)
def test_groups_of_tokens_add_what_their_tokens_add(tmp_path: Path, family: str) -> None:
    encoder = Encoder(str(save_random(tmp_path / family, family)))
    (text,), groups = encoder.inputs([TEXT]), grouped(encoder)
    in_numpy = tracer(encoder)
    assert isinstance(in_numpy, NumpyTracer)
    addends = in_numpy.group_addends(text, groups)
    np.testing.assert_allclose(addends, summed(in_numpy, encoder, groups), atol=1e-5)
    np.testing.assert_allclose(addends.sum(axis=0), encoder.encode([TEXT])[0], atol=1e-5)
    np.testing.assert_allclose(TorchTracer(encoder).group_addends(text, groups), addends, atol=1e-5)
    assert np.abs(addends[2]).max() == 0 < np.abs(addends[-1]).max()


@pytest.mark.parametrize(("pooling", "layer"), POOLINGS)
def test_groups_of_tokens_add_what_their_tokens_add_with_every_pooling(
    tmp_path: Path, pooling: Any, layer: int | str
) -> None:
    folder = save_random(tmp_path / "bert", "bert")
    encoder = Encoder(str(folder), pooling=pooling, layer=layer)
    (text,), groups = encoder.inputs([TEXT]), grouped(encoder)
    addends = tracer(encoder).group_addends(text, groups)
    np.testing.assert_allclose(addends, summed(tracer(encoder), encoder, groups), atol=1e-5)


def words_of(shares: tuple[Share, ...]) -> dict[tuple[str, int, str], float]:
    """The shares of words that are no stop words, and those of all else, summed by kind."""
    sums: dict[tuple[str, int, str], float] = {}
    for share in shares:
        is_content = share.kind == "word" and share.text.casefold() not in STOP_WORDS
        kind = (
            share.kind if share.kind in ("word", "term", "like", "model", "late", "offset") else "others"
        )
        key = (share.text, share.start, kind) if is_content or kind != "word" else ("", 0, "others")
        key = ("", 0, "others") if kind == "others" else key
        sums[key] = sums.get(key, 0.0) + share.contribution
    return sums


CASES: list[tuple[Any, dict[str, Any]]] = [
    *itertools.product([QUERY, "the and of"], [{}, {"mode": "dense"}, {"mode": "lexical"}]),
    (QUERY, {"without": ["water"]}),
    (QUERY, {"rerank": "late"}),
    ([("the key", 1.0), ("water and locks", -0.5)], {}),
]


@pytest.mark.parametrize(("query", "options"), CASES)
def test_shares_of_hits_are_those_of_their_explanations_and_sum_to_the_scores(
    indexed: Path, query: Any, options: dict[str, Any]
) -> None:
    index = Index.open(indexed)
    hits, shares = searcher_of(index).query_with_shares(query, 4, **options)
    expected = index.query(query, 4, explain=True, **options)
    assert [hit.passage_id for hit in hits] == [hit.passage_id for hit in expected]
    for hit, of_hit, with_why in zip(hits, shares, expected, strict=True):
        assert hit.explanation is None and with_why.explanation is not None
        assert sum(share.contribution for share in of_hit) == pytest.approx(hit.score, abs=1e-6)
        whole = words_of(with_why.explanation.shares(partners=0))
        if query == "the and of":  # without other words, stop words have shares of their own
            assert sum(whole.values()) == pytest.approx(sum(words_of(of_hit).values()), abs=1e-6)
        else:
            actual = words_of(of_hit)
            for key in whole.keys() | actual.keys():
                assert actual.get(key, 0.0) == pytest.approx(whole.get(key, 0.0), abs=1e-6), key


def test_examples_of_a_query_have_shares(indexed: Path) -> None:
    index = Index.open(indexed)
    first = index.query(QUERY, 1)[0]
    question = Question.of(QUERY, like=[first.passage_id])
    hits, shares = searcher_of(index).query_with_shares(question, 3)
    for hit, of_hit in zip(hits, shares, strict=True):
        assert [share.kind for share in of_hit].count("like") == 1
        assert sum(share.contribution for share in of_hit) == pytest.approx(hit.score, abs=1e-6)


@contextmanager
def without_collector() -> Iterator[None]:
    """Python frees what nothing refers to, and does not look for cycles."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def traces_of(hits: list[Hit]) -> weakref.ref[TracedHits]:
    assert hits[0].explanation
    return weakref.ref(hits[0].explanation.numbers.hits)  # type: ignore[attr-defined]


@pytest.mark.parametrize("drawn", ["nothing", "hits", "panel", "xray"])
def test_traces_are_freed_with_the_last_reference_to_their_explanations(
    tmp_path: Path, notes: Path, drawn: str
) -> None:
    index = Index.build(notes, model=str(save_tiny_bert(tmp_path / "model")))
    request = PageRequest("notes", QUERY)

    def answer() -> weakref.ref[TracedHits]:
        hits = index.query(QUERY, 3, explain=True)
        whys = [hit.explanation for hit in hits if hit.explanation]
        for why in whys:
            assert why.words().similarity.shape == (len(why.words().query), len(why.words().passage))
        if drawn == "hits":
            search_page(request, SearchView(1, viewed(hits)))
        if drawn == "panel":
            why_page.panel(whys[0], hits[0], request)
        if drawn == "xray":
            xray_page.xray(xray(whys[0]), hit=hits[0])
        return traces_of(hits)

    answer()  # loads templates
    with without_collector():
        assert answer()() is None
