"""Do the addends sum to the score, and what does it cost to see them?

    python benchmarks/adds_up.py CRANFIELD CACM [--queries 200] [--passages 20] [--documents 0]
                                 [--poolings mean max cls pooler] [--modes dense hybrid late]

Each folder is in BEIR layout (corpus.jsonl, queries.jsonl). For each pooling its corpus is indexed with the default
model, each query is asked in each mode ("late" is hybrid, reranked by late interaction), and its ten hits are
explained. Printed are the largest |score - sum of addends|, with the contributions of the query's tokens and with those
of the passage's tokens, and the largest |score - query embedding x stored embedding|.

Below: the seconds of explaining ten hits from the query's text on, against encoding the ten passages once, in turn,
medians of the ratios within one turn: the query's words alone ("bars"), and also the passages' words ("all").
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from machine import headline

import search
from search.encoding.encoder import with_context
from search.records.visible_text import visible

MODES: dict[str, dict[str, Any]] = {"dense": {"mode": "dense"}, "hybrid": {}, "late": {"rerank": "late"}}
HITS = 10


@dataclass
class Figures:
    """What was found for one folder and one pooling."""

    scores: int = 0
    sum_error: float = 0.0
    passage_error: float = 0.0
    drift: float = 0.0
    encode: list[float] = field(default_factory=list)
    bars: list[float] = field(default_factory=list)
    explain: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument(
        "--documents", type=int, default=0, help="index only the first so many; 0 for all"
    )
    parser.add_argument(
        "--passages", type=int, default=20, help="queries whose passages' words are summed and timed"
    )
    parser.add_argument("--poolings", nargs="+", default=["mean", "max", "cls", "pooler"])
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=list(MODES))
    args = parser.parse_args()
    print(headline("numpy", "openvino", "torch", "transformers"))
    found: dict[str, Figures] = {}
    for folder, pooling in itertools.product(args.folders, args.poolings):
        typed = [item["text"] for item in records(folder / "queries.jsonl", 0)]
        queries = [text for text in typed if text.strip()][: args.queries]
        with tempfile.TemporaryDirectory() as place:
            index = indexed(folder, Path(place), pooling, args.documents)
            for mode in args.modes:
                found[f"{folder.name}, {pooling}, {mode}"] = measured(
                    index, queries, MODES[mode], args.passages
                )
    print_errors(found)
    print_times(found)


def records(file: Path, most: int) -> list[dict[str, str]]:
    """The first records of a JSONL file; 0 for all."""
    with file.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in itertools.islice(stream, most or None)]


def indexed(folder: Path, place: Path, pooling: str, documents: int) -> search.Index:
    """The corpus of a folder, in an index of its own."""
    (place / "corpus").mkdir()
    with (place / "corpus" / "corpus.jsonl").open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(item) + "\n" for item in records(folder / "corpus.jsonl", documents))
    return search.Index.build(
        place / "corpus", index=str(place / "index"), pooling=pooling, text_field="text", offline=True
    )


def measured(index: search.Index, queries: list[str], mode: dict[str, Any], most: int) -> Figures:
    """Ask each query and explain its hits; for the first queries also by the passages' words, and measure the time."""
    figures = Figures()
    if queries:
        _ = index.explain(
            queries[0], index.query(queries[0], k=1, **mode)[0]
        ).residual  # loads what is loaded once
    for number, text in enumerate(queries):
        hits = index.query(text, k=HITS, per_document=0, **mode)
        passages = [with_context(hit.context, visible(hit.text, hit.hidden)) for hit in hits]
        whys = index.explain(text, hits)
        figures.scores += len(whys)
        figures.sum_error = max([figures.sum_error, *(abs(why.residual) for why in whys)])
        figures.drift = max([figures.drift, *(abs(why.drift or 0.0) for why in whys)])
        if number >= most:
            continue
        times = [time.process_time()]
        index.encoder.encode(passages, role="document")
        times.append(time.process_time())
        whys = index.explain(text, hits)
        for why in whys:
            why.shares(partners=0)
        times.append(time.process_time())
        sides = [why.weight * why.layers("passage")[0].sum() - why.meaning for why in whys]
        times.append(time.process_time())
        figures.encode.append(times[1] - times[0])
        figures.bars.append(times[2] - times[1])
        figures.explain.append(times[3] - times[1])
        figures.passage_error = max([figures.passage_error, *map(abs, sides)])
    return figures


def print_errors(by_name: dict[str, Figures]) -> None:
    print(f"\n{'largest |score - ...|':32}{'scores':>8}{'query':>12}{'passage':>12}{'stored':>12}")
    for name, figures in by_name.items():
        print(
            f"{name:32}{figures.scores:>8,}{figures.sum_error:>12.1e}{figures.passage_error:>12.1e}"
            f"{figures.drift:>12.1e}"
        )


def print_times(by_name: dict[str, Figures]) -> None:
    print(
        f"\n{'processor seconds, ten hits':32}{'encode':>8}{'bars':>8}{'all':>8}{'bars, ratio':>12}{'all, ratio':>12}"
    )
    for name, figures in by_name.items():
        if not figures.encode:  # without --passages nothing is timed
            continue
        seconds = [statistics.median(times) for times in (figures.encode, figures.bars, figures.explain)]
        ratios = [
            statistics.median(b / a for a, b in zip(figures.encode, times, strict=True))
            for times in (figures.bars, figures.explain)
        ]
        print(
            f"{name:32}"
            + "".join(f"{value:>8.3f}" for value in seconds)
            + "".join(f"{value:>12.2f}" for value in ratios)
        )


if __name__ == "__main__":
    main()
