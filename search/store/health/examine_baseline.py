"""Whether the sample of random pairs is as it was written."""

from __future__ import annotations

import sqlite3

from search.errors import IndexDamaged
from search.store.baseline import read_baseline
from search.store.health.examine import snapshot
from search.store.health.kinds import Tally


def examine_baseline(connection: sqlite3.Connection, tally: Tally) -> None:
    """Read the row as a query does. That there is none is no damage: the next run takes a sample."""
    with snapshot(connection):
        try:
            read_baseline(connection)
        except IndexDamaged:
            tally.add("baseline")
