"""How long is a commit of a batch in a small index, and in a large one?

    python benchmarks/commits.py [--small 10000] [--large 200000] [--seed 0]

Made-up records of 40 words, drawn as words are in a language (Zipf), are indexed by the product's own write path, in
one run; a stand-in encoder gives each passage a made-up embedding of 384 dimensions, so that nothing but the path is
timed. Printed are the medians of the last 20 commits up to each size, of about 512 passages each, and their ratio,
which must not pass 1.5: the program ends with exit code 1 where it does. Beside the time is that of the processor
alone, which tells whether other work on the machine, or its disk, was in the way.
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
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
from machine import headline
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from search.encoding.encoder import Role
from search.indexing.update import update
from search.store.settings import PassageSettings, Source
from search.store.writer import Work, Writer
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
    print(f"{commits[-1].passages:,} passages in {len(commits)} commits and {seconds:.0f} s\n")
    print("| passages | median commit | range | processor |\n|---|---|---|---|")
    medians, processor = [], []
    for size in (args.small, args.large):
        last = [commit for commit in commits if commit.passages <= size][-COMMITS:]
        taken = [1e3 * commit.seconds for commit in last]
        medians.append(statistics.median(taken))
        processor.append(1e3 * statistics.median(commit.processor for commit in last))
        print(
            f"| {size:,} | {medians[-1]:.0f} ms | {min(taken):.0f} to {max(taken):.0f} | {processor[-1]:.0f} ms |"
        )
    ratio = medians[1] / medians[0]
    print(f"\nratio {ratio:.2f}, of the processor's time {processor[1] / processor[0]:.2f}")
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


@dataclass(frozen=True)
class Commit:
    """The passages that there are after it, its seconds, and those of the processor in its thread."""

    passages: int
    seconds: float
    processor: float


def timed(folder: Path, index: Path) -> list[Commit]:
    """Every commit of a run."""
    store = Writer.store
    commits: list[Commit] = []

    def timing(self: Writer, batch: Sequence[Work], vectors: dict[bytes, bytes]) -> None:
        started, processor = time.perf_counter(), time.thread_time()
        store(self, batch, vectors)
        taken, processor = time.perf_counter() - started, time.thread_time() - processor
        before = commits[-1].passages if commits else 0
        commits.append(Commit(before + sum(work.n_passages for work in batch), taken, processor))

    with patch.object(Writer, "store", timing):
        update(folder, index, MadeUp(), settings=PassageSettings(), source=Source(text_field="text"))
    return commits


if __name__ == "__main__":
    main()
