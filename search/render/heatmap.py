"""Matrices of two texts and of sentences: their units, their colours, and their form in a terminal.

A unit is a word, or a group of tokens: the special tokens, the punctuation, or the model's prompt. Its contribution is
the sum of its tokens' contributions. Everything that draws an explanation draws units.

In a terminal every cell is a number with a shade before it, so colour is not needed to read it. Sentences in rows are
numbered 1, 2, 3, and so are the columns if they are the same sentences; other columns are A, B, C. A matrix that is
wider than the terminal is continued below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from rich.cells import cell_len
from rich.table import Column
from rich.text import Text

from search.records.comparisons import Similarities
from search.records.explanations import Explanation
from search.records.hits import Hit
from search.records.tokens import Token, Word, WordKind, WordMatrices, all_of_kind
from search.render.format import fixed, layer_of, letters, one_line
from search.render.grid import Grid
from search.render.terminal import Canvas, as_text, grid
from search.render.why import addend_count_text, draw_head, how_made, signed

if TYPE_CHECKING:
    from search.records.tokens import Matrix, Vector

_SHADES = " ·░▒▓█"
# Width of a cell: a space, one or two characters of shade, a number of at most five.
_CELL = 7
_MOST_SENTENCES = 60
_CLOSEST = 5
_LABEL = 12

By = Literal["word", "token"]

_GROUPS: tuple[WordKind, ...] = ("punctuation", "special", "prompt")


@dataclass(frozen=True)
class Unit:
    """A row or column of a heat map: a word, a token, or a group such as the punctuation.

    Attributes:
        label: the text to display, on one line, without control characters.
        kind: "word", "context" (a word of title and headings), "punctuation", "special" or "prompt".
        words: positions of the words (or tokens, in a picture by token) that the unit stands for.
    """

    label: str
    kind: WordKind
    words: tuple[int, ...]

    @property
    def numbered(self) -> str:
        """Label with the position of the unit's first word, from 0, so that all labels differ: "13:##ot"."""
        return f"{self.words[0]}:{self.label}"


@dataclass(frozen=True, eq=False)
class Units:
    """Contributions and cosines of an explanation, summed up by units.

    Attributes:
        words: the words or tokens that the units refer to.
        query, passage: the U units of the query and the V units of the passage.
        contributions: (U, V) sums of addends, weighted as in the score; with the keyword addends they sum to the score.
            None if they were not computed.
        sums: (U,) and (V,) contributions of the units of each text.
        similarity: (U, V) highest cosine of a token of one unit with a token of the other.
        by: "word" if the units are words, "token" if they are tokens.
    """

    words: WordMatrices
    query: tuple[Unit, ...]
    passage: tuple[Unit, ...]
    contributions: Matrix | None
    similarity: Matrix
    sums: tuple[Vector, Vector]
    by: By

    @property
    def total(self) -> float:
        """Sum of the contributions of all units."""
        return float(self.sums[0].sum())

    @property
    def labels(self) -> tuple[list[str], list[str]]:
        """Labels of the rows and the columns."""
        return [unit.label for unit in self.query], [unit.label for unit in self.passage]


def units(why: Explanation, by: By = "word") -> Units:
    """Return the units of an explanation: its words, then groups such as special tokens; or every token."""
    words = why.words() if by == "word" else _tokens(why)
    query, passage = _units(words.query, by), _units(words.passage, by)
    return Units(
        words=words,
        query=query,
        passage=passage,
        contributions=None
        if words.contributions is None
        else why.weight * _by_units(np.add, words.contributions, query, passage),
        similarity=_by_units(np.maximum, words.similarity, query, passage),
        sums=(_of_units(why, words.sums[0], query), _of_units(why, words.sums[1], passage)),
        by=by,
    )


def largest_addend(drawn: Units) -> float:
    """Largest absolute contribution of a pair of single words or tokens; the end of the colour scale.

    Grouped units are left out: their sums would make all other cells pale. Without pairs, it is that of a single word.
    """
    rows = [i for i, unit in enumerate(drawn.query) if len(unit.words) == 1]
    columns = [j for j, unit in enumerate(drawn.passage) if len(unit.words) == 1]
    pairs = drawn.contributions
    if pairs is None:
        singles = np.concatenate([drawn.sums[0][rows], drawn.sums[1][columns]])
        return float(np.abs(singles).max(initial=0)) or 1.0
    cells = pairs[np.ix_(rows, columns)] if rows and columns else pairs
    return float(np.abs(cells).max()) or 1.0


