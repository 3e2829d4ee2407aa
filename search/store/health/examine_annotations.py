"""Whether what models said of passages is as it was written, and its spans are in the passages' texts."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from search.store.checksums import COVERED, covered, row_checksum
from search.store.health.examine import Tick, pieces, snapshot
from search.store.health.kinds import Tally


def examine_annotations(connection: sqlite3.Connection, tally: Tally, tick: Tick) -> None:
    """Every annotator and every annotation. Those that belong to nothing are found by their links."""
    with snapshot(connection):
        rows = connection.execute(
            f"SELECT rowid, {covered('annotators')}, checksum FROM annotators"
        ).fetchall()
    for rowid, *values, checksum in rows:
        if row_checksum(*values) != checksum or not (_is(dict, values[1]) and _is(list, values[2])):
            tally.add("annotator", str(values[0]), rowid)
    n = len(COVERED["annotations"])
    for above, upto in pieces(connection, "annotations", "rowid", tick):
        found = connection.execute(
            f"""SELECT annotations.rowid, {covered("annotations")}, annotations.checksum,
                       {covered("passages")}, passages.checksum
                FROM annotations LEFT JOIN passages ON id = passage
                WHERE annotations.rowid > ? AND annotations.rowid <= ?""",
            (above, upto),
        ).fetchall()
        for rowid, *row in found:
            passage, annotator, values, spans = row[:n]
            whole = row_checksum(*row[:n]) == row[n] and _is(dict, values) and _is(list, spans)
            if not whole or not _spans_its_text(json.loads(spans), row[n + 1 : -1], row[-1]):
                tally.add("annotation", f"{annotator} of p{passage}", rowid)


def _is(kind: type, text: str) -> bool:
    try:
        return isinstance(json.loads(text), kind)
    except (ValueError, RecursionError):
        return False


def _spans_its_text(spans: list[dict[str, Any]], values: list[Any], checksum: int | None) -> bool:
    """Whether spans are where they should be in a passage; true of a passage that is damaged or missing."""
    if checksum is None or row_checksum(*values) != checksum:
        return True
    passage = dict(zip(COVERED["passages"], values, strict=True))
    start, text = passage["start"], passage["text"]
    try:
        return all(
            start <= span["start"] <= span["end"] <= passage["end"]
            and text[span["start"] - start : span["end"] - start] == span["text"]
            for span in spans
        )
    except (KeyError, TypeError):  # no spans of this program
        return False
