"""Files and folders -> what is evaluated on, by their format.

BEIR     a folder (Thakur et al. 2021): corpus.jsonl {"_id", "title", "text"} a line, queries.jsonl {"_id", "text"} a
         line, qrels/SPLIT.tsv with a header, then query, document and grade
spans    a folder, as in Chroma's chunking evaluation: corpora/NAME.md, questions.jsonl {"_id", "corpus_id", "text",
         "references": [{"content", "start_index", "end_index"}, ...]} a line
SQuAD    JSON (Rajpurkar et al. 2016), version 1.1 or 2.0: to find the paragraph that a question was asked about, or
         to answer it; the documents are the paragraphs, each under the title of its article
paths    CSV or TSV with query, path and perhaps relevance: judgements about an index of one's own
STS      CSV or TSV with sentence1, sentence2 and score
labels   CSV or TSV with a column for the label, and one for what has it: a text, or a passage id or path of an index
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from search.errors import InputError
from search.evaluating.dataset import (
    AnsweredQuestion,
    Answering,
    Dataset,
    Entry,
    Pair,
    Query,
    Retrieval,
    SentencePairs,
    Span,
    Spans,
    add_grade,
    grade_in,
    lines,
    malformed,
    name_in,
    named_rows,
    number_in,
    objects,
    rows,
    table,
    text_in,
)
from search.records.predictions import Example

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
_CORPORA, _QUESTIONS = "corpora", "questions.jsonl"
_PAIR = ("sentence1", "sentence2", "score")
_EXAMPLES = ("text", "passage", "path")
_FEWEST = 3  # pairs; a correlation of two points is always 1
_FORMATS = (
    "Known are: a folder in BEIR layout (corpus.jsonl, queries.jsonl, qrels/); a folder with corpora/ and "
    "questions.jsonl; SQuAD's JSON; a CSV or TSV file with the columns query and path (and relevance), or sentence1, "
    "sentence2 and score. For CoNLL there is seewhy eval-ner."
)


def read_dataset(source: Path, *, split: str = "test") -> Dataset:
    """Read judged data.

    Args:
        split: which judgements of a folder in BEIR layout.

    Raises:
        InputError: nothing known, or something malformed.
    """
    if not source.exists():
        raise InputError(f"there is no '{source}'. Name the file or folder that holds the judged data.")
    suffix = "" if source.is_dir() else source.suffix.lower()
    if is_beir(source):
        return read_beir(source, split)
    if (source / _CORPORA).is_dir() and (source / _QUESTIONS).is_file():
        return _spans(source)
    if suffix == ".json":
        return read_questions(source, answered=False).paragraphs
    if suffix in (".csv", ".tsv", ".tab"):
        _, header = next(rows(source, quoted=False), (1, []))
        names = {name.strip().strip('"').lower() for name in header}
        return _sentence_pairs(source) if names.intersection(_PAIR[:2]) else _judged_paths(source)
    raise InputError(f"'{source}' is in no format that can be evaluated on. {_FORMATS}")


def is_beir(folder: Path) -> bool:
    return (folder / CORPUS).is_file() and (folder / QUERIES).is_file()


def read_beir(folder: Path, split: str = "test") -> Retrieval:
    """
    Raises:
        InputError: something is malformed (with file and line), there is no such split, or no query of it is
            judged.
    """
    judgements = _judgements(folder, split)
    queries: dict[str, Query] = {}
    for line, id_, record in _named(folder / QUERIES, "query"):
        text = text_in(folder / QUERIES, line, record, "text", default="")
        if not text.strip() and id_ in judgements:
            raise malformed(folder / QUERIES, line, f"the query '{id_}' is judged, and its text is empty.")
        queries[id_] = Query(id_, text)
    if strange := [id_ for id_ in judgements if id_ not in queries]:
        raise InputError(
            f"{folder / QRELS / split}.tsv judges {len(strange)} queries that are not in {QUERIES}: "
            f"{', '.join(strange[:5])}. Do the two files belong together?"
        )
    if not queries:
        raise InputError(f"{folder / QUERIES} holds no query.")
    return Retrieval(
        name=folder.resolve().name,
        source=folder,
        split=split,
        queries=tuple(query for query in queries.values() if query.id in judgements),
        judgements=judgements,
        entries=_entries(folder / CORPUS),
        folder=folder,
        unjudged=tuple(id_ for id_ in queries if id_ not in judgements),
    )


def _judgements(folder: Path, split: str) -> dict[str, dict[str, int]]:
    path = folder / QRELS / f"{split}.tsv"
    if not path.is_file():
        splits = sorted(path.stem for path in (folder / QRELS).glob("*.tsv"))
        known = f"there are: {', '.join(splits)}. Choose one with --split" if splits else "there are none"
        raise InputError(f"'{folder}' has no judgements '{QRELS}/{split}.tsv'; {known}.")
    judgements: dict[str, dict[str, int]] = {}
    for count, (line, row) in enumerate(rows(path, quoted=False)):
        if len(row) != 3:
            raise malformed(
                path, line, f"{len(row)} fields; query, document and grade are needed, tab between."
            )
        query, document, grade = row
        if count:
            add_grade(judgements, path, line, query, document, grade_in(path, line, grade))
        elif grade.strip().lstrip("-").isdecimal():
            raise malformed(path, line, "the first line must be a header: query-id, corpus-id, score.")
    if not judgements:
        raise InputError(f"{path} holds no judgement, so no query can be judged.")
    return judgements


def _entries(path: Path) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for line, id_, record in _named(path, "document"):
        title = text_in(path, line, record, "title", default="")
        if not isinstance(record.get("text"), str):
            raise malformed(path, line, '"text" must be there and hold a text, which may be empty.')
        entries[id_] = Entry(title, record["text"])
    if not any(entry.whole for entry in entries.values()):
        raise InputError(f"{path} holds no document with text.")
    return entries


def _named(path: Path, what: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The records of a JSONL file with line and name, "_id"; none twice."""
    seen = set()
    for line, record in objects(path):
        id_ = name_in(path, line, record, "_id")
        if id_ in seen:
            raise malformed(path, line, f"the {what} '{id_}' is there a second time.")
        seen.add(id_)
        yield line, id_, record


