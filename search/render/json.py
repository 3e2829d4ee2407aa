"""Any record -> JSON, for programs.

The keys are the records' field names, then the names of what a record derives. Matrices become lists of rows. One
document a call; `lines` gives one object a line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from search.records.explanations import Explanation, Highlight
from search.records.hits import Hit, Surroundings
from search.render.format import CONTROL

# Keys after the fields of a record: properties, methods, and fields moved to the end.
_DERIVED: dict[str, tuple[str, ...]] = {
    "Answer": ("score", "margin"),
    "Answers": ("answers", "nearest"),
    "Contrast": ("gap", "residual", "words"),
    "Difference": ("gap",),
    "Explanation": (
        "addends", "drift", "shares", "residual", "words", "alignment", "highlights",
    ),
    "MaskPredictions": ("loss",),
    "Guess": ("loss",),
    "Hit": ("mode", "kind"),
    "LabelExplanation": ("residual", "by_word"),
    "TrainingReport": ("improved",),
}  # fmt: skip

# Fields that are elsewhere in the document, or in a file of their own.
_LEFT_OUT: dict[str, tuple[str, ...]] = {
    "Answer": ("passage",),
    "Evaluation": ("settings", "comparisons", "notes"),
    "Copy": ("file",),
    "Hit": ("explanation", "file"),
    "StoredPassage": ("file", "metadata", "path", "title"),
}


_AS_THEY_ARE = {str, int, float, bool, type(None)}


def document(value: Any, **more: Any) -> str:
    """One JSON document; `more` are keys after the record's own."""
    return _dump({**_opened(value), **more} if more else value, indent=2)


def compact(value: Any) -> str:
    """One JSON document on one line, which takes a fraction of the time."""
    return _dump(value, indent=None)


def lines(values: Sequence[Any]) -> str:
    """One JSON object a line; an empty string for no values."""
    return "\n".join(map(compact, values))


def hits(
    ranked: Sequence[Hit],
    around: Sequence[Surroundings] | None = None,
    marks: Sequence[Sequence[Highlight]] | None = None,
) -> list[dict[str, Any]]:
    """Hits with the lines around them, highlights and explanations, as far as available."""
    records: list[dict[str, Any]] = [_opened(hit) for hit in ranked]
    for record, beside in zip(records, around or (), strict=False):
        record["surroundings"] = beside
    for record, marked in zip(records, marks or (), strict=False):
        record["highlights"] = [[mark.start, mark.end] for mark in marked]
    for record, hit in zip(records, ranked, strict=True):
        if hit.explanation:
            record["explanation"] = hit.explanation
    return records


def explanation(why: Explanation, hit: Hit | None = None, **more: Any) -> str:
    """An explanation with what it derives: residual, words, alignment, highlights."""
    return document({**({} if hit is None else {"hit": hit}), **plain(why), **more})


def plain(value: Any) -> Any:
    """A record as names and values, recursively."""
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    opened = _opened(value)
    return {name: plain(item) for name, item in opened.items()} if isinstance(opened, dict) else opened


def _opened(value: Any) -> Any:
    """A record or mapping as names and values, an array as lists; their values are not converted."""
    if is_dataclass(value) and not isinstance(value, type):
        derived = {name: getattr(value, name) for name in keys(type(value))}
        return {name: item() if callable(item) else item for name, item in derived.items()}
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


@cache
def keys(record: type) -> tuple[str, ...]:
    """JSON keys of a kind of record, in order."""
    derived = _DERIVED.get(record.__name__, ())
    elsewhere = (*derived, *_LEFT_OUT.get(record.__name__, ()))
    own_first = sorted(fields(record), key=lambda field: field.name not in record.__annotations__)
    return (*(field.name for field in own_first if field.name not in elsewhere), *derived)


def _dump(value: Any, indent: int | None) -> str:
    """Readable Unicode; control characters and surrogates as JSON escapes."""
    text = json.dumps(value, default=_serialisable, ensure_ascii=False, indent=indent, allow_nan=False)
    return CONTROL.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _serialisable(value: Any) -> Any:
    """Convert a value for json.dumps; raise TypeError if it has no JSON form."""
    opened = _opened(value)
    if opened is value:
        raise TypeError(f"{type(value).__name__} cannot be written as JSON")
    return opened
