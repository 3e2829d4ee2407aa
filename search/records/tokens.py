"""Tokens and their vectors, and whole words, merged from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

from search.records.shown import Shown, Spans

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32] | NDArray[np.float64]
    Vector = NDArray[np.float64]

Part = Literal["special", "prompt", "context", "text"]
Layer: TypeAlias = int | Literal["middle", "last"]


@dataclass(frozen=True)
class Token:
    """One WordPiece.

    Attributes:
        text: the vocabulary entry, "##ing" for the continuation of a word.
        id: its row in the vocabulary.
        start, end: character offsets into the string that `part` names; 0, 0 for special tokens.
        special: added by the tokenizer ([CLS], [SEP]), not part of any string.
        word: number of the word it belongs to, counted within everything that was encoded;
            None for special tokens.
        part: "text" for the query or passage itself, "context" for the headings encoded before a
            passage, "prompt" for the model's own instruction, "special" for added tokens.
    """

    text: str
    id: int
    start: int
    end: int
    special: bool
    word: int | None
    part: Part


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """What the model makes of one text.

    Attributes:
        text, context: the strings that the tokens' offsets point into.
        tokens: n tokens, special tokens included.
        layers: layer number to (n, d) float32 vectors; 0 is the embedding layer, the highest number
            is the last layer.
        embedding: (d,) float32, unit length: what an index stores for this text.
        addends: (n, d) vectors whose mean (or maximum, with max pooling) is the embedding but for its
            length; None when the embedding is no such function of its tokens.
        hidden: the spans of the text that were not encoded.
    """

    text: str
    context: str
    tokens: tuple[Token, ...]
    layers: Mapping[int, Matrix]
    embedding: Matrix
    addends: Matrix | None
    hidden: Spans = ()

    @property
    def vectors(self) -> Matrix:
        """(n, d) vectors of the last layer."""
        return self.layers[max(self.layers)]


@dataclass(frozen=True)
class ConvertedModel:
    """A model that was converted for quick starts on this machine, or why it could not be (`problem`)."""

    name: str
    weights: str
    layers: int
    bytes: int
    folder: str
    problem: str = ""


WordKind = Literal["word", "punctuation", "special", "prompt", "context"]


@dataclass(frozen=True)
class Word:
    """A whole word, merged from its WordPieces; each special token is a "word" of its own.

    Attributes:
        text: the characters of the source without the markup among them, or the token's name for special tokens.
        start, end: character offsets into the string that the word is part of (see Token).
        kind: "word", "punctuation", "special", "prompt" or "context".
        tokens: positions of its tokens, first and one past the last.
    """

    text: str
    start: int
    end: int
    kind: WordKind
    tokens: tuple[int, int]


@dataclass(frozen=True, eq=False)
class WordMatrices:
    """The two matrices of an explanation, by whole words.

    Attributes:
        contributions: (Q, P) sums of the tokens' addends, so they sum to the same cosine.
        similarity: (Q, P) the highest cosine among the tokens of the two words.
    """

    query: tuple[Word, ...]
    passage: tuple[Word, ...]
    contributions: Matrix
    similarity: Matrix


def merged(tokens: tuple[Token, ...], sources: Mapping[str, str], hidden: Spans = ()) -> tuple[Word, ...]:
    """Words of tokens: a part without its source (the prompt) takes the text of its tokens.

    Args:
        hidden: spans of the source "text" that are markup, and in no word's text.
    """
    read = {part: Shown(source, hidden if part == "text" else ()) for part, source in sources.items()}
    found: list[Word] = []
    apart = groupby(enumerate(tokens), lambda at: at[0] if at[1].special else (at[1].part, at[1].word))
    for _, group in apart:
        numbers, inside = zip(*group, strict=True)
        first, start, end = inside[0], inside[0].start, inside[-1].end
        source = None if first.special else read.get(first.part)
        text = "".join(token.text for token in inside) if source is None else source.between(start, end)
        kind = "special" if first.special else first.part
        if kind == "text":
            kind = "word" if any(character.isalnum() for character in text) else "punctuation"
        found.append(Word(text, start, end, kind, (numbers[0], numbers[-1] + 1)))  # type: ignore[arg-type]
    return tuple(found)


def all_of_kind(kind: str, words: Iterable[Word]) -> str:
    """What all words of a kind are called together; special tokens by their own names."""
    if kind == "special":
        return " and ".join(dict.fromkeys(word.text for word in words if word.kind == "special"))
    return {"prompt": "the model's prompt", "context": "title and headings"}.get(kind, kind)
