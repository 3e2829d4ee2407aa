"""Explanations: why a passage has its score."""

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


@dataclass(frozen=True)
class Term:
    """A query term's addend of the word part of a score."""

    term: str
    contribution: float


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


@dataclass(frozen=True)
class Pair:
    """A query word and a passage word that are each other's best match."""

    query: Word
    passage: Word
    similarity: float


@dataclass(frozen=True)
class Highlight:
    """Characters [start, end) of the passage and what they added to the score."""

    start: int
    end: int
    weight: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a passage has its score for a query.

    Attributes:
        query, passage: the two texts; `context` is what was encoded before the passage.
        query_tokens, passage_tokens: the q and p tokens, special tokens included.
        similarity: (q, p) float32 cosines of token vectors at layer `similarity_layer`: which word is
            like which. They do not sum to anything.
        contributions: (q, p) float64 addends of the cosine of the two embeddings, from the last layer:
            what made the score. `contributions.sum()` is `cosine` but for rounding.
        terms: the addends of the word part; empty when the ranking did not use it.
        cosine: of the two embeddings, as stored and as ranked by.
        score: what the hit was ranked by.
        pooling: how the embeddings were made.
    """

    query: str
    passage: str
    context: str
    query_tokens: tuple[Token, ...]
    passage_tokens: tuple[Token, ...]
    similarity: Matrix
    similarity_layer: int
    contributions: Matrix
    terms: tuple[Term, ...]
    cosine: float
    score: float
    mode: str
    pooling: str

    @property
    def residual(self) -> float:
        """Score less all addends: rounding, when everything is right."""
        return self.score - float(self.contributions.sum()) - sum(term.contribution for term in self.terms)

    def words(self) -> WordMatrices:
        """Both matrices with WordPieces merged to whole words."""
        import numpy as np

        query = _words(self.query_tokens, {"text": self.query})
        passage = _words(self.passage_tokens, {"text": self.passage, "context": self.context})
        rows, columns = [w.tokens[0] for w in query], [w.tokens[0] for w in passage]
        added = np.add.reduceat(np.add.reduceat(self.contributions, rows, axis=0), columns, axis=1)
        best = np.maximum.reduceat(np.maximum.reduceat(self.similarity, rows, axis=0), columns, axis=1)
        return WordMatrices(query, passage, added, best)

    def alignment(self, threshold: float = 0.0) -> list[Pair]:
        """Pairs of words that are each other's best match, special tokens and punctuation left out.

        Args:
            threshold: least cosine of a pair, in [-1, 1].
        """
        words = self.words()
        rows = [i for i, word in enumerate(words.query) if word.kind == "word"]
        columns = [j for j, word in enumerate(words.passage) if word.kind == "word"]
        if not rows or not columns:
            return []
        cosines = words.similarity[rows][:, columns]
        best_column, best_row = cosines.argmax(axis=1), cosines.argmax(axis=0)
        return [
            Pair(words.query[rows[i]], words.passage[columns[j]], float(cosines[i, j]))
            for i, j in enumerate(best_column)
            if best_row[j] == i and cosines[i, j] >= threshold
        ]

    def highlights(self) -> list[Highlight]:
        """Every word of the passage with what it added to the score, in the order of the text."""
        words = self.words()
        added = words.contributions.sum(axis=0)
        return [
            Highlight(word.start, word.end, float(added[j]))
            for j, word in enumerate(words.passage)
            if word.kind in ("word", "punctuation")
        ]


def _words(tokens: tuple[Token, ...], sources: Mapping[str, str]) -> tuple[Word, ...]:
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
