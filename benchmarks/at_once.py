"""How soon does a new folder answer, and how well before it is encoded?

    python benchmarks/at_once.py FOLDER QUESTIONS.json [--shares 0 0.02 0.1] [--lazy 20 100] [--pending 100]

QUESTIONS as for folders.py. The folder is indexed in a place that is thrown away, as `seewhy index` does: seconds of
the clock and of all processors until it can be searched, until half of its passages are encoded, and until all are.
Then, for each share, the run is stopped (Ctrl-C) when this share is encoded, and every question is asked in the index
as it was then; nothing is kept, so no question helps the next one. A row tells how many are right among the first three
documents, for how many the first hit is that of the complete index, the mean share of its ten hits, and the seconds of
processor time of a question. With `--lazy`, the questions are asked one after the other in a lazy index, which keeps
what they encode, until so many were asked; then all are asked as before.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from machine import headline

from search import Encoder, Index
from search.records.hits import Hit
from search.records.reports import Progress
from search.store.files import writer_lock

DEPTH, FIRST = 10, 3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--shares", type=float, nargs="*", default=[0.0, 0.02, 0.1])
    parser.add_argument("--lazy", type=int, nargs="*", default=[20, 100], help="after so many questions")
    parser.add_argument("--pending", type=int, default=100, help="passages to encode for a question")
    args = parser.parse_args()
    questions = [one for one in json.loads(args.questions.read_text(encoding="utf-8")) if one["paths"]]
    print(headline("openvino", "faiss-cpu", "numpy"))
    encoder = Encoder(offline=True)
    encoder.encode(["a text"])  # the model is there, and loaded
    with tempfile.TemporaryDirectory() as place:
        complete, passages = timed(args.folder, Path(place) / "complete", encoder)
        want = [asked(complete, one["query"]) for one in questions]
        print(f"\n{len(questions)} questions, at most {args.pending} passages encoded for each\n")
        print(
            "| encoded | right in three | first hit | of ten hits | s of processor |\n|---|---|---|---|---|"
        )
        print(Row.of("all", questions, want, want, 0.0))
        for share in args.shares:
            index = Path(place) / f"share-{share}"
            stopped(args.folder, index, encoder, int(share * passages))
            print(in_state(f"{share:.0%}", index, encoder, questions, want, args.pending), flush=True)
        if args.lazy:
            index = Path(place) / "lazy"
            Index.build(args.folder, index=str(index), encoder=encoder, lazy=True)
        done = 0
        for count in sorted(args.lazy):
            lazy = Index.open(index, encoder=encoder)
            for one in islice(cycle(questions), done, count):
                lazy.query(one["query"], DEPTH, pending=args.pending)
            done = count
            encoded = lazy.status().passages - lazy.status().pending
            name = f"{encoded / passages:.0%}, after {count} questions"
            print(in_state(name, index, encoder, questions, want, args.pending), flush=True)


def timed(folder: Path, index: Path, encoder: Encoder) -> tuple[Index, int]:
    """Index a folder and print how long each part took; return the index and its number of passages."""
    began, seen = Moment.now(), dict[str, Moment]()

    def note(state: Progress) -> None:
        if state.searchable:
            seen.setdefault("searchable", Moment.now())
            if 2 * state.passages >= state.searchable:
                seen.setdefault("half encoded", Moment.now())

    built = Index.build(folder, index=str(index), encoder=encoder, progress=note)
    seen["complete"] = Moment.now()
    assert built.report is not None
    passages = built.report.passages
    print(
        f"{passages:,} passages\n\n| | s | s of processor | ms of processor a passage |\n|---|---|---|---|"
    )
    for name, moment in seen.items():
        took = moment.since(began)
        print(
            f"| {name} | {took.clock:.1f} | {took.processor:.1f} | {1000 * took.processor / passages:.2f} |"
        )
    return built, passages


@dataclass(frozen=True)
class Moment:
    """Seconds of the clock, and of the processors: of this process and of its children."""

    clock: float
    processor: float

    @classmethod
    def now(cls) -> Moment:
        return cls(time.perf_counter(), sum(os.times()[:4]))

    def since(self, other: Moment) -> Moment:
        return Moment(self.clock - other.clock, self.processor - other.processor)


def stopped(folder: Path, index: Path, encoder: Encoder, count: int) -> None:
    """Index a folder, and stop the run when so many passages are encoded."""

    def stop(state: Progress) -> None:
        if state.searchable and state.passages >= count:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        Index.build(folder, index=str(index), encoder=encoder, progress=stop)


def asked(index: Index, query: str, **options: Any) -> list[Hit]:
    return index.query(query, DEPTH, **options)


def in_state(
    name: str,
    index: Path,
    encoder: Encoder,
    questions: Sequence[dict[str, Any]],
    want: Sequence[Sequence[Hit]],
    pending: int,
) -> Row:
    """Ask all questions in the same state of an index."""
    answers, began = [], time.process_time()
    with writer_lock(index):  # so that what is encoded for a question is not kept
        for one in questions:
            answers.append(asked(Index.open(index, encoder=encoder), one["query"], pending=pending))
    return Row.of(name, questions, want, answers, (time.process_time() - began) / len(questions))


@dataclass(frozen=True)
class Row:
    """Figures of one state of the index."""

    name: str
    right: int
    right_of_complete: int
    first: float
    share: float
    seconds: float

    @classmethod
    def of(
        cls,
        name: str,
        questions: Sequence[dict[str, Any]],
        want: Sequence[Sequence[Hit]],
        answers: Sequence[Sequence[Hit]],
        seconds: float,
    ) -> Row:
        paths = [set(one["paths"]) for one in questions]
        pairs = list(zip(map(places, want), map(places, answers), strict=True))
        return cls(
            name,
            sum(map(is_right, paths, answers)),
            sum(map(is_right, paths, want)),
            float(np.mean([ours[:1] == theirs[:1] for theirs, ours in pairs])),
            float(np.mean([len({*theirs} & {*ours}) / max(1, len(theirs)) for theirs, ours in pairs])),
            seconds,
        )

    def __str__(self) -> str:
        of_complete = self.right / max(1, self.right_of_complete)
        return (
            f"| {self.name} | {self.right} ({of_complete:.2f}) | {self.first:.2f} | {self.share:.2f} | "
            f"{self.seconds:.2f} |"
        )


def places(hits: Sequence[Hit]) -> list[tuple[str, int]]:
    return [(hit.document, hit.start) for hit in hits]


def is_right(paths: set[str], hits: Sequence[Hit]) -> bool:
    """Return True if one of the first three documents answers."""
    documents = list(dict.fromkeys(hit.document for hit in hits))
    return bool(paths & {*documents[:FIRST]})


if __name__ == "__main__":
    main()
