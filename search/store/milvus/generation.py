"""The states of an index on Milvus: rows of one collection, of which one by itself makes a state answer.

A generation says all that is not of one passage, document or term. Its JSON is cut into rows, as a value has a limit;
the row of part 0 says how many there are and is written last.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from search.encoding.fingerprint import Fingerprint
from search.errors import IndexDamaged, IndexNotFound, IndexOutdated, SearchError, StoreUnavailable
from search.store.checksums import row_checksum
from search.store.milvus.client import Client
from search.store.milvus.layout import (
    BORN,
    CHECKSUM,
    CONTENT,
    DIED,
    FORMAT,
    GENERATION,
    KEY,
    NOTHING,
    PART,
    PARTS,
    WAY_OUT,
    collection,
    generations,
)

_PART = 60_000  # characters of JSON in a row, all of them ASCII


@dataclass(frozen=True)
class Generation:
    """What a state of an index says of itself.

    Attributes:
        number: of the index in a folder that was published; a higher one is newer.
        stamp: of the collections that it is in.
        ledger: what tells the index in a folder that it is of from any other.
        passages, documents, tokens: how many there are.
        mean: of the lengths of passages, as BM25 counts them.
        reference: the mean length that the saturations in sparse vectors were made with.
        fingerprint, root, source, choice: as in `search.store.protocol.Snapshot`.
        dense: the kind of the index of embeddings, "FLAT" for an exact one, with its parameters, and the recall that
            was measured of another kind: {"kind": "HNSW", "M": 16, "recall@10": 0.98, "queries": 200}.
        status: what `Status` says besides.
        annotators: those of `Snapshot.annotators`, as JSON.
        baseline: of `Snapshot.random_pairs`; arrays in base 64.
        fields: which fields and folders there are, for filters; see `search.store.milvus.fields.catalog`.
        facets: of all documents.
    """

    number: int
    stamp: int
    ledger: str
    passages: int
    documents: int
    tokens: int
    mean: float
    reference: float
    fingerprint: dict[str, Any]
    root: str
    source: dict[str, Any]
    choice: dict[str, Any] = field(default_factory=dict)
    dense: dict[str, Any] = field(default_factory=lambda: {"kind": "FLAT"})
    status: dict[str, Any] = field(default_factory=dict)
    annotators: list[dict[str, Any]] = field(default_factory=list)
    baseline: dict[str, Any] | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    facets: list[dict[str, Any]] = field(default_factory=list)
    format: int = FORMAT

    @property
    def exact(self) -> bool:
        return bool(self.dense["kind"] == "FLAT")

    @cached_property
    def made(self) -> Fingerprint:
        return Fingerprint.from_dict(self.fingerprint)


@dataclass(frozen=True)
class View:
    """One state of an index on a server: what the functions that read it are given."""

    client: Client
    generation: Generation

    def collection(self, kind: str) -> str:
        """Of "passages", "documents" or "terms"."""
        return collection(self.client.address.name, self.generation.stamp, kind)

    def there(self, where: str = "") -> str:
        """The expression of the rows of this state, of those that pass another expression."""
        mine = f"{BORN} <= {self.generation.number} and {DIED} > {self.generation.number}"
        return f"{mine} and ({where})" if where else mine


def newest(client: Client) -> Generation | None:
    """The state that answers; None where nothing was published.

    Raises:
        IndexDamaged: its rows are not what was written.
        IndexOutdated: another version of this program wrote them.
    """
    while there := published(client):
        if found := load(client, max(there)):
            return found
        # It was deleted meanwhile, as there are two newer ones.
    return None


def names(client: Client) -> list[str]:
    """Of the indexes on a server."""
    before, behind = generations("\0").split("\0")
    there = [name for name in client.collections() if name.startswith(before) and name.endswith(behind)]
    return sorted(name[len(before) : -len(behind)] for name in there)


def missing(client: Client) -> IndexNotFound:
    """That nothing was published under a name, and what was under others."""
    address, others = client.address, names(client)
    there = f"There are: {', '.join(others)}." if others else "It has none."
    return IndexNotFound(
        f"there is no index '{address.name}' on the Milvus server at {address.uri}. {there} Publish one with: seewhy "
        f"index FOLDER --store {address}"
    )


def published(client: Client) -> dict[int, int]:
    """The numbers of the generations that can be read, each with a checksum, by which it is told from another one that
    was given the same number after all had been deleted."""
    name = generations(client.address.name)
    try:
        rows = client.query(name, f"{PART} == 0", [GENERATION, CHECKSUM])
    except StoreUnavailable:
        raise
    except SearchError:
        if client.has(name):
            raise
        return {}
    return {int(row[GENERATION]): int(row[CHECKSUM]) for row in rows}


def load(client: Client, number: int) -> Generation | None:
    """A generation by its number; None where it is not there, or no more.

    Raises:
        IndexDamaged, IndexOutdated: as for `newest`.
    """
    fields = [KEY, PART, PARTS, CONTENT, CHECKSUM]
    rows = client.query(generations(client.address.name), f"{GENERATION} == {number}", fields)
    rows.sort(key=lambda row: row[PART])
    damaged = IndexDamaged(f"generation {number} of {client.address} is damaged. {WAY_OUT}")
    if any(row_checksum(row[KEY], row[PARTS], row[CONTENT]) != row[CHECKSUM] for row in rows):
        raise damaged
    if not rows or [row[PART] for row in rows] != list(range(rows[0][PARTS])):
        if number in published(client):  # else it is being deleted
            raise damaged
        return None
    try:
        values = json.loads("".join(row[CONTENT] for row in rows))
        if values["format"] == FORMAT:
            return Generation(**values)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise IndexDamaged(f"generation {number} of {client.address} makes no sense. {WAY_OUT}") from None
    raise IndexOutdated(
        f"{client.address} has format {values['format']!s:.20}, and this version of seewhy reads {FORMAT}. {WAY_OUT}"
    )


def put(client: Client, generation: Generation) -> None:
    """Let a generation answer: all that is of it has to be there."""
    text = json.dumps(asdict(generation), separators=(",", ":"))
    parts = [text[start : start + _PART] for start in range(0, len(text), _PART)]
    rows = [_row(generation.number, part, len(parts), content) for part, content in enumerate(parts)]
    name = generations(client.address.name)
    client.put(name, rows[1:])
    client.put(name, rows[:1])


def forget(client: Client, where: str) -> None:
    """Delete generations by an expression over their numbers: first the rows that make them answer."""
    name = generations(client.address.name)
    client.delete(name, f"{PART} == 0 and {where}")
    client.delete(name, where)


def _row(number: int, part: int, parts: int, content: str) -> dict[str, Any]:
    key = f"{number}/{part}"
    return {
        KEY: key, GENERATION: number, PART: part, PARTS: parts, CONTENT: content,
        CHECKSUM: row_checksum(key, parts, content), NOTHING: [0.0, 0.0],
    }  # fmt: skip
