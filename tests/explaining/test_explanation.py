"""Explanations: words, sums, alignment, highlights."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import search
from search import Encoder, Explanation, Token


def by_hand() -> Explanation:
    """Query [CLS] key ##s [SEP], passage [CLS] title lock , key [SEP], with numbers that are easy to add."""
    query = (
        Token("[CLS]", 2, 0, 0, True, None, "special"),
        Token("key", 9, 0, 3, False, 0, "text"),
        Token("##s", 8, 3, 4, False, 0, "text"),
        Token("[SEP]", 3, 0, 0, True, None, "special"),
    )
    passage = (
        Token("[CLS]", 2, 0, 0, True, None, "special"),
        Token("door", 7, 0, 4, False, 0, "context"),
        Token("lock", 5, 0, 4, False, 1, "text"),
        Token(",", 6, 4, 5, False, 2, "text"),
        Token("key", 9, 6, 9, False, 3, "text"),
        Token("[SEP]", 3, 0, 0, True, None, "special"),
    )
    return Explanation(
        query="Keys",
        passage="lock, Key",
        context="Door",
        query_tokens=query,
        passage_tokens=passage,
        similarity=np.arange(24, dtype=np.float32).reshape(4, 6) / 24,
        similarity_layer=3,
        contributions=np.arange(24, dtype=np.float64).reshape(4, 6) / 276,
        terms=(),
        cosine=1.0,
        score=1.25,
        mode="dense",
        pooling="mean",
    )


def test_words_are_merged_from_tokens() -> None:
    words = by_hand().words()
    assert [tuple(vars(word).values()) for word in words.query] == [
        ("[CLS]", 0, 0, "special", (0, 1)),
        ("Keys", 0, 4, "word", (1, 3)),
        ("[SEP]", 0, 0, "special", (3, 4)),
    ]
    assert [(w.text, w.kind) for w in words.passage] == [
        ("[CLS]", "special"),
        ("Door", "context"),
        ("lock", "word"),
        (",", "punctuation"),
        ("Key", "word"),
        ("[SEP]", "special"),
    ]
    assert (words.contributions[1] * 276).round().tolist() == [
        18,
        20,
        22,
        24,
        26,
        28,
    ]  # sums of rows 1 and 2
    assert (words.similarity[1] * 24).round().tolist() == [
        12,
        13,
        14,
        15,
        16,
        17,
    ]  # the larger of the two
    assert words.contributions.sum() == pytest.approx(1.0)


def test_residual_is_what_the_addends_do_not_explain() -> None:
    assert by_hand().residual == pytest.approx(0.25)


def test_alignment_leaves_special_tokens_and_punctuation_out() -> None:
    (pair,) = by_hand().alignment()
    assert (pair.query.text, pair.passage.text, round(pair.similarity * 24)) == ("Keys", "Key", 16)
    assert (pair.query.start, pair.query.end, pair.passage.start, pair.passage.end) == (0, 4, 6, 9)
    assert by_hand().alignment(threshold=0.9) == []


def test_highlights_are_spans_of_the_passage() -> None:
    highlights = by_hand().highlights()
    assert [("lock, Key"[h.start : h.end], round(h.weight * 276)) for h in highlights] == [
        ("lock", 2 + 8 + 14 + 20),
        (",", 3 + 9 + 15 + 21),
        ("Key", 4 + 10 + 16 + 22),
    ]


@pytest.mark.parametrize("pooling", ["mean", "mean_sqrt_len", "max"])
def test_addends_sum_to_the_cosine(tiny: Encoder, pooling: str) -> None:
    encoder = Encoder(tiny.model, pooling=pooling)
    why = search.explain("find the key", "the key is in the water, people say", model=encoder)
    first, second = encoder.encode(["find the key", "the key is in the water, people say"])
    assert why.cosine == pytest.approx(float(first @ second), abs=1e-6)
    assert why.contributions.sum() == pytest.approx(why.cosine, abs=1e-6)
    assert abs(why.residual) < 1e-6
    assert (
        why.contributions.shape
        == (len(why.query_tokens), len(why.passage_tokens))
        == why.similarity.shape
    )


def test_the_real_model_pairs_words_of_like_meaning(real: Encoder) -> None:
    why = search.explain("The cat sat on the mat.", "A kitten was sitting on the rug.", model=real)
    assert why.contributions.sum() == pytest.approx(why.cosine, abs=1e-5)
    pairs = {(pair.query.text, pair.passage.text) for pair in why.alignment()}
    assert {("cat", "kitten"), ("mat", "rug"), ("sat", "sitting")} <= pairs
    assert why.similarity_layer == 3
    assert why.similarity.min() >= -1
    assert why.similarity.max() <= 1


def test_derived_values_are_computed_once_for_each_explanation() -> None:
    why = by_hand()
    assert why.words() is why.words()
    assert why.sums[0] is why.sums[0]
    heavier = replace(why, contributions=2 * why.contributions)
    assert heavier.words().contributions.tolist() == (2 * why.words().contributions).tolist()
    assert heavier.sums[0].tolist() == (2 * why.sums[0]).tolist()


def test_the_arrays_of_words_cannot_be_changed() -> None:
    words = by_hand().words()
    for array in (words.contributions, words.similarity, *words.sums, by_hand().passage_contributions):
        with pytest.raises(ValueError, match="read-only"):
            array += 1


def test_a_pickled_explanation_has_the_same_words_and_shares() -> None:
    why = by_hand()
    size = len(pickle.dumps(why))
    shares = why.shares()
    assert len(pickle.dumps(why)) == size
    copy = pickle.loads(pickle.dumps(why))
    assert copy.shares() == shares
    assert copy.words().contributions.tolist() == why.words().contributions.tolist()
    assert copy != why  # an explanation equals only itself
    assert copy.highlights() == why.highlights()
