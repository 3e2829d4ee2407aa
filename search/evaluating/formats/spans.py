"""Questions with gold spans of long documents, in the layout of Chroma's chunking evaluation.

corpora/NAME.md   the documents
questions.jsonl   {"_id", "corpus_id", "text", "references": [{"content", "start_index", "end_index"}, ...]} a line
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from search.errors import InputError
from search.evaluating.dataset import Query, Span, Spans
from search.evaluating.formats.strict import lines, malformed, name_in, objects, text_in

CORPORA, QUESTIONS = "corpora", "questions.jsonl"


def is_spans(folder: Path) -> bool:
    return (folder / CORPORA).is_dir() and (folder / QUESTIONS).is_file()


def read_spans(folder: Path) -> Spans:
    """
    Raises:
        InputError: something is malformed, with file and line: a span is not the text that it should be, say.
    """
    path = folder / QUESTIONS
    texts: dict[str, str] = {}
    queries: dict[str, Query] = {}
    gold: dict[str, tuple[Span, ...]] = {}
    for line, record in objects(path):
        id_ = name_in(path, line, record, "_id")
        if id_ in queries:
            raise malformed(path, line, f"the question '{id_}' is there a second time.")
        document = f"{name_in(path, line, record, 'corpus_id')}.md"
        if document not in texts:
            place = folder / CORPORA / document
            if not place.is_file():
                raise malformed(path, line, f"there is no file '{CORPORA}/{document}'.")
            texts[document] = "".join(part for _, part in lines(place))
        references = record.get("references")
        if not isinstance(references, list) or not references:
            raise malformed(path, line, '"references" must be there and list at least one span.')
        queries[id_] = Query(id_, text_in(path, line, record, "text"))
        gold[id_] = tuple(_span(path, line, document, texts[document], one) for one in references)
    if not queries:
        raise InputError(f"{path} holds no question.")
    return Spans(folder.resolve().name, folder, folder / CORPORA, tuple(queries.values()), gold)


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
