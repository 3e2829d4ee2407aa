"""Errors of parameters and bodies as sentences: the name, what is wrong with it, and what to send."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

_LONGEST_VALUE = 60  # characters of a value in a message

# Type of Pydantic's error -> what the value must be. The names are those of https://docs.pydantic.dev/latest/errors/
_MUST_BE = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "a JSON object",
    "finite_number": "a number",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "a JSON object",
    "model_type": "a JSON object",
    "string_type": "text",
}
# Parameters of several types -> what they must be; Pydantic reports an error for each type.
_CHOICES = {
    "documents": "a list of texts, or of objects with a `text`",
    "input": "a text, or a list of texts",
    "layer": "a number, middle, last, or mean:N, sum:N or concat:N of the last N",
}
# Of several errors about one parameter, these say more than that it has another type.
_OF_SIZE = ("string_too_short", "string_too_long", "less_than_equal", "greater_than_equal", "too_long")


def sentences(failures: Sequence[Mapping[str, Any]], operation: Mapping[str, Any]) -> str:
    """Return what is wrong with a request.

    Args:
        failures: errors of Pydantic.
        operation: the operation in the OpenAPI document, with the schema of its body instead of a reference; {} for a
            page.
    """
    return " ".join(_sentences(failures, operation))


def _sentences(failures: Sequence[Mapping[str, Any]], operation: Mapping[str, Any]) -> Iterator[str]:
    unknown = [failure for failure in failures if failure["type"] == "extra_forbidden"]
    others = [failure for failure in failures if failure["type"] != "extra_forbidden"]
    for _, group in groupby(others, key=lambda failure: tuple(failure["loc"][:2])):
        yield _sentence(list(group), operation)
    if unknown:
        names = ", ".join(_as_text(str(failure["loc"][-1])) for failure in unknown)
        choices = ", ".join(_parameters(operation, unknown[0]["loc"][0]))
        yield f"Unknown parameter{'s' if len(unknown) > 1 else ''} {names}."
        yield f"Known: {choices or 'none'}."


def _sentence(failures: list[Mapping[str, Any]], operation: Mapping[str, Any]) -> str:
    """Return what is wrong with one parameter."""
    failure = next((failure for failure in failures if failure["type"] in _OF_SIZE), failures[0])
    kind, limits = failure["type"], failure.get("ctx", {})
    name, value = _name(failure["loc"]), failure.get("input")
    if kind == "json_invalid":
        return f"the body is not valid JSON at character {failure['loc'][-1]}: {limits['error']}."
    if name == "the body":
        return _about_body(kind, value, operation)
    if kind == "missing":
        return f"{name} is missing."
    if kind == "string_too_short":
        return f"{name} is empty."
    if kind == "too_short":
        return f"{name} is an empty list."
    if kind == "string_too_long":
        return f"{name} has {len(str(value)):,} characters; the maximum is {limits['max_length']:,}."
    if kind == "too_long":
        return f"{name} has {limits['actual_length']:,} values; the maximum is {limits['max_length']:,}."
    if kind == "less_than_equal":
        return f"{name} is {value}; the maximum is {_number(limits['le'])}."
    if kind == "greater_than_equal":
        return f"{name} is {value}; the minimum is {_number(limits['ge'])}."
    if kind == "literal_error":
        return f"{name} is {_as_text(value)}; it must be {limits['expected']}."
    whole = str(failure["loc"][1])
    if len(failures) > 1 and whole in _CHOICES:
        return f"{whole} must be {_CHOICES[whole]}."
    if kind in _MUST_BE:
        return f"{name} is {_as_text(value)}; it must be {_MUST_BE[kind]}."
    return f"{name}: {failure['msg']}."


def _about_body(kind: str, value: Any, operation: Mapping[str, Any]) -> str:
    """Return what is wrong with a body as a whole, and what to send."""
    if isinstance(value, bytes):
        return "the body is not read as JSON. Send the header Content-Type: application/json"
    schema = _body_schema(operation)
    if schema.get("type") == "array":
        expected = "a JSON list"
    else:
        expected = " with ".join(
            ["a JSON object", *filter(None, [", ".join(schema.get("required", ()))])]
        )
    return f"the body is {'missing' if kind == 'missing' else _as_text(value)}; it must be {expected}."


def _name(location: Sequence[int | str]) -> str:
    """Return the name of a value: "k", "queries[0]", "body[0]", or "the body".

    The location begins with the part of the request; behind the name of a parameter of several types there is the name
    of a type, which is left out.
    """
    part, *inner = location
    if not inner:
        return "the body" if part == "body" else str(part)
    first, *rest = inner
    numbers = "".join(f"[{number}]" for number in rest if isinstance(number, int))
    return f"body[{first}]{numbers}" if isinstance(first, int) else f"{first}{numbers}"


def _as_text(value: Any) -> str:
    """Return a value for a message: shortened text, a number, or the kind of any other JSON value."""
    if isinstance(value, dict | list):
        return "a JSON object" if isinstance(value, dict) else "a JSON list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value[:_LONGEST_VALUE]) if isinstance(value, str) else str(value)
    return f"{text}…" if isinstance(value, str) and len(value) > _LONGEST_VALUE else text


def _number(limit: float) -> str:
    return f"{int(limit) if limit == int(limit) else limit:,}"


def _parameters(operation: Mapping[str, Any], part: str) -> list[str]:
    """Return the names of the parameters of an operation, or of the fields of its body; required ones first."""
    if part == "body":
        schema = _body_schema(operation)
        required, names = set(schema.get("required", ())), list(schema.get("properties", ()))
    else:
        parameters = [item for item in operation.get("parameters", ()) if item["in"] == "query"]
        names = [item["name"] for item in parameters]
        required = {item["name"] for item in parameters if item.get("required")}
    return sorted(names, key=lambda name: name not in required)


def _body_schema(operation: Mapping[str, Any]) -> Mapping[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    schema: Mapping[str, Any] = content.get("application/json", {}).get("schema", {})
    return schema
