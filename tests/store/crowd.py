"""A folder with enough passages for a sample of random pairs."""

import random
from pathlib import Path

from tests.conftest import WORDS


def crowd(folder: Path, count: int = 60, first: int = 0) -> Path:
    """Write `count` small files, each one passage of three sentences; the same ones for the same numbers."""
    folder.mkdir(exist_ok=True)
    for number in range(first, first + count):
        chance = random.Random(number)
        sentences = [" ".join(chance.choices(WORDS, k=chance.randint(4, 20))) for _ in range(3)]
        text = "".join(f"{sentence.capitalize()}.\n" for sentence in sentences)
        (folder / f"note{number:03}.txt").write_text(text, encoding="utf-8")
    return folder
