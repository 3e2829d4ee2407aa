"""Display of records in a notebook: HTML without style sheets and scripts, matplotlib plots, pandas tables.

Cells have translucent colours, so they are readable on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import singledispatch
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from search.records.comparisons import Similarities
from search.records.document_map import DocumentMap
from search.records.explanations import Explanation
from search.records.hits import Hit, Hits
from search.records.inspections import Attention, ContextualCosines, InputToken, Inspection
from search.render import json
from search.render.format import fixed, layer_of, letters, named, one_line, snippet, where
from search.render.heatmap import By, Units, labels, largest_addend, left_out, part, rows_line, units
from search.render.inspection import compared, what_was_compared
from search.render.page.document import document, isolated, text
from search.render.page.laboratory import attention as attention_page
from search.render.why import addend_count, how_made, sentence, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from search.records.tokens import Matrix

MatrixName = Literal["similarity", "contributions"]
MOST_ROWS, MOST_COLUMNS, MOST_SENTENCES = 24, 60, 40
_PURPLE, _GREY = "138,95,191", "125,133,142"  # cosines above zero and below, as in pictures
_BLUE, _BROWN = "49,130,196", "201,112,31"  # addends
_GREEN = "38,150,95"  # attention
_DEEPEST = 0.75  # opacity of the deepest colour


def as_dict(record: Any) -> dict[str, Any]:
    """Return a record as the dictionary that `--json` prints; a hit includes its explanation, if any."""
    whole = json.hits([record])[0] if isinstance(record, Hit) else record
    return dict(json.plain(whole))


@singledispatch
def html(record: Any) -> str:
    """Return a record as HTML, for `_repr_html_`."""
    raise TypeError(f"a notebook cannot show {type(record).__name__}")


@html.register
def _(why: Explanation) -> str:
    drawn = units(why, "token")
    visible = part(drawn, MOST_ROWS, MOST_COLUMNS)
    rows, columns = visible.labels
    cosines = _matrix(rows, columns, visible.similarity, 1.0, (_PURPLE, _GREY), 2)
    limit = 1000 * largest_addend(visible)
    added = ""
    if visible.contributions is not None:
        added = _matrix(rows, columns, 1000 * visible.contributions, limit, (_BLUE, _BROWN), 1)
    elif why.steps:
        for names, sums in zip((rows, columns), visible.sums, strict=True):
            added += _matrix(["added"], names, 1000 * sums[None], limit, (_BLUE, _BROWN), 1)
    rest = why.addends - drawn.total
    others = f" + {rest:.6f} (keywords and others)" if abs(rest) > 1e-12 else ""
    pairs = f"= {drawn.total:.6f} ({addend_count(why)})"
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
    return _table(("rank", "score", "place", "passage"), rows) if rows else "<p>no hits</p>"


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
    return f"<div>{_matrix(rows, columns, similarities.cosines, 1.0, (_PURPLE, _GREY), 2)}{note}</div>"


@html.register
def _(map_: DocumentMap) -> str:
    rows = [(str(count), isolated(group)) for group, count in map_.groups.items()]
    return f"<div>{_table(('documents', 'group'), rows)}<p>Draw it with .plot()</p></div>"


@html.register
def _(inspected: Inspection) -> str:
    names = [field.name for field in fields(InputToken)]
    rows = [
        (str(i), *(_cell(getattr(token, name)) for name in names))
        for i, token in enumerate(inspected.tokens)
    ]
    model = inspected.model
    note = f"{text(model.name)}: {model.kind}, {model.layers} layers, {model.heads} heads, {model.dimension} dimensions"
    shape = " × ".join(map(str, inspected.states.shape))
    return f"<div>{_table(('', *names), rows)}<p>{note}; states {shape}, layer 0 is the embedding layer</p></div>"


@html.register
def _(attention: Attention) -> str:
    names, cells = labels(attention), attention.matrix(attention.layers)
    if len(names) > MOST_SENTENCES:
        return f"<p>{text(repr(attention))}. Use .head_view(), .plot() or .to_pandas().</p>"
    title = f"{attention.title(attention.layers)}; all heads: .head_view()"
    weights = _matrix(names, names, cells, float(cells.max()), (_GREEN, _GREEN), 2)
    return f"<div><h4>{text(title)}</h4>{weights}<p>{text(rows_line(attention))}</p></div>"


@html.register
def _(cosines: ContextualCosines) -> str:
    names, columns = compared(cosines)
    texts = "".join(
        f"<p><b>{letters(i)}</b> {isolated(sentence)}</p>" for i, sentence in enumerate(cosines.texts)
    )
    layers = [f"layer {layer}" for layer in range(len(cosines.between))]
    cells = _matrix(layers, names, np.array(columns).T, 1.0, (_PURPLE, _GREY), 2)
    return f"<div>{texts}{cells}<p>{text(what_was_compared(cosines))}</p></div>"


def head_view(attention: Attention, layer: int | None, head: int | None) -> str:
    """Return the page of attention in a frame of its own, so that its scripts and styles stay inside."""
    page = str(document(attention_page(attention, layer, head)))
    height = 420 + 26 * len(attention.tokens)
    return f'<iframe srcdoc="{escape(page)}" width="100%" height="{height}" style="border:0"></iframe>'


def plot(record: Any, ax: Axes | None, **how: Any) -> Axes:
    """Plot a record's matrix as a heat map into matplotlib axes; None creates a new pyplot figure."""
    from search.render.picture import heat_map, names_of, scatter

    if isinstance(record, DocumentMap):
        return scatter(ax, record)
    if isinstance(record, Similarities):
        rows, columns, _ = names_of(record)
        return heat_map(ax, record.cosines, rows, columns, "Cosines of sentences", "cosine")
    if isinstance(record, ContextualCosines):
        names, values = compared(record)
        layers = list(map(str, range(len(record.between))))
        return heat_map(ax, np.array(values), names, layers, "Cosines by layer", "cosine")
    if isinstance(record, Attention):
        limit = how.pop("limit")
        title, cells = _weights(record, **how)
        names = labels(record)
        return heat_map(ax, cells, names, names, title, "attention", limit or float(cells.max()))
    drawn, cells = _chosen(record, **how)
    rows, columns = drawn.labels
    if cells is drawn.similarity:
        return heat_map(ax, cells, rows, columns, f"Cosines at {layer_of(record)}", "cosine")
    title, limit = "Contributions, in thousandths", 1000 * largest_addend(drawn)
    return heat_map(ax, 1000 * cells, rows, columns, title, "contribution", limit)


