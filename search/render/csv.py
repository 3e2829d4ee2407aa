"""Matrices as CSV: a header line of columns, then a line for each row.

Numbers have seven significant digits, all that float32 holds. Texts are as they are, quoted where CSV needs it;
only what could not be written, or would act on a terminal, is escaped.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from search.records.comparisons import Similarities
from search.render.escape import escape
from search.render.units import Units


def sentences(found: Similarities) -> str:
    """n lines of m cosines, with the sentences as header line and first column."""
    rows = (
        (text, *map(number, cosines))
        for text, cosines in zip(found.rows, found.cosines.tolist(), strict=True)
    )
    return written([("", *found.columns), *rows])


def pairs(found: Units) -> str:
    """A line for each pair of the two texts' units, with both numbers."""
    return written(
        [
            ("row", "column", "first", "second", "contribution", "cosine"),
            *(
                (
                    str(i + 1),
                    str(j + 1),
                    first.label,
                    second.label,
                    number(float(found.contributions[i, j])),
                    number(float(found.similarity[i, j])),
                )
                for i, first in enumerate(found.query)
                for j, second in enumerate(found.passage)
            ),
        ]
    )


def number(value: float) -> str:
    """With all the digits that float32 holds."""
    return f"{value:.7g}"


def written(rows: Iterable[Sequence[str]]) -> str:
    """Lines of cells, without a line end behind the last."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([[escape(cell) for cell in row] for row in rows])
    return file.getvalue().removesuffix("\n")
