"""Status of an index and its files, and the null distribution of its scores.

A cosine has no absolute meaning (corpora/handbook/10-cosine-and-its-traps.md), so table `baseline` has a sample of
unrelated pairs of a query and a passage, with the cosine and the keyword score of each pair. It is drawn at the end of
a run (search/indexing/sampling.py). All functions run within an open transaction.
"""

from __future__ import annotations

import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from search.files import bytes_in
from search.records.reports import MEMORY, SkippedGroup, Status
from search.store.database import meta_of
from search.store.files import DATABASE, is_being_written
from search.store.home import index_command
from search.store.passages import Rows, name_of
from search.store.segments import read_segments
from search.store.settings import Folders, fingerprint_of, readable
from search.store.terms import TOKENIZER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.corpus import Skipped
    from search.store.tables import Tables


_EXAMPLES = 5


@dataclass(frozen=True)
class FileState:
    """State of a file when it was read; indexes/README.md describes the values."""

    size: int
    mtime_ns: int
    inode: int
    sha256: str | None
    status: str


def status_of(connection: sqlite3.Connection, index: Path) -> Status:
    """Return the status of an index."""
    meta = meta_of(connection, index / DATABASE)
    fingerprint = fingerprint_of(meta)
    documents, passages, tokens = counts(connection)
    segments = read_segments(connection)
    partial = connection.execute("SELECT 1 FROM files WHERE status = 'partial'").fetchone()
    skipped = skipped_groups(connection)
    annotated = tuple(Rows(connection).annotators())
    after = segments[-1].last if segments else 0
    tail = connection.execute("SELECT count(*) FROM embeddings WHERE passage > ?", (after,)).fetchone()[0]
    vectors = f"{passages - tail} of {passages} passages (segments: {len(segments)})"
    complete, folders = bool(meta.get("complete")) and partial is None, Folders.from_meta(meta)
    return Status(
        name=index.name,
        index=str(index),
        folder=meta["root"] or MEMORY,
        folders=folders.several,
        model=fingerprint.model,
        pooling=fingerprint.pooling,
        dimension=int(fingerprint.dimension),
        max_tokens=int(fingerprint.max_tokens),
        documents=documents,
        passages=passages,
        tokens=tokens,
        bytes=bytes_in(index),
        updated=meta.get("updated", ""),
        engine=meta.get("engine", ""),
        vectors=vectors,
        skipped=skipped,
        fingerprint=meta["fingerprint"],
        complete=complete,
        running=is_being_written(index),
        command="" if complete or folders.memory else index_command(index, folders),
        annotations=annotated,
    )


