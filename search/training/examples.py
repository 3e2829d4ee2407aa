"""Examples to learn from, told apart by their shape: read from files, and a part of them held out.

    pairs     a query and a passage that answers it
    triplets  the same, with one or more passages that do not
    graded    two sentences and how alike they are, from 0 to 1

A table or JSON Lines names what its columns are:

    query (or anchor, question) and passage (or positive, answer, document), perhaps negative, negative_1, ...
    sentence1 and sentence2 with score (or similarity, label); without a score they are a pair
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from search.errors import InputError
from search.evaluating.dataset import malformed, named_rows, number_in, text_in
from search.files import sha256_of
from search.records.evaluations import TrainingFile

Shape = Literal["pairs", "triplets", "graded"]

FEWEST = 3  # rows; a correlation of two points is always 1

_NAMES = {
    "query": ("query", "anchor", "question"),
    "passage": ("passage", "positive", "answer", "document"),
    "sentence1": ("sentence1", "sentence_1", "text1", "sentence_a"),
    "sentence2": ("sentence2", "sentence_2", "text2", "sentence_b"),
    "score": ("score", "similarity", "label"),
}
_SHAPES: dict[frozenset[str], Shape] = {
    frozenset({"query", "passage"}): "pairs",
    frozenset({"query", "passage", "negative"}): "triplets",
    frozenset({"sentence1", "sentence2"}): "pairs",
    frozenset({"sentence1", "sentence2", "score"}): "graded",
}
_NEGATIVE = re.compile(r"negatives?(_?\d+)?")
_TABLES, _LINES = (".csv", ".tsv", ".tab"), (".jsonl", ".ndjson")
_STS_TOP = 5.0  # the STS benchmark's scores run from 0 to 5

_KNOWN_FORMATS = (
    "Known are: CSV, TSV or JSONL with query and passage (and negative), or with two sentences and score."
)


@dataclass(frozen=True)
class Example:
    """One row.

    Attributes:
        texts: two sentences; or a query, a passage that answers it, and passages that do not.
        score: of graded sentences, in [0, 1]; 1 for the others.
    """

    texts: tuple[str, ...]
    score: float = 1.0


@dataclass(frozen=True)
class Examples:
    """Rows of one shape.

    Attributes:
        rows: none twice, except in a file to measure with.
        files: where they were read.
        read: rows in the files; `duplicates` of them were the same as an earlier one.
        notes: what was found out about the data, as sentences.
    """

    shape: Shape
    rows: tuple[Example, ...]
    files: tuple[TrainingFile, ...] = ()
    read: int = 0
    duplicates: int = 0
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the texts, as the trainer takes them."""
        if self.shape == "graded":
            return ("sentence1", "sentence2")
        negatives = len(self.rows[0].texts) - 2 if self.rows else 0
        return ("anchor", "positive", *(f"negative_{number}" for number in range(1, negatives + 1)))

    def texts(self, *columns: int) -> list[str]:
        """The different texts of some columns, by number."""
        return list(dict.fromkeys(row.texts[i] for row in self.rows for i in columns))

    def table(self) -> dict[str, list[Any]]:
        """The texts by column, and the scores if they are graded."""
        columns = zip(*(row.texts for row in self.rows), strict=True)
        table: dict[str, list[Any]] = {
            name: list(texts) for name, texts in zip(self.columns, columns, strict=True)
        }
        if self.shape == "graded":
            table["score"] = [row.score for row in self.rows]
        return table

    def digest(self) -> str:
        """sha256 of the rows, in order."""
        digest = hashlib.sha256(self.shape.encode())
        for row in self.rows:
            digest.update(json.dumps([row.texts, row.score]).encode())
        return digest.hexdigest()

    def require_enough(self, what: str) -> None:
        """
        Raises:
            InputError: there are too few rows, or scores that are all the same, to train on or to measure with.
        """
        if len(self) < FEWEST:
            raise InputError(f"{what} holds {len(self)} examples; at least {FEWEST} are needed.")
        if self.shape == "graded" and len({row.score for row in self.rows}) < 2:
            raise InputError(
                f"all scores of {what} are the same, so nothing can be learned or measured with them."
            )


def key_of(text: str) -> str:
    """What two texts share that differ in spaces or case alone."""
    return " ".join(text.split()).casefold()


def held_out(examples: Examples, share: float, seed: int) -> tuple[Examples, Examples]:
    """A part of the examples is held out, of which nothing is learned: (to train on, to measure with).

    Rows with the same query stay together; graded rows that share a sentence, and those that share one with them, too.

    Args:
        share: of the rows that are held out, in (0, 1); groups that are held out whole make it a little more or less.

    Raises:
        InputError: too few rows, or they hang together so that no part can be held out.
    """
    groups = _groups(examples)
    order = sorted(groups, key=lambda group: groups[group][0])  # so that the seed alone decides
    random.Random(seed).shuffle(order)
    wanted = max(FEWEST, round(share * len(examples)))
    most = max(wanted * 1.5, FEWEST)
    taken: set[int] = set()
    for group in order:
        if len(taken) >= wanted:
            break
        if len(taken) + len(groups[group]) <= most:
            taken.update(groups[group])
    if len(taken) < FEWEST or len(examples) - len(taken) < FEWEST:
        raise InputError(
            f"no {share:.0%} of the {len(examples):,} examples can be held out to measure with: they are too few, or "
            "share their texts. Give other examples to measure with: --dev FILE"
        )
    dev = replace(examples, rows=tuple(row for i, row in enumerate(examples.rows) if i in taken))
    dev.require_enough("the part that is held out")
    return replace(examples, rows=tuple(row for i, row in enumerate(examples.rows) if i not in taken)), dev