def _judged_paths(path: Path) -> Retrieval:
    """Queries are numbered from 1, in the order in which they first come.

    Paths are written as for `seewhy why-not`: from the indexed folder, from the current one, or whole; "table.csv#12"
    is a record.
    """
    ids: dict[str, str] = {}
    judgements: dict[str, dict[str, int]] = {}
    first: dict[str, int] = {}
    for line, row in table(path, ("query", "path"), ("relevance",)):
        query, document = (text_in(path, line, row, name).strip() for name in ("query", "path"))
        grade = grade_in(path, line, row["relevance"]) if "relevance" in row else 1
        add_grade(judgements, path, line, ids.setdefault(query, str(len(ids) + 1)), document, grade)
        first.setdefault(document, line)
    if not judgements:
        raise InputError(
            f"{path} holds no judgement. Write a line for each query and a document that answers it."
        )
    queries = tuple(Query(id_, text) for text, id_ in ids.items())
    return Retrieval(path.stem, path, "", queries, judgements, lines=first)


def _sentence_pairs(path: Path) -> SentencePairs:
    """A TSV file is read without quoting, as the STS benchmark is written: its sentences have single double quotes."""
    pairs = []
    for line, row in table(path, _PAIR, quoted=path.suffix.lower() == ".csv"):
        first, second = (text_in(path, line, row, name) for name in _PAIR[:2])
        pairs.append(Pair(first, second, number_in(path, line, row, "score")))
    if len(pairs) < _FEWEST or len({pair.score for pair in pairs}) < 2:
        raise InputError(f"{path} holds {len(pairs)} pairs, too few or too much alike for a correlation.")
    return SentencePairs(path.stem, path, tuple(pairs))


def _spans(folder: Path) -> Spans:
    path = folder / _QUESTIONS
    texts: dict[str, str] = {}
    queries: list[Query] = []
    gold: dict[str, tuple[Span, ...]] = {}
    for line, id_, record in _named(path, "question"):
        document = f"{name_in(path, line, record, 'corpus_id')}.md"
        if document not in texts:
            place = folder / _CORPORA / document
            if not place.is_file():
                raise malformed(path, line, f"there is no file '{_CORPORA}/{document}'.")
            texts[document] = "".join(part for _, part in lines(place))
        references = record.get("references")
        if not isinstance(references, list) or not references:
            raise malformed(path, line, '"references" must be there and list at least one span.')
        queries.append(Query(id_, text_in(path, line, record, "text")))
        gold[id_] = tuple(_span(path, line, document, texts[document], each) for each in references)
    if not queries:
        raise InputError(f"{path} holds no question.")
    return Spans(folder.resolve().name, folder, folder / _CORPORA, tuple(queries), gold)


def _span(path: Path, line: int, document: str, text: str, reference: Any) -> Span:
    keys = ("content", "start_index", "end_index")
    content, start, end = (reference.get(key) if isinstance(reference, dict) else None for key in keys)
    if not (isinstance(content, str) and isinstance(start, int) and isinstance(end, int)):
        raise malformed(path, line, f"a span needs {', '.join(keys)}.")
    if not 0 <= start < end <= len(text) or text[start:end] != content:
        raise malformed(
            path, line, f"characters {start} to {end} of '{document}' are not the text of the span."
        )
    return Span(document, start, end)


