"""Records of a table or JSONL file: which column or key is the text, which is the title, and their documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from search.corpus import reasons
from search.corpus.files import file_stem
from search.corpus.text import json_values, one_line, whole_characters
from search.errors import ReadError
from search.records.documents import Document, LineMap, Section

# In order of preference, in any case of letters.
_TEXTS = (
    "text body content contents abstract passage paragraph sentence document article description summary"
    " post message comment review tweet note notes context full_text"
)
_TITLES = "title name subject headline heading"

# Rows that are looked at to find the column with the most text.
LOOKED_AT = 100

# Columns that an error lists, and characters of each name: a file may have thousands, of any length.
_NAMED = 30
_LONGEST_NAME = 80


@dataclass(frozen=True)
class Columns:
    """The names of the columns that hold the text and the title; None for no title."""

    text: str
    title: str | None

    def document(
        self, path: str, kind: str, encoding: str, number: int, lines: tuple[int, int], row: Mapping[str, Any]
    ) -> Document | None:
        """The document that a record is; None if it holds no text.

        Args:
            number: of the record, from 1.
            lines: its first and last line in the file.
            row: its values; those that are neither text nor title are metadata.

        Raises:
            ValueError, RecursionError: there are too many of them, or they are nested too deeply.
        """
        title = one_line(_plain(row.get(self.title))) if self.title else ""
        text = _plain(row.get(self.text))
        if not text.strip():
            text = title  # all that the record says
        if not text:
            return None
        return Document(
            path=path,
            kind=kind,
            text=text,
            title=title or file_stem(path),
            lines=LineMap((0, len(text)), lines, whole=True),
            sections=(Section(0, len(text)),),
            record=number,
            metadata=json_values({name: row[name] for name in row if name not in (self.text, self.title)}),
            encoding=encoding,
        )


def chosen(
    path: str,
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    text_field: str | None,
    title_field: str | None,
) -> Columns:
    """The columns to use: those asked for, else well-known names, else (for text) the fullest one.

    Args:
        path: named in the error.
        names: all columns, at least one.
        rows: the first rows, to measure the columns by.
        text_field, title_field: what the caller asked for.

    Raises:
        ReadError: "no such column", with the columns that there are.
    """
    for option, name in (("text_field", text_field), ("title_field", title_field)):
        if name is not None and name not in names:
            listed = ", ".join(f"'{shown(known)}'" for known in names[:_NAMED])
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            detail = f"{option} '{shown(name)}' is not one of {listed}{more}"
            raise ReadError(path, reasons.NO_SUCH_COLUMN, detail)
    title = title_field or _known(_TITLES, names, taken=text_field)
    text = text_field or _known(_TEXTS, names, taken=title_field)
    if text is None:
        others = [name for name in names if name != title] or list(names)
        text = max(others, key=lambda name: sum(len(as_text(row.get(name))) for row in rows))
    return Columns(text, title if title != text else None)


def _known(known: str, names: Sequence[str], taken: str | None) -> str | None:
    by_lower = {name.strip().lower(): name for name in reversed(names) if name != taken}
    return next((by_lower[name] for name in known.split() if name in by_lower), None)


def shown(name: str) -> str:
    """A column's name as a message holds it: cut short, and without halves of characters."""
    name = whole_characters(name)
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."


def _plain(value: Any) -> str:
    return whole_characters(as_text(value))


def as_text(value: Any) -> str:
    """A value as text to search: strings as they are, lists of strings as lines, nothing as ""."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(as_text, value)))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return ""
