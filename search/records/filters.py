"""How a name and a value are written in a filter, and a filter in a command."""

from __future__ import annotations

import re
import shlex

_KEYWORDS = ("and", "or", "not", "in", "has")
_NAME = re.compile(r"""[^\s()=!<>:,'".]+(\.[^\s()=!<>:,'".]+)*""")
_VALUE = re.compile(r"""[^\s(),'"=<>!:][^\s(),'"]*""")
_SPECIAL = frozenset('"$`\\!')  # within double quotes, to one shell or another


def in_filter(name: str, value: str) -> str:
    """The condition that a field has a value.

    Example:
        >>> in_filter("person", "Ada Lovelace"), in_filter("not", "don't")
        ("person='Ada Lovelace'", "'not'='don''t'")
    """
    return f"{field_in_filter(name)}={_written(value, _VALUE)}"


def field_in_filter(name: str) -> str:
    """A field's name, in quotes where it has to be."""
    return _written(name, _NAME)


def _written(text: str, plain: re.Pattern[str]) -> str:
    if plain.fullmatch(text) and text.casefold() not in _KEYWORDS:
        return text
    return "'" + text.replace("'", "''") + "'"


def filter_argument(text: str) -> str:
    """A filter as one argument of a command: in double quotes, which every shell takes, where it can be."""
    return shlex.quote(text) if _SPECIAL.intersection(text) else f'"{text}"'
