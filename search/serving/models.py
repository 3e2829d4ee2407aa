"""Models of the API's answers for /openapi.json, derived from the records and from what `search.render.json` writes.

No answer is made or checked with them.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import BaseModel, ConfigDict, create_model

from search.records.comparisons import Faithfulness
from search.records.contents import Facet
from search.records.documents import NamedDocument
from search.records.explanations import Explanation
from search.records.hits import Hit
from search.records.inspections import InputToken, ModelShape
from search.records.reports import Status
from search.render.json import keys

_EXACT = ConfigDict(extra="forbid")


class _Array:
    """`NDArray[...]` of a record, as JSON has it."""

    def __class_getitem__(cls, _: Any) -> Any:
        return list[list[float]]


# Names that records import only for type checkers.
_NAMES = {"np": np, "NDArray": _Array, "Matrix": list[list[float]], "Explanation": Explanation}


@cache
def model_of(record: type) -> type[BaseModel]:
    """The model of a record's JSON."""
    fields: Any = {name: (_model(_annotation(record, name)), ...) for name in keys(record)}
    return create_model(record.__name__, __config__=_EXACT, **fields)


def _annotation(record: type, name: str) -> Any:
    """The type of a field, or of what a property or method returns."""
    derived = getattr(record, name, None)
    function = derived.fget if isinstance(derived, property) else derived
    if callable(function):
        return get_type_hints(function, localns=_NAMES)["return"]
    return get_type_hints(record, localns=_NAMES)[name]


def _model(annotation: Any) -> Any:
    """A type as JSON has it, records replaced by their models."""
    kind, inner = get_origin(annotation), get_args(annotation)
    if is_dataclass(annotation) and isinstance(annotation, type):
        return model_of(annotation)
    if kind is Literal or not inner:
        return annotation
    if kind in (Union, UnionType):
        return reduce(or_, map(_model, inner))
    models = [_model(one) for one in inner if one is not ...]
    if len(models) == 2 and kind is not tuple:
        return dict[str, models[1]]  # type: ignore[valid-type]
    return list[reduce(or_, models)]  # type: ignore[misc]


def _answer(name: str, base: type[BaseModel] | None = None, /, **fields: Any) -> type[BaseModel]:
    """The model of an answer that is more than one record.

    Args:
        base: a model whose fields it has, too.
        fields: their types; or (type, default) of those that may be missing.
    """
    given: Any = {key: kind if isinstance(kind, tuple) else (kind, ...) for key, kind in fields.items()}
    if base:
        return create_model(name, __base__=base, **given)
    return create_model(name, __config__=_EXACT, **given)


FoundHit = _answer(
    "FoundHit",
    model_of(Hit),
    highlights=(list[tuple[int, int]], ()),
    explanation=(model_of(Explanation), None),
)
_of_index: dict[str, Any] = {"index": str, "generation": int}
Found = _answer("Found", **_of_index, hits=list[FoundHit], next=str | None, notes=list[str])  # type: ignore[valid-type]
Explained = _answer(
    "Explained", model_of(Explanation), hit=model_of(Hit), faithfulness=(model_of(Faithfulness), None)
)
Documents = _answer("Documents", **_of_index, documents=_model(list[NamedDocument]), next=str | None)
Facets = _answer("Facets", **_of_index, facets=_model(list[Facet]))
ServedIndex = _answer(
    "ServedIndex", name=str, generation=int | None, status=_model(Status | None), problem=str
)
Indexes = _answer("Indexes", indexes=list[ServedIndex], notes=list[str])  # type: ignore[valid-type]
Inspected = _answer(
    "Inspected",
    texts=list[str],
    tokens=_model(list[InputToken]),
    words=list[dict[str, Any]],
    model=model_of(ModelShape),
    embedding=dict[str, Any],
    states=list[dict[str, Any]],
    cosines_to_layer_before=list[list[float]],
    pooler=dict[str, Any] | None,
    no_pooler=str,
)


class Problem(BaseModel):
    """What went wrong, by RFC 9457."""

    type: str
    title: str
    status: int
    code: str
    detail: str
