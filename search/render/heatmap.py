"""Matrices of two texts and of sentences: their units, their colours, and their form in a terminal.

A unit is a word, or a group of tokens: the special tokens, the punctuation, or the model's prompt. Its contribution is
the sum of its tokens' contributions. The last unit of each text is the offset, if it is not 0; it has no cosines.
Everything that draws an explanation draws units.

In a terminal every cell is a number with a shade before it, so colour is not needed to read it. Sentences in rows are
numbered 1, 2, 3, and so are the columns if they are the same sentences; other columns are A, B, C. A matrix that is
wider than the terminal is continued below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from rich.cells import cell_len
from rich.table import Column
from rich.text import Text

from search.records.comparisons import Similarities
from search.records.explanations import Explanation, Side
from search.records.hits import Hit
from search.records.tokens import ANY_TEXT, Token, Word, WordKind, WordMatrices, all_of_kind, sums_by_word
from search.render.format import fixed, layer_of, letters, one_line
from search.render.grid import Grid, Range
from search.render.terminal import Canvas, as_text, grid
from search.render.why import addend_count_text, draw_head, how_made, signed

if TYPE_CHECKING:
    from search.records.tokens import Matrix, Vector

_SHADES = " ·░▒▓█"
# Width of a cell: a space, one or two characters of shade, a number of at most five.
_CELL = 7
_GAP = 2
_MOST_SENTENCES = 60
_CLOSEST = 5
_LABEL = 12
_ROUNDING = 1e-9
# At most that many rows and columns of an explanation are drawn in a picture, or below a hit.
MOST_ROWS = MOST_COLUMNS = 24

By = Literal["word", "token"]

_GROUPS: tuple[WordKind, ...] = ("punctuation", "special", "prompt")


@dataclass(frozen=True)
class Unit:
    """A row or column of a heat map: a word, a token, or a group such as the punctuation.

    Attributes:
        label: the text to display, on one line, without control characters.
        kind: "word", "context" (a word of title and headings), "punctuation", "special", "prompt" or "offset".
        words: positions of the words (or tokens, in a picture by token) that the unit stands for; () for the offset.
    """

    label: str
    kind: WordKind
    words: tuple[int, ...]

    @property
    def numbered(self) -> str:
        """Label with the position of the unit's first word, from 0, so that all labels differ: "13:##ot"."""
        return f"{self.words[0]}:{self.label}" if self.words else self.label


@dataclass(frozen=True, eq=False)
class Units:
    """Contributions and cosines of an explanation, summed up by units.

    Attributes:
        words: the words or tokens that the units refer to.
        query, passage: the U units of the query and the V units of the passage, the offset last if there is any.
        pairs: returns `contributions`.
        sums: (U,) and (V,) contributions of the units of each text.
        similarity: highest cosine of a token of one unit with a token of the other, without the offsets.
        by: "word" if the units are words, "token" if they are tokens.
        total: sum of the contributions of all units, also of those that are left out.
        gaps: positions of query and passage units before which others are left out, see `Grid`.
    """

    words: WordMatrices
    query: tuple[Unit, ...]
    passage: tuple[Unit, ...]
    pairs: Callable[[], Matrix] = field(repr=False)
    similarity: Matrix
    sums: tuple[Vector, Vector]
    by: By
    total: float
    gaps: tuple[Sequence[int], Sequence[int]] = ((), ())

    @cached_property
    def contributions(self) -> Matrix:
        """(U, V) sums of addends, weighted as in the score; with the keyword addends they sum to the score.

        They are computed when they are used first, which takes longer than all other numbers.
        """
        return self.pairs()

    @property
    def labels(self) -> tuple[list[str], list[str]]:
        """Labels of the rows and the columns."""
        return [unit.label for unit in self.query], [unit.label for unit in self.passage]


_OFFSET = Unit(ANY_TEXT, "offset", ())


def units(why: Explanation, by: By = "word") -> Units:
    """Return the units of an explanation: its words, then groups such as special tokens; or every token."""
    words = why.words() if by == "word" else _tokens(why)
    query, passage = _units(words.query, by), _units(words.passage, by)
    sums = _of_units(words.query_sums, query), _of_units(words.passage_sums, passage)
    similarity = _by_units(np.maximum, words.similarity, query, passage)
    has_offset = bool(why.offset or why.passage_offset)
    pairs = partial(_pairs, why, words, query, passage, has_offset)
    if has_offset:
        sums = np.append(sums[0], why.offset), np.append(sums[1], why.passage_offset)
        query, passage = (*query, _OFFSET), (*passage, _OFFSET)
    return Units(
        words=words,
        query=query,
        passage=passage,
        pairs=pairs,
        similarity=similarity,
        sums=(why.weight * sums[0], why.weight * sums[1]),
        by=by,
        total=why.weight * float(sums[0].sum()),
    )


