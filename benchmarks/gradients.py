"""How long does an explanation take with the poolings cls and pooler, and how large is its error?

    python benchmarks/gradients.py FOLDER QUERIES [--poolings cls pooler] [--queries 20]

QUERIES is a JSON file: a list of objects with a "query". The folder is indexed with each pooling; each query's first
hit is explained, by the tokens of each text. Printed are the median and largest seconds of a hit after the first, the
largest |residual| as a share of the cosine, the lengths of the passages, and the seconds of one hit by pairs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from machine import headline

import search


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--poolings", nargs="+", default=["cls", "pooler"])
    parser.add_argument("--queries", type=int, default=20)
    args = parser.parse_args()
    print(headline("torch", "transformers"))
    questions = [item["query"] for item in json.loads(args.questions.read_text(encoding="utf-8"))]
    for pooling in args.poolings:
        with tempfile.TemporaryDirectory() as place:
            index = search.Index.build(args.folder, index=place, pooling=pooling, offline=True)
            report(pooling, index, questions[: args.queries + 1])


def report(pooling: str, index: search.Index, questions: list[str]) -> None:
    seconds, errors, lengths = [], [], []
    for question in questions:
        (hit,) = index.query(question, k=1)
        started = time.perf_counter()
        why = index.explain(question, hit)
        seconds.append(time.perf_counter() - started)
        errors.append(abs(why.residual / (why.weight * why.cosine)))
        lengths.append(len(why.passage_tokens))
    first, seconds = seconds[0], seconds[1:] or seconds
    print(
        f"{pooling}: {len(seconds)} hits of {min(lengths)} to {max(lengths)} tokens: median "
        f"{statistics.median(seconds):.2f} s, at most {max(seconds):.2f}; the first {first:.2f} s; "
        f"error at most {max(errors):.1e} of the cosine"
    )
    started = time.perf_counter()
    why = index.explain(questions[-1], hit, gradients="pairs")
    print(f"{pooling}, pairs: {time.perf_counter() - started:.1f} s for {why.similarity.size:,} pairs")


if __name__ == "__main__":
    main()
