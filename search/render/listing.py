"""Hits as CSV, as a Markdown list, and as paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import quote

from search.records.hits import Hit
from search.render.csv import number, written
from search.render.escape import escape
from search.render.terminal import headings, shown_path, snippet, where

COLUMNS = (
    "rank", "score", "cosine", "lexical", "path", "line_start", "line_end", "page", "passage_id", "document", "title",
    "heading", "text",
)  # fmt: skip

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")


def as_csv(hits: Sequence[Hit]) -> str:
    """A header line of COLUMNS, then a line for each hit; what there is not is an empty cell."""
    return written([COLUMNS, *([_cell(getattr(hit, name)) for name in COLUMNS] for hit in hits)])


def as_markdown(hits: Sequence[Hit]) -> str:
    """A numbered list with links that lead to the lines: `1. [title](path#L12-L20) 0.613`, and the passage."""
    found = []
    for hit in hits:
        lines = where(hit).rpartition(":")[2]
        anchor = f"#L{lines.replace('-', '-L')}" if re.fullmatch(r"\d+(-\d+)?", lines) else ""
        path = quote(PurePath(shown_path(hit.path)).as_posix().encode("utf-8", "surrogateescape"))
        title = _plain(headings(hit) or escape(hit.document))
        margin = " " * (len(str(hit.rank)) + 2)
        found.append(
            f"{hit.rank}. [{title}]({path}{anchor}) {hit.score:.3f}\n\n{margin}{_plain(snippet(hit))}"
        )
    return "\n\n".join(found)


def paths(hits: Sequence[Hit]) -> list[str]:
    """The files of the hits, each once, best first; relative to the current folder where they lie beneath it."""
    return list(dict.fromkeys(shown_path(hit.path) for hit in hits))


def path_lines(hits: Sequence[Hit]) -> str:
    """`paths`, one a line, harmless."""
    return "\n".join(escape(path) for path in paths(hits))


def _plain(text: str) -> str:
    """Text that Markdown does not take for anything else."""
    return _SPECIAL.sub(r"\\\1", text)


def _cell(value: str | int | float | None) -> str:
    if isinstance(value, float):
        return number(value)
    return "" if value is None else str(value)