def frame(record: Any, **how: Any) -> DataFrame:
    """Return a record as a pandas table."""
    import pandas

    if isinstance(record, Explanation):
        drawn, cells = _chosen(record, **how)
        rows, columns = ([unit.numbered for unit in side] for side in (drawn.query, drawn.passage))
        return pandas.DataFrame(cells, rows, columns)
    if isinstance(record, Similarities):
        return pandas.DataFrame(record.cosines, record.rows, record.columns)
    if isinstance(record, ContextualCosines):
        return pandas.DataFrame(dict(zip(*compared(record), strict=True))).rename_axis("layer")
    if isinstance(record, Attention):
        names = [f"{i}:{name}" for i, name in enumerate(labels(record))]
        return pandas.DataFrame(_weights(record, **how)[1], names, names)
    return pandas.DataFrame(
        [{name: value for name, value in vars(row).items() if name != "explanation"} for row in record]
    )


def _weights(attention: Attention, layer: int | None, head: int | None) -> tuple[str, Matrix]:
    layer = layer or attention.layers
    return attention.title(layer, head), attention.matrix(layer, head)


def _chosen(why: Explanation, matrix: MatrixName, by: By) -> tuple[Units, Matrix]:
    drawn = units(why, by)
    cells = drawn.similarity if matrix == "similarity" else drawn.contributions
    assert cells is not None  # Explanation.plot has checked it
    return drawn, cells


def _matrix(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Matrix,
    limit: float,
    colours: tuple[str, str],
    places: int,
) -> str:
    """Return a matrix as an HTML table; cells of the value `limit` are darkest, long column names are vertical."""
    upright = ' style="writing-mode:vertical-rl"' if max(map(len, columns), default=0) > 5 else ""
    head = ("", *(f"<span{upright}>{isolated(name)}</span>" for name in columns))
    body = (
        (
            isolated(name),
            *(
                f'<span style="display:block;{_shade(value / limit, colours)}">{fixed(value, places)}</span>'
                for value in values
            ),
        )
        for name, values in zip(rows, cells.tolist(), strict=True)
    )
    return _table(head, body)


def _shade(share: float, colours: tuple[str, str]) -> str:
    return f"background:rgba({colours[share < 0]},{_DEEPEST * min(abs(share), 1):.2f})"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return an HTML table, which scrolls if it is too wide."""
    heads = "".join(f"<th>{cell}</th>" for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (
        '<div style="overflow-x:auto"><table style="font-size:12px;text-align:left">'
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _cell(value: Any) -> str:
    return isolated("" if value is None else str(value))
