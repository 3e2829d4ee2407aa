"""What is found beside a ranking: passages that say the same, and what stands around a passage."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Copy:
    """A passage of a cluster, with the place where it stands as in a `Hit`.

    Attributes:
        cosine: with the passage of the cluster that is nearest to it.
        same_text_as: the id of the first passage of the cluster with the very same text; None for that one, and
            for a text that comes once.
    """

    passage_id: int
    path: str
    document: str
    title: str
    heading: str
    text: str
    start: int
    end: int
    line_start: int
    line_end: int
    page: int | None
    cosine: float
    same_text_as: int | None


@dataclass(frozen=True)
class Cluster:
    """Passages that say the same, in the order of their ids.

    Attributes:
        exact: all have the very same text.
        lowest: the lowest cosine of a passage with its nearest one.
    """

    passages: tuple[Copy, ...]
    exact: bool
    lowest: float


@dataclass(frozen=True)
class Neighbour:
    """A passage beside another one of its document; `text` without what the two have in common."""

    passage_id: int
    text: str
    line_start: int
    line_end: int


@dataclass(frozen=True)
class Surroundings:
    """What stands around a passage in its document, in order.

    Attributes:
        before, after: neighbouring passages of the index.
        lines_before, lines_after: lines of the source file, as (number, text).
        note: why there are no lines; "" where there are, or none were asked for.
    """

    before: tuple[Neighbour, ...] = ()
    after: tuple[Neighbour, ...] = ()
    lines_before: tuple[tuple[int, str], ...] = ()
    lines_after: tuple[tuple[int, str], ...] = ()
    note: str = ""
