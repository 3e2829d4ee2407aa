"""What do documents from memory cost, against the same texts as JSON Lines, and one more in a large index?

    python benchmarks/documents.py [--documents 100000] [--turns 3] [--upserts 15] [--model MODEL]

The texts are made up, of 30 words each. Without `--model`, a hashed bag of words encodes them in no time, so that
reading, cutting and storing are measured. Both ways run in turn, in this process; figures are medians of processor
time, and the ratio is the median of the ratios within one turn.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from machine import headline
from numpy.typing import NDArray

from search import Document, Index

WORDS = "the key lock door opens when water turns round people find words in long text about time".split()


def bag_of_words(texts: list[str]) -> NDArray[np.float32]:
    rows = np.zeros((len(texts), 64), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in text.split():
            row[crc32(word.encode()) % 64] += 1
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--upserts", type=int, default=15)
    parser.add_argument("--model")
    args = parser.parse_args()
    print(headline("openvino", "numpy"))
    encoder: dict[str, Any] = {"model": args.model} if args.model else {"encoder": bag_of_words}
    texts = list(made_up(args.documents))
    with tempfile.TemporaryDirectory() as place:
        os.environ["SEEWHY_HOME"] = str(Path(place) / "home")
        folder = Path(place) / "folder"
        folder.mkdir()
        lines = (json.dumps({"id": str(i), "text": text}) for i, text in enumerate(texts))
        (folder / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
        turns = [
            (
                spent(partial(stored, f"memory{n}", texts, encoder)),
                spent(partial(Index.build, folder, index=f"folder{n}", offline=True, **encoder)),
            )
            for n in range(args.turns)
        ]
        mine, theirs = (statistics.median(column) for column in zip(*turns, strict=True))
        ratio = statistics.median(a / b for a, b in turns)
        print(
            f"{len(texts):,} documents: upsert {mine:.1f} s, JSON Lines {theirs:.1f} s, ratio {ratio:.2f}"
        )
        small = stored("small", texts[: max(1, len(texts) // 100)], encoder)
        large = Index.open("memory0", **({} if args.model else encoder))
        one_more(small, large, args.upserts)


def made_up(count: int) -> Iterator[str]:
    chosen = random.Random(0)
    for number in range(count):
        yield " ".join(chosen.choices(WORDS, k=30)) + f" {number}."


def stored(name: str, texts: list[str], encoder: dict[str, Any]) -> Index:
    index = Index.create(name, offline=True, **encoder)
    index.upsert(Document(str(i), text) for i, text in enumerate(texts))
    return index


def one_more(small: Index, large: Index, upserts: int) -> None:
    """Store one document at a time, in turn in both indexes."""
    times: list[tuple[float, float]] = []
    for number, text in enumerate(made_up(upserts + 1)):
        document = Document("one", f"{text} once more {number}")
        times.append((spent(partial(small.upsert, [document])), spent(partial(large.upsert, [document]))))
    first, second = (1000 * statistics.median(column) for column in zip(*times[1:], strict=True))
    sizes = [f"{index.status().documents:,}" for index in (small, large)]
    print(
        f"one upsert: {first:.1f} ms among {sizes[0]}, {second:.1f} ms among {sizes[1]}, "
        f"ratio {second / first:.2f}"
    )


def spent(work: Callable[[], object]) -> float:
    """Processor time in seconds."""
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
