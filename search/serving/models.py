"""What the API answers, as models that its OpenAPI document is made of.

They are derived from the records and what `search.render.json` writes of them, so that there is nothing to keep alike.
No answer is made by them: records are written as the command writes them.
"""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from functools import cache, reduce
from inspect import getdoc
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, create_model

from search.records.comparisons import Faithfulness, Similarities
from search.records.contents import Facet
from search.records.documents import NamedDocument
from search.records.explanations import Explanation
from search.records.hits import Hit
from search.records.inspections import InputToken, ModelShape
from search.records.reports import Status
from search.records.shown import Spans
from search.render.json import keys
from search.serving.problems import CODES

EXACTLY = ConfigDict(extra="forbid")


class _Array:
    """`NDArray[...]` of a record, as JSON has it."""

    def __class_getitem__(cls, _: Any) -> Any:
        return list[list[float]]


# What records import for types alone.
_NAMES = {"np": np, "NDArray": _Array, "Matrix": list[list[float]], "Explanation": Explanation}


@cache
def model_of(record: type) -> type[BaseModel]:
    """The model of a record's JSON, with the descriptions of its docstring."""
    summary = (getdoc(record) or "").partition("\n\n")[0]
    said: dict[str, str] = {}
    for kind in reversed(record.__mro__):
        said |= _attributes(getdoc(kind) or "")
    fields: Any = {
        name: (
            _model(_annotation(record, name)),
            Field(description=said.get(name) or _said_by(getattr(record, name, None))),
        )
        for name in keys(record)
    }
    return create_model(record.__name__, __config__=EXACTLY, __doc__=summary, **fields)


def _annotation(record: type, name: str) -> Any:
    """The type of a field, or of what a property or method gives."""
    there = getattr(record, name, None)
    made = there.fget if isinstance(there, property) else there
    if callable(made):
        return get_type_hints(made, localns=_NAMES)["return"]
    return get_type_hints(record, localns=_NAMES)[name]


def _model(annotation: Any) -> Any:
    """A type as JSON has it."""
    kind, inner = get_origin(annotation), get_args(annotation)
    if is_dataclass(annotation) and isinstance(annotation, type):
        return model_of(annotation)
    if kind in (Union, UnionType):
        return reduce(or_, map(_model, inner))
    if kind is Literal or not inner:
        return annotation
    if kind is tuple and inner[-1] is not ...:
        kinds = [_model(one) for one in dict.fromkeys(inner)]
        return Annotated[list[reduce(or_, kinds)], Field(min_length=len(inner), max_length=len(inner))]  # type: ignore[misc]
    if len(inner) == 2 and kind is not tuple:
        return dict[str, _model(inner[1])]  # type: ignore[misc]
    return list[_model(inner[0])]  # type: ignore[misc]


def _said_by(made: object) -> str | None:
    """The first paragraph of a property or method."""
    there = made if isinstance(made, property) or callable(made) else None
    return " ".join((getdoc(there) or "").partition("\n\n")[0].split()) or None


def _attributes(docstring: str) -> dict[str, str]:
    """What a docstring says of each attribute."""
    listed = docstring.partition("Attributes:\n")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for names, said in re.findall(r"^    ([\w, ]+): (.*(?:\n     +.*)*)", listed, re.MULTILINE):
        found |= {name.strip(): " ".join(said.split()) for name in names.split(",")}
    return found


def _answer(
    title: str, summary: str, base: type[BaseModel] | None = None, /, **fields: Any
) -> type[BaseModel]:
    """An answer that is no record alone.

    Args:
        base: what it has the keys of.
        fields: more keys as (type, description), with a default behind it where one may be missing.
    """
    given: dict[str, Any] = {
        key: (kind, Field(*default, description=said)) for key, (kind, said, *default) in fields.items()
    }
    if base:
        return create_model(title, __base__=base, __doc__=summary, **given)
    return create_model(title, __config__=EXACTLY, __doc__=summary, **given)


