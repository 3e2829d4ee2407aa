"""The reference of the HTTP API as a page, from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from search.render.page.document import Page, Site, drawn

_METHODS = ("get", "post", "delete")


@dataclass(frozen=True)
class Parameter:
    """A parameter of an operation.

    Attributes:
        values: its type, choices, range and default, as text.
    """

    name: str
    values: str
    description: str
    required: bool


@dataclass(frozen=True)
class Operation:
    """An operation of the API.

    Attributes:
        body: JSON schema of the request's body, as text; "" for none.
        answer: JSON schema of the answer, as text; the description of an answer that is no JSON document.
    """

    method: str
    path: str
    name: str
    summary: str
    description: str
    parameters: tuple[Parameter, ...]
    body: str
    answer: str


def api_reference(openapi: Mapping[str, Any], site: Site) -> Page:
    """Return the page of an OpenAPI document."""
    body = drawn(
        "reference.html", operations=list(_operations(openapi)), about=openapi["info"], site=site
    )
    return Page("API \u2013 seewhy", "HTTP API", body, ())


def _operations(openapi: Mapping[str, Any]) -> Iterator[Operation]:
    schemas = openapi.get("components", {}).get("schemas", {})
    for path, methods in openapi["paths"].items():
        for method in filter(methods.__contains__, _METHODS):
            about = methods[method]
            parameters = tuple(
                Parameter(
                    item["name"],
                    values_of(item["schema"], schemas),
                    item.get("description") or item["schema"].get("description", ""),
                    bool(item.get("required")),
                )
                for item in about.get("parameters", ())
            )
            success = about["responses"]["200"]
            yield Operation(
                method.upper(),
                path,
                about["operationId"],
                about["summary"],
                about.get("description", ""),
                parameters,
                _json_of(about.get("requestBody", {}), schemas),
                _json_of(success, schemas) or success["description"],
            )


def _json_of(described: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """Return the JSON schema of a body or an answer, as text; "" if it has none."""
    content = described.get("content", {}).get("application/json")
    return values_of(content["schema"], schemas) if content else ""


def values_of(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """Return the values that a JSON schema allows, as text: "whole number from 1 to 100, default 10".

    Args:
        schemas: the schemas that it may refer to, by name.
    """
    if reference := schema.get("$ref"):
        return values_of(schemas.get(reference.rpartition("/")[2], {}), schemas)
    if choices := schema.get("anyOf"):
        kinds = [values_of(choice, schemas) for choice in choices if choice.get("type") != "null"]
        text = " or ".join(dict.fromkeys(filter(None, kinds)))
    elif "enum" in schema or "const" in schema:
        text = " | ".join(map(str, schema.get("enum", [schema.get("const")])))
    elif schema.get("type") == "array":
        items = values_of(schema.get("items", {}), schemas)
        text = f"list of: {items}" if items else "list"
    elif properties := schema.get("properties"):
        text = "object with " + ", ".join(properties)
    else:
        names = {"string": "text", "integer": "whole number", "boolean": "true | false"}
        text = names.get(schema.get("type", ""), schema.get("type", "any value"))
    limits = [
        f"{word} {schema[key]}"
        for key, word in (("minimum", "from"), ("maximum", "to"), ("maxLength", "up to"))
        if key in schema
    ]
    text = " ".join([text, *limits]) + (" characters" if "maxLength" in schema else "")
    default = schema.get("default")
    if default in (None, "", []):
        return text
    return f"{text}, default {str(default).lower() if isinstance(default, bool) else default}"