def _pairs(
    why: Explanation,
    words: WordMatrices,
    query: Sequence[Unit],
    passage: Sequence[Unit],
    has_offset: bool,
) -> Matrix:
    """Return the contributions of pairs of units, the offset last."""
    cells = _by_units(np.add, words.contributions, query, passage)
    if has_offset:
        offsets = why.offsets
        row = _of_units(sums_by_word(offsets.passage, words.passage), passage)
        column = _of_units(sums_by_word(offsets.query, words.query), query)
        cells = np.block([[cells, column[:, None]], [row[None], np.array([[offsets.both]])]])
    return why.weight * cells


def largest_addend(drawn: Units) -> float:
    """Largest absolute contribution of a pair of words; the end of the colour scale.

    Special tokens, punctuation and the offset are left out: they would make all other cells pale.
    """
    rows, columns = (_places(side, "word", "context") for side in (drawn.query, drawn.passage))
    cells = drawn.contributions[np.ix_(rows, columns)] if rows and columns else drawn.contributions
    return float(np.abs(cells).max()) or 1.0


def cosine_grid(why: Explanation, drawn: Units, colours: Range | None = None) -> Grid:
    """Return the cosines of an explanation."""
    rows, columns = ([unit.label for unit in side if unit.words] for side in (drawn.query, drawn.passage))
    title = f"Cosines at {layer_of(why)}"
    return Grid(title, rows, columns, drawn.similarity, colours=colours, gaps=drawn.gaps)


def contribution_grid(drawn: Units, colours: Range | None = None) -> Grid:
    """Return the contributions of pairs, in thousandths."""
    title, limit = "Contributions, in thousandths", 1000 * largest_addend(drawn)
    cells = 1000 * drawn.contributions
    return Grid(title, *drawn.labels, cells, "contribution", limit, colours, drawn.gaps)


def layer_grid(why: Explanation, side: Side, by: By = "word", special: bool = True) -> Grid:
    """Return the contributions of a text's units, traced to each layer, in thousandths; the last layer comes first."""
    words = getattr(why.words() if by == "word" else _tokens(why), side)
    units, table = _units(words, by), why.weight * why.layers(side)
    if not special:
        units = tuple(unit for unit in units if unit.kind != "special")
    by_word = sums_by_word(table[:, :-1], words)
    cells = np.stack(
        [*(by_word[:, list(unit.words)].sum(axis=1) for unit in units), table[:, -1]], axis=1
    )
    alone = _places(units, "word", "context")
    limit = float(np.abs(cells[:, alone]).max(initial=0)) or 1.0
    rows = [f"layer {layer}" for layer in range(len(table) - 1, -1, -1)]
    columns = [*(unit.label for unit in units), ANY_TEXT]
    title = f"Contributions of the {side}, traced to each layer, in thousandths"
    return Grid(title, rows, columns, 1000 * cells[::-1], "contribution", 1000 * limit)


def without(whole: Units, *kinds: WordKind) -> Units:
    """Return the units of other kinds; a text that has no others keeps them."""
    rows, columns = (
        [i for i, unit in enumerate(side) if unit.kind not in kinds] or list(range(len(side)))
        for side in (whole.query, whole.passage)
    )
    return _selected(whole, rows, columns)


def part(whole: Units, rows: int, columns: int) -> Units:
    """Return the strongest `rows` and `columns` in the order of the text, with the gaps between them.

    Strongest are those with the largest absolute contributions, or with the largest cosines if the cosine is no part of
    the score.
    """
    chosen = _largest(_strengths(whole, 0), rows), _largest(_strengths(whole, 1), columns)
    gaps = _gaps(chosen[0], len(whole.query)), _gaps(chosen[1], len(whole.passage))
    return replace(_selected(whole, *chosen), gaps=gaps)


def for_picture(whole: Units, rows: int, columns: int, special: bool = True) -> tuple[Units, list[str]]:
    """Return the units that a picture draws, and notes about the others.

    Punctuation is left out: it has no meaning of its own, but often larger numbers than words.

    Args:
        special: draw special tokens.
    """
    kinds: list[WordKind] = ["punctuation"] if special else ["punctuation", "special"]
    unmarked = without(whole, *kinds)
    visible = part(unmarked, rows, columns)
    names = {"punctuation": "punctuation", "special": "special tokens"}
    notes = [left_out(unmarked, visible)]
    for kind in kinds:
        places = [_places(side, kind) for side in (whole.query, whole.passage)]
        if any(places) and not any(_places(side, kind) for side in (visible.query, visible.passage)):
            query, passage = (
                float(sums[hidden].sum()) for sums, hidden in zip(whole.sums, places, strict=True)
            )
            notes.append(
                f"Not drawn: {names[kind]} ({query:+.3f} of the query, {passage:+.3f} of the passage)."
            )
    return visible, [note for note in notes if note]


