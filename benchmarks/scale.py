"""What does it cost to have a million passages, and are the hits still the right ones?

    python benchmarks/scale.py [SOURCE] [--sizes 5000 50000 200000 1000000] [--place FOLDER] [--adversarial]

SOURCE is an index, which is only read, or a folder, whose passages are real; all others are made up of these (see
scale_corpus.py). For each size files are written, and indexed by the product's own run, without reading, cutting and a
model: embeddings are made up. Everything after that is the product as people have it, in processes of their own: cold
queries, a run in which nothing changed, one with a new file, a check; the walk of the folder is measured and
subtracted. Then every fiftieth file goes, others come, and hits are compared with what scoring every passage gives
(scale_exact.py). A column of the table is a size.

With --place what was measured is kept there, and done no second time: a run that was stopped goes on. --export writes
the passages of the first size for peers.py. With --adversarial, hits are also compared among vectors that are hard to
tell apart; `--sizes --adversarial` does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from machine import headline, process
from scale_corpus import Build, Corpus, StandIn, build, fill, prepared

REPOSITORY = Path(__file__).resolve().parent.parent
SIZES = (5_000, 50_000, 200_000, 1_000_000)
QUESTION = "how are names resolved in nested scopes"
_QUERIES = 100  # compared at once
Figures = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path, nargs="?", default=REPOSITORY / "corpora")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--place", type=Path, help="where files and indexes are made, and stay")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--repeats", type=int, default=5, help="of what is a process of its own")
    parser.add_argument("--calls", type=int, default=100, help="warm queries")
    parser.add_argument("--queries", type=int, default=1000, help="whose hits are compared")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--export", type=Path, help="where to write the passages of the first size")
    parser.add_argument("--adversarial", action="store_true")
    parser.add_argument("--many", type=int, default=400, help="adversarial vectors of a kind")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    if args.child:
        steps = {"prepared": lambda place, args: prepared(args.source, place / "real.npz"), **STEPS}
        print(json.dumps(steps[args.child](args.place, args)))
        return
    print(headline("faiss-cpu", "numpy", "openvino"), end="\n\n", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        place = args.place or Path(temporary)
        os.environ["SEEWHY_HOME"] = str(place / "home")
        if args.sizes:
            run(place, args)
        if args.adversarial:
            from scale_exact import adversarial

            adversarial(place, args.many, args.seed)


def run(place: Path, args: argparse.Namespace) -> None:
    place.mkdir(parents=True, exist_ok=True)
    if not (place / "real.npz").exists():
        # In a process of its own: what this one holds would count for the peaks of its children.
        process(itself("prepared", place, args))
    columns = []
    for size in args.sizes:
        (place / str(size)).mkdir(exist_ok=True)
        kept = place / str(size) / "figures.json"
        figures = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {"passages": size}
        for step in args.steps:
            if step not in figures:
                figures[step] = process(itself(step, place / str(size), args), told=True)
                kept.write_text(json.dumps(figures, indent=1), encoding="utf-8")
        columns.append(figures)
    if args.export:
        from scale_exact import export

        export(place / str(args.sizes[0]) / "index", args.export, args.calls)
    table(columns)
    if wrong := [text for figures in columns for text in figures.get("exact", {}).get("wrong", ())]:
        sys.exit("\n".join(["lists of hits are wrong:", *wrong[:20]]))


def itself(step: str, place: Path, args: argparse.Namespace) -> list[str]:
    """The command that does one step in a process of its own."""
    numbers = [f"--{name}={getattr(args, name)}" for name in ("repeats", "calls", "queries", "seed")]
    return [sys.executable, __file__, str(args.source), "--child", step, "--place", str(place), *numbers]


def seewhy(place: Path, *options: str) -> Figures:
    """What a command of the product takes."""
    return process([sys.executable, "-m", "search", *options, "--index", str(place / "index")])


def built(place: Path, args: argparse.Namespace) -> Figures:
    corpus, log, taken = Corpus.of(place.parent / "real.npz", args.seed), place / "runs.jsonl", Build()
    fill(place / "files", corpus, range(corpus.documents(int(place.name))))
    started, processor = time.perf_counter(), time.process_time()
    try:
        build(place / "files", place / "index", corpus, StandIn(), taken)
    finally:  # a run that is stopped goes on with the next one
        times = {"wall": time.perf_counter() - started, "cpu": time.process_time() - processor}
        with log.open("a", encoding="utf-8") as out:
            out.write(json.dumps(asdict(taken) | times) + "\n")
    runs = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    commits = [commit for one in runs for commit in one["commits"]]
    tenth = max(1, len(commits) // 10)
    return {
        "first": np.median(commits[:tenth], axis=0).tolist(),
        "last": np.median(
            commits[-tenth - 1 : -1] or commits, axis=0
        ).tolist(),  # the very last is a small one
        "slowest": max(seconds for seconds, _ in commits),
        **{name: runs[-1][name] for name in ("pairs", "end")},
        **{name: sum(one[name] for one in runs) for name in ("wall", "cpu")},
        "bytes": {
            str(path): path.stat().st_size for path in (place / "index").rglob("*") if path.is_file()
        },
    }


def cold(place: Path, args: argparse.Namespace) -> Figures:
    seewhy(place, "query", QUESTION, "--offline")  # warms the file cache
    return medians([seewhy(place, "query", QUESTION, "--offline") for _ in range(args.repeats)])


def medians(runs: Sequence[Figures]) -> Figures:
    return {name: statistics.median(one[name] for one in runs) for name in runs[0]}


def warm(place: Path, args: argparse.Namespace) -> Figures:
    """Median seconds by mode, by the clock and of the processor; those of the encoder alone are subtracted."""
    from scale_exact import asked

    from search import Index

    index, texts = Index.open(place / "index", offline=True), asked(place / "index", 20 + args.calls, 1)
    calls: dict[str, Callable[[str], object]] = {
        "encoder": lambda text: index.encoder.encode([text], role="query"),
        "dense": lambda text: index.query(text, mode="dense"),
        "hybrid": lambda text: index.query(text),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for turn, text in enumerate(texts):
        for name in np.roll(list(calls), turn).tolist():
            started, processor = time.perf_counter(), time.process_time()
            calls[name](text)
            taken[name].append((time.perf_counter() - started, time.process_time() - processor))
    middle = {name: np.median(turns[20:], axis=0) for name, turns in taken.items()}
    beyond = {name: (middle[name] - middle["encoder"]).tolist() for name in ("dense", "hybrid")}
    return {"encoder": middle["encoder"].tolist(), **beyond}


def walked(place: Path) -> list[float]:
    """Seconds of a walk of the folder: by the clock, and of the processor."""
    from search.indexing.compare import walk_folder
    from search.store.settings import Source

    started, processor = time.perf_counter(), time.process_time()
    walk_folder(place / "files", place / "index", Source())
    return [time.perf_counter() - started, time.process_time() - processor]


def beyond_walk(place: Path, runs: Sequence[Figures]) -> Figures:
    """Medians of what takes a walk besides, without that."""
    figures = medians(runs)
    wall, processor = map(statistics.median, zip(*(walked(place) for _ in range(3)), strict=True))
    beyond = {"wall": figures["wall"] - wall, "cpu": figures["cpu"] - processor}
    return figures | beyond | {"walk": [wall, processor]}


def unchanged(place: Path, args: argparse.Namespace) -> Figures:
    return beyond_walk(place, [updated(place) for _ in range(args.repeats)])


def updated(place: Path) -> Figures:
    return seewhy(place, "index", str(place / "files"), "--offline", "--quiet")


def added(place: Path, args: argparse.Namespace) -> Figures:
    runs = []
    for number in range(args.repeats):
        (place / "files" / f"new{number}.txt").write_text(
            f"Names of scope {number} are found last.\n", encoding="utf-8"
        )
        runs.append(updated(place))
    return beyond_walk(place, runs)


def check(place: Path, args: argparse.Namespace) -> Figures:
    return seewhy(place, "check", "--quiet")


def changed(place: Path, args: argparse.Namespace) -> Figures:
    """Every fiftieth document is deleted, some are new."""
    corpus = Corpus.of(place.parent / "real.npz", args.seed)
    n = corpus.documents(int(place.name))
    for path in sorted((place / "files").rglob("*.txt"))[::50]:
        path.unlink()
    fill(place / "files", corpus, range(n, n + max(1, min(n // 10, 200))))
    for path in (place / "files").glob("new*.txt"):
        path.unlink()
    build(place / "files", place / "index", corpus, StandIn())
    return {}


def exact(place: Path, args: argparse.Namespace) -> Figures:
    """All hits of random queries; a hundred queries are written down at once."""
    from scale_exact import Compared, Everything, asked, compared

    texts = asked(place / "index", args.queries, args.seed)
    vectors = StandIn().encode(texts, role="query", truncate=True)
    everything, kept = Everything(place / "index", place / "words.db"), place / "compared.json"
    done, found = (
        json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else (0, asdict(Compared()))
    )
    for start in range(done, len(texts), _QUERIES):
        part = slice(start, start + _QUERIES)
        more = compared(everything, place / "index", texts[part], vectors[part])
        found = asdict(Compared(**found) + more)
        kept.write_text(json.dumps((start + _QUERIES, found)), encoding="utf-8")
    return {"queries": len(texts), **found}


STEPS: dict[str, Callable[[Path, argparse.Namespace], Figures]] = {
    "built": built,
    "cold": cold,
    "warm": warm,
    "unchanged": unchanged,
    "check": check,
    "added": added,
    "changed": changed,
    "exact": exact,
}


def table(columns: Sequence[Figures]) -> None:
    def row(name: str, step: str, told: Callable[[Figures], str]) -> None:
        cells = [told(one[step] | {"n": one["passages"]}) if step in one else "" for one in columns]
        print(f"| {name} | {' | '.join(cells)} |")

    def milliseconds(name: str) -> Callable[[Figures], str]:
        return lambda one: ", ".join(f"{1e3 * seconds:.1f} ms" for seconds in one[name])

    usage = "{cpu:.2f} s, {wall:.2f} s, {mb:,.0f} MB".format_map
    print(f"| passages | {' | '.join(format(one['passages'], ',') for one in columns)} |")
    print(f"|---|{'---|' * len(columns)}")
    row("cold `query`, hybrid: processor, clock, peak memory", "cold", usage)
    row("warm dense beyond the encoder: clock, processor", "warm", milliseconds("dense"))
    row("warm hybrid beyond the encoder: clock, processor", "warm", milliseconds("hybrid"))
    row("the encoder: clock, processor", "warm", milliseconds("encoder"))
    row("`index`, nothing changed, beyond the walk", "unchanged", usage)
    row("`index`, one file added, beyond the walk", "added", usage)
    row("the walk: processor, clock", "unchanged", "{walk[1]:.2f} s, {walk[0]:.2f} s".format_map)
    row("`check`", "check", usage)
    row("a commit, first tenth: clock, processor", "built", milliseconds("first"))
    row("a commit, last tenth: clock, processor", "built", milliseconds("last"))
    row("the slowest commit", "built", "{slowest:.2f} s".format_map)
    row("random pairs: clock, processor", "built", "{pairs[0]:.1f} s, {pairs[1]:.1f} s".format_map)
    row(
        "the end of the run besides: clock, processor",
        "built",
        "{end[0]:.1f} s, {end[1]:.1f} s".format_map,
    )
    row("the whole build", "built", usage)
    row("bytes a passage on disk", "built", lambda one: f"{sum(one['bytes'].values()) / one['n']:,.0f}")
    row("lists of hits compared", "exact", "{lists:,}, {hits:,} hits".format_map)
    row("wrong ones", "exact", lambda one: str(len(one["wrong"])))
    row("in another order within 1e-12", "exact", "{other_order}".format_map)
    row("largest difference of scores", "exact", "{largest:.1e}".format_map)


if __name__ == "__main__":
    main()
