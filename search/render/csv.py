"""Matrices, hits and figures as CSV: a header line of columns, then a line for each row.

Numbers have seven significant digits, all that float32 holds. Texts are as they are, quoted where CSV needs it;
only what could not be written, or would act on a terminal, is escaped.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from search.records.hits import Hit
from search.render.format import escape

if TYPE_CHECKING:
    from search.records.comparisons import Similarities
    from search.records.evaluations import Evaluation
    from search.render.units import Units

HIT_COLUMNS = (
    "rank", "score", "cosine", "lexical", "path", "line_start", "line_end", "page", "passage_id", "document", "title",
    "heading", "text", "changed", "index", "document_id",
)  # fmt: skip
Cell = str | int | float | None


def hits(ranked: Sequence[Hit]) -> str:
    """A line of HIT_COLUMNS for each hit."""
    return _written([HIT_COLUMNS, *([getattr(hit, name) for name in HIT_COLUMNS] for hit in ranked)])


def sentences(similarities: Similarities) -> str:
    """n lines of m cosines, with the sentences as header line and first column."""
    names, columns = similarities.labels
    rows = zip(names, similarities.cosines.tolist(), strict=True)
    return _written([("", *columns), *((text, *cosines) for text, cosines in rows)])


def matrix(drawn: Units, *, contributions: bool = False) -> str:
    """A line for each unit of the query, a column for each of the passage: cosines, or contributions.

    Units are named with their places, so that no two rows or columns have one name.
    """
    cells = (drawn.contributions if contributions else drawn.similarity).tolist()
    head = ("", *(unit.numbered for unit in drawn.passage))
    return _written([head, *((unit.numbered, *row) for unit, row in zip(drawn.query, cells, strict=True))])


def queries(evaluated: Evaluation) -> str:
    """Query by query: setting, query, every figure, what was found first, the text of the query."""
    metrics = list(dict.fromkeys(name for query in evaluated.queries for name in query.values))
    rows: list[Sequence[Cell]] = [
        (
            measured.setting.name,
            query.id,
            *(query.values.get(metric) for metric in metrics),
            query.found[0] if query.found else "",
            query.text,
        )
        for measured in evaluated.settings
        for query in measured.queries
    ]
    return _written([("setting", "query", *metrics, "first", "text"), *rows])


def _written(rows: Iterable[Sequence[Cell]]) -> str:
    """Lines of cells, without a line end behind the last; what there is not is an empty cell."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([_cell(cell) for cell in row] for row in rows)
    return file.getvalue().removesuffix("\n")


def _cell(value: Cell) -> str:
    if isinstance(value, float):
        return f"{value:.7g}"
    return "" if value is None else escape(str(value))
