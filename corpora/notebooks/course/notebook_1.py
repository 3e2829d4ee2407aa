"""Questions and exercises of notebook 1, tokens and the embedding layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from search import bert

from .tools import Exercise, Prediction, require, require_near, tokens_of

APPRENTICES = "The aqueduct was rebuilt by Sinan's apprentices."


def _share_of_words() -> str:
    sizes = {name: table.size for name, table in bert.parameters(offline=True).items()}
    share = sizes["embeddings.word_embeddings.weight"] / sum(sizes.values())
    return min(
        ("a tenth", 0.1), ("a quarter", 0.25), ("half", 0.5), key=lambda pair: abs(pair[1] - share)
    )[0]


def _tensors_of_twelve_layers() -> float:
    names = list(bert.parameters(offline=True))
    layers = {name.split(".")[2] for name in names if name.startswith("encoder.layer.")}
    in_layers = sum(name.startswith("encoder.layer.") for name in names)
    return len(names) - in_layers + in_layers // len(layers) * 12


def _first_token_alike() -> str:
    a, b = (bert.inspect(text, offline=True).states[0][0] for text in (APPRENTICES, "Cheese?"))
    return "the same" if np.allclose(a, b) else "another one"


def _test_layer_0(layer_0: Any) -> None:
    pair = bert.inspect("Who fed the parrot?", "Nobody has seen a parrot here.", offline=True)
    ids, segments = ([getattr(token, name) for token in pair.tokens] for name in ("id", "segment"))
    hint = (
        "The vectors of a pair of texts are wrong. Does the second text get row 1 of the segment table?"
    )
    require_near(layer_0(ids, segments), pair.states[0].astype(np.float64), hint)


def _test_split_word(word: Any) -> None:
    require(isinstance(word, str) and word.isalpha(), "Give one word, of letters only.")
    require(len(word) <= 8, f"'{word}' has {len(word)} letters; at most 8 are allowed.")
    pieces = tokens_of(word)[1:-1]
    require(len(pieces) >= 4, f"'{word}' is spelled with {len(pieces)} pieces: {' '.join(pieces)}.")


QUESTIONS: dict[str, Prediction | Exercise] = {
    "1.1": Prediction(
        lambda: len(tokens_of(APPRENTICES)),
        "Seven words, of which two are split and one has an 's; then a full stop, [CLS] and [SEP].",
    ),
    "1.2": Prediction(
        _share_of_words,
        "The word table has 30,522 rows of 384 numbers. A larger BERT has more and wider layers, and a smaller share.",
    ),
    "1.3": Prediction(
        _tensors_of_twelve_layers, "16 for each layer; the embeddings have 5, and the pooler 2."
    ),
    "1.4": Prediction(
        _first_token_alike, "Same token, same position, same segment: layer 0 knows nothing else."
    ),
    "1.A": Exercise(
        _test_layer_0, "That is the whole embedding layer of BERT, for one text and for a pair."
    ),
    "1.B": Exercise(
        _test_split_word, "Rare words are spelled, frequent ones have an entry of their own."
    ),
}
