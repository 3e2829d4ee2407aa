"""Check an index within a read transaction, and repair it.

index.db contains all data. SQLite checks its structure; here, its values are compared with each other and with the
hashes that are stored beside them: `files.sha256` of documents from memory, and `passages.content`.
FAISS files and postings are derived from it: their checksums are compared, and `repair` rebuilds them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from search.errors import (
    AccessDenied,
    IndexDamaged,
    IndexLocked,
    IndexOutdated,
    ModelError,
    SearchError,
    StorageFull,
)
from search.records.memory_document import DamagedDocument
from search.records.visible_text import visible
from search.store.contents import stored_contents
from search.store.database import (
    SCHEMA_VERSION,
    Connection,
    all_meta,
    connect_to_read,
    has_table,
    has_tables,
    meta_of,
    one_meta,
    reading,
    require_format,
)
from search.store.file_states import stored_files
from search.store.files import (
    DATABASE,
    VECTORS,
    delete_leftovers,
    is_being_written,
    leftovers,
    writer_lock,
)
from search.store.null_distribution import read_baseline
from search.store.passages import content_key, hidden_of, metadata_of, name_of
from search.store.pending import count_pending
from search.store.segments import (
    blocks_of_tail,
    read_segments,
    rebuild_segments,
    segment_files,
    tail_is_intact,
    tombstones,
)
from search.store.settings import IndexMeta, PassageSettings, fingerprint_of, readable
from search.store.vectors import is_embedding
from search.store.writer import writing

Check = Callable[[Connection, Path], Iterator[str]]

# Tables and columns with JSON that other columns do not verify.
_JSON = {
    "annotators": ("made_with", "fields"),
    "annotations": ('"values"', "spans"),
}
_MAX_PROBLEMS = 20  # of one kind that are listed
# Errors that say nothing about the files of the index.
_NO_DAMAGE = (AccessDenied, IndexLocked, ModelError, StorageFull)


def run_check(index: Path, check: Check) -> tuple[list[str], str]:
    """Return the problems that a check finds, and the reason why the database cannot be read; "" if it can be read.

    The check sees a single state of the index, also beside a writer.

    Raises:
        AccessDenied, IndexLocked, IndexNotFound, ModelError, StorageFull: problems other than damage to the index.
    """
    database = index / DATABASE
    try:
        with reading(database) as connection:
            return list(check(connection, index)), ""
    except (SearchError, sqlite3.Error, ValueError, TypeError, KeyError) as error:
        if isinstance(error, _NO_DAMAGE) or not database.is_file():
            raise
        return [], _without_advice(error)


def repair(index: Path, *, derived: bool) -> None:
    """Delete orphaned files; with `derived`, rebuild all segments from index.db.

    Raises:
        IndexLocked: another process is writing to the index.
    """
    with writer_lock(index), writing(index / DATABASE) as writer:
        if derived:
            rebuild_segments(writer, index, _dimension(writer.connection))
        delete_leftovers(index, segment_files(writer.connection))


def other_format(connection: Connection, index: Path) -> Iterator[str]:
    """Yield the format of an index that this version does not read; the index is intact."""
    if has_tables(connection):
        meta = all_meta(connection)
        try:
            require_format(meta, index / DATABASE)
        except IndexOutdated:
            version = meta["schema_version"]
            yield f"format {version}, and this version of seewhy reads format {SCHEMA_VERSION}"


def is_empty(index: Path) -> bool:
    """Return True if the first run was interrupted before it stored anything, which is no damage."""
    # With files of segments, index.db was not empty before. A killed first writer leaves its note.
    has_segments = any(path.parent.name == VECTORS for path in leftovers(index, ()))
    if not (index / DATABASE).is_file() or has_segments:
        return False
    with suppress(SearchError), closing(connect_to_read(index / DATABASE)) as connection:
        if not has_tables(connection):
            return True
        has_files = connection.execute("SELECT 1 FROM files LIMIT 1").fetchone() is not None
        return "fingerprint" not in all_meta(connection) and not has_files
    return False


def database(connection: Connection, index: Path) -> Iterator[str]:
    """Yield the problems that SQLite reports, and tables whose numbers of rows contradict each other."""
    for (message,) in connection.execute(f"PRAGMA integrity_check({_MAX_PROBLEMS})"):
        if message != "ok":
            yield message
    meta = meta_of(connection, index / DATABASE)
    PassageSettings.from_json(IndexMeta.of(meta).fingerprint.passages)
    for table, rows in (
        ("passages", meta["passages"]),
        ("embeddings", meta["passages"] - count_pending(connection)),
    ):
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        if count != rows:
            yield f"table {table} has {count:,} rows instead of {rows:,}"
    if has_table(connection, "pending"):
        both = "SELECT count(*) FROM pending JOIN embeddings USING (passage)"
        if count := connection.execute(both).fetchone()[0]:
            yield f"{count:,} passages of table pending are encoded"
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check").fetchmany(_MAX_PROBLEMS):
        yield f"row {row} of table {table} belongs to no row of table {parent}"


def values(connection: Connection, index: Path) -> Iterator[str]:
    """Yield the values that cannot be read, or that differ from their hashes."""
    dimension = _dimension(connection)
    for path, record, metadata in connection.execute(
        "SELECT path, record, metadata FROM documents JOIN files ON files.id = file"
    ):
        yield from _problem(f"the metadata of '{name_of(path, record)}'", partial(metadata_of, metadata))
    rows = connection.execute(
        """SELECT passages.id, path, record, context, text, hidden, start, "end", line_start, line_end, content, vector
           FROM passages JOIN documents ON documents.id = document JOIN files ON files.id = file
           LEFT JOIN embeddings ON passage = passages.id"""
    )
    for id_, path, record, *values_of_row in rows:
        if problem := _of_passage(*values_of_row, dimension=dimension):
            yield f"{problem} of passage {id_} of '{name_of(path, record)}'"
    for table, columns in _JSON.items():
        for column in columns:
            count = f"SELECT count(*) FROM {table} WHERE NOT json_valid({column})"
            if broken := connection.execute(count).fetchone()[0]:
                yield f"{broken} values of {table}.{column} are no JSON"
    yield from _problem("the sample of random pairs", partial(read_baseline, connection))
    if not one_meta(connection, "root"):
        for item in stored_contents(index / DATABASE):
            if isinstance(item, DamagedDocument):
                yield f"document {item}"


def _of_passage(
    context: str,
    text: str,
    hidden: str,
    start: int,
    end: int,
    first_line: int,
    last_line: int,
    content: bytes,
    vector: bytes | None,
    *,
    dimension: int,
) -> str:
    """Return the name of a wrong value of a passage, such as "the text"; "" if all values are right."""
    try:
        spans = hidden_of(hidden)
    except IndexDamaged:
        return "the markup"
    if end - start != len(text):
        return "the span"
    if not 1 <= first_line <= last_line:
        return "the lines"
    keys = {content_key(context, visible(text, spans), own) for own in (b"", vector or b"")}
    if content not in keys:
        return "the text"
    return "" if vector is None or is_embedding(vector, dimension) else "the embedding"


def _problem(subject: str, read: Callable[[], object]) -> Iterator[str]:
    """Yield a sentence if a value cannot be read."""
    try:
        with readable(subject):
            read()
    except IndexDamaged as error:
        yield _without_advice(error)


def _without_advice(error: Exception) -> str:
    """Return the message of an error without its advice to run this check."""
    return str(error).partition(f" {IndexDamaged.CHECK}")[0].removesuffix(".")


def postings(connection: Connection, index: Path) -> Iterator[str]:
    """Yield the postings that are damaged or incomplete."""
    blocks = blocks_of_tail(connection)
    if blocks and not tail_is_intact(connection, blocks):
        yield "the postings of the newest passages"
        return
    for segment in read_segments(connection):
        try:
            blocks.append(segment.open_postings(index))
        except IndexDamaged:
            yield segment.postings_path
            return
    if sum(map(len, blocks)) - len(tombstones(connection)) != one_meta(connection, "passages"):
        yield "the postings do not cover all passages"


def vectors(connection: Connection, index: Path) -> Iterator[str]:
    """Yield the FAISS files that are damaged or missing."""
    dimension = _dimension(connection)
    for segment in read_segments(connection):
        if not segment.has_codes:
            continue
        try:
            segment.open_codes(index, dimension)
        except IndexDamaged:
            yield segment.codes_path


def stray_files(connection: Connection, index: Path) -> Iterator[str]:
    """Yield the files that interrupted runs left behind, unless a run is in progress."""
    if not is_being_written(index):
        for path in leftovers(index, segment_files(connection)):
            yield path.relative_to(index).as_posix()


def interrupted_run(connection: Connection, index: Path) -> Iterator[str]:
    """Yield the files that the last run did not finish, unless a run is in progress."""
    if is_being_written(index):
        return
    for path, state in stored_files(connection).items():
        if state.status == "partial":
            yield path
    if not one_meta(connection, "complete", False):
        yield "the run did not reach its end"
    if not one_meta(connection, "lazy", False) and (count := count_pending(connection)):
        yield f"{count:,} passages are not encoded yet"


def _dimension(connection: Connection) -> int:
    return int(fingerprint_of(all_meta(connection)).dimension)
