"""Read files and folders of judged data, and of examples to learn from.

BEIR     a folder (Thakur et al. 2021): corpus.jsonl {"_id", "title", "text"} a line, queries.jsonl {"_id", "text"} a
         line, qrels/SPLIT.tsv with a header, then query, document and grade
SQuAD    JSON (Rajpurkar et al. 2016), version 1.1 or 2.0; the documents are the paragraphs
paths    CSV, TSV or JSONL with query, path and perhaps relevance: judgements about an index of one's own
STS      CSV, TSV or JSONL with sentence1, sentence2 and score
CoNLL    a word a line, its label last, an empty line behind each sentence (Tjong Kim Sang and De Meulder 2003)
labels   CSV, TSV or JSONL with label, and with text, or with path of an index
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
from search.records.predictions import Example

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
JSON_LINES = (".jsonl", ".ndjson")
TABLES = (".csv", ".tsv", ".tab", *JSON_LINES)
NO_ENTITY = "O"
_PAIR = ("sentence1", "sentence2", "score")
_FEWEST = 3  # pairs; a correlation of two points is always 1
_FORMATS = "Known are: a BEIR folder, SQuAD's JSON, tables of query and path, or of sentence1, sentence2 and score."


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
        split: which judgements of the data; "" where there is only one set.
        queries: those that have judgements, in the order of the data.
        judgements: of each of them: document -> grade.
        entries: the documents of the collection; empty where the judgements are about an index of the user's own.
        unjudged: names of the queries that were left out because nothing was judged for them.
    """

    name: str
    source: Path
    split: str
    queries: tuple[Query, ...]
    judgements: Mapping[str, Mapping[str, int]]
    entries: Mapping[str, Entry] = field(default_factory=dict, repr=False)
    unjudged: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question(Query):
    """A question about a paragraph.

    Attributes:
        paragraph: its name among `Retrieval.entries`.
        answers: all that count as right, as they are written; () where the paragraph does not answer it.
        starts: where each of them begins in the paragraph, as the file has it; -1 where it does not say.
    """

    paragraph: str
    answers: tuple[str, ...]
    starts: tuple[int, ...] = ()


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


