"""How good are the hits in a folder as people have it, asked as people speak?

    python benchmarks/folders.py FOLDER QUESTIONS.json [--index PATH] [--mode hybrid --mode dense ...] [--show]

QUESTIONS: `[{"query": "...", "paths": ["a.md", ...]}, ...]`, the files that answer each, as in benchmarks/spoken/.
The folder is indexed as `seewhy index` does, at `--index` or in a place that is thrown away; an index that is there
already is asked as it is. A row for each mode: the share of the first five hits, at most three of a document as in
`seewhy query`, that have fewer than 15 words of their own; how often the best documents, each once, hold a right one
among the first 1, 3, 5 and 10; and the mean reciprocal rank of the first right one among ten. With 95 % bootstrap
intervals over the questions. `--show` lists the first five hits of each question, and which document is right.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from machine import headline

from search import Encoder, Index
from search.corpus import Cutter, Skipped, documents, load, walk
from search.evaluating.asking import settings_of
from search.records.evaluations import Setting
from search.records.hits import Hit
from search.records.shown import shown
from search.statistics import mean_of
from search.store.settings import PassageSettings

FEW_WORDS, FIRST, DEPTH = 15, 5, 10
KEYWORDS = ("mode", "weight", "phrases", "rerank", "where")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--index", type=Path, default=None)
    parser.add_argument("--mode", action="append", default=None, help="as for seewhy eval --compare")
    parser.add_argument("--show", action="store_true", help="the first five hits of each question")
    args = parser.parse_args()
    settings = settings_of(args.mode or ["hybrid", "dense", "lexical"], KEYWORDS)
    questions = json.loads(args.questions.read_text(encoding="utf-8"))
    print(headline("openvino", "faiss-cpu", "numpy"))
    with tempfile.TemporaryDirectory() as place:
        index = opened(args.folder, args.index or Path(place) / "index")
        print(f"{len(questions)} questions\n")
        print("| mode | short hits | at 1 | in 3 | in 5 | in 10 | MRR@10 |\n|---|---|---|---|---|---|---|")
        found = [asked(index, questions, setting) for setting in settings]
    for setting, (_, figures) in zip(settings, found, strict=True):
        print(f"| {setting.name} | {' | '.join(with_interval(values) for values in figures)} |")
    for setting, (hits, _) in zip(settings if args.show else (), found, strict=False):
        print(f"\n{setting.name}")
        for question, first in zip(questions, hits, strict=True):
            show(question, first)


def opened(folder: Path, place: Path) -> Index:
    """The index of a folder, made where there is none; how much was read and how long it took is printed."""
    if place.exists():
        index = Index.open(place, offline=True)
        print(f"{index.status().documents:,} documents, {index.status().passages:,} passages, indexed before")
        return index
    reading = seconds_of_reading(folder)
    index = Index.build(folder, index=str(place), offline=True)
    assert index.report
    print(
        f"{index.report.documents:,} documents, {index.report.passages:,} passages, {index.report.tokens:,} tokens; "
        f"indexed in {index.report.seconds:.1f} s; reading and cutting alone {reading:.1f} s"
    )
    return index


def seconds_of_reading(folder: Path) -> float:
    encoder, started = Encoder(offline=True), time.perf_counter()
    cutter = Cutter(
        encoder.tokenizer, max_tokens=encoder.max_tokens, passage_tokens=PassageSettings().passage_tokens
    )
    for file in walk(folder):
        for document in () if isinstance(file, Skipped) else documents(file, load(file)):
            if not isinstance(document, Skipped):
                cutter.cut(document)
    return time.perf_counter() - started


def asked(
    index: Index, questions: Sequence[Mapping[str, Any]], setting: Setting
) -> tuple[list[list[Hit]], list[list[float]]]:
    """The first hits of each question, and the columns of the table."""
    first, short, ranks = [], [], []
    for question in questions:
        hits = index.query(question["query"], k=FIRST, per_document=3, **setting.options)
        first.append(hits)
        short.append(sum(own_words(hit) < FEW_WORDS for hit in hits) / max(1, len(hits)))
        best = index.query(question["query"], k=DEPTH, per_document=1, **setting.options)
        names = list(dict.fromkeys(hit.document for hit in best))
        right = [rank for rank, name in enumerate(names, 1) if name in question["paths"]]
        ranks.append(min(right, default=np.inf))
    successes = [[float(rank <= k) for rank in ranks] for k in (1, 3, 5, DEPTH)]
    return first, [short, *successes, [1 / rank for rank in ranks]]


def own_words(hit: Hit) -> int:
    """The words of a passage as it is read, without its context: what has a letter or a digit."""
    return sum(any(map(str.isalnum, part)) for part in shown(hit.text, hit.hidden).split())


def with_interval(values: Sequence[float]) -> str:
    found = mean_of(np.array(values))
    return f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f})"


def show(question: Mapping[str, Any], hits: Sequence[Hit]) -> None:
    print(f"\n{question['query']}  ({', '.join(question['paths'])})")
    for hit in hits:
        mark = "*" if hit.document in question["paths"] else " "
        line = next(iter(hit.text.strip().splitlines()), "")
        place = f"{hit.document}:{hit.line_start}"
        print(f" {mark}{hit.rank} {hit.score:.3f} {place} {own_words(hit)} words  {line[:70]}")


if __name__ == "__main__":
    main()
