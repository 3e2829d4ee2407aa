"""What pydantic finds wrong with what was asked, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# What pydantic finds wrong with a value -> what it must be.
_MUST_BE = {
    "int": "a whole number",
    "float": "a number",
    "finite_number": "a finite number",
    "bool": "true or false",
    "string": "a text",
    "string_unicode": "a text of whole characters",
    "list": "a list",
    "literal_error": "{expected}",
    "greater_than_equal": "{ge} or more",
    "less_than_equal": "{le} or less",
    "string_too_long": "at most {max_length:,} characters long",
    "string_too_short": "said",
    "too_long": "at most {max_length:,}",
    "too_short": "at least {min_length:,}",
    "model": "one JSON object, sent as application/json",
}


def about_parameters(errors: Sequence[Any]) -> str:
    """What is wrong with parameters, in sentences: of one that may be several things, all that it may be."""
    said: list[str] = []
    must_be: dict[str, list[str]] = {}
    for error in errors:
        kind, about = error["type"], error.get("ctx", {})
        phrase = _MUST_BE.get(kind) or _MUST_BE.get(kind.partition("_")[0])
        if kind == "said":
            said.append(error["msg"])
        elif kind == "extra_forbidden":
            said.append(f"there is no {_name(error)}. Leave it out.")
        elif kind == "missing":
            said.append(f"{_name(error)} is missing.")
        elif kind == "json_invalid":
            said.append(f"the body is no JSON ({about['error']}, at character {error['loc'][-1]}).")
        elif phrase:
            must_be.setdefault(_name(error), []).append(phrase.format(**about))
    said += [f"{name} must be {' or '.join(dict.fromkeys(phrases))}." for name, phrases in must_be.items()]
    return " ".join(said) or "a parameter is no value that it can have."


def _name(error: Any) -> str:
    """What an error of a request is about."""
    return str(error["loc"][1]) if len(error["loc"]) > 1 else "the body"