FoundHit = _answer(
    "FoundHit",
    "A hit, and what counts in its text.",
    model_of(Hit),
    highlights=(_model(Spans), "Spans of the text in which words of the query stand, if not refused.", ()),
    explanation=(model_of(Explanation), "Why it has its score, where that was asked for.", None),
)
Found = _answer(
    "Found",
    "A part of a list of hits.",
    index=(str, "The name of the index."),
    generation=(int, "Of the index: another number after every change of what answers are made of."),
    hits=(list[FoundHit], "Best first."),  # type: ignore[valid-type]
    next=(str | None, "What asks for the hits behind these; null where there are none."),
    notes=(list[str], "What is wrong with the index though it answers, each with what helps."),
)
Compared = model_of(Similarities) | model_of(Explanation)
Explained = _answer(
    "Explained",
    "Why a passage has its score for a query.",
    model_of(Explanation),
    hit=(model_of(Hit), "The passage as a hit of the query, wherever it ranks; its rank is 0."),
    faithfulness=(model_of(Faithfulness), "Where `check` was asked for.", None),
)
Documents = _answer(
    "Documents",
    "Documents of an index, by name.",
    index=(str, "The name of the index."),
    generation=(int, "Of the index: the ids are of this one."),
    documents=(list[model_of(NamedDocument)], "Sorted by name."),  # type: ignore[misc]
    next=(str | None, "What asks for the documents behind these; null where there are none."),
)
Facets = _answer(
    "Facets",
    "By which fields the documents of an index can be told apart.",
    index=(str, "The name of the index."),
    generation=(int, "Of the index: the figures are of this one."),
    facets=(list[model_of(Facet)], "One for each field."),  # type: ignore[misc]
)
ServedIndex = _answer(
    "ServedIndex",
    "An index that can be asked.",
    name=(str, "What `index` names it by."),
    generation=(int | None, "Another number after every change of what answers are made of."),
    status=(model_of(Status) | None, "What it is and holds; null where it cannot be read."),
    problem=(str, "Why it cannot be read, and what helps; empty where it can."),
)
Indexes = _answer(
    "Indexes",
    "The indexes of a server.",
    indexes=(list[ServedIndex], "The first is asked where none is named."),  # type: ignore[valid-type]
    notes=(list[str], "What was left out when the server started."),
)
Inspected = _answer(
    "Inspected",
    "A look inside a model while it reads a text or a pair.",
    texts=(list[str], "One text or two."),
    tokens=(list[model_of(InputToken)], "As they go into the model."),  # type: ignore[misc]
    words=(list[dict[str, Any]], "Words, and the tokens that each became."),
    model=(model_of(ModelShape), "What was looked into."),
    embedding=(dict[str, Any], "The embedding layer taken apart: lengths of its vectors, token by token."),
    states=(list[dict[str, Any]], "The hidden states of each layer, in figures."),
    cosines_to_layer_before=(list[list[float]], "How far each token turns in each layer."),
    pooler=(dict[str, Any] | None, "BERT's layer over [CLS]; null where the model has none."),
    no_pooler=(str, "Why it has none."),
)
Problem = _answer(
    "Problem",
    "What went wrong, by RFC 9457.",
    type=(str, "`urn:seewhy:problem:` and the code."),
    title=(str, "The phrase of the status."),
    status=(int, "Of HTTP."),
    code=(Literal[tuple(CODES)], "What went wrong, for programs: it stays what it is."),
    detail=(str, "One sentence for people, with the way out."),
)


def documented(answered: Any, parts: bool = False) -> dict[int | str, dict[str, Any]]:
    """What an operation comes back with, as FastAPI takes it.

    Args:
        answered: the model of the answer; None for lines of JSON.
        parts: the answer may be a part of a list.
    """
    tagged = {
        "ETag": _header("Of what was sent: send it as If-None-Match, to be told whether it is the same.")
    }
    if parts:
        tagged["Link"] = _header("Where there is more: the address of the next part.")
    found: dict[str, Any] = {"description": "As it was asked.", "headers": tagged}
    return {
        200: found | ({"model": answered} if answered else {}),
        304: {"description": "It is as If-None-Match says."},
    }


def _header(said: str) -> dict[str, Any]:
    return {"description": said, "schema": {"type": "string"}}
