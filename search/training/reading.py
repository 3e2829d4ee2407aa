"""Files and folders -> examples.

A table or JSON Lines names what its columns are:

    query (or anchor, question) and passage (or positive, answer, document), perhaps negative, negative_1, ...
    sentence1 and sentence2 with score (or similarity, label); without a score they are a pair

A folder in BEIR layout gives a pair for each query and each document that is judged relevant to it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from search.errors import InputError
from search.evaluating.formats.beir import CORPUS, QRELS, QUERIES, is_beir, read_beir
from search.evaluating.formats.strict import malformed, objects, rows
from search.records.evaluations import TrainingFile
from search.training.examples import Example, Examples, Shape, without_duplicates

_QUERY = ("query", "anchor", "question")
_PASSAGE = ("passage", "positive", "answer", "document")
_FIRST = ("sentence1", "sentence_1", "text1", "sentence_a")
_SECOND = ("sentence2", "sentence_2", "text2", "sentence_b")
_SCORE = ("score", "similarity", "label")
_NEGATIVE = re.compile(r"negatives?(_?\d+)?")
_TABLES, _LINES = (".csv", ".tsv", ".tab"), (".jsonl", ".ndjson")
_SPLITS = {"train": ("train",), "dev": ("dev", "validation", "test")}  # that are looked for, by role
_STS_TOP = 5.0  # the STS benchmark's scores run from 0 to 5

KNOWN = (
    "Known are: CSV, TSV or JSONL with query and passage (and negative), or with sentence1, sentence2 and score; "
    "a folder in BEIR layout (corpus.jsonl, queries.jsonl, qrels/)."
)


@dataclass(frozen=True)
class _Layout:
    """Which columns are what."""

    shape: Shape
    first: str
    second: str
    negatives: tuple[str, ...]
    score: str | None
    unused: tuple[str, ...]


def read_examples(
    source: Path,
    *,
    role: str = "train",
    split: str | None = None,
    score_range: tuple[float, float] | None = None,
) -> Examples:
    """
    Args:
        role: "train" or "dev"; what is measured with keeps rows that are there twice.
        split: which judgements of a BEIR folder; None takes "train" if it is there, to measure with "dev" or "test",
            or the only ones.
        score_range: lowest and highest score that there can be; None takes scores between 0 and 1 as they are, and
            scores between 0 and 5 as those of the STS benchmark.

    Raises:
        InputError: nothing known, or something malformed, with file and line.
    """
    if source.is_dir() and is_beir(source):
        return _of_beir(source, role, split)
    if not source.exists():
        raise InputError(f"there is no '{source}'. Name the file or folder that holds the examples.")
    suffix = source.suffix.lower()
    if source.is_dir() or suffix not in (*_TABLES, *_LINES):
        raise InputError(f"'{source}' is in no format that can be trained on. {KNOWN}")
    if split is not None:
        raise InputError(f"'{source}' has no splits; --split is for a folder in BEIR layout.")
    layout, numbered = _table(source) if suffix in _TABLES else _json_lines(source)
    numbered, notes = _scaled(source, layout, numbered, score_range)
    every = [row for _, row in numbered]
    kept, duplicates = without_duplicates(every)
    if role == "dev":  # measured as it is, so that the figures are those of `seewhy eval`
        kept = tuple(every)
    if layout.unused:
        notes.append(f"not used of {source.name}: {', '.join(layout.unused)}")
    file = TrainingFile(role, str(source), source.name, _sha256(source), len(every))
    return Examples(layout.shape, kept, (file,), len(every), duplicates, tuple(notes))


def _table(path: Path) -> tuple[_Layout, list[tuple[int, Example]]]:
    found = rows(path, quoted=path.suffix.lower() == ".csv")  # the STS benchmark has single quotes in its TSV
    line, header = next(found, (1, []))
    names = [name.strip().lower() for name in header]
    layout = _layout(path, line, names)
    numbered = []
    for number, row in found:
        if len(row) != len(names):
            raise malformed(path, number, f"{len(row)} fields, but the first line has {len(names)}.")
        numbered += [
            (number, one) for one in _examples(path, number, layout, dict(zip(names, row, strict=True)))
        ]
    return layout, numbered


def _json_lines(path: Path) -> tuple[_Layout, list[tuple[int, Example]]]:
    layout, numbered = None, []
    first: set[str] = set()
    more: dict[str, None] = {}  # that mean nothing here
    for number, record in objects(path):
        plain = {str(key).strip().lower(): value for key, value in record.items()}
        known = {name for name in plain if _is_known(name)}
        if layout is None:
            layout, first = _layout(path, number, list(plain)), known
        elif added := sorted(known - first):
            raise malformed(
                path,
                number,
                f'"{added[0]}" is here, but not in the first record. Give every record the same.',
            )
        more.update(dict.fromkeys(name for name in plain if not _is_known(name)))
        numbered += [(number, one) for one in _examples(path, number, layout, plain)]
    if layout is None:
        raise InputError(f"{path} holds no example. {KNOWN}")
    return replace(layout, unused=tuple(dict.fromkeys((*layout.unused, *more)))), numbered


def _is_known(name: str) -> bool:
    return name in (*_QUERY, *_PASSAGE, *_FIRST, *_SECOND, *_SCORE) or bool(_NEGATIVE.fullmatch(name))


def _layout(path: Path, line: int, names: Sequence[str]) -> _Layout:
    """Which shape the named columns make.

    Raises:
        InputError: none, or more than one.
    """
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise malformed(path, line, f"two columns are called {twice[0]}.")

    def one_of(known: Sequence[str]) -> str | None:
        found = [name for name in known if name in names]
        if len(found) > 1:
            raise malformed(
                path, line, f"the columns {' and '.join(found)} mean the same. Rename one of them."
            )
        return found[0] if found else None

    query, passage = one_of(_QUERY), one_of(_PASSAGE)
    first, second, score = one_of(_FIRST), one_of(_SECOND), one_of(_SCORE)
    negatives = tuple(name for name in names if _NEGATIVE.fullmatch(name))
    if query and passage and first and second:
        raise malformed(
            path, line, f"{query}, {passage} and {first}, {second} are both there. Leave one out."
        )
    if query and passage:
        if score:
            raise malformed(
                path,
                line,
                f"{query}, {passage} and {score}: call the texts sentence1 and sentence2 if the score says how "
                f"alike they are, or leave the column {score} out if every passage answers its query.",
            )
        used = {query, passage, *negatives}
        shape: Shape = "triplets" if negatives else "pairs"
        return _Layout(shape, query, passage, negatives, None, tuple(n for n in names if n not in used))
    if first and second:
        if negatives:
            raise malformed(
                path, line, f"{negatives[0]} goes with query and passage, not with {first}, {second}."
            )
        used = {first, second, score or first}
        unused = tuple(name for name in names if name not in used)
        return _Layout("graded" if score else "pairs", first, second, (), score, unused)
    named = ", ".join(filter(None, names)) or "nothing"
    raise malformed(path, line, f"no examples can be made of what is named here ({named}). {KNOWN}")


def _examples(path: Path, line: int, layout: _Layout, record: Mapping[str, Any]) -> Iterator[Example]:
    """One row; several where a list of passages answers the query."""
    first = _text(path, line, record, layout.first)
    seconds = _texts(path, line, record, layout.second, lists=layout.score is None)
    negatives = tuple(
        text for name in layout.negatives for text in _texts(path, line, record, name, lists=True)
    )
    score = 1.0 if layout.score is None else _score(path, line, record.get(layout.score), layout.score)
    for second in seconds:
        yield Example((first, second, *negatives), score)


def _text(path: Path, line: int, record: Mapping[str, Any], name: str) -> str:
    return _texts(path, line, record, name, lists=False)[0]


def _texts(path: Path, line: int, record: Mapping[str, Any], name: str, *, lists: bool) -> list[str]:
    value = record.get(name)
    values = value if lists and isinstance(value, list) and value else [value]
    for one in values:
        if not isinstance(one, str):
            raise malformed(
                path, line, f'"{name}" must be there and hold a text{" or texts" if lists else ""}.'
            )
        if not one.strip():
            raise malformed(path, line, f'"{name}" is empty.')
        if _is_broken(one):
            raise malformed(path, line, f'"{name}" holds half a character (a lone surrogate).')
    return list(values)


def _is_broken(text: str) -> bool:
    """It holds a surrogate without its other half, as JSON can, and is no Unicode text."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def _score(path: Path, line: int, value: Any, name: str) -> float:
    try:
        score = float(value.strip() if isinstance(value, str) else value)
    except (TypeError, ValueError):
        score = math.nan
    if not math.isfinite(score):
        raise malformed(path, line, f'"{name}" is {value!r}, which is no score.')
    return score


