"""Explanations: words, sums, alignment, highlights."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import search
from search import Encoder, Explanation, Token
from search.records.explanations import ComputedNumbers, Side


def computed(cells: np.ndarray, cosines: np.ndarray) -> ComputedNumbers:
    """Numbers of a model without layers, from the (q + 1, p + 1) contributions of pairs."""
    sums: dict[Side, np.ndarray] = {"query": cells.sum(axis=1)[None], "passage": cells.sum(axis=0)[None]}
    return ComputedNumbers(sums, cells, cosines)


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
    cells = np.zeros((5, 7))
    cells[:4, :6] = np.arange(24).reshape(4, 6)
    return Explanation(
        query="Keys",
        passage="lock, Key",
        context="Door",
        query_tokens=query,
        passage_tokens=passage,
        layer=0,
        similarity_layer=3,
        n_layers=6,
        numbers=computed(cells / 276, np.arange(24, dtype=np.float32).reshape(4, 6) / 24),
        terms=(),
        cosine=1.0,
        score=1.25,
        mode="dense",
        pooling="mean",
    )


def with_offsets() -> Explanation:
    """The same, where a third of the cosine is what the model adds to any text.

    In shares of 414, "key" has 46 with the passage's offset, and both offsets have 92.
    """
    why = by_hand()
    cells = 276 * why.numbers.pairs(0)
    cells[1, 6], cells[4, 6] = 46, 92
    return replace(why, numbers=computed(cells / 414, why.similarity))


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
    assert (words.query_sums * 276).round().tolist() == [15, 138, 123]
    assert (words.passage_sums * 276).round().tolist() == [36, 40, 44, 48, 52, 56]


def test_contributions_and_offsets_sum_to_the_cosine() -> None:
    why = with_offsets()
    offsets = why.offsets
    assert (offsets.query * 414).round().tolist() == [0, 46, 0, 0]
    assert offsets.passage.tolist() == [0] * 6
    assert offsets.both * 414 == pytest.approx(92)
    whole = why.contributions.sum() + offsets.query.sum() + offsets.passage.sum() + offsets.both
    assert whole == pytest.approx(why.cosine)
    assert (why.offset * 414, why.passage_offset * 414) == pytest.approx((92, 138))
    assert why.query_sums.sum() + why.offset == pytest.approx(why.cosine)
    assert why.passage_sums.sum() + why.passage_offset == pytest.approx(why.cosine)


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


@pytest.mark.parametrize("pooling", ["mean", "mean_sqrt_len", "max", "cls", "pooler"])
def test_addends_sum_to_the_cosine(tiny: Encoder, pooling: str) -> None:
    encoder = Encoder(tiny.model, pooling=pooling)
    why = search.explain("find the key", "the key is in the water, people say", model=encoder)
    first, second = encoder.encode(["find the key", "the key is in the water, people say"])
    assert why.cosine == pytest.approx(float(first @ second), abs=1e-6)
    offsets = why.offsets
    whole = why.contributions.sum() + offsets.query.sum() + offsets.passage.sum() + offsets.both
    assert whole == pytest.approx(why.cosine, abs=1e-6)
    assert abs(why.residual) < 1e-6
    for side in ("query", "passage"):
        np.testing.assert_allclose(why.layers(side).sum(axis=1), [why.cosine] * 4, atol=1e-6)
    assert (
        why.contributions.shape
        == (len(why.query_tokens), len(why.passage_tokens))
        == why.similarity.shape
    )


def test_the_real_model_pairs_words_of_like_meaning(real: Encoder) -> None:
    why = search.explain("The cat sat on the mat.", "A kitten was sitting on the rug.", model=real)
    assert abs(why.residual) < 1e-6
    pairs = {(pair.query.text, pair.passage.text) for pair in why.alignment()}
    assert {("cat", "kitten"), ("mat", "rug"), ("sat", "sitting")} <= pairs
    assert why.similarity_layer == 3
    assert why.similarity.min() >= -1
    assert why.similarity.max() <= 1


def test_derived_values_are_computed_once_for_each_explanation() -> None:
    why = by_hand()
    assert why.words() is why.words()
    assert why.words().contributions is why.words().contributions
    assert why.similarity is why.similarity
    heavier = replace(why, numbers=computed(2 * why.numbers.pairs(0), why.similarity))
    assert heavier.words().contributions.tolist() == (2 * why.words().contributions).tolist()
    assert heavier.query_sums.tolist() == (2 * why.query_sums).tolist()


def test_the_arrays_of_words_cannot_be_changed() -> None:
    words = by_hand().words()
    arrays = words.contributions, words.similarity, words.query_sums, words.passage_sums
    for array in (*arrays, by_hand().passage_contributions):
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