def cosine_grid(why: Explanation, drawn: Units) -> Grid:
    """Return the cosines of an explanation."""
    return Grid(f"Cosines at {layer_of(why)}", *drawn.labels, drawn.similarity)


def contribution_grids(drawn: Units) -> list[Grid]:
    """Return the contributions of pairs, in thousandths; without pairs, those of each text in a row of its own."""
    rows, columns = drawn.labels
    title, limit = "Contributions, in thousandths", 1000 * largest_addend(drawn)
    if drawn.contributions is not None:
        return [Grid(title, rows, columns, 1000 * drawn.contributions, "contribution", limit)]
    return [
        Grid(title, ["added"], names, 1000 * sums.reshape(1, -1), "contribution", limit)
        for names, sums in zip((rows, columns), drawn.sums, strict=True)
    ]


def part(whole: Units, rows: int, columns: int) -> Units:
    """Return the `rows` and `columns` with the largest absolute contributions, in the order of the text."""
    chosen_rows, chosen_columns = _largest(whole.sums[0], rows), _largest(whole.sums[1], columns)
    cells = np.ix_(chosen_rows, chosen_columns)
    return replace(
        whole,
        query=tuple(whole.query[i] for i in chosen_rows),
        passage=tuple(whole.passage[j] for j in chosen_columns),
        contributions=None if whole.contributions is None else whole.contributions[cells],
        similarity=whole.similarity[cells],
        sums=(whole.sums[0][chosen_rows], whole.sums[1][chosen_columns]),
    )


def left_out(whole: Units, visible: Units) -> str:
    """Return a note about the units that a picture leaves out; "" if it leaves out none."""
    counts = [len(whole.query) - len(visible.query), len(whole.passage) - len(visible.passage)]
    if not any(counts):
        return ""
    return f"Left out (smallest contributions): {counts[0]} {whole.by}s of the query, {counts[1]} of the passage."


def _largest(added: Vector, count: int) -> list[int]:
    return sorted(np.argsort(-np.abs(added), kind="stable")[:count].tolist())


def _units(words: Sequence[Word], by: By) -> tuple[Unit, ...]:
    """Return a unit for each token; or for each word, then one unit for all words of each kind in `_GROUPS`."""
    groups = () if by == "token" else _GROUPS
    units = [Unit(one_line(w.text), w.kind, (i,)) for i, w in enumerate(words) if w.kind not in groups]
    for kind in groups:
        if places := tuple(i for i, word in enumerate(words) if word.kind == kind):
            units.append(Unit(one_line(all_of_kind(kind, words)), kind, places))
    return tuple(units)


def _of_units(why: Explanation, sums: Vector, units: Sequence[Unit]) -> Vector:
    return why.weight * np.array([sums[list(unit.words)].sum() for unit in units])


def _by_units(reduce: np.ufunc, cells: Matrix, query: Sequence[Unit], passage: Sequence[Unit]) -> Matrix:
    """Reduce a matrix of words to a (U, V) matrix of units: to the sum or maximum over the words of two units."""
    rows = np.stack([reduce.reduce(cells[list(unit.words)], axis=0) for unit in query])
    columns = [reduce.reduce(rows[:, list(unit.words)], axis=1) for unit in passage]
    return np.stack(columns, axis=1)


def _tokens(why: Explanation) -> WordMatrices:
    """Return the matrices of an explanation with each token as a word of its own."""
    return WordMatrices(
        tuple(_token(token, i) for i, token in enumerate(why.query_tokens)),
        tuple(_token(token, i) for i, token in enumerate(why.passage_tokens)),
        why.contributions,
        why.similarity,
        why.sums,
    )


def _token(token: Token, at: int) -> Word:
    kind: WordKind = token.part if token.part != "text" else "word"
    if kind == "word" and not any(character.isalnum() for character in token.text):
        kind = "punctuation"
    return Word(token.text, token.start, token.end, kind, (at, at + 1))


