"""Segments: immutable files for fast search, derived from the passages; flush and compaction.

A segment covers all passages between two IDs, at most 65,536. It consists of a FAISS file of 8-bit codes (codes.py) and
a file of postings (postings.py). The passages after the last segment are the *tail*, the write buffer: their embeddings
are read from index.db, and their postings from table `words`, in blocks of the same format.

At the end of a run, the tail becomes a segment if it has more than 4,096 passages or is the first segment. It is merged
with each preceding segment that is no larger than everything after it. Blocks of the tail are merged by the same rule.
So each passage is rewritten only a few times, and there are few segments (O'Neil and others 1996, "The log-structured
merge-tree").

Deleted passages stay in their segment or block until it is rewritten; table `tombstones` lists them.

A segment of which passages are *pending* (pending.py) has postings only. Its embeddings are read from index.db, like
those of the tail, and it is written anew with its FAISS file when all of its passages are encoded.

A new file is forced to disk before it gets its final name. Then one transaction adds its name to index.db and removes
the names of the files that it replaces.

    add                adds the words of new passages to the tail, as a block
    flush              writes and compacts the segments that are due, at the end of a run
    rebuild_segments   writes all segments again, from the rows of index.db
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from search.errors import IndexDamaged
from search.files import PRIVATE_FOLDER, create, sync_folder
from search.records.visible_text import visible
from search.store import codes
from search.store.analyzer import analyzed_tokens
from search.store.database import has_table
from search.store.files import DATABASE, VECTORS, WORK, content_of, damaged, release, require_no_link
from search.store.passages import hidden_of
from search.store.pending import some_pending
from search.store.postings import PostingsBlock, build_block, merge_blocks
from search.store.settings import readable
from search.store.terms import Stemmer, indexable
from search.store.vectors import embeddings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.tables import Tables

LARGEST = 1 << 16  # passages of a segment
LONGEST_TAIL = 4096
# A segment is rewritten if more than one passage in five is deleted.
_MAX_DELETED = 5
_BLOCK_PASSAGES = 4096  # of one block that is built from rows

_NO_CODES = -1  # no checksum has this value

_stemmer = Stemmer()


@dataclass(frozen=True)
class Segment:
    """A row of table `segments`.

    Attributes:
        file: name of its two files, without extension.
        first, last: lowest and highest ID of its passages; all passages between them are in the segment.
        count: number of passages when it was written.
        error: the greatest distance between an embedding and its decoded codes.
        codes_crc: `search.store.codes.checksum` of the FAISS file; -1 if there is none, because passages are pending.
        words_size, words_crc: size of the file of postings in bytes, and its `search.store.codes.checksum`.
    """

    id: int
    file: str
    first: int
    last: int
    count: int
    error: float
    codes_crc: int
    words_size: int
    words_crc: int

    @property
    def has_codes(self) -> bool:
        """False if the FAISS file is not written yet, because passages are pending."""
        return self.codes_crc != _NO_CODES

    @property
    def codes_path(self) -> str:
        """Path of the segment's FAISS file, relative to the index."""
        return f"{VECTORS}/{self.file}.faiss"

    @property
    def postings_path(self) -> str:
        """Path of the segment's file of postings, relative to the index."""
        return f"{VECTORS}/{self.file}.words"

    def open_codes(self, index: Path, dimension: int) -> codes.Codes:
        """Open the segment's FAISS file.

        Raises:
            IndexDamaged: the file is missing or damaged.
        """
        require_no_link(index / VECTORS)
        return codes.Codes(index / self.codes_path, self.count, dimension, self.error, self.codes_crc)

    def open_postings(self, index: Path) -> PostingsBlock:
        """Open the segment's postings.

        Raises:
            IndexDamaged: the file is missing or damaged.
        """
        require_no_link(index / VECTORS)
        content = content_of(index / self.postings_path, self.words_size)
        if codes.checksum(content) != self.words_crc:
            raise damaged(index / self.postings_path)
        release(content)
        return PostingsBlock(content)


_COLUMNS = ", ".join(f'"{field.name}"' for field in fields(Segment))
SELECT_SEGMENTS = f'SELECT {_COLUMNS} FROM segments ORDER BY "first"'


