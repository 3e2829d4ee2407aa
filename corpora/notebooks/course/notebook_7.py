"""Questions and exercises of notebook 7, from words to score and back."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

import search

from .tools import Array, Exercise, Prediction, always, cosine_of, encoder, require, require_near, softmax

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
    expected = weights @ (parts @ matrix.T)
    expected[-1] += bias  # each row of weights sums to 1
    result = attend_parts(parts, weights, matrix, bias)
    hint = "Three tokens and the offset. Only the last part, the offset, gets the bias."
    require_near(result, expected, hint, 1e-9)
    whole = weights @ (parts.sum(axis=0) @ matrix.T + bias)
    require_near(np.asarray(result).sum(axis=0), whole, "The parts do not sum to the whole.", 1e-9)


PAIR = (
    "how long may I keep a library book",
    "Books from the library on Mill Street may be kept for four weeks.",
)


@cache
def _falls_by_pair() -> dict[frozenset[str], float]:
    """The fall of the cosine of PAIR without two words of the passage, for each two."""
    question, passage = PAIR
    words = passage.split()
    pairs = list(combinations(range(len(words)), 2))
    texts = [" ".join(word for i, word in enumerate(words) if i not in pair) for pair in pairs]
    query, *vectors = encoder().encode([question, *texts])
    whole = cosine_of(question, passage)
    return {
        frozenset(words[i].strip(".").casefold() for i in pair): whole - float(query @ vector)
        for pair, vector in zip(pairs, vectors, strict=True)
    }


def _test_deleted_pair(work: Any) -> None:
    require(
        isinstance(work, list | tuple | set) and len(work) == 2, 'Give two words: ("Street", "weeks").'
    )
    falls = _falls_by_pair()
    pair = frozenset(str(word).strip(".").casefold() for word in work)
    require(pair in falls, f"{' and '.join(sorted(pair))} are not two words of the passage.")
    better = sum(fall > falls[pair] for fall in falls.values())
    require(
        better == 0,
        f"Without them the cosine falls by {falls[pair]:.3f}; {better} other pairs do more harm.",
    )


def _held_at_two() -> str:
    """Does a part double if its input does, with attention, scale and gate held?"""
    parts = np.zeros((2, 4))
    parts[0] = RED_CAR[0]
    once, twice = (part @ SMALL["value"].T for part in (parts, 2 * parts))
    return "it doubles" if np.allclose(2 * once, twice) else "something else"


@cache
def _layer_of_the_lion() -> str:
    """The place where special tokens have the largest share of a cosine: as typed, or in the last layer."""
    why = search.explain(*PAIR, model=encoder())
    layers = why.layers("query")
    special = [token.text in ("[CLS]", "[SEP]") for token in why.query_tokens]
    typed, last = (float(sum(np.asarray(layers[row])[: len(special)][special])) for row in (0, -1))
    return "in the last layer" if last > typed else "as typed"


QUESTIONS: dict[str, Prediction | Exercise] = {
    "7.1": Prediction(
        _held_at_two, "With attention, scale and gate held, everything that is left is matrix products."
    ),
    "7.2": Prediction(
        always("the offset"),
        "Biases come from no word; every text gets them. The chart calls them 'any text'.",
    ),
    "7.3": Prediction(
        _layer_of_the_lion,
        "The last vectors of special tokens are mixtures of the words: traced back, they return it.",
    ),
    "7.4": Prediction(
        None, "It is the only order here that looks at the words as they were typed and at the score."
    ),
    "7.A": Exercise(
        _test_attend_parts, "Attention, with its weights held, is a matrix that mixes tokens."
    ),
    "7.B": Exercise(
        _test_deleted_pair,
        "They say the same: while one is left, the cosine hardly falls. No split into single words can tell that.",
    ),
}
