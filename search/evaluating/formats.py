"""Readers of judged data.

BEIR     a folder (Thakur et al. 2021): corpus.jsonl with {"_id", "title", "text"} per line, queries.jsonl with
         {"_id", "text"} per line, qrels/SPLIT.tsv with a header, then query, document and grade
SQuAD    JSON (Rajpurkar et al. 2016), version 1.1 or 2.0; the documents are the paragraphs
paths    CSV, TSV or JSONL with query, path and optionally relevance: judgements about the user's own index
STS      CSV, TSV or JSONL with sentence1, sentence2 and score
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from search.errors import InputError

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
JSON_LINES = (".jsonl", ".ndjson")
TABLES = (".csv", ".tsv", ".tab", *JSON_LINES)
_PAIR = ("sentence1", "sentence2", "score")
_FEWEST = 3  # pairs; a correlation of two points is always 1
_FORMATS = (
    "Supported: a BEIR folder, SQuAD's JSON, or a table with the columns query and path, or "
    "sentence1, sentence2 and score."
)


@dataclass(frozen=True)
class Query:
    """A query with its ID in the data."""

    id: str
    text: str


@dataclass(frozen=True)
class CorpusEntry:
    """A document of a collection."""

    title: str
    text: str

    @property
    def whole(self) -> str:
        """Title and text, joined as in BEIR."""
        return f"{self.title} {self.text}".strip()


@dataclass(frozen=True)
class Retrieval:
    """Queries with their relevance judgements.

    Attributes:
        split: name of the set of judgements; "" if there is only one.
        queries: queries with judgements, in the order of the data.
        judgements: query ID -> document -> grade.
        entries: documents of the collection; empty if the judgements are about the user's own index.
        unjudged: IDs of queries without judgements, which are left out.
    """

    name: str
    source: Path
    split: str
    queries: tuple[Query, ...]
    judgements: Mapping[str, Mapping[str, int]]
    entries: Mapping[str, CorpusEntry] = field(default_factory=dict, repr=False)
    unjudged: tuple[str, ...] = ()


@dataclass(frozen=True)
class SquadQuestion(Query):
    """A question about a paragraph.

    Attributes:
        paragraph: key of the paragraph in `Retrieval.entries`.
        answers: all correct answers; () if the paragraph does not answer the question.
        starts: offset of each answer in the paragraph according to the file; -1 if missing.
    """

    paragraph: str
    answers: tuple[str, ...]
    starts: tuple[int, ...] = ()


@dataclass(frozen=True)
class SentencePair:
    """Two sentences and their similarity as judged by people."""

    first: str
    second: str
    score: float


@dataclass(frozen=True)
class SentencePairs:
    """Data for semantic textual similarity: pairs of sentences with gold scores."""

    name: str
    source: Path
    pairs: tuple[SentencePair, ...]


@dataclass(frozen=True)
class TableRow:
    """A row of a table, or an object of a JSON Lines file; column names are in lower case."""

    path: Path
    line: int
    values: Mapping[str, Any]

    def wrong(self, problem: str) -> InputError:
        return malformed(self.path, self.line, problem)

    def text(self, key: str, default: str | None = None) -> str:
        """Return the text in a column; raise InputError if it is missing, or empty without a default."""
        value = self.values.get(key, default)
        if isinstance(value, int) and key.endswith("id"):
            return str(value)
        if not isinstance(value, str):
            raise self.wrong(f'"{key}" is missing or not a text.')
        if default is None and not value.strip():
            raise self.wrong(f'"{key}" is empty.')
        return value

    def number(self, key: str) -> float:
        try:
            number = float(self.values[key])
        except (KeyError, TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise self.wrong(f'"{key}" is {self.values.get(key)!r}, not a number.')
        return number


def malformed(path: Path, line: int, problem: str) -> InputError:
    """Return an InputError that begins with file and line: "qrels/test.tsv:7: ..."."""
    return InputError(f"{path}:{line}: {problem}")


def read_rows(path: Path, needed: Sequence[str] = ()) -> list[TableRow]:
    """Read the rows of a CSV, TSV or JSON Lines file; the suffix determines the format.

    Double quotes enclose fields of a CSV file; in a TSV file they are text, as in the STS benchmark.

    Args:
        needed: names of columns that the table must have.

    Raises:
        InputError: the file cannot be read, or a row has more or fewer fields than the header.
    """
    read = _objects if path.suffix.lower() in JSON_LINES else _table
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return list(read(path, stream, needed))
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}. Check the path.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"'{path}' is not UTF-8 ({error.reason}). Save it as UTF-8.") from None


def _objects(path: Path, stream: Iterator[str], needed: Sequence[str]) -> Iterator[TableRow]:
    for number, line in enumerate(stream, 1):
        if line.strip():
            try:
                values = json.loads(line)
            except ValueError as error:
                raise malformed(path, number, f"not JSON: {error}.") from None
            if not isinstance(values, dict):
                raise malformed(path, number, f"expected a JSON object, got {type(values).__name__}.")
            yield TableRow(path, number, {key.strip().casefold(): value for key, value in values.items()})


def _table(path: Path, stream: Iterator[str], needed: Sequence[str]) -> Iterator[TableRow]:
    quoted = path.suffix.lower() == ".csv"
    quoting: Any = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.DictReader(stream, delimiter="," if quoted else "\t", quoting=quoting, strict=quoted)
    try:
        names = [name.strip().casefold() for name in reader.fieldnames or ()]
        if missing := [name for name in needed if name not in names]:
            text = f"column {missing[0]} is missing. The first line must name the columns {', '.join(needed)}."
            raise malformed(path, 1, text)
        reader.fieldnames = names
        for values in reader:
            if None in values or None in values.values():
                text = f"more or fewer fields than the {len(names)} columns of the header."
                raise malformed(path, reader.line_num, text)
            yield TableRow(path, reader.line_num, values)
    except csv.Error as error:
        raise malformed(path, reader.reader.line_num, f"not a table: {error}.") from None


def read_dataset(source: Path, *, split: str = "test") -> Retrieval | SentencePairs:
    """Read judged data; the format is detected.

    Args:
        source: a folder in BEIR layout, or a file.
        split: judgements to read from the folder: qrels/SPLIT.tsv.

    Raises:
        InputError: the format is unknown, or the data is malformed.
    """
    if not source.exists():
        raise InputError(f"no file or folder '{source}'. Check the path.")
    suffix = "" if source.is_dir() else source.suffix.lower()
    if (source / CORPUS).is_file() and (source / QUERIES).is_file():
        return read_beir(source, split)
    if suffix == ".json":
        return read_questions(source)[1]
    if suffix in TABLES:
        with source.open(encoding="utf-8-sig", errors="replace") as stream:
            of_pairs = "sentence1" in stream.readline().lower()
        return _sentence_pairs(source) if of_pairs else _judged_paths(source)
    raise InputError(f"'{source}' has an unsupported format. {_FORMATS}")


def read_beir(folder: Path, split: str = "test") -> Retrieval:
    """Read a folder in BEIR layout.

    Raises:
        InputError: malformed data, unknown split, or a split without judgements.
    """
    judgements = _judgements(folder, split)
    queries = {id_: Query(id_, row.text("text", "")) for id_, row in _named(folder / QUERIES)}
    if unknown := [id_ for id_ in judgements if id_ not in queries]:
        raise InputError(
            f"{folder / QRELS / split}.tsv judges the query '{unknown[0]}', which is not in {QUERIES}."
        )
    entries = {
        id_: CorpusEntry(row.text("title", ""), row.text("text", ""))
        for id_, row in _named(folder / CORPUS)
    }
    return Retrieval(
        name=folder.resolve().name,
        source=folder,
        split=split,
        queries=tuple(query for query in queries.values() if query.id in judgements),
        judgements=judgements,
        entries=entries,
        unjudged=tuple(id_ for id_ in queries if id_ not in judgements),
    )


def _judgements(folder: Path, split: str) -> dict[str, dict[str, int]]:
    path = folder / QRELS / f"{split}.tsv"
    if not path.is_file():
        splits = ", ".join(sorted(path.stem for path in (folder / QRELS).glob("*.tsv"))) or "none"
        raise InputError(
            f"'{folder}' has no judgements '{QRELS}/{split}.tsv'. Available splits: {splits}."
        )
    judgements: dict[str, dict[str, int]] = {}
    for row in read_rows(path, ("query-id", "corpus-id", "score")):
        _add_grade(judgements, row, row.text("query-id"), row.text("corpus-id"), row.number("score"))
    return _some(judgements, path)


def _some(judgements: dict[str, dict[str, int]], path: Path) -> dict[str, dict[str, int]]:
    """Return the judgements unchanged; raise InputError if there are none."""
    if not judgements:
        raise InputError(f"{path} contains no judgements. Write a query and its document on each line.")
    return judgements


def _add_grade(
    judgements: dict[str, dict[str, int]], row: TableRow, query: str, document: str, grade: float
) -> None:
    """Add a judgement; ignore a duplicate, and raise InputError if an earlier grade differs."""
    if not grade.is_integer():
        raise row.wrong(f"'{grade}' is not a relevance grade. Use a whole number.")
    earlier = judgements.setdefault(query, {}).setdefault(document, int(grade))
    if earlier != grade:
        raise row.wrong(f"'{document}' has two different grades for the query '{query}'. Delete one.")


def _named(path: Path) -> Iterator[tuple[str, TableRow]]:
    """Yield the ID ("_id") and the row of each record of a JSONL file; a duplicate raises InputError."""
    seen = set()
    for row in read_rows(path):
        if (id_ := row.text("_id")) in seen:
            raise row.wrong(f"duplicate ID '{id_}'.")
        seen.add(id_)
        yield id_, row


def _judged_paths(path: Path) -> Retrieval:
    """Read a table of queries and relevant paths. The IDs of the queries are numbers from 1.

    A path is written as for `seewhy why-not`: "table.csv#12" is record 12 of table.csv.
    """
    ids: dict[str, str] = {}
    judgements: dict[str, dict[str, int]] = {}
    for row in read_rows(path, ("query", "path")):
        query, document = row.text("query").strip(), row.text("path").strip()
        grade = row.number("relevance") if "relevance" in row.values else 1.0
        _add_grade(judgements, row, ids.setdefault(query, str(len(ids) + 1)), document, grade)
    queries = tuple(Query(id_, text) for text, id_ in ids.items())
    return Retrieval(path.stem, path, "", queries, _some(judgements, path))


def _sentence_pairs(path: Path) -> SentencePairs:
    rows = read_rows(path, _PAIR)
    pairs = tuple(
        SentencePair(row.text("sentence1"), row.text("sentence2"), row.number("score")) for row in rows
    )
    if len(pairs) < _FEWEST or len({pair.score for pair in pairs}) < 2:
        raise InputError(
            f"{path} needs at least {_FEWEST} pairs with different scores; it has {len(pairs)}."
        )
    return SentencePairs(path.stem, path, pairs)


def read_questions(path: Path) -> tuple[tuple[SquadQuestion, ...], Retrieval]:
    """Read a file in SQuAD's JSON format.

    A question has no answer if its list of answers is empty, as in SQuAD 2.0. Identical paragraphs are merged.

    Returns:
        The questions with their answers; and a collection whose documents are the paragraphs and whose
        queries are the questions.

    Raises:
        InputError: the file is not in this format; the message says where.
    """
    names: dict[CorpusEntry, str] = {}
    questions: list[SquadQuestion] = []
    try:
        for article in json.loads(path.read_text(encoding="utf-8-sig"))["data"]:
            for paragraph in article["paragraphs"]:
                entry = CorpusEntry(article.get("title", "").replace("_", " "), paragraph["context"])
                name = names.setdefault(entry, str(len(names) + 1))
                questions += [_question(name, record) for record in paragraph["qas"]]
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}. Check the path.") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        last = f" after the question '{questions[-1].id}'" if questions else ""
        raise InputError(f"{path} is not in SQuAD's format{last}: {error!r}.") from None
    if not questions:
        raise InputError(f"{path} contains no questions.")
    judgements = {question.id: {question.paragraph: 1} for question in questions}
    entries = {name: entry for entry, name in names.items()}
    return tuple(questions), Retrieval(path.stem, path, "", tuple(questions), judgements, entries)


def _question(paragraph: str, record: Any) -> SquadQuestion:
    answers = tuple(answer["text"] for answer in record["answers"])
    if not all([record["question"].strip(), *answers]):
        raise ValueError("a question or an answer is empty")
    starts = tuple(int(answer.get("answer_start", -1)) for answer in record["answers"])
    return SquadQuestion(record["id"], record["question"], paragraph, answers, starts)
