"""Tables of texts and numbers, the same on a page and as a picture."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """A text or number; `share`, from -1 to 1, is how strongly it is coloured."""

    text: str
    share: float = 0.0
    strong: bool = False
    faint: bool = False


@dataclass(frozen=True)
class Grid:
    """A table under a title; `notes` stand below it.

    Attributes:
        texts: the columns that hold no numbers.
        named: the column that says what a row is of.
        keys: how many columns at the left say it in full. A picture draws tables with the same keys beside each
            other, and the keys once.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    texts: tuple[int, ...] = (0,)
    named: int = 0
    keys: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """What is drawn: a title, (name, text) lines about it, and tables below each other."""

    title: str
    about: tuple[tuple[str, str], ...]
    grids: tuple[Grid, ...]
