"""Tokens, their vectors, and the whole words that they form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from search.records.visible_text import Spans, VisibleText

if TYPE_CHECKING:
    import numpy as np
    from numpy import ufunc
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32] | NDArray[np.float64]
    Vector = NDArray[np.float64]
    Table = NDArray[np.float64]

Part = Literal["special", "prompt", "context", "text"]
Layer: TypeAlias = int | str
Array = TypeVar("Array", bound="NDArray[Any]")


@dataclass(frozen=True)
class Token:
    """One token (WordPiece) of an encoded text.

    Attributes:
        text: the vocabulary entry, "##ing" for the continuation of a word.
        id: row in the vocabulary.
        start, end: character offsets into the string that `part` names; 0, 0 for special tokens.
        special: True if the tokenizer added the token ([CLS], [SEP]), so that it is not part of any string.
        word: number of its word, counted over the whole encoded input; None for special tokens.
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
    """Token vectors and embedding of one text.

    Attributes:
        text, context: the strings that the tokens' offsets point into.
        tokens: n tokens, special tokens included.
        layers: layer number or combination ("mean:4") -> (n, d) float32 vectors; 0 is the embedding layer, the highest
            number is the last layer.
        embedding: (d,) float32 embedding of unit length, as an index stores it.
        hidden: markup spans of the text, which were not encoded.
    """

    text: str
    context: str
    tokens: tuple[Token, ...]
    layers: Mapping[int | str, Matrix]
    embedding: Matrix
    hidden: Spans = ()

    @property
    def vectors(self) -> Matrix:
        """(n, d) token vectors of the last layer."""
        return self.layers[max(layer for layer in self.layers if isinstance(layer, int))]


WordKind = Literal["word", "punctuation", "special", "prompt", "context", "offset"]


@dataclass(frozen=True)
class Word:
    """A whole word, merged from its WordPieces; each special token is a "word" of its own.

    Attributes:
        text: the characters of the source without markup; for special tokens, the token's name.
        start, end: character offsets into the string that the word is part of (see Token).
        kind: "word", "punctuation", "special", "prompt" or "context"; "offset" for `ANY_TEXT`.
        tokens: position of its first token, and the position after its last token.
    """

    text: str
    start: int
    end: int
    kind: WordKind
    tokens: tuple[int, int]


class TokenNumbers(Protocol):
    """Numbers of q query tokens and p passage tokens, each computed when it is used first."""

    @property
    def similarity(self) -> Matrix:
        """(q, p) cosines of token vectors."""

    @property
    def contributions(self) -> Matrix:
        """(q, p) contributions of pairs of tokens."""

    @property
    def query_sums(self) -> Vector:
        """(q,) contributions of the query's tokens."""

    @property
    def passage_sums(self) -> Vector:
        """(p,) contributions of the passage's tokens."""


@dataclass(frozen=True, eq=False)
class WordMatrices:
    """Both matrices of an explanation by whole words: Q words of the query, P of the passage. Arrays are read-only.

    Attributes:
        numbers: numbers of the words' tokens.
    """

    query: tuple[Word, ...]
    passage: tuple[Word, ...]
    numbers: TokenNumbers = field(repr=False)

    @cached_property
    def contributions(self) -> Matrix:
        """(Q, P) sums of the contributions of pairs of tokens."""
        import numpy as np

        return read_only(by_words(np.add, self.numbers.contributions, self.query, self.passage))

    @cached_property
    def similarity(self) -> Matrix:
        """(Q, P) maximum cosine over the tokens of the two words, in [-1, 1]."""
        import numpy as np

        return read_only(by_words(np.maximum, self.numbers.similarity, self.query, self.passage))

    @cached_property
    def query_sums(self) -> Vector:
        """(Q,) contributions of the query's words to the cosine."""
        return read_only(sums_by_word(self.numbers.query_sums, self.query))

    @cached_property
    def passage_sums(self) -> Vector:
        """(P,) contributions of the passage's words to the cosine."""
        return read_only(sums_by_word(self.numbers.passage_sums, self.passage))


def sums_by_word(of_tokens: Table, words: Sequence[Word]) -> Table:
    """Return the sums over the tokens of each word, along the last axis."""
    import numpy as np

    return np.add.reduceat(of_tokens, [word.tokens[0] for word in words], axis=-1)


def by_words(reduce: ufunc, cells: Matrix, query: Sequence[Word], passage: Sequence[Word]) -> Matrix:
    """Reduce a (q, p) matrix of tokens to a (Q, P) matrix of words: to sums or maxima."""
    rows, columns = [word.tokens[0] for word in query], [word.tokens[0] for word in passage]
    matrix: Matrix = reduce.reduceat(reduce.reduceat(cells, rows, axis=0), columns, axis=1)
    return matrix


def read_only(array: Array) -> Array:
    """Protect an array from changes; return it."""
    array.flags.writeable = False
    return array


def merged(tokens: tuple[Token, ...], sources: Mapping[str, str], hidden: Spans = ()) -> tuple[Word, ...]:
    """Merge tokens into whole words. Words of a part without a source, such as the prompt, get their tokens' text.

    Args:
        sources: the source string of each part.
        hidden: markup spans of the source "text", which are left out of the words.
    """
    texts = {part: VisibleText(raw, hidden if part == "text" else ()) for part, raw in sources.items()}
    words: list[Word] = []
    groups = groupby(
        enumerate(tokens), lambda row: row[0] if row[1].special else (row[1].part, row[1].word)
    )
    for _, group in groups:
        numbers, inside = zip(*group, strict=True)
        first, start, end = inside[0], inside[0].start, inside[-1].end
        source = None if first.special else texts.get(first.part)
        text = "".join(token.text for token in inside) if source is None else source.between(start, end)
        kind = "special" if first.special else first.part
        if kind == "text":
            kind = "word" if any(character.isalnum() for character in text) else "punctuation"
        words.append(Word(text, start, end, kind, (numbers[0], numbers[-1] + 1)))  # type: ignore[arg-type]
    return tuple(words)


# What the model's biases add to every text: no word, and so without tokens.
ANY_TEXT = "any text"


def all_of_kind(kind: str, words: Iterable[Word]) -> str:
    """Return the label for the sum over all words of a kind: "punctuation", "[CLS] and [SEP]"."""
    if kind == "special":
        return " and ".join(dict.fromkeys(word.text for word in words if word.kind == "special"))
    return {"prompt": "the model's prompt", "context": "title and headings"}.get(kind, kind)
