"""The single steps of a repair: what is done to rows, each function one transaction or a few.

A document that is damaged is not deleted but marked, so that the update that follows puts it in place of what
is stored in one transaction; only what no update could replace is dropped in the end.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from search.encoding.encoder import Encoder, with_context
from search.errors import SearchError
from search.store import lexicon
from search.store.baseline import forget_baseline, is_due
from search.store.checksums import COVERED, content_key, covered, row_checksum
from search.store.database import count_passages, number_passages_after, one_meta, put_meta
from search.store.health.examine import document_name, unit_length
from search.store.health.kinds import Tally
from search.store.sampling import renew_baseline
from search.store.writer import Writer, as_blob, count_and_seal, delete_document

_AT_ONCE = 512


def restore_settings(writer: Writer, values: dict[str, Any], good: Iterable[str]) -> None:
    """Write down settings anew, and delete every entry that is neither among them nor known to be good."""
    with writer.transaction() as connection:
        keep = {*values, *good}
        for (key,) in connection.execute("SELECT key FROM meta").fetchall():
            if key not in keep:
                connection.execute("DELETE FROM meta WHERE key IS ?", (key,))
        put_meta(connection, values)


def count_anew(writer: Writer) -> None:
    """Set the number of passages, and the number that the next one gets."""
    with writer.transaction() as connection:
        count_passages(connection)
        numbers = """SELECT max(n) FROM (SELECT 0 AS n UNION ALL SELECT max(id) FROM passages
                     UNION ALL SELECT max(passage) FROM tombstones UNION ALL SELECT watermark FROM ann
                     UNION ALL SELECT seq FROM sqlite_sequence WHERE name = 'passages')"""
        (last,) = connection.execute(numbers).fetchone()
        number_passages_after(connection, last)


def delete_orphans(writer: Writer, *, embeddings: bool = True) -> None:
    """Delete rows whose parent is missing. The FAISS file must not be named: it may hold some of them.

    Args:
        embeddings: also theirs. Where nobody asks queries yet they may stay, to be used for equal texts.
    """
    writer.connection.execute("PRAGMA foreign_keys = 0")  # which would take the embeddings along
    with writer.transaction() as connection:
        connection.execute("DELETE FROM documents WHERE file NOT IN (SELECT id FROM files)")
        connection.execute("DELETE FROM passages WHERE document NOT IN (SELECT id FROM documents)")
        lexicon.unseal(connection)
        for table in ("embeddings",) * embeddings + ("token_vectors", "annotations"):
            connection.execute(f"DELETE FROM {table} WHERE passage NOT IN (SELECT id FROM passages)")
    writer.connection.execute("PRAGMA foreign_keys = 1")


def read_files_again(writer: Writer, files: Sequence[int] | None) -> None:
    """Take files for changed; None means all. Documents that turn out to be equal are kept."""
    if files is None:
        writer.read_again()
        return
    with writer.transaction() as connection:
        connection.executemany(
            "UPDATE files SET mtime_ns = -1, sha256 = NULL WHERE id = ?", ((id_,) for id_ in files)
        )


def take_documents_for_changed(writer: Writer, documents: Iterable[int]) -> None:
    """Let the update replace documents, whatever it reads, and read their files."""
    with writer.transaction() as connection:
        for id_ in documents:
            row = connection.execute(
                f"SELECT {covered('documents')}, checksum FROM documents WHERE id = ?", (id_,)
            ).fetchone()
            if row is None:
                continue
            *values, checksum = row
            if row_checksum(*values) == checksum:  # its row is good; a passage of it is not
                values[COVERED["documents"].index("sha256")] = ""
                checksum = row_checksum(*values)
            connection.execute("UPDATE documents SET sha256 = '', checksum = ? WHERE id = ?", (checksum, id_))
            file = values[COVERED["documents"].index("file")]
            connection.execute("UPDATE files SET mtime_ns = -1, sha256 = NULL WHERE id = ?", (file,))


def delete_unusable_embeddings(writer: Writer, dimension: int) -> None:
    """Of the embeddings that belong to no passage, keep only those that are whole."""
    orphans = (
        "SELECT passage, vector, checksum FROM embeddings WHERE passage NOT IN (SELECT id FROM passages)"
    )
    with writer.transaction() as connection:
        bad = [
            (id_,)
            for id_, vector, checksum in connection.execute(orphans)
            if zlib.crc32(vector) != checksum or unit_length([vector], dimension) != [True]
        ]
        connection.executemany("DELETE FROM embeddings WHERE passage = ?", bad)


def delete_token_vectors(writer: Writer, passages: Iterable[int]) -> None:
    with writer.transaction() as connection:
        connection.executemany("DELETE FROM token_vectors WHERE passage = ?", ((id_,) for id_ in passages))


@dataclass(frozen=True)
class LostAnnotator:
    """One that was deleted with so many annotations; `command` makes them again, "" where it cannot be read."""

    name: str
    annotations: int
    command: str


def delete_annotations(
    writer: Writer, annotators: Iterable[int], annotations: Iterable[int]
) -> tuple[list[LostAnnotator], int]:
    """Delete annotators with all that they said, and single annotations, by their row ids.

    Returns:
        The annotators, and how many annotations of others were deleted.
    """
    lost = []
    with writer.transaction() as connection:
        for id_ in annotators:
            name, made_with = connection.execute(
                "SELECT name, made_with FROM annotators WHERE rowid = ?", (id_,)
            ).fetchone()
            (count,) = connection.execute(
                "SELECT count(*) FROM annotations WHERE annotator = ?", (name,)
            ).fetchone()
            connection.execute("DELETE FROM annotations WHERE annotator = ?", (name,))
            connection.execute("DELETE FROM annotators WHERE rowid = ?", (id_,))
            lost.append(LostAnnotator(str(name), count, _command(made_with)))
        (before,) = connection.execute("SELECT count(*) FROM annotations").fetchone()
        connection.executemany("DELETE FROM annotations WHERE rowid = ?", ((id_,) for id_ in annotations))
        connection.execute("DELETE FROM annotations WHERE annotator NOT IN (SELECT name FROM annotators)")
        (after,) = connection.execute("SELECT count(*) FROM annotations").fetchone()
    return lost, before - after


def _command(made_with: object) -> str:
    """What makes annotations again, by a row that is damaged somewhere."""
    try:
        command = json.loads(str(made_with))["command"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return ""
    return command if isinstance(command, str) and command.startswith("seewhy ") else ""


def has_marks(writer: Writer) -> bool:
    """Whether files are still to be read again, as after a repair that was stopped."""
    return writer.connection.execute("SELECT 1 FROM files WHERE sha256 IS NULL").fetchone() is not None


def documents_around(writer: Writer, passages: Iterable[int]) -> set[int]:
    """Documents that damaged passages may belong to, all of those that may have lost one.

    The number of the document may be what is damaged. A document's passages have neighbouring ids, so it
    is the document that the row names, that of the passage before or after, or one without passages.
    """
    found: set[int] = set()
    for id_ in passages:
        rows = writer.connection.execute(
            """SELECT document FROM passages WHERE id = :id
               UNION SELECT document FROM passages WHERE id = (SELECT max(id) FROM passages WHERE id < :id)
               UNION SELECT document FROM passages WHERE id = (SELECT min(id) FROM passages WHERE id > :id)""",
            {"id": id_},
        )
        found.update(row[0] for row in rows)
    rows = writer.connection.execute(
        "SELECT id FROM documents WHERE id NOT IN (SELECT document FROM passages)"
    )
    return found.union(row[0] for row in rows)


def documents_of(writer: Writer, passages: Iterable[int]) -> set[int]:
    """The documents that passages belong to."""
    rows = writer.connection.execute(
        "SELECT document FROM passages WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(passages)),),
    )
    return {row[0] for row in rows}


def all_documents(writer: Writer) -> list[int]:
    return [row[0] for row in writer.connection.execute("SELECT id FROM documents")]


def disown_embeddings(writer: Writer, passages: Iterable[int]) -> None:
    """Let nobody use the embeddings of these passages again, not even for an equal text."""
    with writer.transaction() as connection:
        connection.executemany(
            "UPDATE embeddings SET checksum = -1 WHERE passage = ?", ((id_,) for id_ in passages)
        )


def encode_again(writer: Writer, encoder: Encoder, passages: Sequence[int]) -> Iterator[int]:
    """Put new embeddings in place of damaged or missing ones; yields how many are done, batch by batch."""
    for start in range(0, len(passages), _AT_ONCE):
        batch = []
        for id_ in passages[start : start + _AT_ONCE]:
            row = writer.connection.execute(
                "SELECT context, text FROM passages WHERE id = ?", (id_,)
            ).fetchone()
            if row:
                batch.append((id_, *row))
        texts = [with_context(context, text) for _, context, text in batch]
        vectors = [as_blob(vector) for vector in encoder.encode(texts, role="document")]
        with writer.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO embeddings (passage, vector, checksum, content) VALUES (?, ?, ?, ?)",
                (
                    (id_, vector, zlib.crc32(vector), content_key(context, text))
                    for (id_, context, text), vector in zip(batch, vectors, strict=True)
                ),
            )
        yield len(batch)


def drop(writer: Writer, documents: Iterable[int], files: Iterable[int]) -> list[str]:
    """Delete documents, and files with all theirs. The files of the former are read again in the next run.

    Returns:
        The names of the documents.
    """
    unlimited = Tally()
    lost = []
    with writer.transaction() as connection:
        wanted = set(documents)
        for file in files:
            wanted.update(
                row[0] for row in connection.execute("SELECT id FROM documents WHERE file = ?", (file,))
            )
        for id_ in sorted(wanted):
            lost.append(document_name(connection, id_, unlimited, "document"))
            connection.execute(
                """UPDATE files SET status = 'partial', mtime_ns = -1, sha256 = NULL
                   WHERE id = (SELECT file FROM documents WHERE id = ?)""",
                (id_,),
            )
            delete_document(connection, id_)
        connection.executemany("DELETE FROM files WHERE id = ?", ((id_,) for id_ in files))
        count_and_seal(connection)
    return lost


def forget_documents_that_are_missing(writer: Writer, files: Sequence[int]) -> list[str]:
    """Files of which nothing is stored, though something was: to be read in the next run that can."""
    with writer.transaction() as connection:
        connection.executemany(
            "UPDATE files SET status = 'partial', mtime_ns = -1, sha256 = NULL WHERE id = ?",
            ((id_,) for id_ in files),
        )
        rows = [connection.execute("SELECT path FROM files WHERE id = ?", (id_,)).fetchone() for id_ in files]
    return [os.fsdecode(row[0]) for row in rows if row]


def delete(paths: Iterable[Path]) -> None:
    """Delete files and folders of an index that nothing needs."""
    import shutil

    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def renew_sample(writer: Writer, encoder: Callable[[], Encoder]) -> str:
    """Take the sample of random pairs anew, or leave it to the next run where the model is not at hand.

    Args:
        encoder: gives the encoder; called only if there is a sample to take.

    Returns:
        What was done.
    """
    connection = writer.connection
    taken = not is_due(connection, one_meta(connection, "passages"))  # an update has just taken it
    if not taken:
        with writer.transaction():
            forget_baseline(connection)
        with suppress(SearchError):
            taken = renew_baseline(writer, encoder())
    if taken:
        return "took the sample of random pairs anew"
    return "deleted the sample of random pairs, which was damaged; the next run of indexing takes another"
