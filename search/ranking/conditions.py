"""What a filter says, as a tree; where.py makes it of text."""

from __future__ import annotations

from dataclasses import dataclass

from search.ranking.where_compare import Value
from search.records.annotations import BUILT_IN_FIELDS

BUILT_IN = BUILT_IN_FIELDS


@dataclass(frozen=True)
class Field:
    """What a condition is about.

    Attributes:
        column: one of BUILT_IN, or "metadata".
        parts: for metadata, the name as it was written, cut at its dots.
        at: where it stands in the filter, from 0.
    """

    column: str
    parts: tuple[str, ...]
    at: int

    @property
    def name(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True)
class Has:
    """The field has a value that is not empty."""

    field: Field


@dataclass(frozen=True)
class Comparison:
    """The field, or one of several values that it has, compares with one of `values`.

    `operator` is "=", "<", "<=", ">", ">=" or ":", with several values always "=".
    """

    field: Field
    operator: str
    values: tuple[Value, ...]
    at: int


@dataclass(frozen=True)
class Not:
    part: Condition


@dataclass(frozen=True)
class And:
    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Or:
    parts: tuple[Condition, ...]


Condition = Has | Comparison | Not | And | Or


@dataclass(frozen=True)
class Where:
    """A filter: its text, and what that means."""

    text: str
    condition: Condition
