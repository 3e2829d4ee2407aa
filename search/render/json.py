"""Any record -> JSON, for programs.

The keys are the records' field names. Matrices become lists of rows. One document a call; `lines` gives
one object a line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from search.records.explanations import Explanation
from search.records.hits import Hit, Surroundings


def document(value: Any) -> str:
    """One JSON document."""
    return _dump(_plain(value), indent=2)


def lines(values: Sequence[Any]) -> str:
    """One JSON object a line; an empty string for no values."""
    return "\n".join(_dump(_plain(value), indent=None) for value in values)


def hits(found: Sequence[Hit], around: Sequence[Surroundings] | None = None) -> str:
    """Hits as one JSON document, with what stands around them if that is given."""
    return _dump(_with_surroundings(found, around), indent=2)


def hit_lines(found: Sequence[Hit], around: Sequence[Surroundings] | None = None) -> str:
    """Likewise, one JSON object a line."""
    return "\n".join(_dump(one, indent=None) for one in _with_surroundings(found, around))


def _with_surroundings(found: Sequence[Hit], around: Sequence[Surroundings] | None) -> list[dict[str, Any]]:
    plain = _plain(list(found))
    for one, beside in zip(plain, around or (), strict=False):
        one["surroundings"] = _plain(beside)
    return list(plain)


def explanation(why: Explanation, hit: Hit | None = None) -> str:
    """An explanation with what it derives: residual, words, alignment, highlights."""
    words = why.words()
    found = {} if hit is None else {"hit": _plain(hit)}
    found |= _plain(why)
    audit = why.audit
    found["audit"] = {**_plain(audit), "residual": audit.residual, "drift": audit.drift}
    found["shares"] = _plain(why.shares())
    found["residual"] = why.residual
    found["sum_of_contributions"] = float(why.contributions.sum())
    found["words"] = {
        "query": _plain(words.query),
        "passage": _plain(words.passage),
        "contributions": _plain(words.contributions),
        "similarity": _plain(words.similarity),
    }
    found["alignment"] = _plain(why.alignment())
    found["highlights"] = _plain(why.highlights())
    return _dump(found, indent=2)


def _dump(value: Any, indent: int | None) -> str:
    """Readable Unicode; pure ASCII escapes only where a lone surrogate could not be written."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, allow_nan=False)
    return text


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
