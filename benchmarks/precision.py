"""What does a lower precision cost, and what does it bring on this machine?

    python benchmarks/precision.py FOLDER stsb_dev.tsv cranfield cacm [--lower bf16 fp16] [--device cuda]

Each precision is computed by the engine that takes it here, and compared with fp32: the largest and the mean 1 - cosine
of passages' embeddings; the share of queries (every n-th passage's first sentence) whose ten best passages are the same
in the same order, and whose ten best are the same set; tokens a second of `Encoder.encode` over all passages, in turn,
medians, and the ratios to SentenceTransformer and to fp32 within a turn, the latter also of processor time. Then what
figures it gives: Spearman's correlation of an STS-B file, nDCG@10 of folders in BEIR layout, with one embedding for
each document.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from encoder import copy_files, ratio, timed
from machine import headline
from numpy.typing import NDArray

from search import Encoder
from search.encoding.engine import PRECISIONS
from search.evaluating.evaluation import evaluate_pairs, evaluate_whole
from search.evaluating.formats import Retrieval, SentencePairs, read_dataset
from search.evaluating.metrics import MetricPlan

K = 10
REFERENCE = "sentence-transformers"
Seconds = dict[str, list[tuple[float, float]]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", type=Path, nargs="*", help="an STS-B file, folders in BEIR layout")
    parser.add_argument("--lower", nargs="+", choices=PRECISIONS[1:], default=PRECISIONS[1:])
    parser.add_argument("--passages", type=int, default=800)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--device", default=None, help="of PyTorch; the default takes a GPU where there is one"
    )
    args = parser.parse_args()
    print(headline("openvino", "torch", "transformers", "sentence-transformers", "numpy"))
    encoders = {p: Encoder(offline=True, device=args.device, precision=p) for p in ("fp32", *args.lower)}
    for encoder in encoders.values():
        print(f"{encoder.runs_on}{device_name(encoder.engine.device)}")
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
        f"{'':24}{'largest':>10}{'mean':>10}{'lists':>7}{'sets':>7}{'tokens/s':>10}{'ratio':>7}{'to fp32':>9}"
        f"{'of processor':>14}"
    )
    print(f"{REFERENCE:24}{'':>34}{line(tokens, seconds, REFERENCE)}")
    for name in encoders:
        loss = 1 - (embeddings[name].astype(np.float64) * embeddings["fp32"]).sum(axis=1)
        lists = np.mean((best[name] == best["fp32"]).all(axis=1))
        sets = np.mean((np.sort(best[name]) == np.sort(best["fp32"])).all(axis=1))
        print(
            f"{name:24}{max(loss.max(), 0):>10.1e}{abs(loss.mean()):>10.1e}{lists:>7.0%}{sets:>7.0%}"
            f"{line(tokens, seconds, name)}"
        )
    for source in args.data:
        said = ", ".join(f"{name} {figure(source, encoder):.4f}" for name, encoder in encoders.items())
        print(f"{source.stem}: {said}", flush=True)


def throughput(encoders: dict[str, Encoder], texts: list[str], repeats: int) -> Seconds:
    """Seconds of each turn, the first of which only warms up; SentenceTransformer with its defaults beside them."""
    from sentence_transformers import SentenceTransformer

    any_ = encoders["fp32"]
    reference = SentenceTransformer(str(any_.files.folder), device=any_.engine.device)
    contestants: dict[str, Callable[[list[str]], object]] = {
        name: encoder.encode for name, encoder in encoders.items()
    }
    contestants[REFERENCE] = reference.encode
    seconds: Seconds = {name: [] for name in contestants}
    for turn in range(repeats + 1):
        for name, encode in contestants.items():
            taken = timed(partial(encode, texts))
            if turn:
                seconds[name].append(taken)
    return seconds


def line(tokens: int, seconds: Seconds, name: str) -> str:
    """Tokens a second, and the ratios to sentence-transformers and to fp32."""
    mine, base = seconds[name], seconds["fp32"]
    rate = tokens / statistics.median(clock for clock, _ in mine)
    return (
        f"{rate:>10,.0f}{ratio(seconds[REFERENCE], mine, 0):>7.2f}{ratio(base, mine, 0):>9.2f}"
        f"{ratio(base, mine, 1):>14.2f}"
    )


def figure(source: Path, encoder: Encoder) -> float:
    """Spearman's correlation of rated pairs, nDCG@10 of a collection."""
    data = read_dataset(source)
    if isinstance(data, SentencePairs):
        found = evaluate_pairs(data, encoder, MetricPlan(K))
    else:
        assert isinstance(data, Retrieval)
        found = evaluate_whole(data, encoder, MetricPlan(K))
    return found.settings[0].metrics[found.primary].mean


def first_sentence(text: str) -> str:
    return re.split(r"(?<=[.?!])\s", text.strip(), maxsplit=1)[0]


def ranking(queries: NDArray[np.float32], passages: NDArray[np.float32]) -> NDArray[np.int64]:
    """(q, K) positions of the nearest passages, best first; of equal ones the first comes first."""
    return np.argsort(-(queries @ passages.T), axis=1, kind="stable")[:, :K]


def device_name(device: str) -> str:
    """A GPU's own name, beside what PyTorch calls it."""
    import torch

    return f", {torch.cuda.get_device_name(device)}" if device.startswith("cuda") else ""


if __name__ == "__main__":
    main()
