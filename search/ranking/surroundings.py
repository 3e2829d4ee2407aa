"""What stands around a passage in its document: its neighbours in the index, or lines of the file."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from search.corpus import SourceFile, load
from search.corpus.decode import decode
from search.corpus.files import DOCUMENT_KINDS
from search.errors import InputError, ReadError
from search.records.hits import Hit, Neighbour, Surroundings

if TYPE_CHECKING:
    from search.store.vectors import LoadedVectors

_RECORDS = ("csv", "jsonl")
_LINE_END = re.compile(r"\r\n|\r|\n")


def surroundings(loaded: LoadedVectors, hit: Hit, passages: int = 0, lines: int = 0) -> Surroundings:
    """See `Index.surroundings`."""
    if passages < 0 or lines < 0:
        raise InputError(f"{min(passages, lines)} is no number of passages or lines; use 0 for none.")
    with loaded.reader.reading() as connection:
        row = connection.execute(
            """SELECT document, kind, files.sha256 FROM passages
               JOIN documents ON documents.id = document JOIN files ON files.id = file
               WHERE passages.id = ? AND passages.start = ?""",
            (hit.passage_id, hit.start),
        ).fetchone()
        if row is None:
            return Surroundings(note="the passage has left the index since it was found")
        document, kind, sha256 = row
        before = _neighbours(connection, document, hit, passages, "before")
        after = _neighbours(connection, document, hit, passages, "after")
    if not lines:
        return Surroundings(before, after)
    found, note = _lines(hit, kind, sha256)
    first, last = hit.line_start, hit.line_end
    numbered = list(enumerate(found, 1))
    return Surroundings(
        before,
        after,
        tuple(numbered[max(0, first - 1 - lines) : first - 1]),
        tuple(numbered[last : last + lines]),
        note,
    )


def _neighbours(
    connection: sqlite3.Connection, document: int, hit: Hit, count: int, side: str
) -> tuple[Neighbour, ...]:
    """The passages next to one, in the order of the text."""
    compared, order = ("<", "DESC") if side == "before" else (">", "ASC")
    rows = connection.execute(
        f"""SELECT id, text, start, "end", line_start, line_end FROM passages
            WHERE document = ? AND (start, id) {compared} (?, ?) ORDER BY start {order}, id {order} LIMIT ?""",
        (document, hit.start, hit.passage_id, count),
    ).fetchall()
    found = []
    for id_, text, start, end, line_start, line_end in rows if side == "after" else reversed(rows):
        own = (
            text[max(0, hit.end - start) :]
            if side == "after"
            else text[: max(0, min(end, hit.start) - start)]
        )
        found.append(Neighbour(id_, own, line_start, line_end))
    return tuple(found)


def _lines(hit: Hit, kind: str, sha256: str) -> tuple[list[str], str]:
    """The lines of a hit's file; or none, and why."""
    if kind in DOCUMENT_KINDS:
        return [], f"{hit.document} is no text file, so it has no lines to show; use neighbouring passages"
    name = hit.document.rpartition("#")[0] if kind in _RECORDS else hit.document
    try:
        stat = Path(hit.path).stat()
        contents = load(SourceFile(name, Path(hit.path), stat.st_size, stat.st_mtime_ns, stat.st_ino))
        if contents.sha256 != sha256:
            return [], f"{hit.document} has changed since it was indexed, so its lines are not shown"
        return _LINE_END.split(decode(name, contents.raw).text), ""
    except FileNotFoundError:
        return [], f"{hit.document} is gone, so its lines are not shown"
    except (OSError, ReadError) as error:
        return [], f"{hit.document} cannot be read now: {error}"
