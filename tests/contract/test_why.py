"""Explanations: addends that sum to scores, and matrices that are what NumPy makes of the model's own vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search.index import searcher_of
from tests.contract.oracle import COPIED, QUERIES, SCORE, Oracle, without_spans

LAYERS = (0, 1, 2, 3)
POOLINGS = ("mean", "max", "cls", "pooler", "mean_sqrt_len")
TEXTS = (
    "Open the door of the other side.",
    "a key",
    "Rotate the token, and the index of the folder turns!",
)


@cache
def _model(folder: str) -> Any:
    from transformers import AutoModel

    return AutoModel.from_pretrained(folder).eval()


def states(folder: Path, tokens: Sequence[search.Token]) -> tuple[list[Any], Any]:
    """(n, d) hidden states of each layer, and the pooler's output, as transformers computes them."""
    import torch

    with torch.no_grad():
        out = _model(str(folder))(
            torch.tensor([[token.id for token in tokens]]), output_hidden_states=True
        )
    return [layer[0].double().numpy() for layer in out.hidden_states], out.pooler_output[
        0
    ].double().numpy()


def pooled(folder: Path, tokens: Sequence[search.Token], pooling: str) -> Any:
    layers, pooler = states(folder, tokens)
    last = layers[-1]
    return {
        "mean": last.mean(axis=0),
        "max": last.max(axis=0),
        "cls": last[0],
        "pooler": pooler,
        "mean_sqrt_len": last.sum(axis=0) / np.sqrt(len(last)),
    }[pooling]


def cosine(a: Any, b: Any) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def whys(index: search.Index) -> list[tuple[search.Hit, search.Explanation]]:
    """Explanations of the first hits of some queries in all modes."""
    return [
        (hit, hit.explanation)
        for query in QUERIES[:4]
        for mode in ("hybrid", "dense", "lexical")
        for hit in index.query(query, k=4, mode=mode, explain=True)
        if hit.explanation
    ]


Whys = list[tuple[search.Hit, search.Explanation]]


def test_a_hit_is_explained_as_it_was_ranked(index: search.Index, whys: Whys) -> None:
    assert len(whys) >= 40
    for hit, why in whys:
        assert (why.score, why.mode) == (hit.score, hit.mode)
        assert hit.cosine is None or why.cosine == pytest.approx(hit.cosine, abs=SCORE)
        assert why.passage == hit.text
        if hit.rank == 2:
            again = index.explain(why.query, hit)
            assert again.score == hit.score
            np.testing.assert_allclose(again.contributions, why.contributions, atol=SCORE)


def test_addends_sum_to_the_score(whys: Whys) -> None:
    for hit, why in whys:
        weight = {"hybrid": 0.75, "dense": 1.0, "lexical": 0.0}[hit.mode]
        assert why.contributions.sum() == pytest.approx(why.cosine, abs=SCORE)
        words = sum(term.contribution for term in why.terms)
        assert words == pytest.approx(hit.addends.get("words", 0.0), abs=1e-9)
        assert weight * (why.query_sums.sum() + why.offset) + words + why.residual == pytest.approx(
            why.score, abs=1e-12
        )
        assert abs(why.residual) < SCORE
        assert sum(share.contribution for share in why.shares()) == pytest.approx(why.score, abs=SCORE)
        assert why.recomputed == pytest.approx(why.score, abs=SCORE)


def test_contributions_of_the_last_layer_are_products_of_token_vectors(
    index: search.Index, whys: Whys, tiny_model: Path
) -> None:
    for hit, default in whys[::3]:
        typed = default.query
        why = index.explain(typed, hit, layer="last")
        q, p = states(tiny_model, why.query_tokens)[0][-1], states(tiny_model, why.passage_tokens)[0][-1]
        lengths = np.linalg.norm(q.mean(axis=0)) * np.linalg.norm(p.mean(axis=0))
        np.testing.assert_allclose(why.contributions, q @ p.T / (len(q) * len(p) * lengths), atol=SCORE)


@pytest.mark.parametrize("layer", LAYERS)
def test_the_matrix_of_a_layer_has_the_cosines_of_its_vectors(
    index: search.Index, whys: Whys, tiny_model: Path, layer: int
) -> None:
    for hit, whole in whys[::3]:
        why = index.explain(whole.query, hit, layer=layer)
        q, p = (states(tiny_model, tokens)[0][layer] for tokens in (why.query_tokens, why.passage_tokens))
        np.testing.assert_allclose(why.similarity, unit(q) @ unit(p).T, atol=1e-5)


