"""Questions and exercises of notebook 7, from words to score and back."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

import search

from .tools import (
    Array,
    Exercise,
    NotSolved,
    Prediction,
    always,
    array_of,
    cosine_of,
    encoder,
    require,
    require_near,
    softmax,
    words_of,
)

RED_CAR = np.array([[2.0, 0.0, 1.0, -1.0], [1.0, 1.0, -1.0, 0.0]])  # vectors of the two tokens
SMALL: dict[str, Array] = {
    "value": np.array([[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, -1, 0], [0, 0, 1, 1]], dtype=np.float64),
    "value bias": np.array([0.5, 0.0, -0.5, 0.0]),
    "up": np.array([[1, 0, 1, 0], [0, 1, 0, -1], [1, -1, 0, 0], [0, 0, 1, 1]], dtype=np.float64),
    "up bias": np.array([0.0, 0.5, 0.0, -0.5]),
    "down": np.array(
        [[0.5, 0, 0, 0.5], [0, 0.5, 0, 0], [0, 0, 0.5, -0.5], [0.5, 0, 0, 0]], dtype=np.float64
    ),
    "down bias": np.array([0.1, 0.0, 0.0, -0.1]),
}
"""A model of two tokens, four dimensions, one layer and one head."""


def _test_attend_parts(attend_parts: Any) -> None:
    random = np.random.default_rng(7)
    parts, weights = random.normal(size=(4, 3, 5)), softmax(random.normal(size=(3, 3)))
    matrix, bias = random.normal(size=(5, 5)), random.normal(size=5)
    parts[-1] = 0
    mixed = weights @ (parts @ matrix.T)
    offset = np.zeros((4, 1, 1))
    offset[-1] = 1
    expected = mixed + offset * bias  # each row of weights sums to 1
    values = array_of(attend_parts(parts, weights, matrix, bias), expected.shape)
    mistakes = {
        "The bias is missing.": mixed,
        "Every part has got the bias. Only the last one, the offset, gets it.": mixed + bias,
        "The parts themselves are added. Return what attention gives, without the residual.": parts
        + expected,
        "The matrix is applied the wrong way round: a layer is x @ matrix.T.": weights @ (parts @ matrix)
        + offset * bias,
        "The weights are applied the wrong way round: rows read, columns are read.": weights.T
        @ (parts @ matrix.T + offset * bias),
    }
    for hint, mistaken in mistakes.items():
        if abs(values - mistaken).max() < 1e-9:
            raise NotSolved(hint)
    require_near(values, expected, "Three random tokens and the offset come out otherwise.", 1e-9)


PAIR = (
    "how long may I keep a library book",
    "Books from the library on Mill Street may be kept for four weeks.",
)


@cache
def _falls_by_pair() -> dict[frozenset[str], float]:
    """The fall of the cosine of PAIR without two words of the passage, for each two."""
    question, passage = PAIR
    spans = [match.span() for match in re.finditer(r"\w+", passage)]
    pairs = list(combinations(spans, 2))
    texts = [passage[:a] + passage[b:c] + passage[d:] for (a, b), (c, d) in pairs]
    query, *vectors = encoder().encode([question, *(" ".join(text.split()) for text in texts)])
    whole = cosine_of(question, passage)
    return {
        frozenset(passage[a:b].casefold() for a, b in pair): whole - float(query @ vector)
        for pair, vector in zip(pairs, vectors, strict=True)
    }


def _test_deleted_pair(work: Any) -> None:
    require(
        isinstance(work, list | tuple | set) and len(work) == 2, 'Give two words: ("Street", "four").'
    )
    pair = frozenset(str(word).strip(".").casefold() for word in work)
    require(len(pair) == 2, "Give two different words.")
    strange = sorted(pair - words_of(PAIR[1]))
    require(not strange, f"The passage has no word '{strange[0] if strange else ''}'.")
    falls = _falls_by_pair()
    better = sum(fall > falls[pair] + 0.01 for fall in falls.values())
    others = f"{better} other pairs do" if better > 1 else "one other pair does"
    require(better == 0, f"Without them the cosine falls by {falls[pair]:.3f}; {others} more harm.")


def _held_twice() -> str:
    """Does a part double if its input does, with attention, scale and gate held?"""
    parts = np.zeros((2, 4))
    parts[0] = RED_CAR[0]
    once, twice = (part @ SMALL["value"].T for part in (parts, 2 * parts))
    return "it doubles" if np.allclose(2 * once, twice) else "something else"


@cache
def _where_special_tokens_weigh() -> str:
    """The place where special tokens have the largest share of a cosine: as typed, or in the last layer."""
    why = search.explain(*PAIR, model=encoder())
    layers = why.layers("query")
    special = [token.text in ("[CLS]", "[SEP]") for token in why.query_tokens]
    typed, last = (float(sum(np.asarray(layers[row])[: len(special)][special])) for row in (0, -1))
    return "in the last layer" if last > typed else "as typed"


QUESTIONS: dict[str, Prediction | Exercise] = {
    "7.1": Prediction(
        _held_twice, "A word's part goes through linear maps only; the biases are not in it."
    ),
    "7.2": Prediction(
        always("the offset"),
        "Biases come from no word. The chart calls their part 'any text'.",
    ),
    "7.3": Prediction(
        _where_special_tokens_weigh,
        "The last vectors of special tokens are mixtures of the words: traced back, they return it.",
    ),
    "7.4": Prediction(
        None, "Attention is a step on the way; the contributions split the very cosine that is measured."
    ),
    "7.A": Exercise(
        _test_attend_parts, "Attention, with its weights held, is a matrix that mixes tokens."
    ),
    "7.B": Exercise(
        _test_deleted_pair,
        "Contributions name candidates; what two words do together, only cutting out both can tell.",
    ),
}
