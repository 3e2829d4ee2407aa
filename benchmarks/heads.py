"""What do heads learn: how good is a classifier, a tagger, a reader that was trained on a little data?

    python benchmarks/heads.py sentiment FOLDER [--ways linear pooler all 3 none] [--folds 1]
    python benchmarks/heads.py entities TRAIN.conll DEV.conll
    python benchmarks/heads.py answers SQUAD.json

`search.bert.train_classifier`, `train_tagger` and `train_reader`, from all-MiniLM-L6-v2; each is compared with the same
model before the training, whose head is random. With `--keep FOLDER` what was trained stays there: a run that was
stopped goes on from its last epoch, and the next prints the figures without training anything.

sentiment   tweets as in TweetEval (val_text.txt, val_labels.txt, mapping.txt), a fifth held out, by label; with --folds
            2 to 5 as many fifths one after the other. Ways: a linear head on frozen embeddings, C by cross-validation
            (linear; pooler: those of the pooler); a checkpoint with the encoder frozen (all), embeddings and 3 layers
            frozen (3), nothing frozen (none)
entities    CoNLL files; trained on the first, judged on the second by `seewhy eval --task entities`
answers     a fifth of the paragraphs held out with their questions; judged by `seewhy eval --task answers`: the right
            paragraph given, and from an index of all that are held out
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from labels import interval, write_csv
from machine import headline
from numpy.typing import NDArray

from search import bert
from search.lab.evaluating.formats import read_conll, read_examples
from search.lab.evaluating.readers import evaluate_answers, evaluate_entities
from search.lab.records.predictions import Example
from search.lab.records.training import TrainingReport
from search.records.evaluations import Estimate
from search.records.reports import Progress
from search.statistics import accuracy, class_counts, estimated, macro_f1

FOLDS = 5
LINEAR = {"linear": "mean", "pooler": "pooler"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["sentiment", "entities", "answers"])
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--ways", nargs="+", default=["linear", "pooler", "all", "3", "none"])
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=None)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--model", default=None)
    parser.add_argument(
        "--limit", type=int, default=None, help="rows to learn from and to judge by, each"
    )
    parser.add_argument("--keep", type=Path, default=None)
    args = parser.parse_args()
    print(headline("torch", "transformers", "accelerate", "scikit-learn", "seqeval"))
    with nullcontext(args.keep) if args.keep else tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.mkdir(exist_ok=True)
        {"sentiment": sentiment, "entities": entities, "answers": answers}[args.what](args, folder)


def options(args: argparse.Namespace, **more: Any) -> dict[str, Any]:
    """Of a training, whatever is trained."""
    return {
        "model": args.model, "epochs": args.epochs, "batch_size": args.batch_size, "lr": args.lr,
        "precision": args.precision, "offline": True, "progress": shown, **more,
    }  # fmt: skip


def trained(out: Path, train: Callable[..., TrainingReport], *data: Path, **given: Any) -> None:
    """Train it, unless it is there; then print how."""
    if not out.exists():
        started = time.process_time()
        done = train(data[0], out, dev=data[1], **given)
        before, after = (figures[done.primary] for figures in (done.before, done.after))
        print(
            f"{out.name}: {done.counts['train']:,} examples, step {done.kept} of {done.steps} kept, "
            f"{done.primary} {interval(before)} before and {interval(after)} after; "
            f"{time.process_time() - started:.0f} s of processor time",
            flush=True,
        )


def sentiment(args: argparse.Namespace, folder: Path) -> None:
    write_csv(args.data[0], folder / "tweets.csv")
    examples = read_examples(folder / "tweets.csv")[: args.limit]
    said: dict[str, list[NDArray[np.int64]]] = {way: [] for way in args.ways}
    truth: list[int] = []
    names = sorted({one.label for one in examples})
    for fold, (to_learn, to_judge) in enumerate(divided(examples, args.folds)):
        judged = [examples[i] for i in to_judge]
        files = [
            rows_to(folder / f"{part}{fold}.csv", [examples[i] for i in places])
            for part, places in (("learn", to_learn), ("judge", to_judge))
        ]
        truth += [names.index(one.label) for one in judged]
        for way in args.ways:
            out = folder / f"sentiment-{way}-{fold}"
            if way in LINEAR and not out.exists():
                found = bert.train_labels(
                    [examples[i] for i in to_learn],
                    model=args.model,
                    pooling=LINEAR[way],
                    offline=True,
                )
                print(f"{out.name}: C = {found.training.report.c:g}", flush=True)
                found.head.save(out)
            elif way not in LINEAR:
                frozen = {"freeze": {"none": None, "all": "all"}.get(way, way)}
                frozen = {"freeze": int(way)} if way.isdecimal() else frozen
                trained(out, bert.train_classifier, *files, **options(args, **frozen))
            by: dict[str, Any] = {"head": out} if way in LINEAR else {"model": str(out)}
            texts = bert.label([one.text or "" for one in judged], offline=True, **by).texts
            said[way].append(np.array([names.index(text.label) for text in texts]))
    print(f"\n{len(truth):,} tweets to judge by\n")
    print("| way | accuracy | macro F1 | accuracy less that of the first |\n|---|---|---|---|")
    counts = {
        way: class_counts(np.array(truth), np.concatenate(rows), len(names)) for way, rows in said.items()
    }
    first = counts[args.ways[0]]
    for way, each in counts.items():
        gap = estimated(difference, *first, *each)
        figures = (interval(estimated(figure, *each)) for figure in (accuracy, macro_f1))
        print(f"| {way} | {' | '.join(figures)} | {signed(gap)} |")
    print(f"| always the most frequent | {np.bincount(truth).max() / len(truth):.4f} | | |")


def divided(examples: Sequence[Example], folds: int) -> list[tuple[list[int], list[int]]]:
    from sklearn.model_selection import StratifiedKFold

    labels = [one.label for one in examples]
    division = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(labels, labels)
    return [(learn.tolist(), judge.tolist()) for learn, judge in division][:folds]


def rows_to(file: Path, examples: Sequence[Example]) -> Path:
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "label"])
        writer.writerows((one.text, one.label) for one in examples)
    return file


def difference(*counts: NDArray[np.int64], axis: int = -1) -> NDArray[np.float64]:
    half = len(counts) // 2
    return accuracy(*counts[half:], axis=axis) - accuracy(*counts[:half], axis=axis)


def signed(one: Estimate) -> str:
    return f"{one.mean:+.4f} ({one.low:+.3f} to {one.high:+.3f})"


def entities(args: argparse.Namespace, folder: Path) -> None:
    train, dev = (first_sentences(file, folder / file.name, args.limit) for file in args.data[:2])
    out = folder / "tagger"
    trained(out, bert.train_tagger, train, dev, **options(args))
    found = evaluate_entities(dev, model=str(out), offline=True)
    print(f"\n{found.documents:,} sentences to judge by\n")
    print("| type | F1 | precision | recall |\n|---|---|---|---|")
    for kind in (name.removeprefix("f1") for name in found.metrics if name.startswith("f1")):
        figures = (interval(found.metrics[f"{name}{kind}"]) for name in ("f1", "precision", "recall"))
        print(f"| {kind.strip() or 'all'} | {' | '.join(figures)} |")


def first_sentences(file: Path, copy: Path, limit: int | None) -> Path:
    """A file with so many sentences of another; that one itself with None."""
    if limit is None:
        return file
    sentences = read_conll(file)[:limit]
    lines = (
        f"{word}\t{label}\n"
        for one in sentences
        for word, label in (*zip(one.words, one.labels, strict=True), ("", ""))
    )
    copy.write_text("".join(line.lstrip("\t") for line in lines), encoding="utf-8")
    return copy


def answers(args: argparse.Namespace, folder: Path) -> None:
    train, dev = paragraphs(args.data[0], folder, args.limit)
    out = folder / "reader"
    trained(out, bert.train_reader, train, dev, **options(args))
    found = evaluate_answers(dev, model=str(out), offline=True)
    print(f"\n{len(found.queries):,} questions about {found.documents:,} paragraphs to judge by\n")
    print("| | exact match | F1 |\n|---|---|---|")
    for one in found.settings:
        print(
            f"| {one.setting.name} | {interval(one.metrics['exact_match'])} | {interval(one.metrics['f1'])} |"
        )
    for note in found.notes:
        print(f"\nnote: {note}")


def paragraphs(file: Path, folder: Path, limit: int | None) -> list[Path]:
    """Two files of the same format: four fifths of the paragraphs, and the rest."""
    data = json.loads(file.read_text(encoding="utf-8"))["data"]
    every = [(article["title"], paragraph) for article in data for paragraph in article["paragraphs"]]
    random.Random(0).shuffle(every)
    every = every[:limit]
    cut = round(len(every) * (1 - 1 / FOLDS))
    files = []
    for name, part in (("learn", every[:cut]), ("judge", every[cut:])):
        files.append(folder / f"{name}.json")
        articles = [{"title": title, "paragraphs": [paragraph]} for title, paragraph in part]
        files[-1].write_text(json.dumps({"data": articles}), encoding="utf-8")
    return files


def shown(state: Progress) -> None:
    if state.done % 20 == 0:
        print(f"{state.done} of {state.total}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
