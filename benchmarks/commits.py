"""Does a commit of a run take longer in a larger index?

    python benchmarks/commits.py [--passages 200000] [--at 10000]

Batches of 512 made-up passages with random embeddings are stored one after the other, as a run stores them; what no
model and no disk decides is measured, the processor time of a commit. Printed are the medians of the 20 commits around
the first size and of the last 20, and their ratio.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from machine import headline

from search.corpus import SourceFile
from search.records.documents import Document, LineMap, Passage
from search.store.checksums import content_key
from search.store.writer import Work, as_blob, writing

BATCH, DIMENSION, AROUND = 512, 384, 20
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--passages", type=int, default=200_000)
    parser.add_argument("--at", type=int, default=10_000)
    args = parser.parse_args()
    print(headline("sqlite-utils", "numpy"))
    seconds = commits(args.passages)
    place = args.at // BATCH
    first = statistics.median(seconds[max(0, place - AROUND // 2) : place + AROUND // 2])
    last = statistics.median(seconds[-AROUND:])
    print(
        f"{BATCH} passages a commit: {1000 * first:.0f} ms at {args.at:,} passages, {1000 * last:.0f} ms at "
        f"{args.passages:,}, ratio {last / first:.2f}"
    )


def commits(passages: int) -> list[float]:
    """The processor time of each commit, until there are so many passages."""
    chosen = random.Random(0)
    words = ["".join(chosen.choices(LETTERS, k=chosen.randint(3, 9))) for _ in range(50_000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    seconds = []
    with tempfile.TemporaryDirectory() as place, writing(Path(place) / "index.db") as writer:
        writer.renew_lexicon()
        for number in range(passages // BATCH):
            work, vectors = batch(number, chosen, words, weights)
            began = time.process_time()
            writer.store([work], vectors)
            seconds.append(time.process_time() - began)
    return seconds


def batch(
    number: int, chosen: random.Random, words: list[str], weights: list[float]
) -> tuple[Work, dict[bytes, bytes]]:
    """A file with one document of 512 passages of 60 words, the frequent ones frequent, and random embeddings."""
    texts = [" ".join(chosen.choices(words, weights, k=60)) for _ in range(BATCH)]
    passages = [Passage(0, len(text), text, "", "", 1, 1, 90) for text in texts]
    vectors = np.random.default_rng(number).normal(size=(BATCH, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    document = Document(f"{number}.txt", "text", "\n".join(texts), "", LineMap((0,), (1,)), ())
    file = SourceFile(f"{number}.txt", Path(f"{number}.txt"), 1, 1, 1)
    work = Work(file, str(number), [(document, passages)], {0}, last=True, outcome="added")
    return work, {content_key("", text): as_blob(vector) for text, vector in zip(texts, vectors, strict=True)}


if __name__ == "__main__":
    main()
