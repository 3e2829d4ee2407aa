"""The OpenAPI document: what FastAPI makes of the addresses of the API, with the problems."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from search.serving.models import Problem
from search.serving.problems import CODES, MEDIA_TYPE

_SCHEMAS = "#/components/schemas/{model}"


def document_of(app: FastAPI) -> dict[str, Any]:
    """The document; made once."""
    if not app.openapi_schema:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        schemas = made["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        schemas["Problem"] = Problem.model_json_schema(ref_template=_SCHEMAS)
        for operations in made["paths"].values():
            for operation in operations.values():
                operation["summary"] = operation["description"].partition("\n")[0]
                operation["responses"] |= _problems()
                for parameter in operation.get("parameters", ()):
                    parameter["schema"] = _without_null(parameter["schema"])
        app.openapi_schema = made
    return app.openapi_schema


def _problems() -> dict[str, Any]:
    """What any request may be answered with, by status."""
    content = {MEDIA_TYPE: {"schema": {"$ref": _SCHEMAS.format(model="Problem")}}}
    found: dict[str, Any] = {}
    for code, (status, when) in sorted(CODES.items(), key=lambda item: item[1]):
        said = found.setdefault(str(status), {"description": HTTPStatus(status).phrase, "content": content})
        said["description"] += f"\n- `{code}`: {when}"
    return found


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Of a parameter, which an address leaves out where a body may say null."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if len(kinds) == 1:
        return {**kinds[0], **rest}
    return {"anyOf": kinds, **rest} if kinds else schema
