"""The OpenAPI document: what FastAPI makes of the addresses of the API, with the problems."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from search.records.contents import StoredFile
from search.records.explanations import Highlight
from search.records.hits import Hit, Verdict
from search.records.options import Ranking
from search.render import json
from search.serving.models import Problem
from search.serving.paging import cursor
from search.serving.parameters import Search
from search.serving.problems import CODES, MEDIA_TYPE

_SCHEMAS = "#/components/schemas/{model}"
_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "The token that the server was started with, where it was: `seewhy serve --token`.",
}


def document_of(app: FastAPI) -> dict[str, Any]:
    """The document; made once."""
    if not app.openapi_schema:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        schemas = made["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        made["components"]["securitySchemes"] = {"token": _TOKEN}
        made["security"] = [{"token": []}] if app.state.settings.token else [{}, {"token": []}]
        found = made["paths"]["/api/v1/search"]
        for operation in found.values():
            operation["responses"]["200"]["content"]["application/json"]["example"] = json.plain(_found())
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


def _found() -> dict[str, Any]:
    """What a search was answered with, once."""
    text = "# Keys\n\nThe spare keys hang behind the kitchen door."
    hit = Hit(
        rank=1,
        score=0.7863054604072874,
        cosine=0.8081352710723877,
        lexical=0.7208160284119864,
        ranking=Ranking.of(),
        path="/notes/keys.md",
        document="keys.md",
        title="Keys",
        heading="Keys",
        text=text,
        start=0,
        end=len(text),
        line_start=1,
        line_end=3,
        passage_id=2,
        document_id=2,
        file=StoredFile("markdown"),
        hidden=((0, 2),),
        verdict=Verdict("answers likely", 0.9888860776128872, 0.7863054604072874, 0.8),
    )
    marks = [Highlight(start, end, 0.0) for start, end in ((2, 6), (12, 17), (18, 22), (28, 34), (47, 51))]
    following = cursor(Search(q="spare keys behind the door", k=1), "notes", 1795377671546, 1)
    return {
        "index": "notes",
        "generation": 1795377671546,
        "hits": json.hits([hit], None, [marks]),
        "next": following,
        "notes": [],
    }


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Of a parameter, which an address leaves out where a body may say null."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if len(kinds) == 1:
        return {**kinds[0], **rest}
    return {"anyOf": kinds, **rest} if kinds else schema
