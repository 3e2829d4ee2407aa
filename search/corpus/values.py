"""Turn whatever YAML, TOML or JSON gives into values that JSON can hold, for metadata."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import date, time
from typing import Any

# YAML's anchors let twenty lines stand for a billion values; nobody's metadata needs this many.
_MOST_VALUES = 100_000

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def json_values(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    """A copy of `mapping` that JSON can hold: dates as ISO 8601, sets as lists, keys as strings.

    Raises:
        ValueError: if it holds more than 100,000 values.
        RecursionError: if it is nested too deeply, or holds itself.
    """
    copy: dict[str, Any] = _copied(mapping, iter(range(_MOST_VALUES)))
    return copy


def whole_characters(text: str) -> str:
    """`text` with lone surrogates as U+FFFD.

    JSON and YAML can spell half a UTF-16 pair ("\\ud800"); it is no character, and neither UTF-8 nor
    a tokenizer can hold it. Every offset stays where it is.
    """
    return _LONE_SURROGATE.sub("\ufffd", text)


def _copied(value: Any, left: Iterator[int]) -> Any:
    if next(left, None) is None:
        raise ValueError(f"more than {_MOST_VALUES:,} values")
    if isinstance(value, str):
        return whole_characters(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {whole_characters(str(key)): _copied(item, left) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copied(item, left) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_copied(item, left) for item in value), key=str)
    return whole_characters(str(value))
