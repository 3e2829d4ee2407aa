"""What a repair deletes and marks in index.db, by what an examination (health.py) found."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from search.errors import IndexDamaged
from search.store.checksums import name_of
from search.store.database import count_anew, one_meta, put_meta
from search.store.health import Examination
from search.store.passages import command_of
from search.store.writer import Writer

_THOSE = "IN (SELECT value FROM json_each(?))"

# A document's passages have neighbouring ids. So where the number of its document may be what is damaged in a passage,
# that is the document of the one before or after, or one without passages.
_AROUND = """
    SELECT document FROM passages WHERE id IN (
        SELECT (SELECT max(id) FROM passages WHERE id < value) FROM json_each(:ids)
        UNION SELECT (SELECT min(id) FROM passages WHERE id > value) FROM json_each(:ids))
    UNION SELECT id FROM documents WHERE id NOT IN (SELECT document FROM passages)
"""


def restore_settings(writer: Writer) -> None:
    """Derive what can be derived of what describes an index."""
    with writer.transaction() as connection:
        there = {key for (key,) in connection.execute("SELECT key FROM meta").fetchall()}
        for key in tuple(there):
            try:
                one_meta(connection, key)
            except IndexDamaged:
                writer.delete("meta", "key = ?", key)
                there.remove(key)
        if "complete" not in there:
            put_meta(connection, {"complete": False})
        count_anew(connection)


def discard(writer: Writer, found: Examination, *, folder: bool) -> tuple[set[str], set[str]]:
    """Delete documents of which anything is damaged, and mark their files to be read again, in one transaction.

    Args:
        folder: it is there, so nothing is lost if more is read again than needs be.

    Returns:
        The names of those documents, and which of these a damaged row says.
    """
    rows = {table: _json(ids) for table, ids in found.rows.items()}
    passages = _json(found.rows["passages"] | found.rows["embeddings"])
    with writer.transaction() as connection:
        misnamed = _ids(connection, f"SELECT id FROM documents WHERE id {_THOSE}", rows.get("documents"))
        misnamed |= _ids(connection, f"SELECT id FROM documents WHERE file {_THOSE}", rows.get("files"))
        documents = misnamed | _ids(connection, f"SELECT document FROM passages WHERE id {_THOSE}", passages)
        if folder and found.rows["passages"]:
            documents |= {row[0] for row in connection.execute(_AROUND, {"ids": rows["passages"]})}
        names, wrong = names_of(connection, documents), names_of(connection, misnamed)
        connection.execute(
            f"""UPDATE files SET status = 'partial', mtime_ns = -1, sha256 = NULL
                WHERE ? OR id IN (SELECT file FROM documents WHERE id {_THOSE})""",
            (found.adrift, _json(documents)),
        )
        writer.delete("documents", f"id {_THOSE}", _json(documents))
        for table in ("files", "token_vectors", "annotators", "annotations"):
            writer.delete(table, f"rowid {_THOSE}", rows.get(table, "[]"))
        for table, row, *_ in connection.execute("PRAGMA foreign_key_check").fetchall():
            writer.delete(table, "rowid = ?", row)
        if found.counts["documents"] or found.counts["words"]:
            for table in ("segments", "words", "tombstones"):  # all anew, at the end or in the next run
                writer.delete(table, "1")
            count_anew(connection)
    return names, wrong


def commands_of(connection: sqlite3.Connection, found: Examination) -> list[str]:
    """What makes the damaged annotations again, as far as that can be read."""
    annotations = found.rows["annotations"] | found.rows["orphaned annotations"]
    rows = connection.execute(
        f"""SELECT made_with FROM annotators WHERE rowid {_THOSE}
            OR name IN (SELECT annotator FROM annotations WHERE rowid {_THOSE})""",
        (_json(found.rows["annotators"]), _json(annotations)),
    )
    commands = set()
    for (made_with,) in rows:
        try:
            commands.add(command_of(json.loads(made_with)))
        except (ValueError, RecursionError):
            continue
    return sorted(filter(None, commands))


def names_of(connection: sqlite3.Connection, documents: set[int] | None = None) -> set[str]:
    """`path` or `path#record` of documents, or of all."""
    rows = connection.execute(
        f"""SELECT path, record FROM documents JOIN files ON files.id = file
            WHERE ? OR documents.id {_THOSE}""",
        (documents is None, _json(documents or ())),
    )
    return {name_of(path, record) for path, record in rows}


def has_marks(connection: sqlite3.Connection) -> bool:
    """Whether files are still to be read again, as after a repair that was stopped."""
    return connection.execute("SELECT 1 FROM files WHERE sha256 IS NULL").fetchone() is not None


def _ids(connection: sqlite3.Connection, query: str, ids: str | None) -> set[int]:
    return {row[0] for row in connection.execute(query, (ids or "[]",))}


def _json(ids: Iterable[int]) -> str:
    return json.dumps(sorted(ids))
