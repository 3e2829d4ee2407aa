"""Does the alignment pair the words that people paired?

    python benchmarks/alignment.py mtref-dev.jsonl ists-headlines.jsonl [--pairs 0] [--layers]

A line of a file holds two texts, `source` and `target`, as lists of words, and what people aligned: pairs of words
(`sure` and `possible`), or `alignments` of chunks (`src`, `tgt`, `type`), of which every word of the one is taken
to belong to every word of the other. Words are joined with blanks and given to `search.explain`; a word that it
finds counts as the word of the file that it stands in.

Printed, over all pairs of a file: precision (pairs found that are sure or possible), recall (sure pairs that were
found) and F1. Pairs with punctuation are left out of what is wanted, as `alignment()` leaves them out, but for the
second line.

| method | |
|---|---|
| search.explain | `search.explain(a, b).alignment()` |
| search.explain, punctuation too | `search.explain(a, b).alignment(punctuation=True)`, against all pairs of the file |
| mutual best cosine | the first line's matrix, but neighbours count nothing |
| greedy, last layer | as BERTScore matches: each word of either text with its best in the other, by the last layer |
| greedy, last layer, one way | the same, from source to target only |

With --layers the first and the third for each layer, and the first with contributions of pairs instead of cosines.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from machine import headline

import search
from search.records.explanations import ComputedNumbers, Explanation
from search.records.tokens import Word

Pairs = set[tuple[int, int]]


@dataclass(frozen=True)
class Judged:
    """Two texts and the pairs of their words that people aligned; all words counted from 0."""

    source: list[str]
    target: list[str]
    sure: Pairs
    possible: Pairs

    @property
    def texts(self) -> tuple[str, str]:
        return " ".join(self.source), " ".join(self.target)

    def without_punctuation(self, pairs: Pairs) -> Pairs:
        return {(i, j) for i, j in pairs if has_letters(self.source[i]) and has_letters(self.target[j])}


@dataclass(frozen=True)
class Greedy:
    """Best matches by the cosine alone: of the source's words, of the target's, and those that are both."""

    forth: Pairs
    back: Pairs
    mutual: Pairs


@dataclass
class Counts:
    """Pairs of one method, over all texts of a file."""

    found: int = 0
    right: int = 0
    wanted: int = 0
    hit: int = 0

    def add(self, found: Pairs, judged: Judged, punctuation: bool = False) -> None:
        sure = judged.sure if punctuation else judged.without_punctuation(judged.sure)
        self.found += len(found)
        self.right += len(found & (sure | judged.possible))
        self.wanted += len(sure)
        self.hit += len(found & sure)

    def __str__(self) -> str:
        precision, recall = self.right / max(self.found, 1), self.hit / max(self.wanted, 1)
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        return f"{precision:>11.3f}{recall:>9.3f}{f1:>9.4f}"


@dataclass
class Figures:
    """What was counted for one file, by method."""

    by_method: dict[str, Counts] = field(default_factory=dict)

    def add(self, method: str, found: Pairs, judged: Judged, punctuation: bool = False) -> None:
        self.by_method.setdefault(method, Counts()).add(found, judged, punctuation)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument(
        "--pairs", type=int, default=0, help="only the first so many of a file; 0 for all"
    )
    parser.add_argument("--layers", action="store_true")
    args = parser.parse_args()
    print(headline("numpy", "openvino"))
    encoder = search.Encoder(offline=True)
    for file in args.files:
        figures, n = Figures(), 0
        for judged in itertools.islice(read(file), args.pairs or None):
            measure(judged, encoder, figures, args.layers)
            n += 1
        print(f"\n{f'{file.stem}, {n} pairs':34}{'precision':>11}{'recall':>9}{'F1':>9}")
        for method, counts in figures.by_method.items():
            print(f"{method:34}{counts}")


def read(file: Path) -> Iterator[Judged]:
    with file.open(encoding="utf-8") as stream:
        for line in stream:
            item = json.loads(line)
            if "sure" in item:
                sure, possible = ({(i, j) for i, j in item[name]} for name in ("sure", "possible"))
            else:  # a chunk that nothing was aligned with has one side empty
                chunks = item["alignments"]
                sure = {
                    pair for chunk in chunks for pair in itertools.product(chunk["src"], chunk["tgt"])
                }
                possible = set()
            yield Judged(item["source"], item["target"], sure, possible)


def measure(judged: Judged, encoder: search.Encoder, figures: Figures, all_layers: bool) -> None:
    a, b = judged.texts
    why = search.explain(a, b, model=encoder)
    figures.add("search.explain", aligned(why, judged), judged)
    marks_too = aligned(why, judged, punctuation=True)
    figures.add("search.explain, punctuation too", marks_too, judged, punctuation=True)
    figures.add("mutual best cosine", greedy(why, judged).mutual, judged)
    last = greedy(search.explain(a, b, layer="last", model=encoder), judged)
    figures.add("greedy, last layer", last.forth | last.back, judged)
    figures.add("greedy, last layer, one way", last.forth, judged)
    for layer in range(encoder.n_layers + 1) if all_layers else ():
        why = search.explain(a, b, layer=layer, model=encoder)
        figures.add(f"search.explain, layer {layer}", aligned(why, judged), judged)
        figures.add(f"mutual best cosine, layer {layer}", greedy(why, judged).mutual, judged)
        added = replace(why, numbers=ComputedNumbers({}, np.empty(0), why.contributions))
        figures.add(f"contributions of pairs, layer {layer}", aligned(added, judged), judged)


def aligned(why: Explanation, judged: Judged, punctuation: bool = False) -> Pairs:
    """What `alignment()` says."""
    found = why.alignment(punctuation=punctuation)
    return as_read(judged, ((pair.query, pair.passage) for pair in found))


def greedy(why: Explanation, judged: Judged) -> Greedy:
    """Each source word with its best target word by the cosine alone, the other way round, and both."""
    words = why.words()
    rows = [i for i, word in enumerate(words.query) if word.kind == "word"]
    columns = [j for j, word in enumerate(words.passage) if word.kind == "word"]
    if not rows or not columns:
        return Greedy(set(), set(), set())
    cosines = words.similarity[rows][:, columns]
    forth = [(i, columns[j]) for i, j in zip(rows, cosines.argmax(axis=1), strict=True)]
    back = [(rows[i], j) for i, j in zip(cosines.argmax(axis=0), columns, strict=True)]
    mutual = set(forth) & set(back)
    found = (
        as_read(judged, ((words.query[i], words.passage[j]) for i, j in pairs))
        for pairs in (forth, back, mutual)
    )
    return Greedy(*found)


def as_read(judged: Judged, pairs: Iterable[tuple[Word, Word]]) -> Pairs:
    """Words of an explanation as words of the file."""
    a, b = owners(judged.source), owners(judged.target)
    return {(a[first.start], b[second.start]) for first, second in pairs}


def owners(words: list[str]) -> list[int]:
    """For each character of the joined text, the word that it belongs to."""
    return [i for i, word in enumerate(words) for _ in range(len(word) + 1)]


def has_letters(word: str) -> bool:
    return any(character.isalnum() for character in word)


if __name__ == "__main__":
    main()
