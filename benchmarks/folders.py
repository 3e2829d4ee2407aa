"""How good are the hits in a folder as people have it, asked as people speak?

    python benchmarks/folders.py FOLDER QUESTIONS.json [--index PATH] [--mode hybrid --mode dense ...] [--show]
        [--tokens 120 180 240] [--sample N]

QUESTIONS: `[{"query": "...", "paths": ["a.md", ...]}, ...]`, the files that answer each, as in benchmarks/spoken/.
The folder is indexed as `seewhy index` does, at `--index` or in a place that is thrown away; an index that is there
already is asked as it is. A row for each mode: the share of the first five hits, at most three of a document as in
`seewhy query`, that have fewer than 15 words of their own; how often the best documents, each once, hold a right one
among the first 1, 3, 5 and 10; and the mean reciprocal rank of the first right one among ten. With 95 % bootstrap
intervals over the questions. `--tokens` cuts passages of these sizes, one after the other, in indexes that are thrown
away; `--sample` takes the files that answer a question and others by chance, so many in all. `--show` lists the first
five hits of each question, and which document is right.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from machine import headline

from search import Encoder, Index
from search.corpus import Skipped, documents, load, walk
from search.evaluating.metrics import settings_of
from search.indexing.read import cutter_for
from search.indexing.update import update
from search.records.evaluations import Setting
from search.records.hits import Hit
from search.records.visible_text import visible
from search.statistics import mean_of
from search.store.settings import PassageSettings, Source

FEW_WORDS, FIRST, DEPTH = 15, 5, 10


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--index", type=Path, default=None)
    parser.add_argument("--mode", action="append", default=None, help="as for seewhy eval")
    parser.add_argument("--tokens", type=int, nargs="+", default=[PassageSettings().passage_tokens])
    parser.add_argument("--sample", type=int, default=None, help="so many files")
    parser.add_argument("--show", action="store_true", help="the first five hits of each question")
    args = parser.parse_args()
    settings = settings_of(args.mode or ["hybrid", "dense", "lexical"])
    questions = [one for one in json.loads(args.questions.read_text(encoding="utf-8")) if one["paths"]]
    print(headline("openvino", "faiss-cpu", "numpy"))
    with tempfile.TemporaryDirectory() as place:
        folder = sampled(args.folder, questions, args.sample, Path(place)) if args.sample else args.folder
        found = []
        for tokens in args.tokens:
            index = opened(folder, args.index or Path(place) / f"index-{tokens}", tokens)
            found += [
                (f"{setting.name}, {tokens} tokens", *asked(index, questions, setting))
                for setting in settings
            ]
    print(f"{len(questions)} questions\n")
    print("| mode | short hits | at 1 | in 3 | in 5 | in 10 | MRR@10 |\n|---|---|---|---|---|---|---|")
    for name, _, figures in found:
        print(f"| {name} | {' | '.join(with_interval(values) for values in figures)} |")
    for name, hits, _ in found if args.show else ():
        print(f"\n{name}")
        for question, first in zip(questions, hits, strict=True):
            show(question, first)


def sampled(folder: Path, questions: Sequence[Mapping[str, Any]], n: int, place: Path) -> Path:
    """A copy of some files of a folder: those that answer a question, and others by chance."""
    right = {path for question in questions for path in question["paths"]}
    others = sorted({path.name for path in folder.iterdir() if path.is_file()} - right)
    drawn = np.random.default_rng(0).permutation(others)[: max(0, n - len(right))]
    copy = place / folder.name
    copy.mkdir()
    for name in (*right, *drawn):
        shutil.copy(folder / name, copy)
    return copy


def opened(folder: Path, place: Path, tokens: int) -> Index:
    """The index of a folder, made where there is none; how much was read and how long it took is printed."""
    if place.exists():
        index = Index.open(place, offline=True)
        print(
            f"{index.status().documents:,} documents, {index.status().passages:,} passages, indexed before"
        )
        return index
    settings = PassageSettings(passage_tokens=tokens)
    reading = seconds_of_reading(folder, settings)
    report = update(folder.resolve(), place, Encoder(offline=True), settings=settings, source=Source())
    print(
        f"{report.documents:,} documents, {report.passages:,} passages, {report.tokens:,} tokens; "
        f"indexed in {report.seconds:.1f} s; reading and cutting alone {reading:.1f} s"
    )
    return Index.open(place, offline=True)


def seconds_of_reading(folder: Path, settings: PassageSettings) -> float:
    encoder, started = Encoder(offline=True), time.perf_counter()
    cutter = cutter_for(encoder, settings)
    for file in walk(folder):
        for document in () if isinstance(file, Skipped) else documents(file, load(file)):
            if not isinstance(document, Skipped):
                cutter.cut(document)
    return time.perf_counter() - started


def asked(
    index: Index, questions: Sequence[Mapping[str, Any]], setting: Setting
) -> tuple[list[list[Hit]], list[list[float]]]:
    """The first hits of each question, and the columns of the table."""
    first: list[list[Hit]] = []
    short, ranks = [], []
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
    return sum(any(map(str.isalnum, part)) for part in visible(hit.text, hit.hidden).split())


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
