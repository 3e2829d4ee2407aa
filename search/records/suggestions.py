"""Questions that an index can answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from search.records.hits import Hit

Rule: TypeAlias = Literal["heading", "line", "permission", "case", "place", "task"]


@dataclass(frozen=True)
class Suggestion:
    """A question whose first hit is the passage that it was made from.

    Attributes:
        question: the question, as a user would type it.
        rule: the rule that made it; see `search.ranking.suggestions`.
        hit: the first hit.
    """

    question: str
    rule: Rule
    hit: Hit
