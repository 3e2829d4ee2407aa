"""SQuAD's JSON (Rajpurkar et al. 2016), version 1.1 or 2.0.

As retrieval: for each question the paragraph it was asked about. The documents are the paragraphs, each under the title
of its article; a paragraph that is there twice is one. As question answering: with the answers that count as right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from search.errors import InputError
from search.evaluating.dataset import AnsweredQuestion, Answering, Entry, Query, Retrieval
from search.evaluating.formats.strict import lines


def read_squad(path: Path) -> Retrieval:
    """
    Raises:
        InputError: it is no such file; the message says where in it.
    """
    entries: dict[str, Entry] = {}
    names: dict[Entry, str] = {}
    queries: dict[str, Query] = {}
    judgements: dict[str, dict[str, int]] = {}
    for place, title, paragraph in _paragraphs(path):
        entry = Entry(title.replace("_", " "), _text(path, place, paragraph, "context"))
        name = names.setdefault(entry, str(len(names) + 1))
        entries[name] = entry
        for number, question in enumerate(_list(path, place, paragraph, "qas")):
            where = f"{place}.qas[{number}]"
            id_ = _text(path, where, question, "id")
            if id_ in queries:
                raise _malformed(path, where, f"the question '{id_}' is there a second time")
            queries[id_] = Query(id_, _text(path, where, question, "question"))
            judgements[id_] = {name: 1}
    if not queries:
        raise InputError(f"{path} holds no question.")
    return Retrieval(
        name=path.stem,
        source=path,
        split="",
        queries=tuple(queries.values()),
        judgements=judgements,
        entries=entries,
    )


def read_questions(path: Path) -> Answering:
    """The same file with its answers.

    A question has none where it is marked `is_impossible`, as in SQuAD 2.0, or where its list of answers is empty.

    Raises:
        InputError: as for `read_squad`; an answer without a text, or answers to a question that is marked.
    """
    paragraphs = read_squad(path)
    found, misplaced = [], 0
    for place, _, paragraph in _paragraphs(path):
        for number, question in enumerate(_list(path, place, paragraph, "qas")):
            where = f"{place}.qas[{number}]"
            given = _list(path, where, question, "answers")
            texts = [_text(path, f"{where}.answers[{i}]", one, "text") for i, one in enumerate(given)]
            if texts and question.get("is_impossible") is True:
                raise _malformed(path, where, "the question is marked is_impossible, and has answers")
            for one, text in zip(given, texts, strict=True):
                at = one.get("answer_start")
                if not isinstance(at, int) or isinstance(at, bool) or at < 0:
                    raise _malformed(path, where, '"answer_start" must be there and be an offset')
                misplaced += paragraph["context"][at : at + len(text)] != text
            name = next(iter(paragraphs.judgements[question["id"]]))
            found.append(AnsweredQuestion(question["id"], question["question"], name, tuple(texts)))
    return Answering(path.stem, path, tuple(found), paragraphs, misplaced)


def _paragraphs(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(place in the file, title of the article, paragraph)."""
    whole = "".join(line for _, line in lines(path))
    try:
        found = json.loads(whole)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{error.lineno}: this is no JSON, and a SQuAD file is: {error.msg} at column {error.colno}."
        ) from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: this is no JSON that can be read, and a SQuAD file is JSON.") from None
    for i, article in enumerate(_list(path, "the file", found, "data")):
        place = f"data[{i}]"
        for j, paragraph in enumerate(_list(path, place, article, "paragraphs")):
            title = article.get("title", "")
            yield f"{place}.paragraphs[{j}]", title if isinstance(title, str) else "", paragraph


def _list(path: Path, place: str, record: Any, key: str) -> list[Any]:
    value = record.get(key) if isinstance(record, dict) else None
    if not isinstance(value, list):
        raise _malformed(path, place, f'"{key}" must be there and be a list')
    return value


def _text(path: Path, place: str, record: Any, key: str) -> str:
    value = record.get(key) if isinstance(record, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise _malformed(path, place, f'"{key}" must be there and hold a text')
    return value


def _malformed(path: Path, place: str, what: str) -> InputError:
    return InputError(f"{path}: {place}: {what}. The format is that of SQuAD.")
