"""Annotations: what models have said of passages, so that filters can ask for it. Here they are read.

An annotator is a name, what made its annotations, and the fields that they have. It has at most one annotation for
each passage; a passage without one has not been looked at yet, as after an update. Annotations go when their
passage goes. annotating.py writes them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from search.errors import quoted
from search.records.documents import Annotation, Annotator, Mention
from search.store.checksums import covered, require
from search.store.database import one_meta

# Of `made_with`: said to people, not compared.
COMMAND = "command"
CALLED = "called"  # the name of what made them, which may be a folder that was moved
NOT_COMPARED = (COMMAND, CALLED)


def annotators(connection: sqlite3.Connection) -> list[Annotator]:
    """Those that an index has, by name, within a transaction.

    Raises:
        IndexDamaged: a row is damaged.
    """
    rows = connection.execute(
        f"SELECT {covered('annotators')}, checksum FROM annotators ORDER BY name"
    ).fetchall()
    if not rows:
        return []
    total = int(one_meta(connection, "passages"))
    found = []
    for *values, checksum in rows:
        require("annotators", values, checksum)
        name, made_with, fields = values
        (done,) = connection.execute(
            "SELECT count(*) FROM annotations WHERE annotator = ?", (name,)
        ).fetchone()
        found.append(Annotator(name, json.loads(made_with), tuple(json.loads(fields)), done, total))
    return found


def annotations_of(
    connection: sqlite3.Connection, passages: Sequence[int], annotator: str | None = None
) -> dict[int, list[Annotation]]:
    """The annotations of passages that have any, in the order of the annotators' names, within a transaction.

    Raises:
        IndexDamaged: a row is damaged.
    """
    found: dict[int, list[Annotation]] = {}
    for row in _rows(connection, passages, annotator):
        annotation = _annotation(*row)
        found.setdefault(annotation.passage_id, []).append(annotation)
    return found


def values_by_passage(connection: sqlite3.Connection, passages: Sequence[int]) -> dict[int, dict[str, Any]]:
    """field -> value of each of the passages that has any annotation; quicker than with all spans.

    No two annotators have a field in common.

    Raises:
        IndexDamaged: a row is damaged.
    """
    found: dict[int, dict[str, Any]] = {}
    for passage, annotator, values, spans, checksum in _rows(connection, passages):
        require("annotations", (passage, annotator, values, spans), checksum)
        found.setdefault(passage, {}).update(json.loads(values))
    return found


def _rows(
    connection: sqlite3.Connection, passages: Sequence[int], annotator: str | None = None
) -> Iterable[tuple[int, str, str, str, int]]:
    """Annotations with their checksums, by passage and annotator; without annotators one look at an empty table."""
    if connection.execute("SELECT 1 FROM annotators LIMIT 1").fetchone() is None:
        return ()
    return connection.execute(
        f"""SELECT {covered("annotations")}, checksum FROM annotations
            WHERE passage IN (SELECT value FROM json_each(?)) AND annotator = coalesce(?, annotator)
            ORDER BY passage, annotator""",
        (json.dumps(list(passages)), annotator),
    )


def each_annotation(connection: sqlite3.Connection, annotator: str) -> Iterator[Annotation]:
    """All annotations of an annotator, by passage, within a transaction.

    Raises:
        IndexDamaged: a row is damaged.
    """
    rows = connection.execute(
        f"SELECT {covered('annotations')}, checksum FROM annotations WHERE annotator = ? ORDER BY passage",
        (annotator,),
    )
    return (_annotation(*row) for row in rows)


def _annotation(passage: int, annotator: str, values: str, spans: str, checksum: int) -> Annotation:
    require("annotations", (passage, annotator, values, spans), checksum)
    return Annotation(passage, json.loads(values), tuple(Mention(**span) for span in json.loads(spans)))


def lacking(connection: sqlite3.Connection, annotator: str) -> list[int]:
    """The ids of the passages that an annotator has not looked at, increasing."""
    rows = connection.execute(
        """SELECT id FROM passages LEFT JOIN annotations ON passage = id AND annotator = ?
           WHERE passage IS NULL ORDER BY id""",
        (annotator,),
    )
    return [row[0] for row in rows]


def way_on(annotator: Annotator, index: Path | None = None) -> str:
    """The command that annotates what lacks an annotation, as far as it is known.

    Args:
        index: to be named in it; None where that is done elsewhere.
    """
    command = annotator.made_with.get(COMMAND)
    if not command:
        return "the command that made them"
    return f"{command} --index {quoted(index)}" if index else str(command)
