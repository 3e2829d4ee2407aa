"""The order of listed hits: by score, newest first, or by a field of their documents.

Values are ordered as filters compare them (`search.store.conditions`): numbers before dates before texts. Hits without
the field come last, and equal ones stay in their order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from search.records.documents import BUILT_IN_FIELDS
from search.store import conditions, filters

if TYPE_CHECKING:
    from search.records.hits import Hit


def in_order_of(hits: Iterable[Hit], sort: str) -> list[Hit]:
    """Return hits in the order of `sort`.

    Args:
        sort: "date" for the newest first; or the name of a field, with "-" before it for the highest value first.
    """
    ranked = list(hits)
    if sort in ("date", "-date"):
        return sorted(ranked, key=_date_of, reverse=True)
    name = sort.removeprefix("-")
    keys = [_key(_value_of(hit, name)) for hit in ranked]
    having = [(key, hit) for key, hit in zip(keys, ranked, strict=True) if key is not None]
    having.sort(key=lambda entry: entry[0], reverse=name != sort)
    lacking = (hit for key, hit in zip(keys, ranked, strict=True) if key is None)
    return [*(hit for _, hit in having), *lacking]


def _value_of(hit: Hit, name: str) -> Any:
    """Return the value of a field; of a list the first one; None if the hit has none."""
    folded = name.casefold()
    if folded not in BUILT_IN_FIELDS:
        return next(
            filters.values_under(hit.metadata, tuple(name.removeprefix("metadata.").split("."))), None
        )
    own = {
        "path": hit.document,
        "name": hit.document.rpartition("/")[2],
        "kind": hit.kind,
        "title": hit.title,
        "heading": hit.heading,
        "page": hit.page,
        "size": hit.file.size,
        "mtime": _changed(hit),
        "text": hit.text,
    }
    return own[folded]


def _key(value: Any) -> tuple[Any, ...] | None:
    if not filters.is_scalar(value) or not filters.is_something(value):
        return None
    text = conditions.as_text(value)
    number = conditions.as_number(text)
    if number is not None:
        return 0, number
    date = conditions.as_date(text)
    return (1, date) if date is not None else (2, conditions.folded(text))


def _changed(hit: Hit) -> str | None:
    """Return when a hit's file changed, as ISO 8601; None for a document from memory."""
    return filters.modified("", os.fsencode(hit.path), hit.file.mtime_ns)


def _date_of(hit: Hit) -> Any:
    """Return the date of a hit's document: from its metadata, else when its file changed, else year 1."""
    return conditions.as_date(filters.own_date(hit.metadata) or _changed(hit) or "0001")
