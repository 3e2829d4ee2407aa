"""Display of records in a notebook: HTML without style sheets and scripts, matplotlib plots, pandas tables.

Cells have translucent colours, so they are readable on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial, singledispatch
from typing import TYPE_CHECKING, Any

from search.records.comparisons import Similarities
from search.records.document_map import DocumentMap
from search.records.explanations import Explanation, MatrixName
from search.records.hits import Hit, Hits
from search.render import json
from search.render.format import fixed, layer_of, named, one_line, snippet, where
from search.render.grid import Grid, Range, Scale
from search.render.heatmap import (
    MOST_COLUMNS,
    MOST_ROWS,
    By,
    contribution_grid,
    cosine_grid,
    for_picture,
    layer_grid,
    left_out,
    part,
    units,
    without,
)
from search.render.page.document import isolated, text
from search.render.why import addend_count_text, how_made, sentence, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

MOST_SENTENCES = 40
_MOST_IN_TABLE = 60  # columns, as a table scrolls
# Colours of positive and negative cells.
_COLOURS: dict[Scale, tuple[str, str]] = {
    "cosine": ("138,95,191", "125,133,142"),
    "contribution": ("49,130,196", "201,112,31"),
    "attention": ("38,150,95", "38,150,95"),
}
_DEEPEST = 0.75  # opacity of the deepest colour


def as_dict(record: Any, matrices: bool) -> dict[str, Any]:
    """Return a record as a dictionary, see `NotebookMixin.to_dict`; hits include their explanations, if any."""
    explained = None if matrices else json.compact_explanation
    if isinstance(record, Hits):
        coverage = {"coverage": record.coverage} if record.coverage else {}
        return dict(json.plain({"hits": json.hits(record, explained=explained), **coverage}))
    if isinstance(record, Hit):
        return dict(json.plain(json.hits([record], explained=explained)[0]))
    whole = explained(record) if explained and isinstance(record, Explanation) else record
    return dict(json.plain(whole))


@singledispatch
def html(record: Any) -> str:
    """Return a record as HTML, for `_repr_html_`."""
    raise TypeError(f"a notebook cannot show {type(record).__name__}")


@html.register
def _(why: Explanation) -> str:
    drawn = units(why, "token")
    visible = part(drawn, MOST_ROWS, _MOST_IN_TABLE)
    cosines, added = matrix(cosine_grid(why, visible)), matrix(contribution_grid(visible))
    rest = why.addends - drawn.total
    others = f" + {rest:.6f} (keywords and others)" if abs(rest) > 1e-12 else ""
    pairs = f"= {drawn.total:.6f} ({addend_count_text(why)})"
    total = f"{pairs}{others} {signed(why.residual)} (residual)"
    parts = (
        f"<p><b>{isolated(why.query)}</b></p>",
        f"<p><b>{why.score:.6f}</b> {total}, {text(how_made(why))}<br>{text(sentence(why))}</p>",
        f"<p>{isolated(why.passage)}</p>",
        f"<h4>Cosines of token vectors at {layer_of(why)}: the similarity of tokens</h4>{cosines}",
        f"<h4>Contributions to the score, in thousandths</h4>{added}",
        f"<p>{text(left_out(drawn, visible))}</p>",
    )
    return f"<div>{''.join(parts)}</div>"


@html.register
def _(hits: Hits) -> str:
    rows = [
        (
            str(hit.rank),
            f"{hit.score:.3f}",
            f"{isolated(where(hit))}<br><small>{text(named(hit))}</small>",
            f"<b>{isolated(hit.heading or hit.title)}</b><br>{isolated(snippet(hit))}",
        )
        for hit in hits
    ]
    return table(("rank", "score", "place", "passage"), rows) if rows else "<p>no hits</p>"


@html.register
def _(hit: Hit) -> str:
    return html(Hits([hit]))


@html.register
def _(similarities: Similarities) -> str:
    n, m = similarities.cosines.shape
    note = f"<p>{n} × {m} cosines, {text(similarities.pooling)} pooling, {text(similarities.model)}</p>"
    if max(n, m) > MOST_SENTENCES:
        return f"{note}<p>Too many to show here. Use .plot(), .to_pandas() or .cosines.</p>"
    rows = [f"{i + 1} {one_line(sentence)}" for i, sentence in enumerate(similarities.rows)]
    columns = [str(j + 1) if similarities.itself else one_line(similarities.columns[j]) for j in range(m)]
    cosines = Grid("Cosines of sentences", rows, columns, similarities.cosines)
    return f"<div>{matrix(cosines)}{note}</div>"


@html.register
def _(map_: DocumentMap) -> str:
    rows = [(str(count), isolated(group)) for group, count in map_.groups.items()]
    return f"<div>{table(('documents', 'group'), rows)}<p>Draw it with .plot()</p></div>"


@singledispatch
def plot(record: Any, ax: Axes | None, **how: Any) -> Axes:
    """Plot a record as a picture into matplotlib axes; None creates a new pyplot figure."""
    raise TypeError(f"{type(record).__name__} has no plot")


@plot.register(DocumentMap)
def _(map_: DocumentMap, ax: Axes | None) -> Axes:
    from search.render.picture import scatter

    return scatter(ax, map_)


@plot.register(Similarities)
def _(similarities: Similarities, ax: Axes | None, *, scale: Range | None) -> Axes:
    from search.render.picture import heat_map, names_of

    rows, columns, _ = names_of(similarities)
    cosines = Grid("Cosines of sentences", rows, columns, similarities.cosines, colours=scale)
    return heat_map(ax, cosines)


@plot.register(Explanation)
def _(
    why: Explanation,
    ax: Axes | None,
    *,
    matrix: MatrixName,
    by: By,
    special: bool,
    scale: Range | None,
) -> Axes:
    from search.render.picture import heat_map

    if matrix == "query" or matrix == "passage":
        return heat_map(ax, replace(layer_grid(why, matrix, by, special), colours=scale))
    drawn, _ = for_picture(units(why, by), MOST_ROWS, MOST_COLUMNS, special)
    is_cosine = matrix == "similarity"
    return heat_map(ax, cosine_grid(why, drawn, scale) if is_cosine else contribution_grid(drawn, scale))


@singledispatch
def frame(record: Any, **how: Any) -> DataFrame:
    """Return a record as a pandas table."""
    raise TypeError(f"{type(record).__name__} is no table")


@frame.register(Explanation)
def _(why: Explanation, *, matrix: MatrixName, by: By, special: bool) -> DataFrame:
    import pandas

    if matrix == "query" or matrix == "passage":
        grid = layer_grid(why, matrix, by, special)
        return pandas.DataFrame(grid.cells[::-1] / 1000, columns=grid.columns)
    drawn = units(why, by) if special else without(units(why, by), "special")
    is_cosine = matrix == "similarity"
    rows, columns = (
        [unit.numbered for unit in side if unit.words or not is_cosine]
        for side in (drawn.query, drawn.passage)
    )
    return pandas.DataFrame(drawn.similarity if is_cosine else drawn.contributions, rows, columns)


@frame.register(Similarities)
def _(similarities: Similarities) -> DataFrame:
    import pandas

    return pandas.DataFrame(similarities.cosines, similarities.rows, similarities.columns)


@frame.register(Hits)
def _(hits: Hits) -> DataFrame:
    import pandas

    return pandas.DataFrame(
        [{name: value for name, value in vars(hit).items() if name != "explanation"} for hit in hits]
    )


def matrix(grid: Grid) -> str:
    """Return a matrix as an HTML table; long column names are vertical, a column "…" stands for a gap."""
    upright = ' style="writing-mode:vertical-rl"' if max(map(len, grid.columns), default=0) > 5 else ""
    head = ("", *_with_gaps([f"<span{upright}>{isolated(name)}</span>" for name in grid.columns], grid))
    numbers = [[fixed(value, grid.places) for value in values] for values in grid.cells.tolist()]
    body = (
        (isolated(name), *_with_gaps(list(map(partial(_shaded, grid), values, texts)), grid, ""))
        for name, values, texts in zip(grid.rows, grid.cells.tolist(), grid.texts or numbers, strict=True)
    )
    return table(head, body)


def _with_gaps(cells: Sequence[str], grid: Grid, mark: str = "…") -> Iterable[str]:
    """Yield the cells of a row, and a cell for each gap between them."""
    for j, cell in enumerate([*cells, None]):
        if j in grid.gaps[1]:
            yield mark
        if cell is not None:
            yield cell


def _shaded(grid: Grid, value: float, drawn: str) -> str:
    shade = _shade(grid.depth(value), _COLOURS[grid.scale])
    return f'<span style="display:block;{shade}">{text(one_line(drawn))}</span>'


def meter(share: float, *, signed: bool = False) -> str:
    """Return a bar whose length is a share of 120 pixels, to stand beside the number.

    Args:
        signed: draw a negative share in the colour of negative contributions; without it, such a bar is empty.
    """
    length = 120 * min(abs(share) if signed else max(share, 0.0), 1.0)
    colour = _shade(-1.0 if share < 0 else 1.0, _COLOURS["contribution"])
    return f'<span style="display:inline-block;height:.8em;width:{length:.0f}px;{colour}"></span>'


def _shade(share: float, colours: tuple[str, str]) -> str:
    return f"background:rgba({colours[share < 0]},{_DEEPEST * abs(share):.2f})"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return an HTML table, which scrolls if it is too wide."""
    heads = "".join(f"<th>{cell}</th>" for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (
        '<div style="overflow-x:auto"><table style="font-size:12px;text-align:left">'
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def cell(value: Any) -> str:
    return isolated("" if value is None else str(value))
