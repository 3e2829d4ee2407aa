"""One page about an embedding model: hits, speed, verdict and explanations, beside the default model.

    python benchmarks/model_report.py DATA... --model NAME [--texts 400] [--explained 20] [--page FILE] [--offline]

DATA: sets with judgements, whatever `seewhy eval` reads; the first must be in BEIR's layout. Printed, or written to a
file, as Markdown:

- nDCG@10 by keywords, by meaning, and by both at two weights, of the model and of the default one in the same run: what
  a model is worth is what it adds to keywords;
- processor time to encode the first texts of the first set, in turn with the default model: median of the ratios;
- what unrelated texts reach (percentiles of the index), and how often the verdict says anything;
- explanations of first hits: the largest residual, what part of the score is not from words of the query, the time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from machine import headline

import search
from search import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.files import bytes_in
from search.records.evaluations import Evaluation
from search.store.database import reading
from search.store.files import DATABASE
from search.store.null_distribution import read_baseline

MODES = ("lexical", "dense", "hybrid", "hybrid,weight=0.5")
TURNS = 3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--model", required=True)
    parser.add_argument("--texts", type=int, default=400, help="texts to encode for the time")
    parser.add_argument("--explained", type=int, default=20, help="queries whose first hit is explained")
    parser.add_argument("--page", type=Path, default=None, help="write the page to this file")
    parser.add_argument("--offline", action="store_true")
    args = parser.parse_args()
    page = "\n".join(report(args)) + "\n"
    if args.page:
        args.page.write_text(page, encoding="utf-8")
        print(f"wrote {args.page}\n")
    print(page)


def report(args: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the page."""
    encoder, default = (Encoder(name, offline=args.offline) for name in (args.model, DEFAULT_MODEL))
    yield f"# {args.model}\n"
    yield f"{headline('torch', 'openvino', 'numpy')}\n"
    yield from facts(encoder)
    yield "\n## Hits\n"
    yield "| set | mode | nDCG@10 | 95 % interval | default model | share of it |"
    yield "|---|---|---|---|---|---|"
    models = (args.model, DEFAULT_MODEL)
    means: dict[str, list[tuple[float, float]]] = {mode: [] for mode in MODES}
    first: Evaluation | None = None
    for data in args.data:
        ours, theirs = (
            search.evaluate(data, settings=list(MODES), model=model, offline=args.offline)
            for model in models
        )
        first = first or ours
        for mode, one, other in zip(MODES, ours.settings, theirs.settings, strict=True):
            figure, reference = one.metrics[ours.primary], other.metrics[ours.primary].mean
            means[mode].append((figure.mean, reference))
            interval = f"{figure.low:.4f} to {figure.high:.4f}"
            yield row(ours.dataset, mode, f"{figure.mean:.4f}", interval, reference, figure.mean)
    for mode, pairs in means.items():
        figure, reference = (statistics.mean(values) for values in zip(*pairs, strict=True))
        yield row("mean", mode, f"{figure:.4f}", "", reference, figure)
    assert first
    yield "\n## Speed\n"
    yield from speed(encoder, default, texts_of(args.data[0])[: args.texts])
    yield "\n## Verdict and percentile\n"
    yield from verdicts(first)
    yield "\n## Explanations\n"
    yield from explanations(first, args.explained)


def row(data: str, mode: str, figure: str, interval: str, reference: float, value: float) -> str:
    share = f"{value / reference:.1%}" if reference else "-"
    return f"| {data} | {mode} | {figure} | {interval} | {reference:.4f} | {share} |"


def facts(encoder: Encoder) -> Iterator[str]:
    yield f"- runs on: {encoder.runs_on}"
    yield f"- {encoder.pooling} pooling, {encoder.dimension} dimensions, at most {encoder.max_tokens:,} tokens"
    yield f"- prompts: {encoder.fingerprint.prompts_line}"
    yield f"- size of its files: {bytes_in(encoder.files.folder) / 1e6:.1f} MB"
    yield from (f"- {note}" for note in encoder.notes)


def texts_of(data: Path) -> list[str]:
    lines = (data / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines if line.strip()]


def speed(encoder: Encoder, default: Encoder, texts: list[str]) -> Iterator[str]:
    took: dict[str, list[float]] = {"model": [], "default": []}
    for _ in range(TURNS + 1):  # the first turn loads
        for name, one in (("model", encoder), ("default", default)):
            started = time.process_time()
            one.encode(texts, role="document", truncate=True)
            took[name].append(time.process_time() - started)
    ratios = [
        own / reference for own, reference in zip(took["model"][1:], took["default"][1:], strict=True)
    ]
    seconds = statistics.median(took["model"][1:])
    ratio = statistics.median(ratios)
    yield (
        f"{len(texts)} texts in {seconds:.3f} s of processor time, {ratio:.3g} times that of the default model "
        f"({1 / ratio:.3g} times as fast); {len(texts) / seconds:,.0f} texts a second."
    )


def verdicts(found: Evaluation) -> Iterator[str]:
    index = search.Index.open(found.index)
    verdict = [
        bool(hits and hits[0].verdict) for hits in (index.query(one.text) for one in found.queries)
    ]
    yield f"The verdict says something for {sum(verdict)} of {len(verdict)} queries.\n"
    with reading(index.path / DATABASE) as connection:
        baseline = read_baseline(connection)
    if baseline is None or not len(baseline.cosine):
        yield "There are too few passages for percentiles."
        return
    points = (5, 50, 95, 99)
    cosines = ", ".join(f"{value:.3f}" for value in np.percentile(baseline.cosine, points))
    yield f"Cosines of unrelated pairs, percentiles {', '.join(map(str, points))}: {cosines}."


def explanations(found: Evaluation, count: int) -> Iterator[str]:
    index = search.Index.open(found.index)
    residuals, rests, seconds = [], [], []
    for one in found.queries[:count]:
        hits = index.query(one.text, k=1)
        if not hits:
            continue
        started = time.process_time()
        why = index.explain(one.text, hits[0])
        shares = why.shares()
        seconds.append(time.process_time() - started)
        residuals.append(abs(why.residual))
        rest = why.score - sum(share.contribution for share in shares if share.kind in ("word", "term"))
        rests.append(abs(rest / why.score))
    yield (
        f"{len(residuals)} first hits: largest residual {max(residuals):.1e}; not from a word of the query "
        f"{statistics.mean(rests):.0%} of the score on average; median {statistics.median(seconds):.3f} s of "
        "processor time."
    )


if __name__ == "__main__":
    main()
