"""Read files and folders of judged data, and of examples to learn from.

BEIR     a folder (Thakur et al. 2021): corpus.jsonl {"_id", "title", "text"} a line, queries.jsonl {"_id", "text"} a
         line, qrels/SPLIT.tsv with a header, then query, document and grade
spans    a folder, as in Chroma's chunking evaluation: corpora/NAME.md, questions.jsonl {"_id", "corpus_id", "text",
         "references": [{"content", "start_index", "end_index"}, ...]} a line
SQuAD    JSON (Rajpurkar et al. 2016), version 1.1 or 2.0; the documents are the paragraphs
paths    CSV or TSV with query, path and perhaps relevance: judgements about an index of one's own
STS      CSV or TSV with sentence1, sentence2 and score
CoNLL    a word a line, its label last, an empty line behind each sentence (Tjong Kim Sang and De Meulder 2003)
labels   a table with a column for the label, and one for what has it: a text, or a passage id or path of an index

A malformed row is an error that names file and line, and is never skipped.
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
TABLES, JSON_LINES = (".csv", ".tsv", ".tab"), (".jsonl", ".ndjson")
NO_ENTITY = "O"
_CORPORA, _QUESTIONS = "corpora", "questions.jsonl"
_PAIR = ("sentence1", "sentence2", "score")
_FEWEST = 3  # pairs; a correlation of two points is always 1
_FORMATS = (
    "Known are: a folder in BEIR layout (corpus.jsonl, queries.jsonl, qrels/); a folder with corpora/ and "
    "questions.jsonl; SQuAD's JSON; a CSV or TSV file with the columns query and path (and relevance), or sentence1, "
    "sentence2 and score. For CoNLL there is --task entities."
)


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
    """Questions, and the spans of documents in `folder` that answer them, at least one each."""

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
    """Questions with gold answers; `paragraphs` are what they are about, and the same questions as queries for them."""

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
        value = self.values.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and key.endswith("id"):
            return str(value)
        if not isinstance(value, str):
            if value is None and default is not None:
                return default
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


def read_rows(path: Path, needed: Sequence[str] = (), *, quoted: bool = True) -> list[Row]:
    """The rows of a CSV file, of a TSV or JSON Lines file by its suffix.

    Args:
        needed: columns that a table must have.
        quoted: double quotes around a field hold it together, as spreadsheets write it.

    Raises:
        InputError: the file cannot be read, or a row has more or fewer fields than the header.
    """
    found: list[Row] = []
    line = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            for line, values in _records(path, stream, needed, quoted):
                if not isinstance(values, dict):
                    raise malformed(path, line, f"a JSON object is needed, not {type(values).__name__}.")
                found.append(
                    Row(path, line, {key.strip().casefold(): value for key, value in values.items()})
                )
    except UnicodeDecodeError as error:
        raise malformed(path, line + 1, f"this line or a later one is not UTF-8 ({error.reason}).") from None
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror or error}. Check the name.") from None
    return found


def _records(
    path: Path, stream: Iterator[str], needed: Sequence[str], quoted: bool
) -> Iterator[tuple[int, Any]]:
    if path.suffix.lower() in JSON_LINES:
        for number, line in enumerate(stream, 1):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except ValueError as error:
                    raise malformed(path, number, f"no JSON: {error}.") from None
        return
    delimiter = "," if path.suffix.lower() == ".csv" else "\t"
    quoting: Any = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.reader(stream, delimiter=delimiter, quoting=quoting, strict=quoted)
    try:
        names = [name.strip().casefold() for name in next(reader, [])]
        if missing := [name for name in needed if name not in names]:
            what = f"the first line must name the columns {', '.join(needed)}; {missing[0]} is missing."
            raise malformed(path, 1, what)
        if twice := {name for name in names if names.count(name) > 1}:
            raise malformed(path, 1, f"two columns are called '{twice.pop()}'. Rename one.")
        for row in reader:
            if any(map(str.strip, row)):
                if len(row) != len(names):
                    what = f"{len(row)} fields, but the first line has {len(names)}."
                    raise malformed(path, reader.line_num, what)
                yield reader.line_num, dict(zip(names, row, strict=True))
    except csv.Error as error:
        raise malformed(path, reader.line_num, f"no table: {error}.") from None


def read_dataset(source: Path, *, split: str = "test") -> Retrieval | Spans | SentencePairs:
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
    if (source / _CORPORA).is_dir() and (source / _QUESTIONS).is_file():
        return _spans(source)
    if suffix == ".json":
        return read_questions(source, answered=False).paragraphs
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
    queries: dict[str, Query] = {}
    for id_, row in _named(folder / QUERIES):
        text = row.text("text", "")
        if not text.strip() and id_ in judgements:
            raise row.wrong(f"the query '{id_}' is judged, and its text is empty.")
        queries[id_] = Query(id_, text)
    if strange := [id_ for id_ in judgements if id_ not in queries]:
        raise InputError(
            f"{folder / QRELS / split}.tsv judges {len(strange)} queries that are not in {QUERIES}: "
            f"{', '.join(strange[:5])}. Do the two files belong together?"
        )
    entries = {
        id_: Entry(row.text("title", ""), row.text("text", "")) for id_, row in _named(folder / CORPUS)
    }
    if not any(entry.whole for entry in entries.values()):
        raise InputError(f"{folder / CORPUS} holds no document with text.")
    return Retrieval(
        name=folder.resolve().name,
        source=folder,
        split=split,
        queries=tuple(query for query in queries.values() if query.id in judgements),
        judgements=judgements,
        entries=entries,
        folder=folder,
        unjudged=tuple(id_ for id_ in queries if id_ not in judgements),
    )


def _judgements(folder: Path, split: str) -> dict[str, dict[str, int]]:
    path = folder / QRELS / f"{split}.tsv"
    if not path.is_file():
        splits = ", ".join(sorted(path.stem for path in (folder / QRELS).glob("*.tsv")))
        known = f"there are: {splits}. Choose one with --split" if splits else "there are none"
        raise InputError(f"'{folder}' has no judgements '{QRELS}/{split}.tsv'; {known}.")
    judgements: dict[str, dict[str, int]] = {}
    for row in read_rows(path, ("query-id", "corpus-id", "score"), quoted=False):
        _add_grade(judgements, row, row.text("query-id"), row.text("corpus-id"), "score")
    if not judgements:
        raise InputError(f"{path} holds no judgement, so no query can be judged.")
    return judgements


def _add_grade(
    judgements: dict[str, dict[str, int]], row: Row, query: str, document: str, column: str
) -> None:
    """Note a judgement; the same one twice is one, and two that differ are an error."""
    grade = int(row.number(column))
    if grade != row.number(column):
        raise row.wrong(f"'{row.values[column]}' is no grade of relevance; use a whole number.")
    known = judgements.setdefault(query, {}).setdefault(document, grade)
    if known != grade:
        raise row.wrong(f"'{document}' is judged {grade} here and {known} before, for one query ('{query}').")


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
    first: dict[str, int] = {}
    for row in read_rows(path, ("query", "path")):
        query, document = row.text("query").strip(), row.text("path").strip()
        judged = row if "relevance" in row.values else Row(path, row.line, {"relevance": 1})
        _add_grade(judgements, judged, ids.setdefault(query, str(len(ids) + 1)), document, "relevance")
        first.setdefault(document, row.line)
    if not judgements:
        raise InputError(
            f"{path} holds no judgement. Write a line for each query and a document that answers it."
        )
    queries = tuple(Query(id_, text) for text, id_ in ids.items())
    return Retrieval(path.stem, path, "", queries, judgements, lines=first)


def _sentence_pairs(path: Path) -> SentencePairs:
    """A TSV file is read without quoting: sentences of the STS benchmark have single double quotes."""
    rows = read_rows(path, _PAIR, quoted=path.suffix.lower() == ".csv")
    pairs = tuple(Pair(row.text("sentence1"), row.text("sentence2"), row.number("score")) for row in rows)
    if len(pairs) < _FEWEST or len({pair.score for pair in pairs}) < 2:
        raise InputError(f"{path} holds {len(pairs)} pairs, too few or too much alike for a correlation.")
    return SentencePairs(path.stem, path, pairs)


def _spans(folder: Path) -> Spans:
    queries: list[Query] = []
    gold: dict[str, tuple[Span, ...]] = {}
    for id_, row in _named(folder / _QUESTIONS):
        document = f"{row.text('corpus_id')}.md"
        try:
            with (folder / _CORPORA / document).open(encoding="utf-8", newline="\n") as stream:
                text = stream.read()
            references = [
                (one["content"], one["start_index"], one["end_index"]) for one in row.values["references"]
            ]
        except OSError:
            raise row.wrong(f"there is no file '{_CORPORA}/{document}'.") from None
        except (KeyError, TypeError):
            raise row.wrong('"references" must list spans with content, start_index and end_index.') from None
        for content, start, end in references:
            if not content or text[start:end] != content:
                raise row.wrong(f"characters {start} to {end} of '{document}' are not the text of the span.")
        if not references:
            raise row.wrong('"references" lists no span.')
        queries.append(Query(id_, row.text("text")))
        gold[id_] = tuple(Span(document, start, end) for _, start, end in references)
    if not queries:
        raise InputError(f"{folder / _QUESTIONS} holds no question.")
    return Spans(folder.resolve().name, folder, folder / _CORPORA, tuple(queries), gold)


def read_questions(path: Path, *, answered: bool = True) -> Answering:
    """Questions of SQuAD's JSON, each with its paragraph and its answers; a paragraph that is there twice is one.

    A question has no answer where its list of answers is empty, as in SQuAD 2.0.

    Args:
        answered: False leaves the answers unread.

    Raises:
        InputError: it is no such file; the message says where.
    """
    names: dict[Entry, str] = {}
    questions: dict[str, AnsweredQuestion] = {}
    place = "the file"
    try:
        for i, article in enumerate(json.loads(path.read_text(encoding="utf-8-sig"))["data"]):
            for j, paragraph in enumerate(article["paragraphs"]):
                place = f"data[{i}].paragraphs[{j}]"
                entry = Entry(article.get("title", "").replace("_", " "), paragraph["context"])
                name = names.setdefault(entry, str(len(names) + 1))
                for number, asked in enumerate(paragraph["qas"]):
                    place = f"data[{i}].paragraphs[{j}].qas[{number}]"
                    if asked["id"] in questions:
                        raise ValueError(f"the question '{asked['id']}' is there a second time")
                    given = asked["answers"] if answered else []
                    answers = tuple(one["text"] for one in given)
                    if not all([asked["question"].strip(), *answers]):
                        raise ValueError("a question or an answer is empty")
                    starts = tuple(int(one.get("answer_start", -1)) for one in given)
                    one = AnsweredQuestion(asked["id"], asked["question"], name, answers, starts)
                    questions[one.id] = one
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror or error}. Check the name.") from None
    except KeyError as error:
        raise InputError(f"{path}: {place} has no {error}. The format is that of SQuAD.") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: {place}: {error}. The format is that of SQuAD.") from None
    if not questions:
        raise InputError(f"{path} holds no question.")
    queries = tuple(Query(one.id, one.text) for one in questions.values())
    judgements = {one.id: {one.paragraph: 1} for one in questions.values()}
    entries = {name: entry for entry, name in names.items()}
    return Answering(tuple(questions.values()), Retrieval(path.stem, path, "", queries, judgements, entries))


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
        raise InputError(f"'{path}' holds no sentence. Give a file with a word and its label on each line.")
    return sentences


def read_examples(
    path: Path, *, text_column: str | None = None, label_column: str = "label"
) -> list[Example]:
    """The rows of a table as labelled examples.

    Args:
        text_column: None takes "text"; where there is none, "passage" (ids) or "path".

    Raises:
        InputError: the file cannot be read, a column is missing, or a row has no label, no text, or a passage that is
            no number.
    """
    rows = read_rows(path)
    if not rows:
        raise InputError(f"{path} holds no rows below a first line that names the columns.")
    names = list(rows[0].values)
    label = label_column.strip().casefold()
    wanted = [text_column.strip().casefold()] if text_column else ["text", "passage", "path"]
    what = next((name for name in wanted if name in names), None)
    for name, option in ((what, "--text-column"), (label if label in names else None, "--label-column")):
        if name is None:
            missing = wanted[0] if option == "--text-column" else label
            raise malformed(
                path, 1, f"no column '{missing}'; there is {', '.join(names)}. Name the column with {option}."
            )
    assert what
    if what == label:
        raise InputError(f"'{what}' cannot be both the text and the label. Name two columns.")
    kind = "text" if text_column else what
    return [Example(row.text(label).strip(), line=row.line, **_given(row, kind, what)) for row in rows]


def _given(row: Row, kind: str, column: str) -> dict[str, Any]:
    text = row.text(column)
    if kind != "passage":
        return {kind: text if kind == "text" else text.strip()}
    try:
        return {kind: int(text.strip().removeprefix("p"))}
    except ValueError:
        raise row.wrong(f"'{text}' is no id of a passage; use a number as hits have it.") from None