def test_a_layer_by_name_is_the_layer_by_number(index: search.Index, whys: Whys) -> None:
    hit, why = whys[0]
    for name, number in ((None, 1), ("middle", 1), ("last", 3), (-1, 3)):
        by_name, by_number = (index.explain(why.query, hit, layer=layer) for layer in (name, number))
        np.testing.assert_allclose(by_name.similarity, by_number.similarity, atol=1e-6)
        assert by_name.similarity_layer == number
    with pytest.raises(search.InputError):
        index.explain(why.query, hit, layer=4)


def test_tokens_point_into_the_texts(whys: Whys) -> None:
    for _, why in whys:
        for tokens, texts in (
            (why.query_tokens, {"text": why.query}),
            (why.passage_tokens, {"text": why.passage, "context": why.context}),
        ):
            assert [tokens[0].text, tokens[-1].text] == ["[CLS]", "[SEP]"]
            for token in tokens:
                assert token.special == (token.text in ("[CLS]", "[SEP]"))
                if not token.special and token.text != "[UNK]":
                    source = texts[token.part][token.start : token.end]
                    assert token.text.removeprefix("##") in (source.lower(), "e", "u")  # é, ü


def test_terms_are_the_words_that_count(oracle: Oracle, whys: Whys) -> None:
    for hit, why in whys:
        if hit.mode == "dense":
            assert why.terms == ()
            continue
        expected = {term for term in oracle.terms(why.query) if hit.passage_id in oracle.having(term)}
        assert {term.term for term in why.terms if term.contribution} == expected
        for term in why.terms:
            assert why.query[term.start : term.end] == term.term
            assert term.contribution > 0


def test_words_are_merged_from_tokens(whys: Whys) -> None:
    for _, why in whys:
        words = why.words()
        assert words.contributions.sum() == pytest.approx(why.contributions.sum(), abs=1e-9)
        for i, query in enumerate(words.query):
            for j, passage in enumerate(words.passage):
                cells = np.s_[query.tokens[0] : query.tokens[1], passage.tokens[0] : passage.tokens[1]]
                assert words.contributions[i, j] == pytest.approx(
                    why.contributions[cells].sum(), abs=1e-9
                )
                assert words.similarity[i, j] == pytest.approx(why.similarity[cells].max(), abs=1e-6)
        assert [word.text for word in words.query if word.kind == "word"] == why.query.split()


