"""Texts that stand in many documents: a ranking shows one passage for all that have them.

Every embedding has the key of its passage's text beside it (`search.corpus.boilerplate.text_key`), which two passages
share if they have the same words. What stands in two or three documents is no boilerplate: it may be what somebody
looks for, twice.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from search.store.protocol import Copied

FEWEST_DOCUMENTS = 5


def copies_of(connection: sqlite3.Connection, passages: Sequence[int]) -> dict[int, Copied]:
    """Those of the passages whose text stands in many documents."""
    rows = connection.execute(
        """WITH mine AS (
               SELECT passage, text_key FROM embeddings
               WHERE passage IN (SELECT value FROM json_each(?)) AND text_key != 0),
           copied AS (
               SELECT text_key, count(DISTINCT document) AS documents
               FROM (SELECT DISTINCT text_key FROM mine) JOIN embeddings USING (text_key)
                    JOIN passages ON passages.id = embeddings.passage
               GROUP BY text_key HAVING documents >= ?)
           SELECT passage, text_key, documents FROM mine JOIN copied USING (text_key)""",
        (json.dumps(list(passages)), FEWEST_DOCUMENTS),
    )
    return {passage: Copied(key, documents) for passage, key, documents in rows}


def copied_texts(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many passages have a text that stands in many documents, and how many such texts there are."""
    rows = connection.execute(
        """SELECT count(*) FROM (SELECT text_key FROM embeddings WHERE text_key != 0 GROUP BY text_key
                                 HAVING count(*) >= ?) JOIN embeddings USING (text_key)
           JOIN passages ON passages.id = passage GROUP BY text_key HAVING count(DISTINCT document) >= ?""",
        (FEWEST_DOCUMENTS, FEWEST_DOCUMENTS),
    ).fetchall()
    return sum(count for (count,) in rows), len(rows)
