"""The lines of an explanation: its words, or several tokens that get one line together, or every token.

A unit is a word, or several tokens that are shown as one: the special tokens, the punctuation, the model's prompt. What
the tokens add to a score, the units add. Everything that draws an explanation draws units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from search.records.explanations import Explanation
from search.records.tokens import Token, Word, WordKind, WordMatrices, all_of_kind
from search.render.format import one_line

if TYPE_CHECKING:
    from search.records.tokens import Matrix, Vector

By = Literal["word", "token"]

_GROUPS: tuple[WordKind, ...] = ("punctuation", "special", "prompt")


@dataclass(frozen=True)
class Unit:
    """One line of a picture.

    Attributes:
        label: harmless in a terminal, on one line.
        kind: "word", "context" (a word of title and headings), "punctuation", "special" or "prompt".
        words: positions of its words among the words of its text.
    """

    label: str
    kind: WordKind
    words: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Units:
    """Both matrices of an explanation by units.

    Attributes:
        words: what the units point into.
        query, passage: U and V units.
        contributions: (U, V) sums of addends, weighted as in the score, so that they and the terms sum to it.
        similarity: (U, V) the highest cosine among the tokens of the two units.
        by: whether its units are words or tokens.
    """

    words: WordMatrices
    query: tuple[Unit, ...]
    passage: tuple[Unit, ...]
    contributions: Matrix
    similarity: Matrix
    by: By

    @property
    def query_added(self) -> Vector:
        """(U,) what each unit of the query added."""
        return self.contributions.sum(axis=1)

    @property
    def passage_added(self) -> Vector:
        """(V,) what each unit of the passage added."""
        return self.contributions.sum(axis=0)


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows and columns of units, and what was left out for lack of room.

    Attributes:
        units: those that are shown.
        query_added, passage_added: what the shown units added, with those not shown too.
        left_query, left_passage: how many units are not shown, and what these added in all.
    """

    units: Units
    query_added: Vector
    passage_added: Vector
    left_query: tuple[int, float]
    left_passage: tuple[int, float]


def units(why: Explanation, by: By = "word") -> Units:
    """The lines of an explanation: its words, then what is no word of the text; or every token."""
    words = why.words() if by == "word" else _tokens(why)
    query, passage = _units(words.query, by), _units(words.passage, by)
    return Units(
        words,
        query,
        passage,
        why.weight * _by_units(np.add, words.contributions, query, passage),
        _by_units(np.maximum, words.similarity, query, passage),
        by,
    )


def word_lines(drawn: Units) -> tuple[int, int]:
    """How many units of query and passage are single words or tokens; the rest, behind them, are several."""
    if drawn.by == "token":
        return len(drawn.query), len(drawn.passage)
    query, passage = (sum(u.kind not in _GROUPS for u in side) for side in (drawn.query, drawn.passage))
    return query, passage


def largest_addend(drawn: Units) -> float:
    """The largest |addend| of a pair of words: where a colour scale for contributions ends.

    Lines of several tokens are left out, as a sum of many would leave all words pale.
    """
    rows = [i for i, unit in enumerate(drawn.query) if len(unit.words) == 1]
    columns = [j for j, unit in enumerate(drawn.passage) if len(unit.words) == 1]
    cells = drawn.contributions[np.ix_(rows, columns)] if rows and columns else drawn.contributions
    return float(np.abs(cells).max()) or 1.0


def part(whole: Units, rows: int, columns: int) -> Part:
    """At most so many rows and columns: those that added most, whatever the sign, in the order of the text."""
    kept_rows, kept_columns = _largest(whole.query_added, rows), _largest(whole.passage_added, columns)
    cells = np.ix_(kept_rows, kept_columns)
    shown = replace(
        whole,
        query=tuple(whole.query[i] for i in kept_rows),
        passage=tuple(whole.passage[j] for j in kept_columns),
        contributions=whole.contributions[cells],
        similarity=whole.similarity[cells],
    )
    return Part(
        shown,
        whole.query_added[kept_rows],
        whole.passage_added[kept_columns],
        _left(whole.query_added, kept_rows),
        _left(whole.passage_added, kept_columns),
    )


def left_out(shown: Part) -> str:
    """What a picture does not show, in a sentence; empty when it shows all."""
    phrases = [
        f"{count} of the {side}, which added {added:+.4f} in all"
        for side, (count, added) in (("query", shown.left_query), ("passage", shown.left_passage))
        if count
    ]
    return f"Lines left out: {'; '.join(phrases)}." if phrases else ""


def _largest(added: Vector, count: int) -> list[int]:
    return sorted(np.argsort(-np.abs(added), kind="stable")[:count].tolist())


def _left(added: Vector, kept: Sequence[int]) -> tuple[int, float]:
    return len(added) - len(kept), float(added.sum() - added[list(kept)].sum())


def _units(words: Sequence[Word], by: By) -> tuple[Unit, ...]:
    if by == "token":
        return tuple(Unit(one_line(word.text), word.kind, (i,)) for i, word in enumerate(words))
    alone = [Unit(one_line(w.text), w.kind, (i,)) for i, w in enumerate(words) if w.kind not in _GROUPS]
    together = [(kind, tuple(i for i, w in enumerate(words) if w.kind == kind)) for kind in _GROUPS]
    return (*alone, *(Unit(one_line(all_of_kind(kind, words)), kind, at) for kind, at in together if at))


def _by_units(together: np.ufunc, cells: Matrix, query: Sequence[Unit], passage: Sequence[Unit]) -> Matrix:
    """(U, V) from the words' matrix: the cells of the words of two units, added up, say."""
    rows = np.stack([together.reduce(cells[list(unit.words)], axis=0) for unit in query])
    columns: Matrix = np.stack(
        [together.reduce(rows[:, list(unit.words)], axis=1) for unit in passage], axis=1
    )
    return columns


def _tokens(why: Explanation) -> WordMatrices:
    """The matrices by tokens, each token as a word of its own."""
    return WordMatrices(
        tuple(_token(token, i) for i, token in enumerate(why.query_tokens)),
        tuple(_token(token, i) for i, token in enumerate(why.passage_tokens)),
        why.contributions,
        why.similarity,
    )


def _token(token: Token, at: int) -> Word:
    kind: WordKind = token.part if token.part != "text" else "word"
    if kind == "word" and not any(character.isalnum() for character in token.text):
        kind = "punctuation"
    return Word(token.text, token.start, token.end, kind, (at, at + 1))
