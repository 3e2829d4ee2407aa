"""How long is a commit of a batch in a small index, and in a large one?

    python benchmarks/commits.py [--small 10000] [--large 200000] [--seed 0]

Made-up records of 40 words, drawn as words are in a language (Zipf), are indexed by the product's own write path, in
one run; a stand-in encoder gives each passage a made-up embedding of 384 dimensions, so that nothing but the path is
timed. Printed are the medians of the last 20 commits up to each size, of about 512 passages each, and their ratio,
which must not pass 1.5: the program ends with exit code 1 where it does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
from machine import headline
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from search.encoding.encoder import Role
from search.indexing.update import update
from search.store.settings import PassageSettings, Source
from search.store.writer import Writer
from tests.faults.double import WordEncoder

DIMENSION = 384
WORDS, VOCABULARY, A_FILE = 40, 20_000, 2_000
COMMITS = 20
MOST = 1.5


class MadeUp(WordEncoder):
    """Random embeddings; tokens are words."""

    def __init__(self) -> None:
        super().__init__()
        self.dimension = DIMENSION

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,
        truncate: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> NDArray[np.float32]:
        vectors = np.random.default_rng(len(texts)).standard_normal((len(texts), DIMENSION), dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--any", action="store_true", help="a larger ratio is no failure")
    args = parser.parse_args()
    print(headline("sqlite-utils", "faiss-cpu", "numpy"))
    with tempfile.TemporaryDirectory() as place:
        os.environ["SEEWHY_HOME"] = str(Path(place) / "home")
        fill(Path(place) / "files", args.large, args.seed)
        started = time.perf_counter()
        commits = timed(Path(place) / "files", Path(place) / "index")
        seconds = time.perf_counter() - started
    print(f"{commits[-1][0]:,} passages in {len(commits)} commits and {seconds:.0f} s\n")
    print("| passages | median commit | range |\n|---|---|---|")
    medians = []
    for size in (args.small, args.large):
        last = [taken for passages, taken in commits if passages <= size][-COMMITS:]
        medians.append(statistics.median(last))
        print(
            f"| {size:,} | {1e3 * medians[-1]:.0f} ms | {1e3 * min(last):.0f} to {1e3 * max(last):.0f} ms |"
        )
    ratio = medians[1] / medians[0]
    print(f"\nratio {ratio:.2f}")
    if ratio > MOST and not args.any:
        sys.exit(
            f"a commit takes longer the larger the index is: {ratio:.2f} times as long, at most {MOST} is right"
        )


def fill(folder: Path, records: int, seed: int) -> None:
    folder.mkdir()
    chance = np.random.default_rng(seed)
    share = 1 / np.arange(1, VOCABULARY + 1)
    share /= share.sum()
    for start in range(0, records, A_FILE):
        drawn = chance.choice(VOCABULARY, size=(min(A_FILE, records - start), WORDS), p=share)
        lines = (json.dumps({"text": " ".join(f"w{word}" for word in row)}) + "\n" for row in drawn.tolist())
        (folder / f"{start:09}.jsonl").write_text("".join(lines), encoding="utf-8")


def timed(folder: Path, index: Path) -> list[tuple[int, float]]:
    """For each commit: the passages that there are after it, and its seconds."""
    store = Writer.store
    commits: list[tuple[int, float]] = []

    def timing(self: Writer, batch: Sequence[object], *given: object) -> None:
        started = time.perf_counter()
        store(self, batch, *given)  # type: ignore[arg-type]
        taken = time.perf_counter() - started
        before = commits[-1][0] if commits else 0
        commits.append((before + sum(work.n_passages for work in batch), taken))  # type: ignore[attr-defined]

    with patch.object(Writer, "store", timing):
        update(folder, index, MadeUp(), settings=PassageSettings(), source=Source(text_field="text"))
    return commits


if __name__ == "__main__":
    main()
