"""Rows of files, parted into those that are learned from, those that a checkpoint is chosen by, and those measured.

Rows that share a text are never on two sides.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from search.encoding.torch_engine import usable_device
from search.errors import InputError
from search.files import sha256_of
from search.records.evaluations import Objective, TrainingFile

FEWEST = 3  # rows; a correlation of two points is always 1


@dataclass(frozen=True)
class Settings:
    """How to train; see `search.records.options.TrainOptions`."""

    epochs: int
    lr: float
    batch_size: int = 16
    warmup: float = 0.1
    freeze: int | str | None = None
    patience: int = 3
    precision: str = "fp32"
    dev_share: float = 0.1
    seed: int = 0
    device: str | None = None

    def __post_init__(self) -> None:
        if self.freeze not in (None, "all") and not (type(self.freeze) is int and self.freeze >= 0):
            raise InputError(f"freeze is {self.freeze!r}, but takes a number of layers, or all.")
        if self.patience < 1 or self.epochs < 1 or self.batch_size < 1:
            raise InputError("epochs, batch size and patience must be at least 1.")
        if self.precision not in ("fp32", "bf16"):
            raise InputError(f"the precision '{self.precision}' is not known. Choose fp32 or bf16.")
        if not 0 < self.dev_share <= 0.5:
            raise InputError(f"dev_share is {self.dev_share}, but must be more than 0 and at most 0.5.")

    @property
    def on(self) -> str:
        """The device."""
        return usable_device(self.device)


@dataclass(frozen=True)
class Rows:
    """The different rows of a file; `duplicates` said the same as an earlier one; `notes` are about the data."""

    rows: Sequence[Any]
    duplicates: int = 0
    notes: tuple[str, ...] = ()


class Readable(Protocol):
    """What is learned, as far as its rows are concerned."""

    objective: Objective

    def read(self, path: Path, role: str) -> Rows: ...

    def key(self, row: Any) -> str:
        """What must not be on two sides."""
        ...

    def groups(self, rows: Sequence[Any]) -> Sequence[str]:
        """Of each row, what it stays together with."""
        ...

    def stratum(self, row: Any) -> str:
        """What each side has its share of."""
        ...


@dataclass(frozen=True)
class Parts:
    """Rows to learn from, to choose a checkpoint by, and to measure with, and how they came about."""

    train: tuple[Any, ...]
    choice: tuple[Any, ...]
    dev: tuple[Any, ...]
    files: tuple[TrainingFile, ...]
    counts: dict[str, int]
    notes: tuple[str, ...]


def parted(kind: Readable, data: Path, dev: Path | None, share: float, seed: int) -> Parts:
    """The rows of a file in three parts; of two files the second is measured with.

    Raises:
        InputError: a file is malformed, or too little is left of it.
    """
    found = kind.read(data, "train")
    files = [TrainingFile("train", str(data), data.name, sha256_of(data), len(found.rows) + found.duplicates)]
    counts = {"read": files[0].rows, "duplicates": found.duplicates}
    rows, notes = list(found.rows), found.notes
    if dev is None:
        rows, held = _held_out(kind, rows, share, seed)
    else:
        second = kind.read(dev, "dev")
        held, notes = list(second.rows), notes + second.notes
        files.append(TrainingFile("dev", str(dev), dev.name, sha256_of(dev), len(held) + second.duplicates))
        known = {kind.key(row) for row in held}
        rows = [row for row in rows if kind.key(row) not in known]
        counts["also_held_out"] = len(found.rows) - len(rows)
    rows, choice = _held_out(kind, rows, share, seed)
    counts |= {"train": len(rows), "held_out": len(held), "chosen_by": len(choice)}
    return Parts(tuple(rows), tuple(choice), tuple(held), tuple(files), counts, notes)


def _held_out(kind: Readable, rows: list[Any], share: float, seed: int) -> tuple[list[Any], list[Any]]:
    """Rows to learn from, and a share of each stratum that is held out, groups whole.

    Raises:
        InputError: there are too few, or they hang together so that no part can be held out.
    """
    members: dict[str, dict[str, list[int]]] = {}
    for i, (row, group) in enumerate(zip(rows, kind.groups(rows), strict=True)):
        members.setdefault(kind.stratum(row), {}).setdefault(group, []).append(i)
    taken: set[int] = set()
    chance = random.Random(seed)
    for stratum, groups in sorted(members.items()):
        size = sum(map(len, groups.values()))
        wanted = max(1 if stratum else FEWEST, round(share * size))
        held: set[int] = set()
        for name in chance.sample(sorted(groups), len(groups)):
            if len(held) < wanted and len(held) + len(groups[name]) <= max(1.5 * wanted, FEWEST):
                held.update(groups[name])
        if not held or size - len(held) < 1 + (not stratum) or len(held) < wanted / 2:
            of = f" with the label '{stratum}'" if stratum else ""
            raise InputError(
                f"no {share:.0%} of the {size:,} examples{of} can be held out: they are too few, or share their texts. "
                "Give more of them."
            )
        taken |= held
    if not taken:
        raise InputError("there are no examples to learn from.")
    return [row for i, row in enumerate(rows) if i not in taken], [
        row for i, row in enumerate(rows) if i in taken
    ]


def connected(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Of each pair, a name of all pairs that it is connected with by shared texts."""
    parents: dict[str, str] = {}

    def root(text: str) -> str:
        while (parent := parents.setdefault(text, text)) != text:
            parents[text] = parents[parent]
            text = parent
        return text

    for first, second in pairs:
        parents[root(first)] = root(second)
    return [root(first) for first, _ in pairs]


def key_of(text: str) -> str:
    """What two texts share that differ in spaces or case alone."""
    return " ".join(text.split()).casefold()
