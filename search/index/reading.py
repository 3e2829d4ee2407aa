"""Changed files -> documents and passages, a batch ahead of the model.

While one batch is encoded, another thread reads and cuts the next. It looks at the index through a connection
of its own and changes nothing; what it finds out about a file travels with the work.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from search.corpus import Cutter, Skipped, SourceFile, documents, load
from search.errors import ReadError
from search.index.database import connect_to_read
from search.index.plan import KEPT_WHEN_UNREADABLE
from search.index.settings import Source
from search.index.writer import Work, document_sha256

PASSAGES_IN_A_BATCH = 512


def batches_ahead(
    database: Path, changed: Sequence[tuple[SourceFile, str | None]], cutter: Cutter, source: Source
) -> Iterator[list[Work]]:
    """Batches of about PASSAGES_IN_A_BATCH passages, each made while the one before it is used.

    Args:
        changed: files, each with the sha256 of the content that is stored for it.
    """
    with closing(connect_to_read(database)) as connection, ThreadPoolExecutor(1, "seewhy-reader") as thread:
        batches = _batches(_works(connection, changed, cutter, source))
        following = thread.submit(next, batches, None)
        while (batch := following.result()) is not None:
            following = thread.submit(next, batches, None)
            yield batch


def _batches(works: Iterable[Work]) -> Iterator[list[Work]]:
    batch: list[Work] = []
    for work in works:
        batch.append(work)
        if sum(item.n_passages for item in batch) >= PASSAGES_IN_A_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _works(
    connection: sqlite3.Connection,
    changed: Sequence[tuple[SourceFile, str | None]],
    cutter: Cutter,
    source: Source,
) -> Iterator[Work]:
    """Each file, in pieces of about a batch; the last piece says what happened to the file."""
    for file, old_sha256 in changed:
        stored = _stored_documents(connection, file.path)
        work = Work(file, "")
        differs = False
        try:
            contents = load(file)
            if contents.sha256 == old_sha256:
                yield Work(file, contents.sha256, last=True, outcome="same bytes")
                continue
            work.sha256 = contents.sha256
            fields = {"text_field": source.text_field, "title_field": source.title_field}
            for item in documents(file, contents, **fields):
                if isinstance(item, Skipped):
                    work.skipped.append(item)
                    continue
                work.records.add(item.record)
                if stored.get(item.record) != document_sha256(item):
                    differs = True
                    work.documents.append((item, cutter.cut(item)))
                if work.n_passages >= PASSAGES_IN_A_BATCH:
                    yield work
                    work = Work(file, work.sha256, records=work.records, skipped=work.skipped)
        except ReadError as error:
            if error.reason in KEPT_WHEN_UNREADABLE:  # keep what there is, and look again next time
                work.records |= set(stored)
                work.file, differs = replace(file, size=-1), False
                work.outcome = "unchanged"
            work.skipped.append(Skipped(file.path, error.reason, error.detail))
        work.last = True
        if not work.outcome:
            if stored and not differs and work.records >= set(stored):
                work.outcome = "unchanged"
            else:
                work.outcome = "added" if old_sha256 is None and not stored else "changed"
        yield work


def _stored_documents(connection: sqlite3.Connection, path: str) -> dict[int, str]:
    """record -> sha256 of the documents that are stored for a file."""
    rows = connection.execute(
        "SELECT record, documents.sha256 FROM documents JOIN files ON files.id = file WHERE path = ?",
        (os.fsencode(path),),
    )
    return dict(rows.fetchall())