def _scaled(
    path: Path, layout: _Layout, numbered: list[tuple[int, Example]], asked: tuple[float, float] | None
) -> tuple[list[tuple[int, Example]], list[str]]:
    """Graded rows with their scores between 0 and 1, and what was done to them; rows with one number of texts."""
    if layout.shape != "graded":
        if asked is not None:
            raise InputError(f"{path} has no scores, so no --score-range.")
        _require_even(path, numbered)
        return numbered, []
    if not numbered:
        return numbered, []
    low, high = min(row.score for _, row in numbered), max(row.score for _, row in numbered)
    if asked is None:
        if low < 0 or high > _STS_TOP:
            raise InputError(
                f"the scores of {path} run from {low:g} to {high:g}. "
                "Say what they can be, lowest and highest, with --score-range."
            )
        asked = (0.0, 1.0) if high <= 1 else (0.0, _STS_TOP)
    bottom, top = asked
    if not bottom < top:
        raise InputError(f"--score-range {bottom:g} {top:g}: the second must be the higher one.")
    for line, row in numbered:
        if not bottom <= row.score <= top:
            raise malformed(path, line, f"the score {row.score:g} is not between {bottom:g} and {top:g}.")
    said = (
        "taken as they are" if asked == (0.0, 1.0) else f"read as {bottom:g} to {top:g} and scaled to 0 to 1"
    )
    scaled = [(line, Example(row.texts, (row.score - bottom) / (top - bottom))) for line, row in numbered]
    return scaled, [f"scores of {path.name} run from {low:g} to {high:g}: {said}"]


