"""Making segments (segments.py) of the tail, of smaller ones, of those that lost many passages, or of all rows anew."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from search.errors import IndexDamaged
from search.files import PRIVATE_FOLDER, create, sync_folder
from search.store import codes, words
from search.store.composing import merged
from search.store.database import one_meta
from search.store.files import DATABASE, VECTORS, WORK, require_no_link
from search.store.postings import Block
from search.store.segments import (
    LARGEST,
    LONGEST_TAIL,
    Part,
    Segment,
    blocks_of_tail,
    filled,
    is_whole,
    joined,
    open_words,
    read_segments,
    tombstones,
)
from search.store.vectors import embeddings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.writer import Writer

_DEAD = 5  # a segment of which one in so many is deleted is made anew


def seal(
    writer: Writer,
    index: Path,
    dimension: int,
    *,
    full: bool = False,
) -> None:
    """Make the segments that are due; see segments.py.

    The files are on disk, whole, before one transaction names them.

    Args:
        full: only such as the tail can fill, as in the middle of a run.
    """
    connection = writer.connection
    segments = [_part(connection, index, one, dimension) for one in read_segments(connection)]
    tail = blocks_of_tail(connection)
    if full:
        due: list[Sequence[Part]] = [*filled(tail, LARGEST)[:-1]]
    else:
        parts = [*segments, *tail]
        wanted = tail and (not segments or sum(part.living for part in tail) > LONGEST_TAIL)
        start = joined(parts, len(tail), LARGEST) if wanted else len(parts)
        due = [*_worn(segments[:start]), *filled(parts[start:], LARGEST)]
    _replace(writer, index, dimension, due)


def _worn(segments: Sequence[Part]) -> list[Sequence[Part]]:
    """The segments that have to be made anew, each with its neighbours as far as they fit into one."""
    groups: list[Sequence[Part]] = []
    end = 0  # of the last group
    for place, part in enumerate(segments):
        if place < end or (part.whole and _DEAD * part.dead <= part.living + part.dead):
            continue
        free, start, end, total = end, place, place + 1, part.living
        while start > free and total + segments[start - 1].living <= LARGEST:
            start -= 1
            total += segments[start].living
        while end < len(segments) and total + segments[end].living <= LARGEST:
            total += segments[end].living
            end += 1
        groups.append(segments[start:end])
    return groups


def seal_anew(writer: Writer, index: Path, dimension: int) -> None:
    """Make all segments anew from the rows of index.db."""
    rows = writer.connection.execute("SELECT passage FROM embeddings ORDER BY passage").fetchall()
    ids = [row[0] for row in rows]
    chunks = [ids[start : start + LARGEST] for start in range(0, len(ids), LARGEST)]
    due = [[Part(chunk[0], chunk[-1], len(chunk), 0, whole=False)] for chunk in chunks]
    _replace(writer, index, dimension, due, everything=True)


def _part(connection: sqlite3.Connection, index: Path, segment: Segment, dimension: int) -> Part:
    (dead,) = connection.execute(
        "SELECT count(*) FROM tombstones WHERE passage BETWEEN ? AND ?", (segment.first, segment.last)
    ).fetchone()
    whole = is_whole(index, segment, dimension)
    return Part(segment.first, segment.last, segment.count - dead, dead, segment, whole)


def _replace(
    writer: Writer,
    index: Path,
    dimension: int,
    due: Sequence[Sequence[Part]],
    *,
    everything: bool = False,
) -> None:
    """Write the segments that each of some neighbours make together, and name them in place of these."""
    if not due and not everything:
        return
    made: list[Segment] = []
    # Damaged rows that are all replaced have no say.
    highest = "SELECT coalesce(max(id), 0) FROM segments"
    number = 1 + (0 if everything else int(writer.connection.execute(highest).fetchone()[0]))
    for group in due:
        segment = _written(writer.connection, index, dimension, group, number + len(made))
        made += [segment] if segment else []
    sync_folder(index / VECTORS)
    with writer.transaction(same_answers=True) as connection:
        for first, last in (
            [(0, 2**62)] if everything else [(group[0].first, group[-1].last) for group in due]
        ):
            for table in ("segments", "words"):
                writer.delete(table, '"first" >= ? AND "last" <= ?', first, last)
            writer.delete("tombstones", "passage BETWEEN ? AND ?", first, last)
        writer.insert("segments", map(asdict, made))
        words.put_rules(connection)


def _written(
    connection: sqlite3.Connection, index: Path, dimension: int, group: Sequence[Part], number: int
) -> Segment | None:
    """Write the files of one segment; None where nothing is left of its passages."""
    blocks = list(embeddings(connection, dimension, group[0].first - 1, upto=group[-1].last))
    if not blocks:
        return None
    ids = np.concatenate([ids for ids, _ in blocks])
    vectors = np.concatenate([vectors for _, vectors in blocks])
    del blocks
    name = f"g{number}-{secrets.token_hex(8)}"
    for folder in (index / WORK, index / VECTORS):
        require_no_link(folder)
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
    faiss, postings = index / WORK / f"{name}.faiss", index / WORK / f"{name}.words"
    content = _words(connection, index, group, ids)
    for path, data in ((faiss, b""), (postings, content)):
        create(path, data)
        with suppress(FileNotFoundError):  # who may read index.db needs these
            path.chmod(stat.S_IMODE((index / DATABASE).stat().st_mode) & 0o666)
    scale, codes_crc = codes.write(faiss, ids, vectors)
    for path in (faiss, postings):
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
        path.replace(index / VECTORS / path.name)
    first, last, count = int(ids[0]), int(ids[-1]), len(ids)
    return Segment(
        number,
        name,
        first,
        last,
        count,
        scale.peak,
        scale.error,
        codes_crc,
        len(content),
        codes.checksum(content),
    )


def _words(
    connection: sqlite3.Connection, index: Path, group: Sequence[Part], ids: NDArray[np.int64]
) -> bytes:
    """The block of the words of passages: of older blocks, or of the rows where a block is not as it should be."""
    if all(part.whole for part in group):
        with suppress(IndexDamaged):
            blocks = list(_older(connection, index, group))
            dead = tombstones(connection, group[0].first, group[-1].last)
            content = merged(blocks, [~np.isin(block.ids, dead) for block in blocks])
            if np.array_equal(Block(content).ids, ids):
                return content
    return words.written_anew(connection, ids)


def _older(connection: sqlite3.Connection, index: Path, group: Sequence[Part]) -> Iterator[Block]:
    for part in group:
        if part.segment:
            yield open_words(index, part.segment)
        else:
            yield words.block_of_tail(connection, part.first)


def renew(
    writer: Writer,
    index: Path,
    dimension: int,
    *,
    always: bool = False,
) -> None:
    """Make the segments that are due at the end of a run; all anew where they do not hold all passages, or `always`."""
    if always or not _is_complete(writer.connection):
        with suppress(IndexDamaged):  # of a row, which is told by whoever needs it
            seal_anew(writer, index, dimension)
    else:
        seal(writer, index, dimension)


def _is_complete(connection: sqlite3.Connection) -> bool:
    """Whether words are by the rules of this version, and segments and tail have as many passages as there are."""
    try:
        written = sum(segment.count for segment in read_segments(connection))
    except IndexDamaged:
        return False
    (in_tail,) = connection.execute("SELECT coalesce(sum(count), 0) FROM words").fetchone()
    (dead,) = connection.execute("SELECT count(*) FROM tombstones").fetchone()
    return words.hold(connection) and written + in_tail - dead == one_meta(connection, "passages")


def tail_is_full(connection: sqlite3.Connection) -> bool:
    """Whether the tail fills a segment."""
    return sum(part.living for part in blocks_of_tail(connection)) > LARGEST
