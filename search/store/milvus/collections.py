"""The collections of an index on Milvus, and which one answers.

    NAME_STAMP         a row for each passage; the alias NAME points to the one that answers
        passage        INT64, its id
        document       INT64, the number of its document
        embedding      FLOAT_VECTOR
        stems          VARCHAR: its stems in order, as `rows.key_of` spells them
        sparse         what the server makes of `stems`, for its full-text search
        fields         JSON: what filters compare; see filters.py
        row            VARCHAR: all else, as JSON
    NAME_STAMP_terms   a row for each stem
        key            VARCHAR
        count          INT64: in how many passages it is
        facts          VARCHAR: in the row with the key ABOUT, JSON that says what the index is
        nothing        FLOAT_VECTOR, as every collection has to have a vector

A rebuild fills collections of a new stamp. When they are whole the alias is switched, and the others are dropped.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Any, Final

from search.errors import InputError
from search.store.milvus.address import Address
from search.store.milvus.client import Client

ABOUT: Final = "#"
LONGEST: Final = 65_535  # bytes of a text

KINDS: Final[dict[str, dict[str, int]]] = {
    "FLAT": {}, "HNSW": {"M": 16, "efConstruction": 200}, "IVF_FLAT": {"nlist": 128}, "DISKANN": {},
}  # fmt: skip
"""Kinds of indexes of embeddings, and what they are made with."""


@dataclass(frozen=True)
class Server:
    """Where an index streams its passages.

    Attributes:
        address: as it is typed.
        kind: of the index of embeddings.
        collection: of the passages.
        answers: the alias was pointed to it.
    """

    address: str
    kind: str
    collection: str
    answers: bool = False

    @classmethod
    def new(cls, address: Address, kind: str) -> Server:
        """With collections of a new stamp."""
        if kind not in KINDS:
            raise InputError(f"there is no kind of index '{kind}'. Choose one of: {', '.join(KINDS)}.")
        return cls(str(address), kind, f"{address.name}_{secrets.token_hex(4)}")


def terms_of(collection: str) -> str:
    """The collection of terms beside one of passages."""
    return f"{collection}_terms"


def create(client: Client, server: Server, dimension: int) -> None:
    """Create the collections as far as they are missing."""
    from pymilvus import DataType, Function, FunctionType, MilvusClient

    def make(name: str, fields: dict[str, tuple[DataType, dict[str, Any]]], *indexes: dict[str, Any]) -> None:
        if client.call("has_collection", name):
            return
        schema, params = MilvusClient.create_schema(), MilvusClient.prepare_index_params()
        for field, (kind, options) in fields.items():
            schema.add_field(field, kind, is_primary=field in ("passage", "key"), **options)
        if "stems" in fields:
            schema.add_function(Function("bm25", FunctionType.BM25, ["stems"], ["sparse"]))
        for index in indexes:
            params.add_index(**index)
        client.call("create_collection", name, schema=schema, index_params=params, consistency_level="Strong")

    text, number, vector = {"max_length": LONGEST}, (DataType.INT64, dict[str, Any]()), DataType.FLOAT_VECTOR
    words = {"enable_analyzer": True, "enable_match": True, "analyzer_params": {"tokenizer": "standard"}}
    passages = {
        "passage": number, "document": number, "embedding": (vector, {"dim": dimension}),
        "stems": (DataType.VARCHAR, text | words), "sparse": (DataType.SPARSE_FLOAT_VECTOR, {}),
        "fields": (DataType.JSON, {}), "row": (DataType.VARCHAR, text),
    }  # fmt: skip
    make(
        server.collection, passages,
        {"field_name": "embedding", "index_type": server.kind, "metric_type": "IP", "params": KINDS[server.kind]},
        {"field_name": "sparse", "index_type": "SPARSE_INVERTED_INDEX", "metric_type": "BM25"},
        {"field_name": "document", "index_type": "INVERTED"},
    )  # fmt: skip
    terms = {
        "key": (DataType.VARCHAR, {"max_length": 256}), "count": number, "facts": (DataType.VARCHAR, text),
        "nothing": (vector, {"dim": 2}),
    }  # fmt: skip
    nothing = {"field_name": "nothing", "index_type": "FLAT", "metric_type": "IP"}
    make(terms_of(server.collection), terms, nothing)


def answer(client: Client, collection: str) -> None:
    """Let a collection answer, and drop those of all other stamps."""
    name = client.address.name
    client.call("alter_alias" if client.target(name) else "create_alias", collection, name)
    drop_others(client, collection)


def drop_others(client: Client, keep: str) -> None:
    """Drop the collections of all stamps but one, "" for none."""
    its = re.compile(rf"({re.escape(client.address.name)}_[0-9a-f]{{8}})(_terms)?")
    for name in client.call("list_collections"):
        match = its.fullmatch(name)
        if match and match[1] != keep:
            client.call("drop_collection", name)
