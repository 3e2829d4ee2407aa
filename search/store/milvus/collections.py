"""The collections of an index on Milvus are made."""

from __future__ import annotations

from typing import Any

from search.store.milvus.client import Client
from search.store.milvus.layout import (
    CHECKSUM,
    CONTENT,
    GENERATION,
    KEY,
    LONGEST,
    NOTHING,
    PART,
    PARTS,
    generations,
)

_LONGEST_KEY = 64


def make_generations(client: Client) -> None:
    """The collection of generations, if it is not there."""
    client.create(generations(client.address.name), _of_generations, _nothing)


def _of_generations(schema: Any) -> None:
    _key(schema)
    _numbers(schema, GENERATION, PART, PARTS, CHECKSUM)
    _texts(schema, **{CONTENT: LONGEST})
    _vector(schema, NOTHING, 2)


def _key(schema: Any) -> None:
    from pymilvus import DataType

    schema.add_field(KEY, DataType.VARCHAR, max_length=_LONGEST_KEY, is_primary=True)


def _numbers(schema: Any, *names: str) -> None:
    from pymilvus import DataType

    for name in names:
        schema.add_field(name, DataType.INT64)


def _texts(schema: Any, **longest: int) -> None:
    from pymilvus import DataType

    for name, length in longest.items():
        schema.add_field(name, DataType.VARCHAR, max_length=length)


def _vector(schema: Any, name: str, dimension: int) -> None:
    from pymilvus import DataType

    schema.add_field(name, DataType.FLOAT_VECTOR, dim=dimension)


def _nothing(indexes: Any) -> None:
    indexes.add_index(NOTHING, index_type="FLAT", metric_type="IP")
