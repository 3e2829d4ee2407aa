"""Questions of the start page: how often the passage that a question is made from is its first hit, rule by rule.

    python benchmarks/suggestions.py FOLDER... [--most 60] [--show]

Each folder is indexed with the default model. Of each rule, at most so many candidates of each folder are asked; a
candidate is kept if its own passage is first and the verdict is good. `--show` prints the questions, too: "+" for one
that is kept, "=" for one whose passage is first with a weak verdict.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import get_args

from machine import headline

from search import Index
from search.index import searcher_of
from search.ranking.suggestions import candidates, in_turn, is_answered
from search.records.suggestions import Rule


def counted(index: Index, most: int, show: bool) -> dict[str, Counter[str]]:
    """Ask the candidates of an index; return the numbers of those asked, first and kept, by rule."""
    searcher, counts = searcher_of(index), {name: Counter[str]() for name in ("asked", "first", "kept")}
    started = time.perf_counter()
    with searcher.store.reading() as snapshot:
        proposed = in_turn(candidates(snapshot))
    seconds = time.perf_counter() - started
    print(f"{len(proposed)} candidates in {seconds:.2f} s; ", end="")
    for candidate in proposed:
        if counts["asked"][candidate.rule] == most:
            continue
        hits = searcher.query(candidate.question, 10)
        is_first = bool(hits) and hits[0].passage_id in candidate.passages
        is_kept = is_answered(candidate, hits)
        for name, happens in (("asked", True), ("first", is_first), ("kept", is_kept)):
            counts[name][candidate.rule] += happens
        if show:
            mark = "+" if is_kept else "=" if is_first else " "
            print(f"\n  {mark} {candidate.rule:<11} {candidate.question}", end="")
    started = time.perf_counter()
    suggested = searcher.suggestions()
    print("\n" if show else "", end="")
    print(f"{len(suggested)} suggestions in {time.perf_counter() - started:.2f} s")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=60, help="candidates of a rule in a folder")
    parser.add_argument("--model", help="model of the indexes")
    parser.add_argument("--show", action="store_true", help="print the questions")
    args = parser.parse_args()
    print(headline("openvino"))
    total: dict[str, Counter[str]] = {name: Counter() for name in ("asked", "first", "kept")}
    for folder in args.folders:
        with tempfile.TemporaryDirectory() as place:
            index = Index.build(folder, index=str(Path(place) / "index"), model=args.model)
            index.query("a", 1)  # loads the model
            print(f"{folder}: ", end="")
            for name, counts in counted(index, args.most, args.show).items():
                total[name].update(counts)
            index.close()
    print("\nrule         asked  first   kept")
    for rule in (*get_args(Rule), "all"):
        asked, first, kept = (
            sum(total[name].values()) if rule == "all" else total[name][rule] for name in total
        )
        share = f"{first / asked:7.0%}{kept / asked:7.0%}" if asked else ""
        print(f"{rule:<12}{asked:6}{share}")


if __name__ == "__main__":
    main()
