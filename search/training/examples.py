"""Examples to learn from, told apart by their shape.

pairs     a query and a passage that answers it
triplets  the same, with one or more passages that do not
graded    two sentences and how alike they are, from 0 to 1
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from search.errors import InputError
from search.records.evaluations import TrainingFile

Shape = Literal["pairs", "triplets", "graded"]

FEWEST = 3  # rows; a correlation of two points is always 1


@dataclass(frozen=True)
class Example:
    """One row.

    Attributes:
        texts: two sentences; or a query, a passage that answers it, and passages that do not.
        score: of graded sentences, in [0, 1]; 1 for the others.
    """

    texts: tuple[str, ...]
    score: float = 1.0


@dataclass(frozen=True)
class Examples:
    """Rows of one shape.

    Attributes:
        rows: none twice, except in a file to measure with.
        files: where they were read.
        read: rows in the files; `duplicates` of them were the same as an earlier one.
        notes: what was found out about the data, as sentences.
    """

    shape: Shape
    rows: tuple[Example, ...]
    files: tuple[TrainingFile, ...] = ()
    read: int = 0
    duplicates: int = 0
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the texts, as the trainer takes them."""
        if self.shape == "graded":
            return ("sentence1", "sentence2")
        negatives = len(self.rows[0].texts) - 2 if self.rows else 0
        return ("anchor", "positive", *(f"negative_{number}" for number in range(1, negatives + 1)))

    def of(self, rows: Iterable[Example]) -> Examples:
        """Other rows of the same data."""
        return replace(self, rows=tuple(rows))

    def digest(self) -> str:
        """sha256 of the rows, in order."""
        found = hashlib.sha256(self.shape.encode())
        for row in self.rows:
            found.update(json.dumps([row.texts, row.score]).encode())
        return found.hexdigest()


def without_duplicates(rows: Sequence[Example]) -> tuple[tuple[Example, ...], int]:
    """The rows without those that are the same as an earlier one, and how many those were."""
    kept = tuple(dict.fromkeys(rows))
    return kept, len(rows) - len(kept)


def require_enough(examples: Examples, what: str) -> None:
    """
    Raises:
        InputError: there are too few rows, or scores that are all the same, to train on or to measure with.
    """
    if len(examples) < FEWEST:
        raise InputError(f"{what} holds {len(examples)} examples; at least {FEWEST} are needed.")
    if examples.shape == "graded" and len({row.score for row in examples.rows}) < 2:
        raise InputError(
            f"all scores of {what} are the same, so nothing can be learned or measured with them."
        )


def key_of(text: str) -> str:
    """What two texts share that differ in spaces or case alone."""
    return " ".join(text.split()).casefold()
