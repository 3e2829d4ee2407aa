"""Status of an index: its counts, its skipped files, and whether the last run is complete.

All functions run within an open transaction.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from search.files import bytes_in
from search.records.reports import MEMORY, SkippedGroup, Status
from search.store.database import meta_of
from search.store.document_languages import language_counts
from search.store.files import DATABASE, is_being_written
from search.store.home import index_command, short_name
from search.store.namespaces import namespaces
from search.store.passages import SnapshotReader, name_of
from search.store.pending import count_pending
from search.store.record_counts import record_counts
from search.store.segments import Segment, read_segments
from search.store.settings import Folders, fingerprint_of
from search.store.vectors import MAX_ID

_EXAMPLES = 5  # names of a group of skipped files


def status_of(connection: sqlite3.Connection, index: Path) -> Status:
    """Return the status of an index."""
    meta = meta_of(connection, index / DATABASE)
    fingerprint = fingerprint_of(meta)
    documents, passages, tokens = counts(connection)
    segments = read_segments(connection)
    partial = connection.execute("SELECT 1 FROM files WHERE status = 'partial'").fetchone()
    skipped = skipped_groups(connection)
    annotated = tuple(SnapshotReader(connection).annotators())
    in_files = passages - _outside_files(connection, segments)
    vectors = f"{in_files} of {passages} passages (segments: {len(segments)})"
    pending, lazy = count_pending(connection), bool(meta.get("lazy"))
    complete = bool(meta.get("complete")) and partial is None and (lazy or not pending)
    folders = Folders.from_meta(meta)
    return Status(
        name=short_name(index),
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
        command="" if (complete and not pending) or folders.memory else index_command(index, folders),
        annotations=annotated,
        notes=tuple(meta.get("model_notes", ())),
        pending=pending,
        lazy=lazy,
        prompts=fingerprint.prompts_line,
        languages=language_counts(connection),
        records=record_counts(connection),
        namespaces=len(namespaces(index)),
    )


def _outside_files(connection: sqlite3.Connection, segments: Sequence[Segment]) -> int:
    """Return the number of passages that are in no FAISS file."""
    after = segments[-1].last if segments else 0
    spans = [(after + 1, MAX_ID)]
    spans += [(segment.first, segment.last) for segment in segments if not segment.has_codes]
    select = "SELECT count(*) FROM passages WHERE id BETWEEN ? AND ?"
    return sum(connection.execute(select, span).fetchone()[0] for span in spans)


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


def tokens_beyond(connection: sqlite3.Connection, most: int) -> int:
    """Return the number of tokens after the first `most` tokens of each passage, summed over all passages."""
    (over,) = connection.execute(
        "SELECT coalesce(sum(n_tokens - ?), 0) FROM passages WHERE n_tokens > ?", (most, most)
    ).fetchone()
    return int(over)
