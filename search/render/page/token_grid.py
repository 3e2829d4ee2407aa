"""Data of the token grid of a page: words and tokens of both texts, and the matrices of several layers.

A matrix is sent as 16-bit integers in base64: three bytes for each pair of tokens, or a little less. The script merges
tokens to words.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from search.records.explanations import Explanation
from search.records.tokens import Token, Word
from search.render.format import one_line
from search.render.grid import Range
from search.render.heatmap import By

if TYPE_CHECKING:
    from search.records.tokens import Layer, Matrix

_LARGEST = 32767  # of a 16-bit integer
MANY = 60_000  # pairs of tokens, over all layers: up to so many are put into a page


def token_grid(
    why: Explanation, by: By, source: str = "", colours: Range | None = None
) -> dict[str, Any]:
    """Return the data of the grid of an explanation.

    Args:
        by: "word" or "token", the units of the page.
        source: address of matrices that the page lacks, without the layer: of many pairs, and all contributions, which
            take longest; "" for a page that must have them all.
        colours: range of the colours of cosines; None is -1 to 1.
    """
    words = why.words()
    pairs = len(why.query_tokens) * len(why.passage_tokens) * len(why.numbers.layers)
    layers = why.numbers.layers
    with_cosines = layers if pairs <= MANY else ()
    with_contributions = layers if pairs <= MANY and not source else ()
    own = () if source else (why.layer,)
    return {
        "by": by,
        "query": _side(why.query_tokens, words.query),
        "passage": _side(why.passage_tokens, words.passage),
        "layers": [str(layer) for layer in layers if source or layer in with_cosines],
        "last": str(why.n_layers),
        "source": source,
        "scale": colours,
        "added": (why.weight * why.passage_sums).round(6).tolist(),
        "cosine": {
            "layer": str(why.similarity_layer),
            "cells": {
                str(layer): cosines(why, layer)
                for layer in dict.fromkeys((why.similarity_layer, *with_cosines))
            },
        },
        "contribution": {
            "layer": str(why.layer),
            "cells": {
                str(layer): contributions(why, layer)
                for layer in dict.fromkeys((*own, *with_contributions))
            },
        },
    }


def layer_matrices(why: Explanation) -> dict[str, Any]:
    """Return both matrices of an explanation, for a grid that lacks those of its layer."""
    return {"cosine": cosines(why, why.similarity_layer), "contribution": contributions(why, why.layer)}


def cosines(why: Explanation, layer: Layer) -> list[Any]:
    """Return the cosines at a layer, encoded, with the number that `_LARGEST` stands for."""
    is_own = layer == why.similarity_layer
    return _encoded(why.similarity if is_own else why.numbers.similarity(layer), 1.0)


def contributions(why: Explanation, layer: int) -> list[Any]:
    """Return the contributions to the score, traced to a layer, as `cosines` does."""
    cells = why.contributions if layer == why.layer else why.numbers.pairs(layer)[:-1, :-1]
    cells = why.weight * cells
    return _encoded(cells, float(np.abs(cells).max(initial=0)) or 1.0)


def _encoded(cells: Matrix, largest: float) -> list[Any]:
    numbers = np.rint(cells / largest * _LARGEST).astype("<i2")
    return [base64.b64encode(numbers.tobytes()).decode("ascii"), largest]


def _side(tokens: Sequence[Token], words: Sequence[Word]) -> dict[str, Any]:
    """Return the tokens of a text, and its words with their kind and the number of their tokens."""
    return {
        "tokens": [one_line(token.text) for token in tokens],
        "words": [[one_line(word.text), word.kind, word.tokens[1] - word.tokens[0]] for word in words],
    }
