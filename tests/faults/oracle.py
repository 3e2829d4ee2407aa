"""Content and answers that an index must have, worked out without `search.store`.

The content of an index is compared row by row with what `search.corpus` makes of the files, embeddings and
scores with what the double says. Nothing here trusts the index but to be an SQLite database.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import faiss
import numpy as np

from search import Index, SearchError
from search.corpus import Contents, Cutter, SourceFile, documents
from search.encoding.encoder import with_context
from search.indexing.check import check
from search.indexing.update import update
from search.records.documents import ParsedDocument, Passage
from search.records.options import WEIGHT, Mode
from search.records.reports import Report
from search.records.visible_text import visible
from search.searcher import Searcher
from search.store import opening
from search.store.database import one_meta
from search.store.pending import pending_passages
from search.store.settings import PassageSettings, Source
from tests.bm25 import brute_force
from tests.faults.double import MAX_TOKENS, D, WordEncoder

faiss.omp_set_num_threads(
    1
)  # threads that wait for each other make small searches slow on a busy machine
SETTINGS = PassageSettings(passage_tokens=24, context_tokens=16)
ENCODER = WordEncoder()
CUTTER = Cutter(ENCODER.tokenizer, max_tokens=MAX_TOKENS, passage_tokens=24, context_tokens=16)
QUERIES = (
    "the time of the river",
    "silver key copper lock",
    "garden in winter",
    "village market evening",
)

Row = tuple[
    Any, ...
]  # title, metadata, start, end, line_start, line_end, heading, context, text, n_tokens, hidden
Documents = dict[int, tuple[Row, ...]]  # record -> the rows of its passages, in order


_FEW = {
    "store.codes._FIRST_FACTOR": 1,
    "store.codes._MIN_CANDIDATES": 1,
    "ranking.fusion._EXTRA": 2,
    "store.segments.LONGEST_TAIL": 12,
    "store.segments.LARGEST": 16,
    "store.segments._MAX_DELETED": 2,
}


@contextmanager
def few_are_many() -> Iterator[None]:
    """Let an index of few passages have several segments, deleted passages in them and a tail, and be searched by them.

    Where every test of this folder, every child and the benchmark begins.
    """
    with ExitStack() as stack:
        for name, value in _FEW.items():
            stack.enter_context(mock.patch(f"search.{name}", value))
        yield


def run(folder: Path, index: Path, *, batch: int = 8, **options: Any) -> Report:
    """One run of indexing with the double, in batches of few passages, so that a run of a small folder has several."""
    arguments: dict[str, Any] = {"settings": SETTINGS, "source": Source()} | options
    with mock.patch("search.indexing.read.PASSAGES_IN_A_BATCH", batch):
        return update(folder, index, ENCODER, **arguments)


def repaired_without_faiss_files(index: Path) -> None:
    """Delete the FAISS files and let a repair make others; queries meanwhile are exact without them."""
    for file in (index / "ann").glob("*.faiss"):
        file.unlink()
    assert check(index, repair=True).ok


def opened(index: Path) -> Index:
    """An index for reading with the double; raises what `Index.open` raises."""
    return Index(Searcher(opening.opened(index), ENCODER, offline=True, engine="auto"))


@lru_cache(maxsize=20_000)
def expected(path: str, raw: bytes) -> Documents:
    """Documents that a file of this name and content must give; none if it cannot be read."""
    file = SourceFile(path, Path(path), len(raw), 0, 0)
    records: Documents = {}
    try:
        for item in documents(file, Contents(raw, "")):
            if isinstance(item, ParsedDocument):
                metadata = json.dumps(item.metadata, sort_keys=True)
                records[item.record] = tuple((item.title, metadata, *_facts(p)) for p in CUTTER.cut(item))
    except SearchError:
        return {}
    return {record: rows for record, rows in records.items() if rows}


def _facts(p: Passage) -> Row:
    hidden = json.dumps(p.hidden, separators=(",", ":"))
    return p.start, p.end, p.line_start, p.line_end, p.heading, p.context, p.text, p.n_tokens, hidden


def stored_documents(index: Path) -> dict[str, Documents]:
    """Documents that an index holds of each file; files that gave nothing are left out."""
    with closing(_connected(index)) as connection:
        rows = connection.execute(
            """SELECT files.path, record, title, metadata, start, "end", line_start, line_end,
                      heading, context, text, n_tokens, hidden
               FROM passages JOIN documents ON documents.id = document JOIN files ON files.id = file
               ORDER BY files.path, record, start, passages.id"""
        ).fetchall()
    files: dict[str, dict[int, list[Row]]] = {}
    for path, record, title, metadata, *rest in rows:
        facts = (title, json.dumps(json.loads(metadata), sort_keys=True), *rest)
        files.setdefault(os.fsdecode(path), {}).setdefault(record, []).append(facts)
    return {path: {n: tuple(r) for n, r in records.items()} for path, records in files.items()}


def different(index: Path, files: Mapping[str, bytes]) -> list[str]:
    """Differences of an index from these files; empty when there are none."""
    have = stored_documents(index)
    want = {path: documents for path, raw in files.items() if (documents := expected(path, raw))}
    problems = [f"'{path}' is missing from the index" for path in want.keys() - have.keys()]
    problems += [f"'{path}' is in the index and should not be" for path in have.keys() - want.keys()]
    problems += [
        f"'{path}' has other passages than its file"
        for path in want
        if have.get(path, want[path]) != want[path]
    ]
    return sorted(problems)


def on_disk(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def problems(index: Path, *, harmed: Collection[str] = ()) -> list[str]:
    """Problems of an index; empty when there are none.

    Args:
        harmed: from outside: ".faiss", ".words". What is known to be is not told, and answers by words are not asked
            for where words are.
    """
    try:
        reader = opened(index)
        for query in QUERIES:
            for k in (3, 1000):
                if wrong := wrong_answer(reader, index, query, k, mode_of(harmed)):
                    return [wrong]
    except Exception as error:
        return [f"a query fails: {type(error).__name__}: {error}"]
    notes = [f"a query has a note: {note}" for note in reader.notes if not harmed]
    return notes + _damage(index) + _checked(reader, harmed)


def mode_of(harmed: Collection[str]) -> Mode:
    """The mode in which to query an index of which files of these kinds are damaged."""
    return "dense" if ".words" in harmed else "hybrid"


def wrong_in_between(index: Path) -> list[str]:
    """Problems of an index of which passages may be pending: its answers, and what the check finds."""
    reader = opened(index)
    wrong = [wrong_answer(reader, index, query, 1000, pending=0) for query in QUERIES]
    findings = [finding.message for finding in check(index).findings if finding.severity == "damaged"]
    return [problem for problem in (*wrong, *findings) if problem]


def wrong_answer(
    reader: Index, index: Path, query: str, k: int, mode: Mode = "hybrid", pending: int = 100
) -> str:
    """The difference of an answer from brute force over what is encoded; "" if there is none.

    Args:
        pending: pending passages that may be encoded for the query; if not 0, all must be encoded then.
    """
    vector = ENCODER.encode([query])[0]
    hits = reader.query(query, k, mode=mode, all_copies=True, per_document=0, pending=pending)
    with closing(_connected(index)) as connection:
        rows = connection.execute("SELECT id, context, text, hidden FROM passages").fetchall()
        left_out = set(pending_passages(connection).tolist()) if pending == 0 else set()
        is_complete = not left_out and not one_meta(connection, "unread", 0)
    if pending == 0 and (hits.coverage is None) != is_complete:
        return f"'{query}' says {hits.coverage} of {len(left_out)} pending passages"
    texts = {
        id_: with_context(context, visible(text, json.loads(hidden)))
        for id_, context, text, hidden in rows
    }
    cosines = ENCODER.encode(list(texts.values())) @ vector
    words, weight = _word_parts(texts, query), WEIGHT if mode == "hybrid" else 1.0
    scores = {
        id_: weight * float(cosine) + (1 - weight) * words.get(id_, 0.0)
        for id_, cosine in zip(texts, cosines, strict=True)
        if id_ not in left_out
    }
    best = sorted(scores.values(), reverse=True)[:k]
    if len(hits) != len(best):
        return f"'{query}' found {len(hits)} passages and should find {len(best)}"
    for hit, score in zip(hits, best, strict=True):
        true = scores.get(hit.passage_id)
        if true is None:
            return f"'{query}' found passage {hit.passage_id}, which is not in the index"
        if abs(hit.score - true) > 1e-5 or abs(hit.score - score) > 1e-5:
            return f"'{query}' gives passage {hit.passage_id} {hit.score:.6f}; it has {true:.6f}, rank {score:.6f}"
    return ""


def _word_parts(texts: Mapping[int, str], query: str) -> dict[int, float]:
    """The keyword scores of passages, worked out from texts alone."""
    words = brute_force(tuple(texts.items()))
    terms = words.discriminative(query.split())
    scale = words.scale(terms)
    return {id_: score / scale for id_, score in words.scores(terms).items()}


def inconsistent(hits: Iterable[Any], query: str) -> str:
    """The problem of hits by themselves: scores that are not those of their texts; "" if there is none."""
    hits = list(hits)
    vector = ENCODER.encode([query])[0]
    vectors = ENCODER.encode([with_context(hit.context, visible(hit.text, hit.hidden)) for hit in hits])
    for rank, (hit, cosine) in enumerate(zip(hits, vectors @ vector, strict=True), start=1):
        if hit.rank != rank or abs(hit.cosine - float(cosine)) > 1e-5:
            return (
                f"hit {rank} of '{query}' has cosine {hit.cosine:.6f}, its text has {float(cosine):.6f}"
            )
        if abs(hit.score - WEIGHT * hit.cosine - (1 - WEIGHT) * hit.lexical) > 1e-9:
            return f"hit {rank} of '{query}' has score {hit.score:.6f}, which is not the sum of its parts"
    if [hit.score for hit in hits] != sorted((hit.score for hit in hits), reverse=True):
        return f"the hits of '{query}' are not in the order of their scores"
    return ""


def leftovers(index: Path) -> list[str]:
    """Files of an index that should not be there after a run that came to its end."""
    with closing(_connected(index)) as connection:
        rows = connection.execute("SELECT file, codes_crc >= 0 FROM segments").fetchall()
    segment_files = {f"ann/{file}.words" for file, _ in rows}
    segment_files |= {f"ann/{file}.faiss" for file, has_codes in rows if has_codes}
    allowed = segment_files | {"index.db", "writer.lock"}
    present = {path.relative_to(index).as_posix() for path in index.rglob("*") if path.is_file()}
    return sorted(f"'{name}' is left behind" for name in present - allowed) + sorted(
        f"'{name}' is missing" for name in segment_files - present
    )


def _damage(index: Path) -> list[str]:
    """SQLite's own checks, and every embedding against the double."""
    with closing(_connected(index)) as connection:
        problems = [row[0] for row in connection.execute("PRAGMA quick_check") if row[0] != "ok"]
        problems += [f"foreign key: {row}" for row in connection.execute("PRAGMA foreign_key_check")]
        pending = set(pending_passages(connection).tolist())
        bare = {
            id_
            for (id_,) in connection.execute(
                "SELECT id FROM passages WHERE id NOT IN (SELECT passage FROM embeddings)"
            )
        }
        rows = connection.execute(
            "SELECT id, context, text, hidden, vector FROM passages JOIN embeddings ON passage = id"
        ).fetchall()
    vectors = ENCODER.encode(
        [with_context(context, visible(text, json.loads(hidden))) for _, context, text, hidden, _ in rows]
    )
    for (id_, *_, blob), vector in zip(rows, vectors, strict=True):
        if len(blob) != 4 * D or not np.array_equal(np.frombuffer(blob, "<f4"), vector):
            problems.append(f"passage {id_} has the embedding of something else")
    return problems + (
        [f"passages {bare} lack embeddings, {pending} are pending"] if bare != pending else []
    )


def _checked(reader: Index, harmed: Collection[str]) -> list[str]:
    """Damage that `check` finds; files that changed since are no damage, nor is what was harmed."""
    report = reader.check()
    damage = [finding for finding in report.findings if finding.severity == "damaged"]
    harmed_checks = {{".faiss": "vectors", ".words": "postings"}[kind] for kind in harmed}
    return [f"check: {finding}" for finding in damage if finding.check not in harmed_checks]


def _connected(index: Path) -> sqlite3.Connection:
    """A connection to read only; what a killed writer left was rolled back by whoever opened the index before."""
    return sqlite3.connect(f"{(index / 'index.db').resolve().as_uri()}?mode=ro", uri=True, timeout=60)