def _selected(whole: Units, chosen_rows: list[int], chosen_columns: list[int]) -> Units:
    query, passage = [whole.query[i] for i in chosen_rows], [whole.passage[j] for j in chosen_columns]
    with_cosines = (
        [i for i in chosen_rows if whole.query[i].words],
        [j for j in chosen_columns if whole.passage[j].words],
    )
    return replace(
        whole,
        query=tuple(query),
        passage=tuple(passage),
        pairs=lambda: whole.contributions[np.ix_(chosen_rows, chosen_columns)],
        similarity=whole.similarity[np.ix_(*with_cosines)],
        sums=(whole.sums[0][chosen_rows], whole.sums[1][chosen_columns]),
    )


def _strengths(whole: Units, side: int) -> Vector:
    sums = np.abs(whole.sums[side])
    if sums.any():
        return sums
    has_words = [bool(unit.words) for unit in (whole.query, whole.passage)[side]]
    best = whole.similarity.max(axis=1 - side).astype(np.float64)
    return np.append(best, 0.0) if len(best) < len(has_words) else best


def _gaps(chosen: Sequence[int], count: int) -> tuple[int, ...]:
    """Return the positions in `chosen` before which numbers from 0 to `count` - 1 are missing."""
    ends = [-1, *chosen, count]
    return tuple(i for i in range(len(chosen) + 1) if ends[i + 1] - ends[i] > 1)


def _places(units: Sequence[Unit], *kinds: WordKind) -> list[int]:
    return [i for i, unit in enumerate(units) if unit.kind in kinds]


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


def _of_units(sums: Vector, units: Sequence[Unit]) -> Vector:
    return np.array([sums[list(unit.words)].sum() for unit in units])


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
        why,
    )


def _token(token: Token, at: int) -> Word:
    kind: WordKind = token.part if token.part != "text" else "word"
    if kind == "word" and not any(character.isalnum() for character in token.text):
        kind = "punctuation"
    return Word(token.text, token.start, token.end, kind, (at, at + 1))


@as_text
def sentences(canvas: Canvas, similarities: Similarities, colours: Range | None = None) -> None:
    """Draw a comparison of sentences: the sentences, their cosines, and the closest pairs.

    Args:
        colours: range of the shades; None is -1 to 1.
    """
    rows = [str(i + 1) for i in range(len(similarities.rows))]
    columns = rows if similarities.itself else [letters(j) for j in range(len(similarities.columns))]
    _draw_legend(canvas, rows, similarities.rows)
    if not similarities.itself:
        _draw_legend(canvas, columns, similarities.columns)
    shape = f"{len(rows)} x {len(columns)} cosines"
    if max(similarities.cosines.shape) > _MOST_SENTENCES:
        canvas.dim(f"{shape} are too many to print. Use --html, --png or --json.")
    else:
        draw_grid(
            canvas, Grid("Cosines of sentences", rows, columns, similarities.cosines, colours=colours)
        )
    canvas.title("Closest pairs")
    for i, j in similarities.closest(_CLOSEST):
        canvas.line(f"  {similarities.cosines[i, j]:.3f}  {rows[i]} ~ {columns[j]}")
    canvas.dim(f"  ({shape}, {similarities.pooling} pooling, {one_line(similarities.model)})")


def _draw_legend(canvas: Canvas, names: Sequence[str], texts: Sequence[str]) -> None:
    canvas.facts(zip(names, map(one_line, texts), strict=True), style="bold")
    canvas.gap()


@as_text
def layers(
    canvas: Canvas, why: Explanation, by: By = "word", hit: Hit | None = None, special: bool = True
) -> None:
    """Draw where the cosine comes from: contributions of each text, traced to each layer.

    Args:
        special: draw special tokens.
    """
    if hit:
        draw_head(canvas, why, hit)
    else:
        canvas.facts((("first ", one_line(why.query)), ("second", one_line(why.passage))))
    for side in get_args(Side):
        grid = layer_grid(why, side, by, special)
        canvas.title(grid.title)
        draw_grid(canvas, grid)
    canvas.gap()
    lacking = "" if special else ", with special tokens"
    canvas.dim(f"(each row{lacking} sums to the cosine's part of the score; layer 0: words as typed)")


