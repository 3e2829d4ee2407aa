"""The OpenAPI document of the HTTP API: FastAPI's, with the answers of all operations.

The schema of an answer comes from its records: their types, the keys that `search.render.json` writes, and the
descriptions in their docstrings. It is made when somebody asks for the document. Answers are not validated.
"""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from functools import cache
from inspect import cleandoc
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, Field, create_model
from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from typing_extensions import NotRequired, get_type_hints, is_typeddict

from search.records.comparisons import Contrast, Similarities, WhyNot
from search.records.contents import DocumentText
from search.records.explanations import Explanation
from search.records.hits import Hit
from search.records.reports import Status, Upserted
from search.render import json
from search.serving import answers

NDJSON = "application/x-ndjson"
TAGS = {
    "search": "Find passages.",
    "explain": "Find out why a passage has its score.",
    "documents": "Read, store and delete documents.",
    "indexes": "Find out what the server has, and when it changes.",
    "models": "Embeddings and reranking in the shape of other services.",
}

# Operation -> the type of its answer.
ANSWERS: dict[str, Any] = {
    "search": answers.HitList,
    "search_many": answers.QueryResults,
    "similar": answers.HitList,
    "similarity": Similarities,
    "explain": answers.HitExplanation,
    "contrast": Contrast,
    "why_not": WhyNot,
    "documents": answers.DocumentList,
    "document": DocumentText,
    "upsert": Upserted,
    "delete": Upserted,
    "status": Status,
    "indexes": answers.IndexList,
    "models": answers.ModelList,
    "model": answers.ModelItem,
    "embeddings": answers.EmbeddingList,
    "rerank": answers.RerankList,
}
# Operation -> media type and description of an answer that is not one JSON document.
STREAMS: dict[str, tuple[str, str]] = {
    "export": (NDJSON, "One document on each line, as JSON."),
    "events": ("text/event-stream", "Server-sent events."),
}

# Keys of a record that only some answers have.
_OPTIONAL_KEYS: dict[type, dict[str, tuple[Any, str]]] = {
    Hit: {
        "highlights": (
            list[tuple[int, int]],
            "Spans of the words of the query in `text`, unless left out.",
        ),
        "explanation": (Explanation, "Only with `explain`."),
    },
}
# Answer -> record whose keys it has, too.
_SPREAD: dict[Any, type] = {answers.HitExplanation: Explanation}

_ROW, _ROWS = list[float], list[list[float]]
# Names that the modules of the records import for type checkers only, and the JSON of arrays.
_NAMES: dict[str, Any] = {
    "Explanation": Explanation,
    "Matrix": _ROWS,
    "NDArray": {np.float32: _ROWS},
    "Table": _ROWS,
    "Vector": _ROW,
    "np": np,
}
_ATTRIBUTE = re.compile(r"^    (\w+(?:, \w+)*): (.*(?:\n {8}.*)*)", re.MULTILINE)

_REFERENCE = "#/components/schemas/{model}"
_PROBLEM = {"$ref": "#/components/responses/Problem"}


class _Schemas(GenerateJsonSchema):
    """Pydantic's JSON schemas, without a title for each property."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def openapi_document(app: FastAPI, *, needs_token: bool) -> dict[str, Any]:
    """Return the OpenAPI document of the application.

    Args:
        needs_token: True if requests must have the server's token.
    """
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        tags=[{"name": name, "description": about} for name, about in TAGS.items()],
    )
    for operations in document["paths"].values():
        for operation in operations.values():
            _complete(operation)
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas |= _schemas()
    content = {"application/problem+json": {"schema": _reference(answers.ProblemDetails)}}
    components["responses"] = {"Problem": {"description": "An error.", "content": content}}
    if needs_token:
        components["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer", "description": "The token of the server."},
            "password": {
                "type": "http",
                "scheme": "basic",
                "description": "The token as the password; the user name may be empty.",
            },
        }
        document["security"] = [{"token": []}, {"password": []}]
    return document


def _complete(operation: dict[str, Any]) -> None:
    """Split the docstring of an operation into summary and description, and add its answers."""
    name = operation["operationId"]
    summary, _, description = operation.pop("description").partition("\n\n")
    operation["summary"] = " ".join(summary.split())
    if description:
        operation["description"] = description
    if stream := STREAMS.get(name):
        media_type, about = stream
        content: dict[str, Any] = {media_type: {"schema": {"type": "string"}}}
    else:
        about = _first_line(ANSWERS[name])
        content = {"application/json": {"schema": _reference(ANSWERS[name])}}
    operation["responses"] = {"200": {"description": about, "content": content}, "default": _PROBLEM}


def _reference(record: type) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=record.__name__)}


def _schemas() -> dict[str, Any]:
    """Return the JSON schemas of all answers and of the records in them, by name."""
    records = {*ANSWERS.values(), answers.ProblemDetails}
    models = [_model(record) for record in records]
    _, definitions = models_json_schema(
        [(model, "serialization") for model in models],
        ref_template=_REFERENCE,
        schema_generator=_Schemas,
    )
    schemas: dict[str, Any] = definitions["$defs"]
    return dict(sorted(schemas.items()))


@cache
def _model(record: type) -> type[BaseModel]:
    """Return a Pydantic model with the keys that the JSON of a record has."""
    about = _attributes(record)
    fields: dict[str, Any] = {}
    for key, hint in _hints(record).items():
        default = None if get_origin(hint) is NotRequired else ...
        fields[key] = (_modelled(hint), Field(default, description=about.get(key)))
    for key, (hint, description) in _OPTIONAL_KEYS.get(record, {}).items():
        fields[key] = (_modelled(hint), Field(None, description=description))
    return create_model(record.__name__, __doc__=_first_line(record), **fields)


def _hints(record: type) -> dict[str, Any]:
    """Return JSON key -> type of the value, of a record or a TypedDict."""
    hints = get_type_hints(record, localns=_NAMES, include_extras=True)
    if is_typeddict(record):
        return hints | (_hints(_SPREAD[record]) if record in _SPREAD else {})
    return {key: hints[key] if key in hints else _returned(record, key) for key in json.keys(record)}


def _returned(record: type, key: str) -> Any:
    """Return the type of a derived value: a property or a method without arguments."""
    member = getattr(record, key)
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    return get_type_hints(function, localns=_NAMES)["return"]


def _modelled(hint: Any) -> Any:
    """Return a type with models in the place of records."""
    origin, arguments = get_origin(hint), get_args(hint)
    if is_dataclass(hint) or is_typeddict(hint):
        return _model(hint)
    if origin is Annotated:
        return _modelled(arguments[1])
    if origin is NotRequired:
        return _modelled(arguments[0])
    if origin in (None, Literal):
        return hint
    inner = tuple(map(_modelled, arguments))
    return Union[inner] if origin in (Union, UnionType) else origin[inner]  # noqa: UP007


def _attributes(record: type) -> dict[str, str]:
    """Return attribute -> description, from the docstrings of a record, its base classes and its properties."""
    about: dict[str, str] = {}
    for kind in reversed(record.__mro__):
        _, _, attributes = cleandoc(kind.__doc__ or "").partition("\nAttributes:\n")
        for names, text in _ATTRIBUTE.findall(attributes):
            about |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    for key in json.keys(record) if is_dataclass(record) else ():
        member = getattr(record, key, None)
        if key not in about and callable(getattr(member, "fget", getattr(member, "func", member))):
            about[key] = _first_line(member)
    if record in _SPREAD:
        about = {**_attributes(_SPREAD[record]), **about}
    return about


def _first_line(documented: Any) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((documented.__doc__ or "").partition("\n\n")[0].split())