@as_text
def sentences(canvas: Canvas, similarities: Similarities) -> None:
    """Draw a comparison of sentences: the sentences, their cosines, and the closest pairs."""
    rows = [str(i + 1) for i in range(len(similarities.rows))]
    columns = rows if similarities.itself else [letters(j) for j in range(len(similarities.columns))]
    _draw_legend(canvas, rows, similarities.rows)
    if not similarities.itself:
        _draw_legend(canvas, columns, similarities.columns)
    shape = f"{len(rows)} x {len(columns)} cosines"
    if max(similarities.cosines.shape) > _MOST_SENTENCES:
        canvas.dim(f"{shape} are too many to print. Use --html, --png or --json.")
    else:
        draw_grid(canvas, Grid("Cosines of sentences", rows, columns, similarities.cosines))
    canvas.title("Closest pairs")
    for i, j in similarities.closest(_CLOSEST):
        canvas.line(f"  {similarities.cosines[i, j]:.3f}  {rows[i]} ~ {columns[j]}")
    canvas.dim(f"  ({shape}, {similarities.pooling} pooling, {one_line(similarities.model)})")


def _draw_legend(canvas: Canvas, names: Sequence[str], texts: Sequence[str]) -> None:
    canvas.facts(zip(names, map(one_line, texts), strict=True), style="bold")
    canvas.gap()


@as_text
def matrices(canvas: Canvas, why: Explanation, drawn: Units, hit: Hit | None = None) -> None:
    """Draw both matrices of an explanation by units: contributions to the cosine, then similarities."""
    if hit:
        draw_head(canvas, why, hit)
    else:
        canvas.facts((("rows", one_line(why.query)), ("columns", one_line(why.passage))))
    if why.steps or drawn.contributions is not None:
        _draw_contributions(canvas, why, drawn)
    else:
        canvas.dim("For the contribution of each pair of tokens, add --pairs, which is slow.")
    canvas.title(f"Cosines of token vectors at {layer_of(why)}: they do not sum to the score")
    cosines = cosine_grid(why, drawn)
    draw_grid(canvas, cosines)
    canvas.gap()
    canvas.dim(f"({len(cosines.rows)} x {len(cosines.columns)} {drawn.by}s)")


def _draw_contributions(canvas: Canvas, why: Explanation, drawn: Units) -> None:
    """Draw the addends of the cosine, the sum of each row, and the total."""
    part = "cosine" if why.weight == 1 else "cosine's part of the score"
    canvas.title(f"Contributions, in thousandths: they sum to the {part}")
    for added in contribution_grids(drawn):
        if drawn.contributions is not None:
            cells = np.column_stack([added.cells, 1000 * drawn.sums[0]]).astype(np.float64)
            draw_grid(canvas, replace(added, columns=[*added.columns, "sum"], cells=cells))
        else:
            draw_grid(canvas, added)
            canvas.gap()
    canvas.gap()
    whole = why.weight == 1 and not why.terms and why.late is None
    canvas.line(
        "cosine " if whole else "score ",
        (f"{why.score:.6f}", "bold green"),
        f" = {drawn.total:.6f} (all {addend_count_text(why)}) ",
        "" if whole else f"+ {why.addends - drawn.total:.6f} (keywords and others) ",
        f"{signed(why.residual)} (residual)",
    )
    canvas.dim(f"({how_made(why)})")


def draw_grid(canvas: Canvas, drawn: Grid) -> None:
    """Draw a matrix in blocks of as many columns as fit into the width; cells of the value `limit` are darkest."""
    rows, columns = drawn.rows, drawn.columns
    label = min(max(map(cell_len, rows)), _LABEL)
    at_once = max(1, (canvas.width - label) // _CELL)
    for first in range(0, len(columns), at_once):
        names = [_column(name, _CELL - 1) for name in columns[first : first + at_once]]
        table = grid(_column("", label, "bold"), *names, gap=1)
        for name, values in zip(rows, drawn.cells[:, first : first + at_once].tolist(), strict=True):
            numbers = ((value / drawn.limit, fixed(value, drawn.places)) for value in values)
            table.add_row(name, *(_cell(share, number) for share, number in numbers))
        if first:
            canvas.gap()
        canvas.table(table)


def _column(name: str, width: int, style: str = "") -> Column:
    return Column(name, width=width, justify="right", no_wrap=True, overflow="ellipsis", style=style)


def _cell(share: float, number: str) -> Text:
    """Return a number after a shaded bar, which is darker for a larger `abs(share)`."""
    shade = _SHADES[round(min(abs(share), 1.0) * (len(_SHADES) - 1))]
    tone = "red" if number.startswith("-") else "blue"
    return Text.assemble((shade * (_CELL - 1 - len(number)), tone), number)
