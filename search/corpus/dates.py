"""The date of a document, from its metadata or its file name, as the metadata field `date` in ISO 8601."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

from search.corpus.sources import file_name
from search.records.documents import ParsedDocument

_FIELDS = "date", "published", "pubdate", "created_at", "timestamp", "created"

_ISO = re.compile(r"\d{4}-[01]\d(?:-[0-3]\d(?:[Tt ]\d\d:[\d:.,]+\s*(?:[Zz]|[+-][\d:]+)?)?)?(?![\w-])")
_IN_NAME = re.compile(
    r"(?<!\d)((?:19|20)\d\d)([-_.]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])"
    r"(?:[T _-]{1,3}([01]\d|2[0-3])[-_.:h]?([0-5]\d)(?:[-_.:]?[0-5]\d)?)?(?!\d)"
)


def dated(document: ParsedDocument) -> ParsedDocument:
    """Add the date of a document to its metadata, if it has one that can be read.

    Sources: the first of the fields `date`, `published`, `pubdate`, `created_at` and `timestamp` that has a date;
    else from the file name; else from `created`, which in an office file may be the date of its template. A `date` that
    cannot be read stays as it is.
    """
    folded = {name.casefold(): value for name, value in document.metadata.items()}
    *stated, created = (iso(folded.get(name)) for name in _FIELDS)
    date = next(filter(None, (*stated, _of_name(file_name(document.path)), created)), "")
    if not date or (folded.get("date") and not stated[0]):
        return document
    others = {name: value for name, value in document.metadata.items() if name.casefold() != "date"}
    return replace(document, metadata={**others, "date": date})


def iso(value: Any) -> str:
    """Return a date in ISO 8601; "" for anything else. The name of a month may be spelled in English.

    Example:
        >>> iso("12-Jan-2007"), iso("Fri, 12 Jan 2007 10:00:00 +0100")
        ('2007-01-12', '2007-01-12T10:00:00+01:00')
    """
    text = value.strip() if isinstance(value, str) else ""
    match = _ISO.match(text)
    if match or not text:
        return match[0].strip() if match else ""
    with suppress(TypeError, ValueError, IndexError):
        from email.utils import parsedate_to_datetime

        day = text if ":" in text else text.replace("-", " ") + " 00:00"
        return parsedate_to_datetime(day).isoformat().removesuffix("T00:00:00")
    return ""


def _of_name(name: str) -> str:
    """Return the date in the name of a file, with the time if there is one: "20250202-notes.md" -> "2025-02-02"."""
    match = _IN_NAME.search(name)
    return match.expand(r"\1-\3-\4T\5:\6" if match[5] else r"\1-\3-\4") if match else ""