def counts(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Count documents, passages and tokens in the index."""
    documents = connection.execute("SELECT count(*) FROM documents").fetchone()[0]
    passages, tokens = connection.execute(
        "SELECT count(*), coalesce(sum(n_tokens), 0) FROM passages"
    ).fetchone()
    return documents, passages, tokens


def skipped_groups(connection: sqlite3.Connection) -> tuple[SkippedGroup, ...]:
    """Return the skipped files and records by reason, the most frequent first."""
    rows = connection.execute("SELECT path, record, reason, detail FROM skipped ORDER BY path, record")
    return grouped((name_of(path, record), reason, detail) for path, record, reason, detail in rows)


def grouped(skipped: Iterable[tuple[str, str, str]]) -> tuple[SkippedGroup, ...]:
    """Group (name, reason, detail) by reason, the most frequent first."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name, reason, detail in skipped:
        groups[reason].append(f"{name} ({detail})" if detail else name)
    return tuple(
        SkippedGroup(reason, len(names), tuple(names[:_EXAMPLES]))
        for reason, names in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    )


def stored_files(connection: sqlite3.Connection) -> dict[str, FileState]:
    """Return path -> state of each file that was opened, in the order of the paths' bytes."""
    rows = connection.execute(
        "SELECT path, size, mtime_ns, inode, sha256, status FROM files ORDER BY path"
    )
    return {name_of(path): FileState(*facts) for path, *facts in rows}


def has_more_files(connection: sqlite3.Connection, most: int) -> bool:
    """Return True if the index has more than `most` files, without counting all."""
    return connection.execute("SELECT 1 FROM files LIMIT 1 OFFSET ?", (most,)).fetchone() is not None


def stored_documents(connection: sqlite3.Connection, path: str) -> dict[int, str]:
    """Return record number -> SHA-256 of each stored document of a file."""
    rows = connection.execute(
        "SELECT record, documents.sha256 FROM documents JOIN files ON files.id = file WHERE path = ?",
        (os.fsencode(path),),
    )
    return dict(rows.fetchall())


def skipped_when_read(connection: sqlite3.Connection) -> Iterator[tuple[str, Skipped]]:
    """Yield (path of the file, skipped record or file) for everything that was skipped when files were read."""
    from search.corpus import Skipped  # not needed by a query

    rows = connection.execute("SELECT path, record, reason, detail FROM skipped WHERE stage = 'read'")
    for path, record, reason, detail in rows:
        yield name_of(path), Skipped(name_of(path, record), reason, detail)


def tokens_beyond(connection: sqlite3.Connection, most: int) -> int:
    """Return the number of tokens after the first `most` tokens of each passage, summed over all passages."""
    (over,) = connection.execute(
        "SELECT coalesce(sum(n_tokens - ?), 0) FROM passages WHERE n_tokens > ?", (most, most)
    ).fetchone()
    return int(over)


# With fewer pairs there is no percentile; of 500 pairs, only five are above the 99th.
PAIRS_NEEDED = 500

# Sampling method; a stored sample from another method is replaced.
MADE_WITH = f"sentences of at most 16 words, what three words reach; {TOKENIZER}"

_PAIR = np.dtype([("cosine", "<f4"), ("lexical", "<f4")])


@dataclass(frozen=True, eq=False)
class Baseline:
    """A sample of random pairs.

    Attributes:
        passages: number of passages in the index when the sample was drawn.
        queries: number of query texts.
        cosine, lexical: (n,) float32, cosine and keyword score of each pair; n is 0 if there were too few passages.
        made_with: identifier of the sampling method.
    """

    passages: int
    queries: int
    cosine: NDArray[np.float32]
    lexical: NDArray[np.float32]
    made_with: str = MADE_WITH

    def scores(self, weight: float) -> NDArray[np.float64]:
        """Return the (n,) scores of the pairs, lowest first; `weight` is the cosine's share of a score."""
        return np.sort(weight * self.cosine.astype(float) + (1 - weight) * self.lexical.astype(float))


def read_baseline(connection: sqlite3.Connection) -> Baseline | None:
    """Read the stored sample; None if none was drawn yet."""
    row = connection.execute("SELECT passages, queries, made_with, pairs FROM baseline").fetchone()
    if row is None:
        return None
    passages, queries, made_with, pairs = row
    with readable("the sample of random pairs"):
        parts = np.frombuffer(pairs, dtype=_PAIR)
    return Baseline(passages, queries, parts["cosine"], parts["lexical"], made_with)


def put_baseline(tables: Tables, baseline: Baseline) -> None:
    """Store a sample, replacing the earlier one."""
    pairs = np.empty(len(baseline.cosine), dtype=_PAIR)
    pairs["cosine"], pairs["lexical"] = baseline.cosine, baseline.lexical
    row = {
        "id": 1,
        "passages": baseline.passages,
        "queries": baseline.queries,
        "made_with": baseline.made_with,
        "pairs": pairs.tobytes(),
        "hubs": "",
    }
    with tables.transaction():
        tables.insert("baseline", [row], replace=True)


def is_due(connection: sqlite3.Connection, passages: int) -> bool:
    """Return True if a new sample of scores is due: there is none, it is outdated, or another method drew it.

    Args:
        passages: current number of passages. A sample is outdated once this number has more than doubled
            or halved. A sample without pairs is outdated after any change of the number.
    """
    baseline = read_baseline(connection)
    if baseline is None or baseline.made_with != MADE_WITH:
        return True
    if not len(baseline.cosine):
        return passages != baseline.passages
    return not baseline.passages <= 2 * passages <= 4 * baseline.passages
