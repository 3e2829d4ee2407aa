"""How good is a linear head on frozen embeddings?

    python benchmarks/labels.py FOLDER [--poolings mean pooler] [--folds 5] [--repeats 10] [--model all-MiniLM-L6-v2]

The folder holds tweets as in TweetEval (Barbieri et al. 2020): val_text.txt, a text a line, val_labels.txt, a number a
line, and mapping.txt, which names the numbers. They are written into a CSV file in a temporary place, and
`search.bert.train_labels` does what `seewhy lab label train` does with it: logistic regression on embeddings of unit
length, stratified cross-validation, several divisions into folds, 95 % bootstrap intervals over examples.

Printed are the C that was chosen, accuracy and macro F1 of each pooling, and how far above the majority class the
accuracy is. The last line is what scikit-learn's own `cross_val_score` gives with its
defaults, folds in the order of the file and no shuffling, for the first pooling.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from pathlib import Path

from machine import headline

import search
from search.bert import train_labels
from search.lab.evaluating.formats import read_examples
from search.lab.records.predictions import Example
from search.records.evaluations import Estimate
from search.records.options import Pooling


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--poolings", nargs="+", default=["mean", "pooler"])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    args = parser.parse_args()
    print(headline("scikit-learn", "numpy", "scipy", "openvino"))
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "tweets.csv"
        write_csv(args.folder, file)
        examples = read_examples(file)
    started = time.perf_counter()
    found = [
        train_labels(
            examples,
            model=args.model,
            pooling=pooling,
            name="sentiment",
            folds=args.folds,
            seed=args.seed,
            source=args.folder.name,
            offline=True,
        ).training
        for pooling in args.poolings
    ]
    first = found[0].report
    classes = ", ".join(f"{one.label} {one.support}" for one in first.by_class)
    print(
        f"{first.examples:,} texts, {classes}; {first.model}, "
        f"{args.folds} folds, seed {args.seed}; {time.perf_counter() - started:.0f} s\n"
    )
    print("| pooling | C | accuracy | above the majority class | macro F1 |")
    print("|---|---|---|---|---|")
    print(f"| (always '{first.majority}') | | {first.majority_accuracy:.4f} | | |")
    for one in (training.report for training in found):
        above = 100 * (one.accuracy.mean - one.majority_accuracy)
        print(
            f"| {one.pooling} | {one.c:g} | {interval(one.accuracy)} | {above:+.1f} points "
            f"| {interval(one.macro_f1)} |"
        )
    print()
    for note in dict.fromkeys(note for training in found for note in training.notes):
        print(f"note: {note}")
    print(f"scikit-learn, folds in the order of the file: {in_order(examples, first.pooling, args):.4f}")


def write_csv(folder: Path, file: Path) -> None:
    """The tweets and the names of their labels, in the order of the file."""
    names = dict(line.split("\t") for line in lines(folder / "mapping.txt"))
    texts, labels = lines(folder / "val_text.txt"), lines(folder / "val_labels.txt")
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "label"])
        writer.writerows((text, names[label]) for text, label in zip(texts, labels, strict=True))


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def interval(one: Estimate) -> str:
    return f"{one.mean:.4f} ({one.low:.3f} to {one.high:.3f})"


def in_order(examples: list[Example], pooling: Pooling, args: argparse.Namespace) -> float:
    """Accuracy by scikit-learn alone."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from threadpoolctl import threadpool_limits

    encoder = search.Encoder(args.model, pooling=pooling, offline=True)
    embeddings = encoder.encode([(one.text or "").strip() for one in examples]).astype("float64")
    with threadpool_limits(1):
        scores = cross_val_score(
            LogisticRegression(max_iter=1000), embeddings, [one.label for one in examples], cv=args.folds
        )
    return float(scores.mean())


if __name__ == "__main__":
    main()
