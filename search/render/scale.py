"""Where the colours and shades of a matrix begin and end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Ends:
    """Two values: what lies at one of them, or beyond, has the colour of that end.

    From `low` 0 or higher colours grow from none at `low`. With a `low` below 0 there is none at 0, and the colours of
    what is below it grow towards `low`.
    """

    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        """Raise ValueError for ends that are none."""
        if not (self.low < self.high and self.high > 0):
            raise ValueError(
                f"colours from {self.low:g} to {self.high:g}: the end is not above the start, or not above 0"
            )

    def share(self, value: Any) -> Any:
        """Where a value, or each of an array, stands: in [-1, 1], 0 for no colour."""
        if self.low >= 0:
            return np.clip((value - self.low) / (self.high - self.low), 0, 1)
        return np.clip(value / np.where(np.asarray(value) < 0, -self.low, self.high), -1, 1)

    @property
    def said(self) -> str:
        """What to add to a sentence about a picture of cosines; nothing where the ends are the usual ones."""
        return "" if self == COSINES else f"; coloured from {self.low:g} to {self.high:g}"


COSINES = Ends()


def around_zero(end: float) -> Ends:
    """From -end to end."""
    return Ends(-end, end)
