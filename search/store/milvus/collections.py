"""The collections of an index on Milvus are made, and those that are of no use any more dropped."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any, Final

from search.errors import InputError
from search.store.milvus.client import Client
from search.store.milvus.layout import (
    BORN,
    CHECKSUM,
    CONTENT,
    COPY,
    COUNT,
    DENSE,
    DENSE_CHECKSUM,
    DIED,
    DOCUMENT,
    FIELDS,
    FILE,
    GENERATION,
    KEY,
    LENGTH,
    LONGEST,
    LONGEST_TERM,
    NOTHING,
    NUMBER,
    PART,
    PARTS,
    PASSAGE,
    ROW,
    SPARSE,
    SPARSE_CHECKSUM,
    TERM,
    collection,
    generations,
    stamp_of,
)

EXACT: Final = "FLAT"

# Kinds of indexes of embeddings, and what they are made with.
_DENSE: Final[dict[str, dict[str, int]]] = {
    EXACT: {},
    "HNSW": {"M": 16, "efConstruction": 200},
    "IVF_FLAT": {"nlist": 128},
    "DISKANN": {},
}
_LONGEST_KEY, _LONGEST_HASH = 64, 64


def dense_of(kind: str) -> dict[str, Any]:
    """What a generation says of its index of embeddings: its kind, and what it is made with.

    Raises:
        InputError: there is no such kind.
    """
    if kind not in _DENSE:
        raise InputError(f"'{kind}' is no kind of index of embeddings. Take one of {', '.join(_DENSE)}.")
    return {"kind": kind, **_DENSE[kind]}


def make_generations(client: Client) -> None:
    """The collection of generations, if it is not there."""
    client.create(generations(client.address.name), _of_generations, _nothing)


def make_collections(client: Client, stamp: int, dense: dict[str, Any], dimension: int) -> None:
    """Those of passages, documents and terms, as far as they are not there."""
    name = client.address.name
    passages = partial(_of_passages, dimension=dimension)
    client.create(collection(name, stamp, "passages"), passages, partial(_of_embeddings, dense=dense))
    client.create(collection(name, stamp, "documents"), _of_documents, _nothing)
    client.create(collection(name, stamp, "terms"), _of_terms, _nothing)


def drop_others(client: Client, stamps: Collection[int]) -> None:
    """Drop the collections of passages, documents and terms of all other stamps."""
    for found in client.collections():
        stamp = stamp_of(client.address.name, found)
        if stamp is not None and stamp not in stamps:
            client.drop(found)


def _of_generations(schema: Any) -> None:
    _fields(schema, numbers=(GENERATION, PART, PARTS), texts={CONTENT: LONGEST})
    _vectors(schema)


def _of_passages(schema: Any, dimension: int) -> None:
    from pymilvus import DataType

    numbers = (BORN, DIED, PASSAGE, DOCUMENT, COPY, LENGTH, SPARSE_CHECKSUM, DENSE_CHECKSUM)
    _fields(schema, numbers=numbers, texts={CONTENT: _LONGEST_HASH, ROW: LONGEST})
    schema.add_field(FIELDS, DataType.JSON)
    schema.add_field(DENSE, DataType.FLOAT_VECTOR, dim=dimension)
    schema.add_field(SPARSE, DataType.SPARSE_FLOAT_VECTOR)


def _of_documents(schema: Any) -> None:
    _fields(schema, numbers=(BORN, DIED, DOCUMENT), texts={FILE: _LONGEST_HASH, ROW: LONGEST})
    _vectors(schema)


def _of_terms(schema: Any) -> None:
    _fields(schema, numbers=(BORN, DIED, NUMBER, COUNT), texts={TERM: LONGEST_TERM})
    _vectors(schema)


def _fields(schema: Any, *, numbers: tuple[str, ...], texts: dict[str, int]) -> None:
    """The key and the checksum that all rows have, whole numbers, and texts of at most so many bytes."""
    from pymilvus import DataType

    schema.add_field(KEY, DataType.VARCHAR, max_length=_LONGEST_KEY, is_primary=True)
    for name in (*numbers, CHECKSUM):
        schema.add_field(name, DataType.INT64)
    for name, longest in texts.items():
        schema.add_field(name, DataType.VARCHAR, max_length=longest)


def _vectors(schema: Any) -> None:
    from pymilvus import DataType

    schema.add_field(NOTHING, DataType.FLOAT_VECTOR, dim=2)


def _nothing(indexes: Any) -> None:
    indexes.add_index(NOTHING, index_type=EXACT, metric_type="IP")


def _of_embeddings(indexes: Any, dense: dict[str, Any]) -> None:
    params = {name: value for name, value in dense.items() if name != "kind"}
    indexes.add_index(DENSE, index_type=dense["kind"], metric_type="IP", params=params)
    indexes.add_index(
        SPARSE, index_type="SPARSE_INVERTED_INDEX", metric_type="IP", params={"drop_ratio_build": 0.0}
    )
