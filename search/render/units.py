"""The lines of an explanation: its words, or several tokens that get one line together, or every token; and a scale.

A unit is a word, or several tokens that are shown as one: the special tokens, the punctuation, the model's prompt. What
the tokens add to a score, the units add. Everything that draws an explanation draws units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

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
        words: positions of its words among the words of its text, or of its token among the tokens.
    """

    label: str
    kind: WordKind
    words: tuple[int, ...]

    @property
    def numbered(self) -> str:
        """Its label with its (first) place, counted from 0, so that no two are equal: "13:##ot"."""
        return f"{self.words[0]}:{self.label}"


@dataclass(frozen=True, eq=False)
class Units:
    """Both matrices of an explanation by units.

    Attributes:
        words: what the units point into.
        query, passage: U and V units.
        contributions: (U, V) sums of addends, weighted as in the score, so that they and the terms sum to it.
        similarity: (U, V) the highest cosine among the tokens of the two units.
        by: whether its units are words or tokens.
        query_added, passage_added: (U,), (V,) what each unit added, with those of the other text that are left out.
        total: what all units added.
        left: how many units of query and passage are left out.
    """

    words: WordMatrices
    query: tuple[Unit, ...]
    passage: tuple[Unit, ...]
    contributions: Matrix
    similarity: Matrix
    by: By
    query_added: Vector
    passage_added: Vector
    total: float
    left: tuple[int, int] = (0, 0)


def units(why: Explanation, by: By = "word", *, special: bool = True) -> Units:
    """The lines of an explanation: its words, then what is no word of the text; or every token.

    Args:
        special: with the special tokens; without them, unless a text has no others.
    """
    words = why.words() if by == "word" else _tokens(why)
    query, passage = _units(words.query, by), _units(words.passage, by)
    contributions = why.weight * _by_units(np.add, words.contributions, query, passage)
    whole = Units(
        words,
        query,
        passage,
        contributions,
        _by_units(np.maximum, words.similarity, query, passage),
        by,
        contributions.sum(axis=1),
        contributions.sum(axis=0),
        float(contributions.sum()),
    )
    return whole if special else _only(whole, _own(query), _own(passage))


def _own(side: Sequence[Unit]) -> list[int]:
    """Positions of the units that are no special tokens; all where there are no others."""
    return [i for i, unit in enumerate(side) if unit.kind != "special"] or [*range(len(side))]


def largest_addend(drawn: Units) -> float:
    """The largest |addend| of a pair of words: where a colour scale for contributions ends.

    Lines of several tokens are left out, as a sum of many would leave all words pale.
    """
    rows = [i for i, unit in enumerate(drawn.query) if len(unit.words) == 1]
    columns = [j for j, unit in enumerate(drawn.passage) if len(unit.words) == 1]
    cells = drawn.contributions[np.ix_(rows, columns)] if rows and columns else drawn.contributions
    return float(np.abs(cells).max()) or 1.0


def part(whole: Units, rows: int, columns: int) -> Units:
    """At most so many rows and columns: those that added most, whatever the sign, in the order of the text."""
    return _only(whole, _largest(whole.query_added, rows), _largest(whole.passage_added, columns))


def left_out(shown: Units) -> str:
    """What a picture does not show, in a sentence; empty when it shows all."""
    sides = zip(("query", "passage"), shown.left, (shown.query_added, shown.passage_added), strict=True)
    phrases = [
        f"{count} of the {side}, which added {shown.total - added.sum():+.4f} in all"
        for side, count, added in sides
        if count
    ]
    return f"Lines left out: {'; '.join(phrases)}." if phrases else ""


def _only(whole: Units, rows: Sequence[int], columns: Sequence[int]) -> Units:
    """Some rows and columns; what these added, they still added."""
    cells = np.ix_(rows, columns)
    left = (len(whole.query) - len(rows), len(whole.passage) - len(columns))
    return replace(
        whole,
        query=tuple(whole.query[i] for i in rows),
        passage=tuple(whole.passage[j] for j in columns),
        contributions=whole.contributions[cells],
        similarity=whole.similarity[cells],
        query_added=whole.query_added[rows],
        passage_added=whole.passage_added[columns],
        left=(whole.left[0] + left[0], whole.left[1] + left[1]),
    )


def _largest(added: Vector, count: int) -> list[int]:
    return sorted(np.argsort(-np.abs(added), kind="stable")[:count].tolist())


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


@dataclass(frozen=True)
class Ends:
    """Two values: what lies at one of them, or beyond, has the colour of that end.

    From `low` 0 or higher colours grow from none at `low`. With a `low` below 0 there is none at 0, and the colours of
    what is below it grow towards `low`.
    """

    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        """Raise ValueError for ends that are none."""
        if not (self.low < self.high and self.high > 0):
            raise ValueError(
                f"colours from {self.low:g} to {self.high:g}: the end is not above the start, or not above 0"
            )

    def share(self, value: Any) -> Any:
        """Where a value, or each of an array, stands: in [-1, 1], 0 for no colour."""
        if self.low >= 0:
            return np.clip((value - self.low) / (self.high - self.low), 0, 1)
        return np.clip(value / np.where(np.asarray(value) < 0, -self.low, self.high), -1, 1)

    @property
    def said(self) -> str:
        """What to add to a sentence about a picture of cosines; nothing where the ends are the usual ones."""
        return "" if self == COSINES else f"; coloured from {self.low:g} to {self.high:g}"


COSINES = Ends()


def around_zero(end: float) -> Ends:
    """From -end to end."""
    return Ends(-end, end)