def test_alignment_pairs_words_one_to_one(whys: Whys, tiny: search.Encoder) -> None:
    for _, why in whys:
        words = why.words()
        pairs = why.alignment()
        for side in ("query", "passage"):
            assert len({(getattr(pair, side).start, getattr(pair, side).end) for pair in pairs}) == len(
                pairs
            )
        for pair in pairs:
            cell = words.query.index(pair.query), words.passage.index(pair.passage)
            assert pair.similarity == pytest.approx(words.similarity[cell], abs=1e-6)
        least = sorted(pair.similarity for pair in pairs)[len(pairs) // 2]
        assert [pair for pair in pairs if pair.similarity >= least] == why.alignment(threshold=least)
    why = search.explain(TEXTS[2], TEXTS[2], model=tiny)
    pairs = [(pair.query.start, pair.passage.start) for pair in why.alignment(punctuation=True)]
    assert pairs == [(start, start) for start, _ in pairs]
    assert len(pairs) == 12
    assert why.score == why.cosine == pytest.approx(1, abs=SCORE)


def test_highlights_share_out_the_score(whys: Whys) -> None:
    for hit, why in whys:
        words = why.words()
        weight = {"hybrid": 0.75, "dense": 1.0, "lexical": 0.0}[hit.mode]
        marks = why.highlights()
        units = [word for word in words.passage if word.kind in ("word", "punctuation")]
        assert [(mark.start, mark.end) for mark in marks] == [(word.start, word.end) for word in units]
        rest = why.passage_offset + sum(
            float(words.passage_sums[j])
            for j, word in enumerate(words.passage)
            if word.kind not in ("word", "punctuation")
        )
        if not why.context:
            total = sum(mark.weight for mark in marks) + weight * rest
            assert total == pytest.approx(why.score, abs=SCORE)


def test_highlights_of_hits_are_the_words_of_the_query(index: search.Index, oracle: Oracle) -> None:
    query = "water sound people"
    hits = index.query(query, k=20)
    for hit, marks in zip(hits, searcher_of(index).highlights(query, hits), strict=True):
        text = without_spans(hit.text, oracle[hit.passage_id].hidden).lower()
        count = sum(
            text.split().count(word + end) for word in query.split() for end in ("", ".", "?", "!", ",")
        )
        texts = [hit.text[mark.start : mark.end].lower() for mark in marks]
        assert set(texts) <= set(query.split())
        assert len(texts) >= count
        if not oracle[hit.passage_id].context:
            assert sum(mark.weight for mark in marks) == pytest.approx(hit.addends["words"], abs=1e-9)


def test_a_late_rerank_is_explained_token_by_token(index: search.Index) -> None:
    for hit in index.query(QUERIES[0], k=5, rerank="late"):
        why = index.explain(QUERIES[0], hit)
        assert why.late is not None
        assert why.late.sum() == pytest.approx(hit.addends["rerank"], abs=SCORE)
        assert ((why.late != 0).sum(axis=1) <= 1).all()
        assert abs(why.residual) < SCORE
        assert sum(share.contribution for share in why.shares()) == pytest.approx(hit.score, abs=SCORE)


def test_any_passage_is_explained_with_the_score_of_its_hit(index: search.Index, oracle: Oracle) -> None:
    ranked = {row.id: score for score, row in oracle.ranking(QUERIES[0], weight=0.4)}
    for row in oracle.rows[::60]:
        why = index.explain(QUERIES[0], row.id, weight=0.4)
        assert why.score == pytest.approx(ranked[row.id], abs=SCORE)
        assert searcher_of(index).hit(QUERIES[0], row.id, weight=0.4).score == why.score
        assert abs(why.residual) < SCORE
    with pytest.raises(search.InputError):
        index.explain(QUERIES[0], 10**9)


def test_phrases_excluded_words_and_several_parts_are_explained(
    index: search.Index, oracle: Oracle
) -> None:
    query = f'"rotate the token" {COPIED.split()[-1].strip(".")}'
    hit = index.query(query, k=1)[0]
    why = index.explain(query, hit)
    assert "rotate the token" in {term.term.strip('"') for term in why.terms}
    assert abs(why.residual) < SCORE
    hit = index.query("rotate the token", k=1, without=["token"])[0]
    why = index.explain("rotate the token", hit)
    assert {term.term for term in why.terms if term.contribution} == {"rotate"}
    assert abs(why.residual) < SCORE
    question = search.Question.of("water sound", ("open the door", 0.5), unlike=[oracle.rows[60].id])
    for hit in index.query(question, k=3):
        assert abs(index.explain(question, hit).residual) < SCORE


@pytest.mark.parametrize("pooling", POOLINGS)
def test_embeddings_are_pooled_by_the_named_pooling(tiny_model: Path, pooling: str) -> None:
    encoder = search.Encoder(str(tiny_model), pooling=pooling)
    inspection = search.bert.inspect(TEXTS[0], model=str(tiny_model))
    assert [token.id for token in inspection.tokens] == [
        token.id for token in encoder.tokens(TEXTS[:1])[0].tokens
    ]
    expected = [pooled(tiny_model, text.tokens, pooling) for text in encoder.tokens(TEXTS)]
    embeddings = encoder.encode(TEXTS)
    assert embeddings.dtype == np.float32
    np.testing.assert_allclose(embeddings, unit(np.array(expected)), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(
        search.similarity(TEXTS, model=encoder), embeddings @ embeddings.T, atol=1e-6
    )
    np.testing.assert_allclose(
        search.similarity(TEXTS[:1], TEXTS, model=encoder), embeddings[:1] @ embeddings.T, atol=1e-6
    )


@pytest.mark.parametrize("pooling", POOLINGS)
def test_two_texts_are_explained_by_every_pooling(tiny_model: Path, pooling: str) -> None:
    folder, encoder = tiny_model, search.Encoder(str(tiny_model), pooling=pooling)
    why = search.explain(TEXTS[0], TEXTS[2], model=encoder, layer=0)
    vectors = [pooled(folder, tokens, pooling) for tokens in (why.query_tokens, why.passage_tokens)]
    assert why.pooling == pooling
    assert why.score == pytest.approx(cosine(*vectors), abs=1e-5)
    assert abs(why.residual) < SCORE
    assert why.residual == pytest.approx(why.score - why.query_sums.sum() - why.offset, abs=1e-9)
    if pooling == "max":  # each dimension is of the two tokens that have its maximum
        q, p = (states(folder, tokens)[0][-1] for tokens in (why.query_tokens, why.passage_tokens))
        addends = np.zeros((len(q), len(p)))
        for dimension, (i, j) in enumerate(zip(q.argmax(axis=0), p.argmax(axis=0), strict=True)):
            addends[i, j] += q[i, dimension] * p[j, dimension]
        lengths = np.linalg.norm(q.max(axis=0)) * np.linalg.norm(p.max(axis=0))
        last = search.explain(TEXTS[0], TEXTS[2], model=encoder, layer="last")
        np.testing.assert_allclose(last.contributions, addends / lengths, atol=1e-5)
    np.testing.assert_allclose(why.similarity[0, 0], 1, atol=1e-5)  # the embedding of [CLS]
