"""How long is a query in a process that has answered others, by mode, against the ranking by meaning alone?

    python benchmarks/warm_query.py FOLDER [--passages 5000] [--queries 100] [--seed 0]

Makes an index of about that many passages with the vectors of their tokens. The queries are sentences of the
passages, drawn by the seed. Each mode has an index object of its own, which first answers 200 other queries; then
each is asked every query once, in turn, so no query has been asked before of the object that answers it. Medians;
the ratio is the median of the ratios within a turn. Last, `--rerank late` without stored vectors, 20 queries.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from encoder import copy_files
from machine import headline

from search import Encoder, Index
from search.store.snapshot import Store

MODES: dict[str, dict[str, Any]] = {
    "dense": {"mode": "dense"},
    "hybrid": {"mode": "hybrid"},
    "lexical": {"mode": "lexical"},
    "hybrid, rerank late": {"rerank": "late"},
}
WITHOUT_VECTORS = 20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--warming", type=int, default=200, help="queries that are asked before")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(headline("openvino", "faiss-cpu"))
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {"SEEWHY_HOME": str(Path(place) / "home"), "HF_HUB_OFFLINE": "1"}
        copy_files(args.folder, Path(place) / "files", args.passages, Encoder(offline=True))
        run(Path(place) / "files", args.queries, args.warming, args.seed)


def run(folder: Path, n: int, before: int, seed: int) -> None:
    index = Index.build(folder, token_vectors=True, offline=True)
    queries = sentences(index, before + n, seed)
    warming, asked = queries[:before], queries[before:]
    print(f"{index.status().passages} passages, {len(asked)} queries such as '{asked[0]}'\n")
    seconds = timed(index, MODES, warming, asked)
    print(f"{'':28}{'median ms':>10}{'ratio':>7}   middle half of the ratios")
    for name, times in seconds.items():
        ratios = sorted(t / d for t, d in zip(times, seconds["dense"], strict=True))
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"{name:28}{statistics.median(times) * 1e3:>10.1f}{middle:>7.2f}   {low:.2f} to {high:.2f}")
    Index.build(folder, token_vectors=False, offline=True)
    modes = {name: MODES[name] for name in ("dense", "hybrid, rerank late")}
    dense, late = timed(index, modes, warming[:WITHOUT_VECTORS], asked[:WITHOUT_VECTORS]).values()
    ratio = statistics.median(t / d for t, d in zip(late, dense, strict=True))
    print(f"{'late, no stored vectors':28}{statistics.median(late) * 1e3:>10.1f}{ratio:>7.1f}")


def sentences(index: Index, n: int, seed: int) -> list[str]:
    """Different sentences of 6 to 16 words."""
    with Store(index.path).reading() as snapshot:
        stored = snapshot.stored(snapshot.ids().tolist())
    texts = [stored[id_].visible_text for id_ in sorted(stored)]
    every = {" ".join(part.split()): None for text in texts for part in re.split(r"(?<=[.?!])\s+", text)}
    fit = [part for part in every if 6 <= len(part.split()) <= 16]
    return random.Random(seed).sample(fit, n)


def timed(
    index: Index, modes: dict[str, dict[str, Any]], warming: Sequence[str], asked: Sequence[str]
) -> dict[str, list[float]]:
    """Seconds of each query in each mode."""
    opened = {name: Index.open(index.path, offline=True) for name in modes}
    for name, options in modes.items():
        for query in warming:
            opened[name].query(query, per_document=3, **options)
    seconds: dict[str, list[float]] = {name: [] for name in modes}
    for turn, query in enumerate(asked):
        names = list(modes)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            started = time.perf_counter()
            opened[name].query(query, per_document=3, **modes[name])
            seconds[name].append(time.perf_counter() - started)
    return seconds


if __name__ == "__main__":
    main()