def read_segments(connection: sqlite3.Connection) -> list[Segment]:
    """List the segments of an index, in the order of their passage IDs."""
    return [Segment(*row) for row in connection.execute(SELECT_SEGMENTS)]


def segment_files(connection: sqlite3.Connection) -> set[str]:
    """Return the paths of all segment files that index.db names, relative to the index."""
    segments = read_segments(connection)
    return {
        *(segment.codes_path for segment in segments if segment.has_codes),
        *(segment.postings_path for segment in segments),
    }


def tombstones(connection: sqlite3.Connection, first: int = 0, last: int = 2**62) -> NDArray[np.int64]:
    """Return the increasing IDs of deleted passages, from `first` to `last`, that are still in a segment or block."""
    rows = connection.execute(
        "SELECT passage FROM tombstones WHERE passage BETWEEN ? AND ? ORDER BY passage", (first, last)
    )
    return np.array([passage for (passage,) in rows], dtype=np.int64)


def blocks_of_tail(
    connection: sqlite3.Connection, first: int = 0, last: int = 2**62
) -> list[PostingsBlock]:
    """Open the blocks of table `words`, in the order of their passage IDs."""
    rows = connection.execute(
        'SELECT block FROM words WHERE "first" BETWEEN ? AND ? ORDER BY "first"', (first, last)
    )
    return [PostingsBlock(block) for (block,) in rows]


def texts_of(connection: sqlite3.Connection, passages: NDArray[np.int64]) -> Iterator[tuple[int, str]]:
    """Yield (ID, text for keyword matching) of passages, by increasing IDs."""
    rows = connection.execute(
        f"""SELECT id, context, text, hidden, {_language(connection)}, {analyzed_tokens(connection)} FROM passages
            WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id""",
        (json.dumps(passages.tolist()),),
    )
    return (
        (id_, indexable(context, visible(text, hidden_of(hidden)), language or "", analyzed))
        for id_, context, text, hidden, language, analyzed in rows
    )


def _language(connection: sqlite3.Connection) -> str:
    """SQL expression for the language of a passage."""
    is_known = has_table(connection, "languages")
    return "(SELECT lang FROM languages WHERE document = passages.document)" if is_known else "''"


def tail_is_intact(connection: sqlite3.Connection, blocks: Sequence[PostingsBlock]) -> bool:
    """Return True if the blocks of table `words` match the texts of their passages.

    Raises:
        IndexDamaged: a block, or the markup of a passage, cannot be read.
    """
    with readable("the postings of the newest passages"):
        dead = tombstones(connection)
        alive = [~np.isin(block.ids, dead) for block in blocks]
        ids = np.concatenate([block.ids[living] for block, living in zip(blocks, alive, strict=True)])
        return merge_blocks(blocks, alive) == build_block(_stemmer, list(texts_of(connection, ids)))


@dataclass(frozen=True)
class MergeInput:
    """An input of a merge: an older segment, a block of the write buffer, or rows of index.db.

    Attributes:
        first, last: lowest and highest ID of its passages.
        living: number of its passages that are not deleted.
        dead: number of its deleted passages.
        segment: the older segment; None for a block and for rows.
    """

    first: int
    last: int
    living: int
    dead: int
    segment: Segment | None = None


def _tail_inputs(connection: sqlite3.Connection) -> list[MergeInput]:
    rows = connection.execute(
        """SELECT "first", "last", count, (SELECT count(*) FROM tombstones WHERE passage BETWEEN "first" AND "last")
           FROM words ORDER BY "first" """
    )
    return [MergeInput(first, last, count - dead, dead) for first, last, count, dead in rows]


def _segment_inputs(connection: sqlite3.Connection) -> list[MergeInput]:
    inputs = []
    for segment in read_segments(connection):
        dead = len(tombstones(connection, segment.first, segment.last))
        inputs.append(MergeInput(segment.first, segment.last, segment.count - dead, dead, segment))
    return inputs