@as_text
def matrices(
    canvas: Canvas,
    why: Explanation,
    drawn: Units,
    hit: Hit | None = None,
    colours: Range | None = None,
) -> None:
    """Draw both matrices of an explanation by units: contributions to the cosine, then similarities.

    Args:
        colours: range of the shades of cosines; None is -1 to 1.
    """
    if hit:
        draw_head(canvas, why, hit)
    else:
        canvas.facts((("rows", one_line(why.query)), ("columns", one_line(why.passage))))
    _draw_contributions(canvas, why, drawn)
    canvas.title(f"Cosines of token vectors at {layer_of(why)}: they do not sum to the score")
    cosines = cosine_grid(why, drawn, colours)
    draw_grid(canvas, cosines)
    canvas.gap()
    canvas.dim(f"({len(cosines.rows)} x {len(cosines.columns)} {drawn.by}s)")


def draw_below(
    canvas: Canvas, hit: Hit, by: By = "token", special: bool = True, colours: Range | None = None
) -> None:
    """Draw the cosines of a hit's strongest columns, below the hit."""
    why = hit.explanation
    if why is None:
        return
    visible, notes = for_picture(units(why, by), MOST_ROWS, MOST_COLUMNS, special)
    cosines = cosine_grid(why, visible, colours)
    draw_grid(canvas, cosines)
    canvas.dim(f"({cosines.title}. {' '.join(notes)})" if notes else f"({cosines.title})")
    canvas.gap()


def _draw_contributions(canvas: Canvas, why: Explanation, drawn: Units) -> None:
    """Draw the addends of the cosine, the sum of each row, and the total."""
    part = "cosine" if why.weight == 1 else "cosine's part of the score"
    canvas.title(f"Contributions, in thousandths: they sum to the {part}")
    added = contribution_grid(drawn)
    cells = np.column_stack([added.cells, 1000 * drawn.sums[0]]).astype(np.float64)
    draw_grid(canvas, replace(added, columns=[*added.columns, "sum"], cells=cells))
    canvas.gap()
    whole = why.weight == 1 and not why.terms and why.late is None
    canvas.line(
        "cosine " if whole else "score ",
        (f"{why.score:.6f}", "bold green"),
        f" = {drawn.total:.6f} ({addend_count_text(why)}) ",
        "" if whole else f"+ {why.addends - drawn.total:.6f} (keywords and others) ",
        f"{signed(why.residual)} (residual)",
    )
    hidden = drawn.total - float(drawn.sums[0].sum())
    lacking = f"; special tokens, which are left out, add {hidden:.6f}" if abs(hidden) > _ROUNDING else ""
    canvas.dim(f"({how_made(why)}{lacking})")


def draw_grid(canvas: Canvas, drawn: Grid) -> None:
    """Draw a matrix in blocks of as many columns as fit into the width; a column "…" stands for a gap."""
    label = min(max(map(cell_len, drawn.rows)), _LABEL)
    for number, block in enumerate(_blocks(drawn, canvas.width - label)):
        names = [_gap() if j is None else _column(drawn.columns[j], _CELL - 1) for j in block]
        table = grid(_column("", label, "bold"), *names, gap=1)
        for name, values in zip(drawn.rows, drawn.cells.tolist(), strict=True):
            table.add_row(name, *("" if j is None else _number(drawn, values[j]) for j in block))
        if number:
            canvas.gap()
        canvas.table(table)


def _blocks(drawn: Grid, width: int) -> Iterator[list[int | None]]:
    """Yield the positions of the columns that fit into the width, None for a gap, block by block."""
    block: list[int | None] = []
    free = width
    for j in range(len(drawn.columns) + 1):
        parts: list[int | None] = [None] if j in drawn.gaps[1] else []
        parts += [j] if j < len(drawn.columns) else []
        needed = sum(_GAP if part is None else _CELL for part in parts)
        if needed > free and any(part is not None for part in block) and j < len(drawn.columns):
            yield block
            block, free = [], width
        block += parts
        free -= needed
    yield block


def _gap() -> Column:
    return Column("…", width=_GAP - 1, no_wrap=True)


def _column(name: str, width: int, style: str = "") -> Column:
    return Column(name, width=width, justify="right", no_wrap=True, overflow="ellipsis", style=style)


def _number(drawn: Grid, value: float) -> Text:
    """Return a number after a shaded bar."""
    share, number = drawn.depth(value), fixed(value, drawn.places)
    shade = _SHADES[round(abs(share) * (len(_SHADES) - 1))]
    tone = "red" if number.startswith("-") else "blue"
    return Text.assemble((shade * (_CELL - 1 - len(number)), tone), number)