def apart_from(train: Examples, dev: Examples) -> Examples:
    """The examples without those that are in `dev` too.

    Of a ranking, those with a query of `dev`; of graded sentences, those with both sentences of a row of `dev`.
    """
    known = {_identity(train, row) for row in dev.rows}
    return replace(train, rows=tuple(row for row in train.rows if _identity(train, row) not in known))


def _identity(examples: Examples, row: Example) -> frozenset[str]:
    texts = row.texts[:2] if examples.shape == "graded" else row.texts[:1]
    return frozenset(map(key_of, texts))


def _groups(examples: Examples) -> dict[int, list[int]]:
    """Rows that must stay together, by a number of theirs: what shares a text is connected."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(examples)
    places: dict[str, int] = {}
    pairs = [
        (i, places.setdefault(key, n + len(places)))
        for i, row in enumerate(examples.rows)
        for key in sorted(_identity(examples, row))
    ]
    rows, columns = zip(*pairs, strict=True)
    edges = coo_array(([True] * len(pairs), (rows, columns)), shape=(n + len(places),) * 2)
    groups: dict[int, list[int]] = defaultdict(list)
    for i, group in enumerate(connected_components(edges, directed=False)[1][:n].tolist()):
        groups[group].append(i)
    return groups


def read_examples(source: Path, *, role: str = "train") -> Examples:
    """The examples of a file.

    Args:
        role: "train" or "dev"; what is measured with keeps rows that are there twice.

    Scores between 0 and 1 are taken as they are, and scores between 0 and 5 as those of the STS benchmark.

    Raises:
        InputError: nothing known, or something malformed, with file and line.
    """
    if not source.exists():
        raise InputError(f"there is no '{source}'. Name the file or folder that holds the examples.")
    if source.is_dir() or source.suffix.lower() not in (*_TABLES, *_LINES):
        raise InputError(f"'{source}' is in no format that can be trained on. {_KNOWN_FORMATS}")
    shape, every, unused = _of_file(source)
    notes: tuple[str, ...] = ()
    if shape == "graded":
        every, notes = _scaled(source, every)
    if unused:
        notes += (f"not used of {source.name}: {', '.join(unused)}",)
    different = tuple(dict.fromkeys(every))
    file = TrainingFile(role, str(source), source.name, sha256_of(source), len(every))
    # What is measured with stays as it is, so that the figures are those of `seewhy eval`.
    kept = every if role == "dev" else different
    return Examples(shape, kept, (file,), len(every), len(every) - len(different), notes)


def _of_file(path: Path) -> tuple[Shape, tuple[Example, ...], list[str]]:
    """The shape of a table or of JSON Lines, its rows, and the columns that were not used."""
    quoted = path.suffix.lower() == ".csv"  # the STS benchmark has single quotes in its TSV
    line, names, records = named_rows(path, quoted=quoted)
    if not names:
        raise InputError(f"{path} holds no example. {_KNOWN_FORMATS}")
    shape, columns, score = _columns(path, line, names)
    unused: dict[str, None] = {}
    rows = []
    for number, record in records:
        unused |= dict.fromkeys(name for name in record if name not in (*columns, score))
        texts = tuple(text_in(path, number, record, name) for name in columns)
        rows.append(Example(texts, number_in(path, number, record, score) if score else 1.0))
    return shape, tuple(rows), list(unused)


def _columns(path: Path, line: int, names: Sequence[str]) -> tuple[Shape, tuple[str, ...], str | None]:
    """What the named columns are.

    Raises:
        InputError: they make no shape, or more than one.
    """
    named: dict[str, str] = {}
    for meaning, known in _NAMES.items():
        there = [name for name in known if name in names]
        if len(there) > 1:
            raise malformed(
                path, line, f"the columns {' and '.join(there)} mean the same. Rename one of them."
            )
        if there:
            named[meaning] = there[0]
    negatives = tuple(name for name in names if _NEGATIVE.fullmatch(name))
    shape = _SHAPES.get(frozenset(named) | ({"negative"} if negatives else set()))
    if shape is None:
        listed = ", ".join(filter(None, names)) or "nothing"
        wrong = f"no examples can be made of what is named here ({listed}). {_KNOWN_FORMATS}"
        raise malformed(path, line, wrong)
    score = named.pop("score", None)
    return shape, (*named.values(), *negatives), score


def _scaled(path: Path, rows: tuple[Example, ...]) -> tuple[tuple[Example, ...], tuple[str, ...]]:
    """Graded rows with their scores between 0 and 1, and what was done to them."""
    scores = [row.score for row in rows] or [0.0]
    low, high = min(scores), max(scores)
    if low < 0 or high > _STS_TOP:
        raise InputError(
            f"the scores of {path} run from {low:g} to {high:g}. Scale them to 0 to 1, what is alike being 1."
        )
    note = f"scores of {path.name} run from {low:g} to {high:g}: "
    if high <= 1:
        return rows, (note + "taken as they are",)
    scaled = tuple(replace(row, score=row.score / _STS_TOP) for row in rows)
    return scaled, (f"{note}read as 0 to {_STS_TOP:g} and scaled to 0 to 1",)
