"""Questions and exercises of notebook 1, tokens and the embedding layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from search import bert

from .tools import (
    HOUSEHOLD,
    Array,
    Exercise,
    NotSolved,
    Prediction,
    array_of,
    require,
    require_near,
    tokens_of,
    words_of,
)

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
    return "the same" if np.allclose(a, b) else "different"


def _test_layer_0(layer_0: Any) -> None:
    text = bert.inspect("A parrot is missing.", offline=True)
    expected = text.states[0].astype(np.float64)
    ids = [token.id for token in text.tokens]
    values = array_of(layer_0(ids, [0] * len(ids)), expected.shape)
    if abs(values - expected).max() > 1e-4:
        raise NotSolved(_about_layer_0(values, ids))
    pair = bert.inspect("Who fed the parrot?", "Nobody has seen a parrot here.", offline=True)
    ids, segments = ([getattr(token, name) for token in pair.tokens] for name in ("id", "segment"))
    hint = "One text is right, a pair is not. Does the second text get row 1 of the segment table?"
    require_near(layer_0(ids, segments), pair.states[0].astype(np.float64), hint)


def _about_layer_0(values: Array, ids: list[int]) -> str:
    """Return what is wrong with the vectors of a single text."""
    tables = bert.parameters(offline=True)
    words = tables["embeddings.word_embeddings.weight"][ids]
    positions = tables["embeddings.position_embeddings.weight"]
    segment = tables["embeddings.token_type_embeddings.weight"][0]
    total = words + positions[: len(ids)] + segment

    def normalised(sums: Array, axis: int = 1) -> Array:
        return (sums - sums.mean(axis=axis, keepdims=True)) / sums.std(axis=axis, keepdims=True)

    def scaled(sums: Array, axis: int = 1) -> Array:
        weight, bias = (tables[f"embeddings.LayerNorm.{name}"] for name in ("weight", "bias"))
        return normalised(sums, axis) * weight + bias

    mistakes = {
        "That is the sum of the rows. The layer normalisation is missing.": total,
        "The weight and the bias of the layer normalisation are missing.": normalised(total),
        "The normalisation runs over the tokens. It should run over the 384 numbers of each.": scaled(
            total, 0
        ),
        "Positions begin with 0, the row of [CLS].": scaled(
            words + positions[1 : len(ids) + 1] + segment
        ),
        "The rows of positions are missing.": scaled(words + segment),
        "The row of the segment is missing.": scaled(words + positions[: len(ids)]),
    }
    for hint, mistaken in mistakes.items():
        if abs(values - mistaken).max() < 1e-3:
            return hint
    return "The vectors of a single text differ from the model's. Compare a row with `look.states[0]`."


def _test_split_word(word: Any) -> None:
    require(isinstance(word, str) and word.isalpha(), "Give one word, of letters only.")
    require(len(word) <= 8, f"'{word}' has {len(word)} letters; at most 8 are allowed.")
    pieces = tokens_of(word)[1:-1]
    number = f"{len(pieces)} pieces" if len(pieces) > 1 else "one piece"
    require(len(pieces) >= 3, f"'{word}' is spelled with {number}: {' '.join(pieces)}.")
    files = (path for path in HOUSEHOLD.rglob("*") if path.suffix in (".md", ".txt", ".eml", ".csv"))
    words = set().union(*(words_of(path.read_text(encoding="utf-8")) for path in files))
    require(word.casefold() in words, f"'{word}' is in no text of the household.")


QUESTIONS: dict[str, Prediction | Exercise] = {
    "1.1": Prediction(
        lambda: len(tokens_of(APPRENTICES)),
        "Sinan and apprentices have two pieces each, 's is two tokens; the full stop, [CLS] and [SEP] count, too.",
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
