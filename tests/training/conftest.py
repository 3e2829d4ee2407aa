"""Small examples that a tiny model can learn a little from."""

from __future__ import annotations

import importlib.util
import json
import random
from pathlib import Path

import pytest

WORDS = "the key door lock open turn water people time say long side word number call first find text".split()

trainable = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("accelerate", "datasets")),
    reason="the extra 'training' is not installed",
)


def write_graded(path: Path, rows: int = 30, seed: int = 0) -> Path:
    """Pairs of five words; the score is five times the share of places with the same word."""
    chance = random.Random(seed)
    lines = ["sentence1\tsentence2\tscore"]
    for number in range(rows):
        first = [*chance.choices(WORDS, k=5), str(number)]
        second = [word if chance.random() < 0.5 else chance.choice(WORDS) for word in first]
        same = sum(a == b for a, b in zip(first, second, strict=True))
        lines.append(f"{' '.join(first)}\t{' '.join(second)}\t{5 * same / 6}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_pairs(path: Path, rows: int = 24, seed: int = 0) -> Path:
    """A query is two words and a number of the passage."""
    chance = random.Random(seed)
    lines = ["query,passage"]
    for number in range(rows):
        words = chance.choices(WORDS, k=6)
        lines.append(f"{words[0]} {words[1]} {number},{' '.join(words)} {number}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    return write_graded(tmp_path / "graded.tsv")


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs.csv")
