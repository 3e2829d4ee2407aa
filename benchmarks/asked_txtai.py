"""Rank the passages of asked.py with txtai: how often is an answer first, among three, and among five?

    python benchmarks/asked.py export PLACE EXPORT
    ENVIRONMENT/bin/python benchmarks/asked_txtai.py EXPORT [--weights 0.5 0.75] [--encode MODEL]

Runs in an environment with txtai. It gets seewhy's own passages and vectors, so that only the ranking is compared: its
FAISS index and its BM25, at its default weight of the meaning and at others. `--encode` measures the processor time in
which it encodes the same passages with a model of sentence-transformers, given as a folder.
"""

from __future__ import annotations

import argparse
import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

FIRST = 5


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("export", type=Path)
    parser.add_argument("--weights", type=float, nargs="+", default=[0.5, 0.75])
    parser.add_argument("--encode", default=None, metavar="MODEL")
    args = parser.parse_args()
    print(f"txtai {version('txtai')}\n")
    if args.encode:
        from txtai import Embeddings  # type: ignore[import-not-found]

        texts = [text for folder in sorted(args.export.iterdir()) for text in texts_of(folder)]
        started = time.process_time()
        Embeddings(path=args.encode, content=True, hybrid=True).index(enumerate(texts))
        print(f"{len(texts):,} passages: {time.process_time() - started:.0f} s of processor time\n")
    print("| weight | first | in 3 | in 5 |\n|---|--:|--:|--:|")
    ranks = [rank for folder in sorted(args.export.iterdir()) for rank in ranks_in(folder, args.weights)]
    for weight in args.weights:
        own = [rank for used, rank in ranks if used == weight]
        cells = (f"{sum(rank <= k for rank in own)}" for k in (1, 3, FIRST))
        print(f"| {weight} | {' | '.join(cells)} |")


def texts_of(folder: Path) -> list[str]:
    return list(json.loads((folder / "texts.json").read_text(encoding="utf-8")))


def ranks_in(folder: Path, weights: list[float]) -> list[tuple[float, int]]:
    """For each question of a folder and each weight, the rank of the first passage with an answer, or above `FIRST`."""
    from txtai import Embeddings

    texts, asked = texts_of(folder), json.loads((folder / "questions.json").read_text("utf-8"))
    vectors, queries = np.load(folder / "vectors.npy"), np.load(folder / "queries.npy")
    vector_of = dict(zip(texts, vectors, strict=True))
    vector_of |= dict(zip((one["query"] for one in asked), queries, strict=True))

    def given(wanted: list[str]) -> Any:
        return np.array([vector_of[text] for text in wanted])

    embeddings = Embeddings(method="external", transform=given, content=True, hybrid=True)
    embeddings.index(enumerate(texts))
    ranks = []
    for one in asked:
        for weight in weights:
            rows = embeddings.search(one["query"], FIRST, weights=weight)
            places = [place for place, row in enumerate(rows, 1) if int(row["id"]) in one["answers"]]
            ranks.append((weight, min(places, default=FIRST + 1)))
    return ranks


if __name__ == "__main__":
    main()
