"""Does a hit name a wrong line after files were edited, and what does it cost to look?

    python benchmarks/stale.py FOLDER QUESTIONS.json [--hits 200] [--repeats 20] [--seed 16] [--in-place]

QUESTIONS: `[{"query": "..."}, ...]`, as in benchmarks/spoken/. A copy of the folder is indexed and edited; with
`--in-place` FOLDER is that copy, and the index that there is of it is asked. It is timed how long a query looks at the
files of its hits, before and after the edits: the mean with its 95 % bootstrap interval over questions. Half of the
files that are hit, drawn by the seed, are edited: lines put in, changed or deleted, the file renamed, deleted or put in
the place of another. Of so many hits it is counted what they say of their file, and which are wrong: those that say
nothing, or name lines of now, on which their text does not stand.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from machine import headline

from search import Index
from search.corpus.text import decode
from search.ranking.freshness import as_of_now
from search.records.hits import Hit
from search.statistics import mean_of


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--hits", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=20, help="of each question, for the time")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--in-place", action="store_true", help="edit FOLDER, which is indexed already")
    args = parser.parse_args()
    questions = [item["query"] for item in json.loads(args.questions.read_text(encoding="utf-8"))]
    print(headline("openvino", "faiss-cpu", "numpy"))
    with tempfile.TemporaryDirectory() as place:
        folder = args.folder.resolve()
        if not args.in_place:
            os.environ |= {"SEEWHY_HOME": str(Path(place) / "home"), "HF_HUB_OFFLINE": "1"}
            folder = shutil.copytree(folder, Path(place) / "folder")
            Index.build(folder, offline=True)
        run(Index.open(folder, offline=True), questions, args.hits, args.repeats, args.seed)


def run(index: Index, questions: Sequence[str], wanted: int, repeats: int, seed: int) -> None:
    print(f"{index.status().documents:,} documents, {len(questions)} questions, each {repeats} times\n")
    drawn = random.Random(seed)
    print(f"to look at the files of ten hits, as they were indexed: {cost(index, questions, repeats)}")
    paths = sorted(
        {hit.path for question in questions for hit in index.query(question, k=20, per_document=0)}
    )
    edited = drawn.sample(paths, len(paths) // 2)
    for path in map(Path, edited):
        if path.is_file():  # another may have been put in its place
            edit(drawn, path)
    print(
        f"the same, {len(edited)} of the {len(paths)} files edited:     {cost(index, questions, repeats)}\n"
    )
    hits = [hit for question in questions for hit in index.query(question, k=20, per_document=0)]
    hits = drawn.sample(hits, min(wanted, len(hits)))
    wrong = [hit for hit in hits if hit.changed in ("", "moved") and not stands_there(hit)]
    said = Counter(hit.changed or "as it was" for hit in hits)
    print(f"{len(hits)} hits: {', '.join(f'{count} {state}' for state, count in said.most_common())}")
    print(f"wrong: {len(wrong)} {[place(hit) for hit in wrong]}")


def cost(index: Index, questions: Sequence[str], repeats: int) -> str:
    """What the look costs a query, in milliseconds: time, and processor time."""
    took: list[tuple[float, float]] = []

    def timed(*args: Any) -> list[Hit]:
        started, worked = time.perf_counter(), time.thread_time()
        hits = as_of_now(*args)
        took.append((time.perf_counter() - started, time.thread_time() - worked))
        return hits

    with patch("search.ranking.rank.as_of_now", timed):
        for question in [*questions] * repeats:
            index.query(question)
    each = 1000 * np.array(took).reshape(repeats, len(questions), 2).mean(axis=0)
    wall, worked = (mean_of(column) for column in each.T)
    return (
        f"{wall.mean:.2f} ms ({wall.low:.2f} to {wall.high:.2f}), of the processor {worked.mean:.2f} ms "
        f"({worked.low:.2f} to {worked.high:.2f})"
    )


def stands_there(hit: Hit) -> bool:
    """Whether the lines that a hit names have its text."""
    lines = decode(hit.document, Path(hit.path).read_bytes()).text.split("\n")
    return hit.text in "\n".join(lines[hit.line_start - 1 : hit.line_end])


def edit(drawn: random.Random, path: Path) -> None:
    """Put lines into a file, change or delete one, or delete, rename or swap it."""
    lines = path.read_text(encoding="utf-8").split("\n")
    at = drawn.randrange(len(lines))
    kind = drawn.choice(("insert", "change", "cut", "delete", "rename", "copy"))
    if kind == "delete":
        path.unlink()
    elif kind == "rename":
        path.rename(path.with_name(f"new-{path.name}"))
    elif kind == "copy":
        path.write_text(
            drawn.choice(sorted(path.parent.iterdir())).read_text(encoding="utf-8"), encoding="utf-8"
        )
    else:
        new = {
            "insert": ["new"] * drawn.randint(1, 5) + [lines[at]],
            "change": [f"{lines[at]} not"],
            "cut": [],
        }
        path.write_text("\n".join([*lines[:at], *new[kind], *lines[at + 1 :]]), encoding="utf-8")


def place(hit: Hit) -> str:
    return f"{hit.document}:{hit.line_start}-{hit.line_end} {hit.changed}"


if __name__ == "__main__":
    main()
