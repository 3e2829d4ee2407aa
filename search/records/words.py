"""Whole words, merged from WordPieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from search.records.tokens import Token

if TYPE_CHECKING:
    from search.records.tokens import Matrix

WordKind = Literal["word", "punctuation", "special", "prompt", "context"]


@dataclass(frozen=True)
class Word:
    """A whole word, merged from its WordPieces; each special token is a "word" of its own.

    Attributes:
        text: the characters of the source, or the token's name for special tokens.
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


def merged(tokens: tuple[Token, ...], sources: Mapping[str, str]) -> tuple[Word, ...]:
    """Neighbouring tokens of the same word, merged."""
    found: list[Word] = []
    first = 0
    for i in range(1, len(tokens) + 1):
        last = tokens[i - 1]
        if (
            i < len(tokens)
            and not last.special
            and tokens[i].part == last.part
            and tokens[i].word == last.word
        ):
            continue
        start, end = tokens[first].start, last.end
        if last.special:
            text, kind = last.text, "special"
        else:
            source = sources.get(last.part)
            text = source[start:end] if source is not None else "".join(t.text for t in tokens[first:i])
            kind = last.part
        if kind == "text":
            kind = "word" if any(character.isalnum() for character in text) else "punctuation"
        found.append(Word(text, start, end, kind, (first, i)))  # type: ignore[arg-type]
        first = i
    return tuple(found)
