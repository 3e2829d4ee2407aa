"""Alignment: which words are paired, on matrices that are made by hand."""

import numpy as np
import pytest

from search import Explanation, Token
from tests.explaining.test_explanation import computed


def tokens(text: str) -> tuple[Token, ...]:
    """Each blank-separated piece a word of its own, between [CLS] and [SEP]."""
    parts = [Token("[CLS]", 2, 0, 0, True, None, "special")]
    for i, piece in enumerate(text.split(" ")):
        start = parts[-1].end + (i > 0)
        parts.append(Token(piece, 9, start, start + len(piece), False, i, "text"))
    return (*parts, Token("[SEP]", 3, 0, 0, True, None, "special"))


def explanation(query: str, passage: str, cosines: list[list[float]]) -> Explanation:
    """An explanation with these cosines between words; special tokens are like everything."""
    first, second = tokens(query), tokens(passage)
    similarity = np.ones((len(first), len(second)), dtype=np.float32)
    similarity[1:-1, 1:-1] = cosines
    return Explanation(
        query=query,
        passage=passage,
        context="",
        query_tokens=first,
        passage_tokens=second,
        layer=0,
        similarity_layer=3,
        n_layers=6,
        numbers=computed(np.zeros((len(first) + 1, len(second) + 1)), similarity),
        terms=(),
        cosine=0.5,
        score=0.5,
        mode="dense",
        pooling="mean",
    )


def pairs(why: Explanation, threshold: float = 0.0) -> list[tuple[int, int]]:
    """The pairs of an alignment by where their words begin."""
    return [(pair.query.start, pair.passage.start) for pair in why.alignment(threshold)]


def test_of_two_equal_words_the_one_in_like_surroundings_is_chosen() -> None:
    # "the" is a little more like the first "the", but its neighbour "key" stands behind the second:
    # 0.80 + 0.15 * 0.1 = 0.815 against 0.78 + 0.15 * 0.9 = 0.915
    why = explanation("the key", "the door the key", [[0.80, 0.1, 0.78, 0.1], [0.1, 0.1, 0.1, 0.9]])
    assert pairs(why) == [(0, 9), (4, 13)]
    assert [pair.similarity for pair in why.alignment()] == pytest.approx(
        [0.78, 0.9]
    )  # the cosines alone


def test_the_word_before_counts_as_the_word_behind_does() -> None:
    why = explanation("key the", "door the key the", [[0.1, 0.1, 0.9, 0.1], [0.1, 0.80, 0.1, 0.78]])
    assert pairs(why) == [(0, 9), (4, 13)]


def test_neighbours_do_not_outweigh_a_clear_difference() -> None:
    # 0.95 + 0.15 * 0.1 = 0.965 against 0.78 + 0.15 * 0.9 = 0.915
    why = explanation("the key", "the door the key", [[0.95, 0.1, 0.78, 0.1], [0.1, 0.1, 0.1, 0.9]])
    assert pairs(why) == [(0, 0), (4, 13)]


def test_a_word_is_unpaired_where_another_matches_better() -> None:
    assert pairs(explanation("cat kitten", "cat", [[0.9], [0.7]])) == [(0, 0)]
    assert pairs(explanation("cat", "kitten cat", [[0.7, 0.9]])) == [(0, 7)]


def test_punctuation_is_no_neighbour() -> None:
    # Without the comma, "key" stands behind the second "the" and lifts it.
    why = explanation(
        "the , key", "the door the key", [[0.80, 0.1, 0.78, 0.1], [1, 1, 1, 1], [0.1, 0.1, 0.1, 0.9]]
    )
    assert pairs(why) == [(0, 9), (6, 13)]


def test_punctuation_can_be_paired_too() -> None:
    why = explanation("the ,", "the ,", [[0.8, 0.2], [0.1, 0.9]])
    assert pairs(why) == [(0, 0)]
    alignment = why.alignment(punctuation=True)
    assert [(p.query.text, p.passage.text, p.passage.start) for p in alignment] == [
        ("the", "the", 0),
        (",", ",", 4),
    ]


def test_the_threshold_is_for_the_cosine_of_the_two_words() -> None:
    # "the" is lifted to 0.915 by its neighbour, but its cosine is 0.78.
    why = explanation("the key", "the door the key", [[0.80, 0.1, 0.78, 0.1], [0.1, 0.1, 0.1, 0.9]])
    assert pairs(why, 0.77) == [(0, 9), (4, 13)]
    assert pairs(why, 0.79) == [(4, 13)]


def test_aligning_leaves_the_matrix_unchanged() -> None:
    why = explanation("a b", "a b", [[0.5, 0.1], [0.1, 0.5]])
    before = why.similarity.copy()
    why.alignment()
    assert np.array_equal(why.similarity, before)


def test_texts_without_words_have_no_pairs() -> None:
    assert explanation("!", "key", [[0.9]]).alignment() == []
    assert explanation("key", "? !", [[0.9, 0.9]]).alignment() == []
