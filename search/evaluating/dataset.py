"""What is evaluated on; and the lines, objects and tables of files that it is read from.

What is malformed is an error that names file and line, never skipped.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from search.errors import InputError

_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Query:
    """A query with its name in the data."""

    id: str
    text: str


@dataclass(frozen=True)
class Entry:
    """A document of a collection."""

    title: str
    text: str

    @property
    def whole(self) -> str:
        """Title and text as BEIR joins them."""
        return f"{self.title} {self.text}".strip()


@dataclass(frozen=True)
class Retrieval:
    """Queries, and how relevant documents are to them.

    Attributes:
        name, source, split: of the data; `split` is "" where there is only one.
        queries: those that have judgements, in the order of the data.
        judgements: of each of them: document -> grade.
        entries: the documents of the collection; empty where the judgements are about an index of the user's own.
        folder: where `corpus.jsonl` lies, None where the collection has another form.
        unjudged: names of the queries that were left out because nothing was judged for them.
        lines: where in `source` a document is first judged, for messages; empty for a collection.
    """

    name: str
    source: Path
    split: str
    queries: tuple[Query, ...]
    judgements: Mapping[str, Mapping[str, int]]
    entries: Mapping[str, Entry] = field(default_factory=dict, repr=False)
    folder: Path | None = None
    unjudged: tuple[str, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Span:
    """The characters [start, end) of a document."""

    document: str
    start: int
    end: int


@dataclass(frozen=True)
class Spans:
    """Questions, and the spans of documents that answer them.

    Attributes:
        folder: the documents; spans name them relative to it.
        gold: of each question, at least one.
    """

    name: str
    source: Path
    folder: Path
    queries: tuple[Query, ...]
    gold: Mapping[str, tuple[Span, ...]]


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question about a paragraph.

    Attributes:
        paragraph: its name among `Retrieval.entries`.
        answers: all that count as right, as they are written; () where the paragraph does not answer it.
        starts: where each of them begins in the paragraph, as the file has it; -1 where it does not say.
    """

    id: str
    text: str
    paragraph: str
    answers: tuple[str, ...]
    starts: tuple[int, ...] = ()


@dataclass(frozen=True)
class Answering:
    """Questions with gold answers, each about one paragraph.

    Attributes:
        paragraphs: the paragraphs, and the same questions as queries for them.
    """

    name: str
    source: Path
    questions: tuple[AnsweredQuestion, ...]
    paragraphs: Retrieval


@dataclass(frozen=True)
class Pair:
    """Two sentences and how alike people found them."""

    first: str
    second: str
    score: float


@dataclass(frozen=True)
class SentencePairs:
    """Semantic textual similarity."""

    name: str
    source: Path
    pairs: tuple[Pair, ...]


Dataset = Retrieval | Spans | SentencePairs


def malformed(path: Path, line: int, what: str) -> InputError:
    """An error that says where: "qrels/test.tsv:7: ..."."""
    return InputError(f"{path}:{line}: {what}")


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, numbered from 1, with their ends."""
    number = 0
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as stream:
            for number, line in enumerate(stream, 1):
                yield number, line
    except UnicodeDecodeError as error:
        raise malformed(
            path, number + 1, f"this line or one soon after it is not UTF-8 ({error.reason})."
        ) from None
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror or error}. Check the name.") from None


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL file, each with its line; blank lines are none."""
    for number, line in lines(path):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except RecursionError:
            raise malformed(path, number, "nested too deeply.") from None
        except ValueError as error:
            raise malformed(path, number, f"no JSON: {error}.") from None
        if not isinstance(value, dict):
            raise malformed(path, number, f"a JSON object is needed, not {type(value).__name__}.")
        yield number, value


def name_in(path: Path, line: int, record: Mapping[str, Any], key: str) -> str:
    """An identifier of a record: a string that is not empty, or a whole number."""
    value = record.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise malformed(path, line, f'"{key}" must be there and hold a name.')
    return value


def text_in(path: Path, line: int, record: Mapping[str, Any], key: str, *, default: str | None = None) -> str:
    """A text of a record. Without a default it must be there and say something."""
    value = record.get(key, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise malformed(path, line, f'"{key}" must be there and hold a text.')
    if default is None and not value.strip():
        raise malformed(path, line, f'"{key}" is empty.')
    if _HALF.search(value):
        raise malformed(path, line, f'"{key}" holds half a character (a lone surrogate).')
    return value


def number_in(path: Path, line: int, record: Mapping[str, Any], key: str) -> float:
    """A finite number of a record, also one that is written as a text."""
    value = record.get(key)
    try:
        number = float(value.strip() if isinstance(value, str) else value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise malformed(path, line, f'"{key}" is {value!r}, which is no score.')
    return number


def rows(path: Path, *, quoted: bool = True) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file, or of a TSV file by its suffix, each with the line it ends on; blank ones are none.

    Args:
        quoted: double quotes around a field hold it together, as spreadsheets write it.
    """
    delimiter = "\t" if path.suffix.lower() in (".tsv", ".tab") else ","
    reader = csv.reader(
        (line for _, line in lines(path)),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=quoted,
    )
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise malformed(path, reader.line_num, f"no table: {error}.") from None


def table(
    path: Path, needed: Sequence[str], optional: Sequence[str] = (), *, quoted: bool = True
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a CSV or TSV file by the names in its first line, in any order and case of letters.

    Raises:
        InputError: the first line does not name what is needed, or a row has another number of fields.
    """
    line, names, found = named_rows(path, quoted=quoted)
    if missing := [name for name in needed if name not in names]:
        raise malformed(
            path,
            line,
            f"the first line must name the columns {', '.join(needed)}"
            + (f" (and may name {', '.join(optional)})" if optional else "")
            + f"; {', '.join(missing)} is not there.",
        )
    yield from found


def named_rows(
    path: Path, *, quoted: bool = True
) -> tuple[int, list[str], Iterator[tuple[int, dict[str, Any]]]]:
    """The names of the columns in small letters, the line that they stand on, and the rows by these names.

    Of a JSONL file they are those of the first object.

    Raises:
        InputError: a row has another number of fields; a column that is asked for is there twice.
    """
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        records = [
            (line, {str(key).strip().casefold(): value for key, value in record.items()})
            for line, record in objects(path)
        ]
        line, first = records[0] if records else (1, {})
        return line, list(first), iter(records)
    found = rows(path, quoted=quoted)
    line, header = next(found, (1, []))
    names = [name.strip().casefold() for name in header]
    if twice := sorted({name for name in names if names.count(name) > 1 and name}):
        raise malformed(path, line, f"two columns are called '{twice[0]}'. Rename one.")

    def below() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, row in found:
            if len(row) != len(names):
                raise malformed(path, number, f"{len(row)} fields, but the first line has {len(names)}.")
            yield number, dict(zip(names, row, strict=True))

    return line, names, below()


def grade_in(path: Path, line: int, text: str) -> int:
    """A grade of relevance, a whole number."""
    try:
        return int(text.strip())
    except ValueError:
        raise malformed(path, line, f"'{text}' is no grade of relevance; use a whole number.") from None


def add_grade(
    judgements: dict[str, dict[str, int]], path: Path, line: int, query: str, document: str, grade: int
) -> None:
    """Note a judgement; the same one twice is one, and two that differ are an error."""
    known = judgements.setdefault(query, {}).setdefault(document, grade)
    if known != grade:
        raise malformed(
            path, line, f"'{document}' is judged {grade} here and {known} before, for one query ('{query}')."
        )
