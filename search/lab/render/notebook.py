"""Display of the laboratory's records in a notebook; registers them with `search.render.notebook`."""

from __future__ import annotations

from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from search.lab.records.inspections import Attention, ContextualCosines, InputToken, Inspection
from search.lab.render.attention import attention_grid, rows_line
from search.lab.render.inspection import compared, what_was_compared
from search.lab.render.pages import attention as attention_page
from search.render.format import letters
from search.render.grid import Grid
from search.render.notebook import MOST_SENTENCES, as_dict, cell, frame, html, matrix, plot, table
from search.render.page.document import document, isolated, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


__all__ = ["as_dict", "frame", "head_view", "html", "plot"]


@html.register
def _(inspected: Inspection) -> str:
    names = [field.name for field in fields(InputToken)]
    rows = [
        (str(i), *(cell(getattr(token, name)) for name in names))
        for i, token in enumerate(inspected.tokens)
    ]
    model = inspected.model
    note = f"{text(model.name)}: {model.kind}, {model.layers} layers, {model.heads} heads, {model.dimension} dimensions"
    shape = " × ".join(map(str, inspected.states.shape))
    return f"<div>{table(('', *names), rows)}<p>{note}; states {shape}, layer 0 is the embedding layer</p></div>"


@html.register
def _(attention: Attention) -> str:
    drawn = attention_grid(attention, None, None)
    if len(drawn.rows) > MOST_SENTENCES:
        return f"<p>{text(repr(attention))}. Use .head_view(), .plot() or .to_pandas().</p>"
    title = f"{drawn.title}; all heads: .head_view()"
    return f"<div><h4>{text(title)}</h4>{matrix(drawn)}<p>{text(rows_line(attention))}</p></div>"


@html.register
def _(cosines: ContextualCosines) -> str:
    names, columns = compared(cosines)
    texts = "".join(
        f"<p><b>{letters(i)}</b> {isolated(sentence)}</p>" for i, sentence in enumerate(cosines.texts)
    )
    layers = [f"layer {layer}" for layer in range(len(cosines.between))]
    cells = matrix(Grid("Cosines by layer", layers, names, np.array(columns).T))
    return f"<div>{texts}{cells}<p>{text(what_was_compared(cosines))}</p></div>"


def head_view(attention: Attention, layer: int | None, head: int | None) -> str:
    """Return the page of attention in a frame of its own, so that its scripts and styles stay inside."""
    page = str(document(attention_page(attention, layer, head)))
    height = 420 + 26 * len(attention.tokens)
    return f'<iframe srcdoc="{escape(page)}" width="100%" height="{height}" style="border:0"></iframe>'


@plot.register(ContextualCosines)
def _(cosines: ContextualCosines, ax: Axes | None) -> Axes:
    from search.render.picture import heat_map

    names, values = compared(cosines)
    layers = list(map(str, range(len(cosines.between))))
    return heat_map(ax, Grid("Cosines by layer", names, layers, np.array(values)))


@plot.register(Attention)
def _(
    attention: Attention, ax: Axes | None, *, layer: int | None, head: int | None, limit: float | None
) -> Axes:
    from search.render.picture import heat_map

    return heat_map(ax, attention_grid(attention, layer, head, limit or 0))


@frame.register(ContextualCosines)
def _(cosines: ContextualCosines) -> DataFrame:
    import pandas

    return pandas.DataFrame(dict(zip(*compared(cosines), strict=True))).rename_axis("layer")


@frame.register(Attention)
def _(attention: Attention, *, layer: int | None, head: int | None) -> DataFrame:
    import pandas

    weights = attention_grid(attention, layer, head)
    names = [f"{i}:{name}" for i, name in enumerate(weights.rows)]
    return pandas.DataFrame(weights.cells, names, names)