def add(tables: Tables, passages: Sequence[tuple[int, str, str, str, str]]) -> None:
    """Add the words of new passages to the write buffer, within an open transaction.

    Args:
        passages: (ID, context, text without markup, language, tokens of an analyser) of each passage, by increasing
            IDs.
    """
    for start in range(0, len(passages), _BLOCK_PASSAGES):
        chunk = passages[start : start + _BLOCK_PASSAGES]
        block = build_block(_stemmer, [(id_, indexable(*passage)) for id_, *passage in chunk])
        _put_block(tables, chunk[0][0], chunk[-1][0], len(chunk), block)
        inputs = _tail_inputs(tables.connection)
        inputs = inputs[_first_to_merge(inputs, 1, LONGEST_TAIL) :]
        if len(inputs) > 1:  # merge the last block with the preceding ones that are no larger
            first, last = inputs[0].first, inputs[-1].last
            block = _merge_living(
                tables.connection, blocks_of_tail(tables.connection, first, last), first, last
            )
            tables.delete("words", '"first" BETWEEN ? AND ?', first, last)
            tables.delete("tombstones", "passage BETWEEN ? AND ?", first, last)
            _put_block(tables, first, last, sum(source.living for source in inputs), block)


def _put_block(tables: Tables, first: int, last: int, count: int, block: bytes) -> None:
    tables.insert("words", [{"first": first, "last": last, "count": count, "block": block}])


def _merge_living(
    connection: sqlite3.Connection, blocks: Sequence[PostingsBlock], first: int, last: int
) -> bytes:
    """Merge blocks with IDs from `first` to `last`, without their deleted passages."""
    dead = tombstones(connection, first, last)
    return merge_blocks(blocks, [~np.isin(block.ids, dead) for block in blocks])


def _first_to_merge(inputs: Sequence[MergeInput], new: int, largest: int) -> int:
    """Return the position of the first input to merge.

    The last `new` inputs are merged, and each input before them that is no larger than all inputs after it.

    Args:
        largest: maximum number of passages of a merge.
    """
    start = len(inputs) - new
    total = sum(source.living for source in inputs[start:])
    while start and inputs[start - 1].living <= total and inputs[start - 1].living + total <= largest:
        start -= 1
        total += inputs[start].living
    return start


def _filled(inputs: Sequence[MergeInput]) -> list[Sequence[MergeInput]]:
    """Split inputs into groups of neighbours, each group as large as a segment can be."""
    groups: list[list[MergeInput]] = []
    for source in inputs:
        if not groups or sum(member.living for member in groups[-1]) + source.living > LARGEST:
            groups.append([])
        groups[-1].append(source)
    return [*groups]


def flush_if_full(tables: Tables, index: Path, dimension: int) -> None:
    """Write full segments from the write buffer, in the middle of a run."""
    tail = _tail_inputs(tables.connection)
    if sum(source.living for source in tail) > LARGEST:
        _replace(tables, index, dimension, _filled(tail)[:-1])


def write_missing_codes(tables: Tables, index: Path, dimension: int) -> None:
    """Write the segments anew that lack a FAISS file, and whose passages are all encoded by now."""
    due = [
        [source]
        for source in _segment_inputs(tables.connection)
        if source.segment
        and not source.segment.has_codes
        and not some_pending(tables.connection, source.first, source.last)
    ]
    _replace(tables, index, dimension, due)


def flush(tables: Tables, index: Path, dimension: int) -> None:
    """Write and compact the segments that are due, at the end of a run."""
    segments, tail = _segment_inputs(tables.connection), _tail_inputs(tables.connection)
    inputs = [*segments, *tail]
    due = tail and (not segments or sum(source.living for source in tail) > LONGEST_TAIL)
    start = _first_to_merge(inputs, len(tail), LARGEST) if due else len(inputs)
    to_compact = [
        [source]
        for source in segments[:start]
        if _MAX_DELETED * source.dead > source.living + source.dead
    ]
    _replace(tables, index, dimension, [*to_compact, *_filled(inputs[start:])])


def rebuild_segments(tables: Tables, index: Path, dimension: int) -> None:
    """Rewrite all segments from the rows of index.db."""
    rows = tables.connection.execute("SELECT id FROM passages ORDER BY id").fetchall()
    chunks = [rows[start : start + LARGEST] for start in range(0, len(rows), LARGEST)]
    due = [[MergeInput(chunk[0][0], chunk[-1][0], len(chunk), 0)] for chunk in chunks]
    _replace(tables, index, dimension, due, everything=True)