@dataclass(frozen=True)
class Sentence:
    """Words and their labels."""

    words: tuple[str, ...]
    labels: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where each word stands in `text`."""
        found, start = [], 0
        for word in self.words:
            found.append((start, start + len(word)))
            start += len(word) + 1
        return found


@dataclass(frozen=True)
class Row:
    """A row of a table, or an object of JSON Lines, by column names in small letters."""

    path: Path
    line: int
    values: Mapping[str, Any]

    def wrong(self, what: str) -> InputError:
        return malformed(self.path, self.line, what)

    def text(self, key: str, default: str | None = None) -> str:
        """A text; without a default it must be there and not be empty."""
        value = self.values.get(key, default)
        if isinstance(value, int) and key.endswith("id"):
            return str(value)
        if not isinstance(value, str):
            raise self.wrong(f'"{key}" must be there and hold a text.')
        if default is None and not value.strip():
            raise self.wrong(f'"{key}" is empty.')
        return value

    def number(self, key: str) -> float:
        try:
            number = float(self.values[key])
        except (KeyError, TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise self.wrong(f'"{key}" is {self.values.get(key)!r}, which is no score.')
        return number


def malformed(path: Path, line: int, what: str) -> InputError:
    """An error that says where: "qrels/test.tsv:7: ..."."""
    return InputError(f"{path}:{line}: {what}")


def read_rows(path: Path, needed: Sequence[str] = ()) -> list[Row]:
    """The rows of a CSV, TSV or JSON Lines file, which its suffix tells apart.

    Double quotes hold a field of a CSV file together; in a TSV file they are text, as in the STS benchmark.

    Args:
        needed: columns that a table must have.

    Raises:
        InputError: the file cannot be read, or a row has more or fewer fields than the header.
    """
    read = _objects if path.suffix.lower() in JSON_LINES else _table
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return list(read(path, stream, needed))
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror or error}. Check the name.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"'{path}' cannot be read: it is not UTF-8 ({error.reason}).") from None


def _objects(path: Path, stream: Iterator[str], needed: Sequence[str]) -> Iterator[Row]:
    for number, line in enumerate(stream, 1):
        if line.strip():
            try:
                values = json.loads(line)
            except ValueError as error:
                raise malformed(path, number, f"no JSON: {error}.") from None
            if not isinstance(values, dict):
                raise malformed(path, number, f"a JSON object is needed, not {type(values).__name__}.")
            yield Row(path, number, {key.strip().casefold(): value for key, value in values.items()})


def _table(path: Path, stream: Iterator[str], needed: Sequence[str]) -> Iterator[Row]:
    quoted = path.suffix.lower() == ".csv"
    quoting: Any = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.DictReader(stream, delimiter="," if quoted else "\t", quoting=quoting, strict=quoted)
    try:
        names = [name.strip().casefold() for name in reader.fieldnames or ()]
        if missing := [name for name in needed if name not in names]:
            what = f"the first line must name the columns {', '.join(needed)}; {missing[0]} is missing."
            raise malformed(path, 1, what)
        reader.fieldnames = names
        for values in reader:
            if None in values or None in values.values():
                what = f"more or fewer fields than the {len(names)} of the first line."
                raise malformed(path, reader.line_num, what)
            yield Row(path, reader.line_num, values)
    except csv.Error as error:
        raise malformed(path, reader.reader.line_num, f"no table: {error}.") from None


def read_dataset(source: Path, *, split: str = "test") -> Retrieval | SentencePairs:
    """Read judged data.

    Args:
        split: which judgements of a folder in BEIR layout.

    Raises:
        InputError: the format is not known, or something is malformed.
    """
    if not source.exists():
        raise InputError(f"there is no '{source}'. Name the file or folder that holds the judged data.")
    suffix = "" if source.is_dir() else source.suffix.lower()
    if (source / CORPUS).is_file() and (source / QUERIES).is_file():
        return read_beir(source, split)
    if suffix == ".json":
        return read_questions(source)[1]
    if suffix in TABLES:
        with source.open(encoding="utf-8-sig", errors="replace") as stream:
            of_pairs = "sentence1" in stream.readline().lower()
        return _sentence_pairs(source) if of_pairs else _judged_paths(source)
    raise InputError(f"'{source}' is in no format that can be evaluated on. {_FORMATS}")


def read_beir(folder: Path, split: str = "test") -> Retrieval:
    """A folder in BEIR layout.

    Raises:
        InputError: something is malformed, there is no such split, or no query of it is judged.
    """
    judgements = _judgements(folder, split)
    queries = {id_: Query(id_, row.text("text", "")) for id_, row in _named(folder / QUERIES)}
    if strange := [id_ for id_ in judgements if id_ not in queries]:
        raise InputError(f"{folder / QRELS / split}.tsv judges '{strange[0]}', which {QUERIES} has not.")
    entries = {
        id_: Entry(row.text("title", ""), row.text("text", "")) for id_, row in _named(folder / CORPUS)
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
        raise InputError(f"'{folder}' has no judgements '{QRELS}/{split}.tsv'; there are: {splits}.")
    judgements: dict[str, dict[str, int]] = {}
    for row in read_rows(path, ("query-id", "corpus-id", "score")):
        _add_grade(judgements, row, row.text("query-id"), row.text("corpus-id"), row.number("score"))
    return _some(judgements, path)


def _some(judgements: dict[str, dict[str, int]], path: Path) -> dict[str, dict[str, int]]:
    if not judgements:
        raise InputError(f"{path} holds no judgement. Write a query and its document on each line.")
    return judgements


def _add_grade(
    judgements: dict[str, dict[str, int]], row: Row, query: str, document: str, grade: float
) -> None:
    """Note a judgement; the same one twice is one, and two that differ are an error."""
    if not grade.is_integer():
        raise row.wrong(f"'{grade}' is no grade of relevance; use a whole number.")
    known = judgements.setdefault(query, {}).setdefault(document, int(grade))
    if known != grade:
        raise row.wrong(f"'{document}' is judged twice, differently, for one query ('{query}').")


def _named(path: Path) -> Iterator[tuple[str, Row]]:
    """The records of a JSONL file by name, "_id"; none twice."""
    seen = set()
    for row in read_rows(path):
        if (id_ := row.text("_id")) in seen:
            raise row.wrong(f"'{id_}' is there a second time.")
        seen.add(id_)
        yield id_, row


def _judged_paths(path: Path) -> Retrieval:
    """Queries are numbered from 1. Paths are written as for `seewhy why-not`; "table.csv#12" is a record."""
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
    pairs = tuple(Pair(row.text("sentence1"), row.text("sentence2"), row.number("score")) for row in rows)
    if len(pairs) < _FEWEST or len({pair.score for pair in pairs}) < 2:
        raise InputError(f"{path} holds {len(pairs)} pairs: too few, or too much alike.")
    return SentencePairs(path.stem, path, pairs)


def read_questions(path: Path) -> tuple[tuple[Question, ...], Retrieval]:
    """Questions of SQuAD's JSON with their answers; and their paragraphs, with the same questions as queries.

    A question has no answer where its list of answers is empty, as in SQuAD 2.0.
    A paragraph that is there twice is one.

    Raises:
        InputError: it is no such file; the message says where.
    """
    names: dict[Entry, str] = {}
    questions: list[Question] = []
    try:
        for article in json.loads(path.read_text(encoding="utf-8-sig"))["data"]:
            for paragraph in article["paragraphs"]:
                entry = Entry(article.get("title", "").replace("_", " "), paragraph["context"])
                name = names.setdefault(entry, str(len(names) + 1))
                questions += [_question(name, asked) for asked in paragraph["qas"]]
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror or error}. Check the name.") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        last = f" behind the question '{questions[-1].id}'" if questions else ""
        raise InputError(f"{path} is not in SQuAD's format{last}: {error!r}.") from None
    if not questions:
        raise InputError(f"{path} holds no question.")
    judgements = {one.id: {one.paragraph: 1} for one in questions}
    entries = {name: entry for entry, name in names.items()}
    return tuple(questions), Retrieval(path.stem, path, "", tuple(questions), judgements, entries)


def _question(paragraph: str, asked: Any) -> Question:
    answers = tuple(one["text"] for one in asked["answers"])
    if not all([asked["question"].strip(), *answers]):
        raise ValueError("a question or an answer is empty")
    starts = tuple(int(one.get("answer_start", -1)) for one in asked["answers"])
    return Question(asked["id"], asked["question"], paragraph, answers, starts)


def read_conll(path: Path) -> list[Sentence]:
    """The sentences of a file in CoNLL format; lines that only part documents are left out.

    Raises:
        InputError: it cannot be read, holds no sentence, or a line has no label.
    """
    sentences: list[Sentence] = []
    rows: list[tuple[str, str]] = []
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"'{path}' cannot be read: {error}. Check the file.") from None
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            columns = [column.strip() for column in line.split("\t" if "\t" in line else " ")]
            word, label = columns[0], columns[-1]
            if len(columns) < 2 or not word or not (label == NO_ENTITY or "-" in label):
                what = "is no word with a label such as O or B-person"
                raise malformed(path, number, f"'{line.strip():.40}' {what}.")
            rows.append((word, label))
        elif rows:
            words, labels = zip(*rows, strict=True)
            if words != ("-DOCSTART-",):
                sentences.append(Sentence(words, labels))
            rows = []
    if not sentences:
        raise InputError(f"'{path}' holds no sentence. Put a word and its label on each line.")
    return sentences


def read_examples(path: Path) -> list[Example]:
    """The rows of a table as labelled examples: of a text, else of a path.

    Raises:
        InputError: the file cannot be read, a column is missing, or a row has no label or no text.
    """
    rows = read_rows(path, ("label",))
    if not rows:
        raise InputError(f"{path} holds no rows below a first line that names the columns.")
    kind = next((name for name in ("text", "path") if name in rows[0].values), None)
    if kind is None:
        raise malformed(path, 1, "no column 'text', and no 'path' of an index. Rename one.")
    return [
        Example(row.text("label").strip(), line=row.line, **{kind: row.text(kind).strip()})
        for row in rows
    ]
