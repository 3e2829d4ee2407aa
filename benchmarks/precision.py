"""What does a lower precision cost, and what does it bring on this device?

    python benchmarks/precision.py FOLDER stsb_dev.tsv [--passages 800] [--queries 100] [--device cuda]

Against fp32 on the same device: the largest and the mean 1 - cosine of passages' embeddings; the share of queries
(every n-th passage's first sentence) whose ten best passages are the same in the same order, and whose ten best are
the same set; Spearman's rank correlation of the cosines with the ratings of an STS-B file (tab-separated, with the
columns sentence1, sentence2 and score); tokens a second of `Encoder.encode` over all passages, in turn, medians.
"""

from __future__ import annotations

import argparse
import csv
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from encoder import copy_files
from machine import headline
from numpy.typing import NDArray

from search import Encoder
from search.encoding.engine import PRECISIONS
from search.encoding.torch_engine import best_device

K = 10


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("sts", type=Path)
    parser.add_argument("--passages", type=int, default=800)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--device", default=None, help="of PyTorch; the default takes a GPU where there is one"
    )
    args = parser.parse_args()
    device = args.device or best_device()
    print(headline("torch", "transformers", "sentence-transformers", "numpy"))
    print(f"device: {device_name(device)}")
    encoders = {p: Encoder(offline=True, engine="torch", device=device, precision=p) for p in PRECISIONS}
    with tempfile.TemporaryDirectory() as place:
        texts, lengths = copy_files(args.folder, Path(place) / "files", args.passages, encoders["fp32"])
    queries = [first_sentence(text) for text in texts[:: max(1, len(texts) // args.queries)]]
    tokens = sum(lengths)
    print(f"{len(texts)} passages, {tokens:,} tokens, {len(queries)} queries\n")

    seconds = throughput(encoders, texts, args.repeats)
    embeddings = {name: encoder.encode(texts) for name, encoder in encoders.items()}
    best = {
        name: ranking(encoder.encode(queries, truncate=True), embeddings[name])
        for name, encoder in encoders.items()
    }
    print(
        f"{'':24}{'largest':>10}{'mean':>10}{'lists':>7}{'sets':>7}{'STS-B':>8}{'tokens/s':>10}{'ratio':>7}"
    )
    print(f"{'sentence-transformers':24}{'':>34}{'':>8}{line(tokens, seconds, 'sentence-transformers')}")
    for name, encoder in encoders.items():
        loss = 1 - (embeddings[name].astype(np.float64) * embeddings["fp32"]).sum(axis=1)
        lists = np.mean((best[name] == best["fp32"]).all(axis=1))
        sets = np.mean((np.sort(best[name]) == np.sort(best["fp32"])).all(axis=1))
        print(
            f"{name:24}{max(loss.max(), 0):>10.1e}{abs(loss.mean()):>10.1e}{lists:>7.0%}{sets:>7.0%}"
            f"{spearman(encoder, args.sts):>8.4f}{line(tokens, seconds, name)}"
        )


def throughput(encoders: dict[str, Encoder], texts: list[str], repeats: int) -> dict[str, list[float]]:
    """Seconds of each turn, the first of which only warms up; SentenceTransformer with its defaults beside them."""
    from sentence_transformers import SentenceTransformer

    any_ = encoders["fp32"]
    reference = SentenceTransformer(str(any_.files.folder), device=any_.engine.device)
    contestants: dict[str, Callable[[list[str]], object]] = {
        name: encoder.encode for name, encoder in encoders.items()
    }
    contestants["sentence-transformers"] = reference.encode
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats + 1):
        for name, encode in contestants.items():
            started = time.perf_counter()
            encode(texts)
            if turn:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def line(tokens: int, seconds: dict[str, list[float]], name: str) -> str:
    """Tokens a second, and the median of the ratios to sentence-transformers within one turn."""
    pairs = zip(seconds["sentence-transformers"], seconds[name], strict=True)
    ratio = statistics.median(base / mine for base, mine in pairs)
    return f"{tokens / statistics.median(seconds[name]):>10,.0f}{ratio:>7.2f}"


def first_sentence(text: str) -> str:
    return re.split(r"(?<=[.?!])\s", text.strip(), maxsplit=1)[0]


def ranking(queries: NDArray[np.float32], passages: NDArray[np.float32]) -> NDArray[np.int64]:
    """(q, K) positions of the nearest passages, best first; of equal ones the first comes first."""
    return np.argsort(-(queries @ passages.T), axis=1, kind="stable")[:, :K]


def spearman(encoder: Encoder, file: Path) -> float:
    from scipy.stats import spearmanr

    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    first = encoder.encode([row["sentence1"] for row in rows])
    second = encoder.encode([row["sentence2"] for row in rows])
    return float(spearmanr((first * second).sum(axis=1), [float(row["score"]) for row in rows]).statistic)


def device_name(device: str) -> str:
    """A GPU's own name beside what PyTorch calls it."""
    import torch

    return f"{device}, {torch.cuda.get_device_name(device)}" if device.startswith("cuda") else device


if __name__ == "__main__":
    main()
