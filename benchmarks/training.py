"""Does fine-tuning raise Spearman's correlation on STS-B, and how long does it take?

    python benchmarks/training.py stsb_train.tsv stsb_dev.tsv [--seeds 0 1 2] [--epochs 1]

`search.bert.train` with its defaults, from all-MiniLM-L6-v2. A model for each seed; before, after, the difference with
its paired 95 % interval, the step that was kept, what the last step had, seconds with evaluations.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from machine import headline

from search import bert
from search.records.reports import Progress


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()
    print(headline("torch", "transformers", "sentence-transformers", "accelerate", "datasets"))
    for number, seed in enumerate(args.seeds):
        with tempfile.TemporaryDirectory() as place:
            done = bert.train(
                args.train,
                Path(place) / "model",
                dev=args.dev,
                epochs=args.epochs,
                seed=seed,
                offline=True,
                progress=shown,
            )
        if number == 0:
            print(
                f"{done.device}; {done.counts['train']:,} pairs, {done.counts['held_out']:,} to measure with\n"
            )
            print("| seed | before | after | difference | kept | last step | steps | seconds |")
            print("|---|---|---|---|---|---|---|---|")
        gap = done.difference["spearman"]
        print(
            f"| {seed} | {done.before['spearman'].mean:.4f} | {done.after['spearman'].mean:.4f} "
            f"| {gap.mean:+.4f} ({gap.low:+.4f} to {gap.high:+.4f}) | {done.kept} | {done.scores[-1].value:.4f} "
            f"| {done.steps} | {done.seconds:.0f} |",
            flush=True,
        )


def shown(state: Progress) -> None:
    if state.done % 20 == 0:
        print(f"{state.done} of {state.total}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