def _replace(
    tables: Tables,
    index: Path,
    dimension: int,
    due: Sequence[Sequence[MergeInput]],
    *,
    everything: bool = False,
) -> None:
    """Merge each group of neighbouring inputs into one segment that replaces them.

    The files are complete and on disk before one transaction names them.
    """
    if not due and not everything:
        return
    segments: list[Segment] = []
    highest = "SELECT coalesce(max(id), 0) FROM segments"
    number = 1 + int(tables.connection.execute(highest).fetchone()[0])
    for group in due:
        segment = _write_segment(
            tables.connection, index, dimension, group, number + len(segments), everything
        )
        segments += [segment] if segment else []
    sync_folder(index / VECTORS)
    spans = [(0, 2**62)] if everything else [(group[0].first, group[-1].last) for group in due]
    with tables.transaction(same_answers=True):
        for first, last in spans:
            for table in ("segments", "words"):
                tables.delete(table, '"first" >= ? AND "last" <= ?', first, last)
            tables.delete("tombstones", "passage BETWEEN ? AND ?", first, last)
        tables.insert("segments", map(asdict, segments))


def _write_segment(
    connection: sqlite3.Connection,
    index: Path,
    dimension: int,
    group: Sequence[MergeInput],
    number: int,
    of_rows: bool,
) -> Segment | None:
    """Write the files of one segment and return it; None if all its passages were deleted."""
    first, last = group[0].first, group[-1].last
    rows = connection.execute(
        "SELECT id FROM passages WHERE id BETWEEN ? AND ? ORDER BY id", (first, last)
    )
    ids = np.fromiter((id_ for (id_,) in rows), dtype=np.int64)
    if not len(ids):
        return None
    has_codes = not some_pending(connection, first, last)
    name = f"g{number}-{secrets.token_hex(8)}"
    for folder in (index / WORK, index / VECTORS):
        require_no_link(folder)
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
    faiss, postings = index / WORK / f"{name}.faiss", index / WORK / f"{name}.words"
    content = (
        _postings_of_rows(connection, ids) if of_rows else _merged_postings(connection, index, group)
    )
    paths = [faiss, postings] if has_codes else [postings]
    for path in paths:
        create(path, content if path == postings else b"")
        with suppress(FileNotFoundError):  # everybody who may read index.db may read these files
            path.chmod(stat.S_IMODE((index / DATABASE).stat().st_mode) & 0o666)
    error, codes_crc = _write_codes(connection, dimension, faiss, ids) if has_codes else (0.0, _NO_CODES)
    for path in paths:
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
        path.replace(index / VECTORS / path.name)
    return Segment(
        id=number,
        file=name,
        first=int(ids[0]),
        last=int(ids[-1]),
        count=len(ids),
        error=error,
        codes_crc=codes_crc,
        words_size=len(content),
        words_crc=codes.checksum(content),
    )


def _write_codes(
    connection: sqlite3.Connection, dimension: int, path: Path, ids: NDArray[np.int64]
) -> tuple[float, int]:
    """Write the FAISS file of passages with increasing IDs; return its error and checksum.

    Raises:
        IndexDamaged: one of the passages has no embedding.
    """
    vectors = np.empty((len(ids), dimension), dtype=np.float32)
    done = 0
    for _, block in embeddings(connection, dimension, int(ids[0]) - 1, upto=int(ids[-1])):
        vectors[done : done + len(block)] = block
        done += len(block)
    if done != len(ids):
        raise IndexDamaged(f"embeddings are missing from the index. {IndexDamaged.CHECK}")
    return codes.write(path, ids, vectors)


def _merged_postings(connection: sqlite3.Connection, index: Path, group: Sequence[MergeInput]) -> bytes:
    """Merge the postings of older segments and blocks."""
    blocks: list[PostingsBlock] = []
    for source in group:
        tail = blocks_of_tail(connection, source.first, source.first)
        blocks += [source.segment.open_postings(index)] if source.segment else tail
    return _merge_living(connection, blocks, group[0].first, group[-1].last)


def _postings_of_rows(connection: sqlite3.Connection, ids: NDArray[np.int64]) -> bytes:
    """Build the postings of passages from their rows."""
    starts = range(0, len(ids), _BLOCK_PASSAGES)
    texts = (list(texts_of(connection, ids[start : start + _BLOCK_PASSAGES])) for start in starts)
    blocks = [PostingsBlock(build_block(_stemmer, chunk)) for chunk in texts]
    return merge_blocks(blocks, [np.ones(len(block), dtype=bool) for block in blocks])
