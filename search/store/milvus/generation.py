"""The states of an index on Milvus: rows of one collection, of which one by itself makes a state answer.

A generation says all that is not of one passage, document or term. Its JSON is cut into rows, as a value has a limit;
the row of part 0 says how many there are and is written last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from search.encoding.fingerprint import Fingerprint
from search.store.milvus.layout import BORN, DIED, FORMAT, collection

if TYPE_CHECKING:
    from search.store.milvus.client import Client


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
        fields: what filters can compare; see `search.store.milvus.filters`.
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
