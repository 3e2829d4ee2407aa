"""How good are the answers, set by set and mode by mode? And is dense ranking what it should be?

    python benchmarks/quality.py DATA... [--mode dense --mode hybrid ...] [--no-reference] [--offline]

DATA: whatever `seewhy eval` reads. A table with a row for each set and mode, with 95 % bootstrap intervals of the main
figure (nDCG@10 of documents; share of gold characters in the first 10 passages), its difference to the first mode with
the p-value of a paired randomization test, and the median time of a warm query as a multiple of the first mode's.

Then dense against a plain ranking: the same passages encoded by SentenceTransformer.encode, compared with NumPy. The
difference of the main figure must be 1e-4 at most; the program ends with exit code 1 where it is not.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from machine import headline

import search
from search.encoding.tokenizer import with_context
from search.evaluating.formats import Retrieval, read_dataset
from search.evaluating.metrics import ranking_values
from search.records.evaluations import Evaluation
from search.store.snapshot import Store

K = 10
MOST_DIFFERENT = 1e-4


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument(
        "--mode", action="append", default=None, help="as for seewhy eval; the first is the baseline"
    )
    parser.add_argument("--model", default=None)
    parser.add_argument(
        "--no-reference", action="store_true", help="do not rank with sentence-transformers"
    )
    parser.add_argument(
        "--token-vectors", action="store_true", help="keep them in the indexes: a quicker rerank"
    )
    parser.add_argument("--offline", action="store_true")
    args = parser.parse_args()
    modes = args.mode or ["dense", "lexical", "hybrid"]
    print(headline("sentence-transformers", "torch", "openvino", "faiss-cpu", "numpy"))
    print(f"{args.model or 'the default model'}; nDCG@10\n")
    print("| set | mode | figure | 95 % interval | MRR@10 | to the first | p | time |")
    print("|---|---|---|---|---|---|---|---|")
    found = []
    for data in args.data:
        one = search.evaluate(
            data,
            settings=modes,
            model=args.model,
            k=K,
            token_vectors=args.token_vectors,
            offline=args.offline,
        )
        found.append(one)
        for line in rows(one):
            print(line, flush=True)
    for place, mode in enumerate(modes if len(found) > 1 else []):
        mean = statistics.mean(one.settings[place].metrics[one.primary].mean for one in found)
        print(f"| mean of the sets | {mode} | {mean:.4f} | | | | | |")
    if not args.no_reference:
        print(
            "\n| set | figure, dense | sentence-transformers and NumPy | difference | largest of a query |"
        )
        print("|---|---|---|---|---|")
        agree = [agrees(data, one, args) for data, one in zip(args.data, found, strict=True)]
        if not all(agree):
            sys.exit("dense ranking is not that of sentence-transformers")


def rows(found: Evaluation) -> list[str]:
    lines = []
    took = [median_time(found, one.setting.options) for one in found.settings]
    compared = {one.other: one for one in found.comparisons if one.metric == found.primary}
    for one, seconds in zip(found.settings, took, strict=True):
        figure = one.metrics[found.primary]
        gap = compared.get(one.setting.name)
        against = f"{gap.difference.mean:+.4f} | {gap.p:.4f}" if gap else "|"
        lines.append(
            f"| {found.dataset} | {one.setting.name} | {figure.mean:.4f} | {figure.low:.4f} to {figure.high:.4f} "
            f"| {one.metrics[f'mrr@{K}'].mean:.4f} | {against} | {seconds / took[0]:.2f} |"
        )
    return lines


def median_time(found: Evaluation, options: Mapping[str, Any]) -> float:
    """Seconds of a warm query."""
    index = search.Index.open(found.index)
    seconds = []
    for query in [found.queries[0], *found.queries[:200]]:
        started = time.perf_counter()
        index.query(query.text, k=K, **options)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds[1:])


def agrees(source: Path, found: Evaluation, args: argparse.Namespace) -> bool:
    """Print how far dense is from the reference."""
    dense = next((one for one in found.settings if one.setting.name == "dense"), None)
    if dense is None:
        again = search.evaluate(source, settings=["dense"], model=args.model, k=K, offline=args.offline)
        dense = again.settings[0]
    ours = np.array([query.values[found.primary] for query in dense.queries])
    theirs = np.array(reference(source, found))
    gap, largest = abs(float(ours.mean() - theirs.mean())), float(np.abs(ours - theirs).max())
    print(
        f"| {found.dataset} | {ours.mean():.6f} | {theirs.mean():.6f} | {gap:.1e} | {largest:.1e} |",
        flush=True,
    )
    return gap <= MOST_DIFFERENT


def reference(source: Path, found: Evaluation) -> list[float]:
    """The main figure of each query, from the index's texts alone."""
    from sentence_transformers import SentenceTransformer

    folder = search.Encoder(found.model, offline=True).files.folder
    model = SentenceTransformer(str(folder), device="cpu")
    data = read_dataset(source)
    assert isinstance(data, Retrieval)
    names, texts = passages(Path(found.index))
    vectors = model.encode(texts, normalize_embeddings=True, batch_size=32)
    asked = model.encode([query.text for query in data.queries], normalize_embeddings=True)
    values = []
    for query, scores in zip(data.queries, asked @ vectors.T, strict=True):
        best: dict[str, float] = defaultdict(lambda: -2.0)
        for name, score in zip(names, scores.tolist(), strict=True):
            best[name] = max(best[name], score)
        ranked = sorted(best, key=lambda name: -best[name])[:K]
        values.append(ranking_values(ranked, data.judgements[query.id], K)[found.primary])
    return values


def passages(index: Path) -> tuple[list[str], list[str]]:
    """Of every passage: the name of its document in the data, and what is encoded for it."""
    with Store(index).reading() as snapshot:
        by_id = snapshot.stored(snapshot.ids().tolist())
    stored = [by_id[id_] for id_ in sorted(by_id)]
    names = [str(passage.metadata["_id"]) for passage in stored]
    return names, [with_context(passage.context, passage.visible_text) for passage in stored]


if __name__ == "__main__":
    main()
