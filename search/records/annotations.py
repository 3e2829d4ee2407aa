"""What a model has said of passages, and how it is written in a filter."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BUILT_IN_FIELDS = ("path", "kind", "title", "heading", "page")
"""Names that a filter takes for a document's or passage's own; no annotation can have them."""


@dataclass(frozen=True)
class Mention:
    """A span that an annotation is about: an entity, a word.

    Attributes:
        field: what it is, "person" for instance.
        text: `document.text[start:end]`.
        start, end: half-open span in the document's text.
        score: of the model that found it, in [0, 1].
    """

    field: str
    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Annotation:
    """What one annotator says of one passage.

    Attributes:
        values: field -> a text, number, or truth value, or a list of them; a field without a value is left out.
        spans: where in the document the values were found; () where they are of the whole passage.
    """

    passage_id: int
    values: Mapping[str, Any]
    spans: tuple[Mention, ...] = ()


@dataclass(frozen=True)
class Annotator:
    """Who annotated the passages of an index, and how far that is done.

    Attributes:
        made_with: what made the annotations; those of another maker are never mixed with them. "command" is what
            goes on with it where passages lack an annotation, "called" the maker's name.
        fields: the names under which filters find the values.
        annotated: passages that have an annotation, with or without values.
        passages: how many the index holds.
    """

    name: str
    made_with: Mapping[str, Any]
    fields: tuple[str, ...]
    annotated: int
    passages: int

    @property
    def complete(self) -> bool:
        return self.annotated == self.passages

    @property
    def progress(self) -> str:
        """As it is said to people: "ner: 120 of 140 passages"."""
        done = "all" if self.complete else f"{self.annotated:,} of"
        return f"{self.name}: {done} {self.passages:,} passage{'' if self.passages == 1 else 's'}"


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
