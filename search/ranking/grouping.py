"""How many hits one document may have, and hits by document."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.ranking.ranking import Scored

if TYPE_CHECKING:
    from numpy.typing import NDArray


def within(
    most: int, best: Sequence[Scored], document_of: Mapping[int, object]
) -> tuple[list[Scored], list[Scored]]:
    """The first `most` passages of each document, and all others; both in the order of the ranking."""
    seen: Counter[object] = Counter()
    kept: list[Scored] = []
    others: list[Scored] = []
    for item in best:
        document = document_of[item.passage]
        seen[document] += 1
        (kept if seen[document] <= most else others).append(item)
    return kept, others


def by_document(best: Sequence[Scored], document_of: Mapping[int, object]) -> list[list[Scored]]:
    """The passages of each document, best first; documents in the order in which they come up."""
    found: dict[object, list[Scored]] = {}
    for item in best:
        found.setdefault(document_of[item.passage], []).append(item)
    return [sorted(items, key=lambda item: (-item.score, item.passage)) for items in found.values()]


def completed(
    connection: sqlite3.Connection,
    groups: Sequence[Sequence[Scored]],
    ranking_of: Callable[[NDArray[np.int64]], Sequence[Scored]],
) -> list[list[Scored]]:
    """Groups of passages, each with all other passages of its document that rank at all.

    Args:
        ranking_of: ranks the passages of some ids.
    """
    rows = connection.execute(
        """SELECT id, document FROM passages WHERE document IN (
               SELECT document FROM passages WHERE id IN (SELECT value FROM json_each(?)))
           ORDER BY id""",
        (json.dumps([group[0].passage for group in groups]),),
    ).fetchall()
    document_of = dict(rows)
    found: dict[int, list[Scored]] = {document_of[group[0].passage]: [] for group in groups}
    for item in ranking_of(np.array([id_ for id_, _ in rows], dtype=np.int64)):
        found[document_of[item.passage]].append(item)
    return list(found.values())
