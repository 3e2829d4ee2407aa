"""Folders as the BEIR benchmark lays them out (Thakur et al. 2021).

corpus.jsonl   {"_id", "title", "text"} a line      queries.jsonl   {"_id", "text"} a line
qrels/SPLIT.tsv   a header, then query, document and grade, separated by tabs
"""

from __future__ import annotations

from pathlib import Path

from search.errors import InputError
from search.evaluating.dataset import Entry, Query, Retrieval
from search.evaluating.formats.strict import add_grade, grade_in, malformed, name_in, objects, rows, text_in

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"


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
    for line, record in objects(folder / QUERIES):
        id_ = name_in(folder / QUERIES, line, record, "_id")
        if id_ in queries:
            raise malformed(folder / QUERIES, line, f"the query '{id_}' is there a second time.")
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
    header = True
    for line, row in rows(path, quoted=False):
        if len(row) != 3:
            raise malformed(
                path, line, f"{len(row)} fields; query, document and grade are needed, tab between."
            )
        if header:
            header = False
            if row[2].strip().lstrip("-").isdecimal():
                raise malformed(path, line, "the first line must be a header: query-id, corpus-id, score.")
            continue
        query, document, grade = row
        add_grade(judgements, path, line, query, document, grade_in(path, line, grade))
    if not judgements:
        raise InputError(f"{path} holds no judgement, so no query can be judged.")
    return judgements


def _entries(path: Path) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for line, record in objects(path):
        id_ = name_in(path, line, record, "_id")
        if id_ in entries:
            raise malformed(path, line, f"the document '{id_}' is there a second time.")
        title = text_in(path, line, record, "title", default="")
        if not isinstance(record.get("text"), str):
            raise malformed(path, line, '"text" must be there and hold a text, which may be empty.')
        entries[id_] = Entry(title, record["text"])
    if not any(entry.whole for entry in entries.values()):
        raise InputError(f"{path} holds no document with text.")
    return entries