def _require_even(path: Path, numbered: Sequence[tuple[int, Example]]) -> None:
    for line, row in numbered:
        if len(row.texts) != len(numbered[0][1].texts):
            raise malformed(
                path,
                line,
                f"{len(row.texts) - 2} negatives, but the first row has {len(numbered[0][1].texts) - 2}. "
                "Give every row as many.",
            )


def _of_beir(folder: Path, role: str, split: str | None) -> Examples:
    splits = sorted(path.stem for path in (folder / QRELS).glob("*.tsv"))
    usual = next((name for name in _SPLITS.get(role, ()) if name in splits), None)
    chosen = split or usual or (splits[0] if len(splits) == 1 else "train")
    data = read_beir(folder, chosen)
    pairs, refused, missing, empty = [], 0, set(), 0
    for query in data.queries:
        for document, grade in data.judgements[query.id].items():
            if grade < 1:
                refused += 1
            elif document not in data.entries:
                missing.add(document)
            elif not data.entries[document].whole:
                empty += 1
            elif _is_broken(query.text + data.entries[document].whole):
                raise InputError(
                    f"{folder}: query {query.id} or document {document} holds half a character (a lone surrogate)."
                )
            else:
                pairs.append(Example((query.text, data.entries[document].whole)))
    if missing:
        raise InputError(
            f"{folder / QRELS / chosen}.tsv judges {len(missing)} documents that are not in {CORPUS}: "
            f"{', '.join(sorted(missing)[:5])}. Do the two files belong together?"
        )
    kept, duplicates = without_duplicates(pairs)
    notes = [f"judgements of {folder.resolve().name}: {chosen}"]
    if refused:
        notes.append(f"{refused:,} judgements of documents that are not relevant were not used")
    if empty:
        notes.append(f"{empty:,} relevant documents without text were not used")
    parts = [(CORPUS, len(data.entries)), (QUERIES, len(data.queries) + len(data.unjudged))]
    parts.append((f"{QRELS}/{chosen}.tsv", sum(map(len, data.judgements.values()))))
    files = tuple(
        TrainingFile(
            role, str(folder / name), f"{folder.resolve().name}/{name}", _sha256(folder / name), count
        )
        for name, count in parts
    )
    return Examples("pairs", kept, files, len(pairs), duplicates, tuple(notes))


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
