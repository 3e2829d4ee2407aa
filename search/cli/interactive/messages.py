"""What the threads that ask the index send to the app."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from search.cli.interactive.asking import Asked
from search.records.hits import Hit, Surroundings

if TYPE_CHECKING:
    from search.records.explanations import Explanation, Highlight


@dataclass(frozen=True)
class Found:
    """Hits, and what counts in the text of each."""

    hits: Sequence[Hit] = ()
    marks: Sequence[Sequence[Highlight]] = ()


@dataclass
class Replied(Message):
    """What the index says to a question; `error` is what is wrong with it, "" for nothing."""

    asked: Asked
    found: Found
    seconds: float
    remarks: Sequence[str]
    error: str


@dataclass
class Loaded(Message):
    """The model is there; or it is not, and why."""

    error: str = ""


@dataclass
class Read(Message):
    """What stands around a hit."""

    hit: Hit
    marks: Sequence[Highlight]
    around: Surroundings


@dataclass
class Explained(Message):
    """Why a hit is one; or why that cannot be told."""

    hit: Hit
    why: Explanation | None
    error: str = ""
