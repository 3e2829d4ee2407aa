"""Write annotations in batches, each in one short transaction; passages.py reads them.

The writer's lock is held for the whole run and no transaction is open while a model works. A run that was killed is
resumed, and annotations made with different settings are never mixed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import InputError
from search.records.contents import StoredPassage
from search.records.documents import BUILT_IN_FIELDS, Annotation, Annotator
from search.store.conditions import folded
from search.store.database import (
    all_meta,
    as_json,
    connect_to_write,
    meta_of,
    one_meta,
    reading,
    translated,
)
from search.store.files import writer_lock
from search.store.home import index_command
from search.store.layout import DATABASE
from search.store.passages import NOT_COMPARED, SnapshotReader, existing
from search.store.pending import count_pending, lacking
from search.store.settings import fingerprint_of
from search.store.vectors import embeddings
from search.store.writer import Writer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PASSAGES_A_BATCH = 64


def annotators_of(index: Path) -> list[Annotator]:
    """List the annotators of an index, in a separate transaction.

    Raises:
        IndexNotFound, IndexOutdated, IndexDamaged: the index cannot be read.
    """
    database = index / DATABASE
    with reading(database) as connection:
        meta_of(connection, database)
        return SnapshotReader(connection).annotators()


class Annotating:
    """Run of an annotator over the passages of an index, created by `annotating`, which locks the index.

    Attributes:
        connection: connection for reading between the transactions.
        total: number of passages in the index.
        todo: IDs of the passages without an annotation at the start of the run, increasing.
    """

    def __init__(self, index: Path, writer: Writer, annotator: str) -> None:
        self._index = index
        self.connection = connection = writer.connection
        self.rows = SnapshotReader(connection)
        self.todo = self.rows.lacking(annotator)
        self.total = int(one_meta(connection, "passages"))
        self._writer, self._annotator = writer, annotator

    def batches(self, size: int = _PASSAGES_A_BATCH) -> Iterator[list[StoredPassage]]:
        """Yield the stored passages in `todo`, in order; no transaction is open between two batches.

        Raises:
            IndexDamaged: a row is damaged.
        """
        for start in range(0, len(self.todo), size):
            ids = self.todo[start : start + size]
            yield list(existing(self.rows, ids).values())

    def embedding_blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Yield the embeddings of the passages in `todo`, in blocks of (ids, (n, d)); no transaction stays open.

        Raises:
            InputError: some of the passages are not encoded yet.
        """
        if pending := count_pending(self.connection):
            folders = self.rows.facts.folders
            raise lacking(pending, "the annotation", index_command(self._index, folders))
        dimension = int(fingerprint_of(all_meta(self.connection)).dimension)
        return embeddings(self.connection, dimension, among=np.array(self.todo, dtype=np.int64))

    def put(self, annotations: Sequence[Annotation]) -> None:
        """Store an annotation, possibly without values, for each processed passage, in one transaction."""
        rows = [self._row(annotation) for annotation in annotations]
        with self._writer.transaction():
            self._writer.insert("annotations", rows)

    def _row(self, annotation: Annotation) -> dict[str, Any]:
        return {
            "passage": annotation.passage_id,
            "annotator": self._annotator,
            "values": as_json(dict(annotation.values)),
            "spans": as_json([vars(span) for span in annotation.spans]),
        }


@contextmanager
def annotating(
    index: Path,
    annotator: str,
    made_with: Mapping[str, Any],
    fields: Sequence[str],
    *,
    replace: bool = False,
) -> Iterator[Annotating]:
    """Lock an index to annotate its passages; passages with annotations of the same settings are skipped.

    Args:
        index: folder of the index.
        annotator: a name, for messages and for `seewhy status`.
        made_with: settings of the annotator, JSON-compatible. Earlier annotations are kept only if they were made with
            the same settings; only the values of "command" and "called" may differ.
        fields: names under which filters find the values.
        replace: delete the annotations that this annotator made with other settings.

    Raises:
        InputError: a field with one of these names exists, or the stored annotations of this annotator have other
            settings and `replace` is not set.
        IndexLocked: another process is writing to the index.
        IndexNotFound, IndexOutdated, IndexDamaged: the index cannot be used.
    """
    annotators_of(index)  # report an unusable index before a lock or write access is needed
    with _writing(index) as (writer, annotators):
        _check_fields(annotator, fields, annotators)
        before, made_json = annotators.get(annotator), as_json(dict(made_with))
        replaced = before if before and not _same(before, json.loads(made_json), fields) else None
        if replaced and not replace:
            raise InputError(
                f"the index '{index.name}' has annotations named '{replaced.name}' from another model "
                f"or settings ({replaced.progress}). To replace them, add: --replace"
            )
        if before is None or replaced:
            with writer.transaction():
                writer.delete("annotators", "name = ?", annotator)
                row = {"name": annotator, "made_with": made_json, "fields": as_json(list(fields))}
                writer.insert("annotators", [row])
        yield Annotating(index, writer, annotator)


def remove_annotator(index: Path, annotator: str) -> Annotator:
    """Delete an annotator with all its annotations; return the deleted annotator.

    Raises:
        InputError: the index has no annotator of that name.
        IndexLocked: another process is writing to the index.
    """
    with _writing(index) as (writer, annotators):
        if annotator not in annotators:
            hint = f"Choose from: {', '.join(annotators)}" if annotators else "It has no annotations."
            raise InputError(f"the index '{index.name}' has no annotations named '{annotator}'. {hint}")
        with writer.transaction():
            writer.delete("annotators", "name = ?", annotator)
    return annotators[annotator]


@contextmanager
def _writing(index: Path) -> Iterator[tuple[Writer, dict[str, Annotator]]]:
    """Lock an index; yield its writer and its annotators by name."""
    database = index / DATABASE
    with writer_lock(index), closing(connect_to_write(database)) as connection, translated(database):
        meta_of(connection, database)
        annotators = SnapshotReader(connection).annotators()
        yield Writer(connection), {annotator.name: annotator for annotator in annotators}


def _same(before: Annotator, made_with: Mapping[str, Any], fields: Sequence[str]) -> bool:
    old, new = (
        {k: v for k, v in kept.items() if k not in NOT_COMPARED} for kept in (before.made_with, made_with)
    )
    return old == new and before.fields == tuple(fields)


def _check_fields(annotator: str, fields: Sequence[str], annotators: Mapping[str, Annotator]) -> None:
    """Raise InputError for an invalid name, and for a field whose name is already in use."""
    for name in (annotator, *fields):
        if not name.strip() or not name.isprintable():
            raise InputError(
                f"{name!r} is not a valid name for annotations or a field. Use a name such as: ner"
            )
    others = (other.fields for other in annotators.values() if other.name != annotator)
    taken = {"metadata", *BUILT_IN_FIELDS, *map(folded, chain(*others))}
    for field in fields:
        if (key := folded(field)) in taken or key.startswith("metadata."):
            raise InputError(f"the field '{field}' already exists. Give another --name.")
        taken.add(key)
