"""A filter as SQL, and the passages that pass it.

"and", "or" and "not" become SQL; a single condition becomes `passes(?, column)`, a function of this
process that is bound to the condition by a number. So nothing that was typed is ever part of the SQL, names and
values are compared as Python does, whichever SQLite is installed (its JSON functions round numbers and read odd
keys differently from version to version), and a condition on a document is asked once for it.

A field of the metadata may also be one that an annotator gives to passages (`search.store.annotations`): then the
document's values and the passage's count alike.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from search.errors import IndexDamaged
from search.ranking.conditions import Condition, Where
from search.ranking.where_compare import folded
from search.ranking.where_functions import Conditions, leaves
from search.ranking.where_sense import require_sense
from search.records.annotations import Annotator
from search.store.annotations import annotators, way_on
from search.store.checksums import covered, require
from search.store.database import one_meta

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The order is fixed by CROSS JOIN, so that a document's conditions are asked before its passages are read.
_TABLES = """files CROSS JOIN documents ON documents.file = files.id
             CROSS JOIN passages ON passages.document = documents.id"""

_MOST_KEPT = 16  # filters; of a million passages, 8 MB each at most


def matching(connection: sqlite3.Connection, where: Where) -> NDArray[np.int64]:
    """The ids of the passages that pass a filter, increasing, within a read transaction.

    All rows that the filter looks at are compared with their checksums, those that do not pass too: damage must
    not leave out a hit. With 20,000 files of one passage each that and one condition took 0.15 s, each
    further condition 0.07 s. It is the time of the files and documents, not of the passages, unless the
    filter asks for headings or pages.

    Raises:
        InputError: it names a field that neither a document nor an annotator has, or orders one by what none of its
            values is.
        IndexDamaged: a row is damaged or missing.
    """
    annotated = _annotators_by_field(connection, where)
    _require_whole(connection, _columns_of(where.condition) | ({"values"} if annotated else set()))
    conditions = Conditions(annotated)
    sql = conditions.sql(where.condition)
    with_function = connection.create_function
    with_function("passes", 2, conditions.passes, deterministic=True)
    try:
        require_sense(connection, where, conditions)
        rows = connection.execute(f"SELECT passages.id FROM {_TABLES} WHERE {sql}", conditions.parameters)
        return np.sort(np.array([row[0] for row in rows], dtype=np.int64))
    finally:
        with_function("passes", 2, None)


class Filters:
    """Filters of a process that asks often: what passes is kept for as long as the index stays as it is.

    Safe between threads, each of which keeps its own, as it does with connections (`search.store.database.Reader`).
    """

    def __init__(self) -> None:
        self._kept = threading.local()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be known of the answer to this thread's last filter: each ends with the command that helps."""
        return getattr(self._kept, "remarks", ())

    def forget_remarks(self) -> None:
        """The next query has no filter."""
        self._kept.remarks = ()

    def matching(self, connection: sqlite3.Connection, where: Where) -> NDArray[np.int64]:
        """As the function `matching`; the array cannot be written to."""
        version = connection.execute("PRAGMA data_version").fetchone()[0], connection.total_changes
        if getattr(self._kept, "of", None) != (connection, version):
            self._kept.of, self._kept.found = (connection, version), {}
        found: dict[str, tuple[NDArray[np.int64], tuple[str, ...]]] = self._kept.found
        if where.text not in found:
            if len(found) == _MOST_KEPT:
                found.clear()
            ids = matching(connection, where)
            ids.flags.writeable = False
            found[where.text] = ids, tuple(_without_annotations(connection, where))
        ids, self._kept.remarks = found[where.text]
        return ids


def _annotators_by_field(connection: sqlite3.Connection, where: Where) -> dict[str, Annotator]:
    """Those that a filter asks, by the names of their fields."""
    wanted = {folded(leaf.field.name) for leaf in leaves(where.condition) if leaf.field.column == "metadata"}
    if not wanted:
        return {}
    fields = {folded(field): one for one in annotators(connection) for field in one.fields}
    return {field: one for field, one in fields.items() if field in wanted}


def _without_annotations(connection: sqlite3.Connection, where: Where) -> Iterator[str]:
    """Of each annotator that a filter asks, how many passages it has not looked at."""
    asked = {one.name: one for one in _annotators_by_field(connection, where).values()}
    for one in asked.values():
        if not one.complete:
            lacking = one.passages - one.annotated
            yield (
                f"{lacking:,} of {one.passages:,} passages have not been looked at for '{one.name}' yet, and count "
                f"here as having no such value; go on with: {way_on(one)}"
            )


def _columns_of(condition: Condition) -> set[str]:
    return {leaf.field.column for leaf in leaves(condition)}


def _require_whole(connection: sqlite3.Connection, columns: set[str]) -> None:
    """Raise IndexDamaged if a row that these columns are read from is damaged, or one is missing."""
    of_passages, of_documents = {"heading", "page"}, {"kind", "title", "metadata"}
    # A damaged `documents.file` gives a document the path of another file.
    read = {
        "files": {"path"},
        "documents": {"path", *of_documents},
        "passages": of_passages,
        "annotations": {"values"},
    }
    for table in read:
        if not columns & read[table]:
            continue
        for *values, checksum in connection.execute(f"SELECT {covered(table)}, checksum FROM {table}"):
            require(table, values, checksum)
    (found,) = connection.execute(f"SELECT count(*) FROM {_TABLES}").fetchone()
    if found != (passages := one_meta(connection, "passages")):
        raise IndexDamaged(
            f"the index should hold {passages} passages, but {found} were found. Mend it with: seewhy repair"
        )