def read_questions(path: Path, *, answered: bool = True) -> Answering:
    """Questions, each with its paragraph and its answers; a paragraph that is there twice is one.

    A question has no answer where its list of answers is empty, as in SQuAD 2.0.

    Args:
        answered: False leaves the answers unread.

    Raises:
        InputError: it is no such file, or an answer is without a text. The message says where.
    """
    names: dict[Entry, str] = {}
    questions: dict[str, AnsweredQuestion] = {}
    for place, title, paragraph in _paragraphs(path):
        context = _text(path, place, paragraph, "context")
        name = names.setdefault(Entry(title.replace("_", " "), context), str(len(names) + 1))
        for number, question in enumerate(_list(path, place, paragraph, "qas")):
            where = f"{place}.qas[{number}]"
            id_ = _text(path, where, question, "id")
            if id_ in questions:
                raise _no_squad(path, where, f"the question '{id_}' is there a second time")
            given = _list(path, where, question, "answers") if answered else []
            answers = tuple(_text(path, f"{where}.answers[{i}]", one, "text") for i, one in enumerate(given))
            starts = tuple(_start(one) for one in given)
            text = _text(path, where, question, "question")
            questions[id_] = AnsweredQuestion(id_, text, name, answers, starts)
    if not questions:
        raise InputError(f"{path} holds no question.")
    paragraphs = Retrieval(
        name=path.stem,
        source=path,
        split="",
        queries=tuple(Query(one.id, one.text) for one in questions.values()),
        judgements={one.id: {one.paragraph: 1} for one in questions.values()},
        entries={name: entry for entry, name in names.items()},
    )
    return Answering(path.stem, path, tuple(questions.values()), paragraphs)


def _paragraphs(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(place in the file, title of the article, paragraph)."""
    text = "".join(line for _, line in lines(path))
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise malformed(
            path, getattr(error, "lineno", 1), f"this is no JSON, and a SQuAD file is: {error}."
        ) from None
    for i, article in enumerate(_list(path, "the file", whole, "data")):
        place = f"data[{i}]"
        for j, paragraph in enumerate(_list(path, place, article, "paragraphs")):
            title = article.get("title", "")
            yield f"{place}.paragraphs[{j}]", title if isinstance(title, str) else "", paragraph


def _list(path: Path, place: str, record: Any, key: str) -> list[Any]:
    value = record.get(key) if isinstance(record, dict) else None
    if not isinstance(value, list):
        raise _no_squad(path, place, f'"{key}" must be there and be a list')
    return value


def _text(path: Path, place: str, record: Any, key: str) -> str:
    value = record.get(key) if isinstance(record, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise _no_squad(path, place, f'"{key}" must be there and hold a text')
    return value


def _start(answer: dict[str, Any]) -> int:
    """Where an answer begins; -1 where that is not said."""
    start = answer.get("answer_start")
    return start if type(start) is int else -1


def _no_squad(path: Path, place: str, what: str) -> InputError:
    return InputError(f"{path}: {place}: {what}. The format is that of SQuAD.")


def read_examples(
    path: Path, *, text_column: str | None = None, label_column: str = "label"
) -> list[Example]:
    """The rows of a file as labelled examples, in their order. Nothing is skipped but blank lines.

    Args:
        text_column: None takes "text"; where there is none, "passage" (ids) or "path".
        label_column: columns are found in any case of letters.

    Raises:
        InputError: the file cannot be read, a column is missing, or a row has another number of fields, no label, no
            text, or a passage that is no number. Messages name the line.
    """
    line, names, found = named_rows(path)
    needed = "'text' (or 'passage' or 'path')" if text_column is None else f"'{text_column}'"
    wanted = (text_column,) if text_column else _EXAMPLES
    what = _column(path, line, names, wanted, f"{needed} for the text", "--text-column")
    label = _column(path, line, names, (label_column,), f"'{label_column}' for the label", "--label-column")
    if what == label:
        raise InputError(f"'{what}' cannot be both the text and the label. Name two columns.")
    examples = []
    for line, cells in found:
        cell, label_of = (text_in(path, line, cells, name) for name in (what, label))
        kind = "text" if text_column else what
        given: dict[str, Any] = {kind: cell if kind == "text" else cell.strip()}
        if kind == "passage":
            try:
                given = {kind: int(cell.strip().removeprefix("p"))}
            except ValueError:
                why = f"'{cell}' is no id of a passage; use a number as hits have it."
                raise malformed(path, line, why) from None
        examples.append(Example(label_of.strip(), line=line, **given))
    if not examples:
        raise malformed(path, line, "there are no rows below the first line.")
    return examples


def read_texts(path: Path) -> list[str]:
    """The texts of a table or of JSON Lines, by the column "text".

    Raises:
        InputError: the file cannot be read, has no such column, or a row has no text.
    """
    line, names, found = named_rows(path)
    if "text" not in names:
        raise malformed(path, line, "no column 'text'. Rename the one that holds the texts.")
    return [text_in(path, number, cells, "text") for number, cells in found]


def _column(path: Path, line: int, names: list[str], wanted: Sequence[str], needed: str, option: str) -> str:
    """The first of the wanted columns that is there."""
    for name in wanted:
        if (column := name.strip().casefold()) in names:
            return column
    there = ", ".join(f"'{name}'" for name in names if name) or "none"
    raise malformed(path, line, f"no column {needed}; there is {there}. Name the column with {option}.")
