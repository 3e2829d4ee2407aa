"""Collections that store an index on Milvus, and the conversion of passages to their rows.

    NAME_STAMP         a row for each passage; the alias NAME points to the active one; STAMP is random
        passage        INT64, its id
        document       INT64, the number of its document
        embedding      FLOAT_VECTOR
        stems          VARCHAR: its stems in order, spelled by `key_of`
        sparse         computed from `stems` by the server, for its full-text search
        fields         JSON: values for filters; see filters.py
        row            VARCHAR: everything else, as JSON
    NAME_STAMP_terms   a row for each stem
        key            VARCHAR
        count          INT64: number of passages with the stem
        facts          VARCHAR: in the row with the key ABOUT, JSON with the facts of the index
        nothing        FLOAT_VECTOR, as every collection must have a vector

A rebuild fills collections of a new stamp. When they are complete the alias is switched, and the others are dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from search.errors import InputError
from search.records.contents import StoredFile, StoredPassage
from search.store.milvus.client import Address, Client
from search.store.milvus.filters import fields_of
from search.store.passages import passage_key
from search.store.terms import indexable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.records.documents import ParsedDocument, Passage
    from search.store.terms import Stemmer
    from search.store.writer import FileUpdate


ABOUT: Final = "#"
LONGEST: Final = 65_535  # bytes of a text

KINDS: Final[dict[str, dict[str, int]]] = {
    "FLAT": {}, "HNSW": {"M": 16, "efConstruction": 200}, "IVF_FLAT": {"nlist": 128}, "DISKANN": {},
}  # fmt: skip
"""Milvus's index types for embeddings -> their parameters."""


@dataclass(frozen=True)
class Server:
    """Server and collection that an index streams its passages to.

    Attributes:
        address: address of the index, as typed.
        kind: Milvus's type of index for the embeddings, a key of `KINDS`.
        collection: name of the collection of passages.
        answers: True if the alias points to the collection, so that queries use it.
    """

    address: str
    kind: str
    collection: str
    answers: bool = False

    @classmethod
    def new(cls, address: Address, kind: str) -> Server:
        """Return a server with a new name for its collection, which ends with a random stamp."""
        if kind not in KINDS:
            raise InputError(f"unknown kind of Milvus index '{kind}'. Choose one of: {', '.join(KINDS)}.")
        return cls(str(address), kind, f"{address.name}_{secrets.token_hex(4)}")


def terms_of(collection: str) -> str:
    """Name of the collection of terms for a collection of passages."""
    return f"{collection}_terms"


def create(client: Client, server: Server, dimension: int) -> None:
    """Create the collections of an index that do not exist yet; embeddings have `dimension` numbers."""
    from pymilvus import DataType, Function, FunctionType, MilvusClient

    def make(
        name: str, fields: dict[str, tuple[DataType, dict[str, Any]]], *indexes: dict[str, Any]
    ) -> None:
        if client.call("has_collection", name):
            return
        schema, params = MilvusClient.create_schema(), MilvusClient.prepare_index_params()
        for field, (kind, options) in fields.items():
            schema.add_field(field, kind, is_primary=field in ("passage", "key"), **options)
        if "stems" in fields:
            schema.add_function(Function("bm25", FunctionType.BM25, ["stems"], ["sparse"]))
        for index in indexes:
            params.add_index(**index)
        client.call(
            "create_collection", name, schema=schema, index_params=params, consistency_level="Strong"
        )

    text = {"max_length": LONGEST}
    number = (DataType.INT64, dict[str, Any]())
    vector = DataType.FLOAT_VECTOR
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


def activate(client: Client, collection: str) -> None:
    """Point the alias to a collection, and drop the collections of the index's other builds."""
    name = client.address.name
    client.call("alter_alias" if client.target(name) else "create_alias", collection, name)
    drop_others(client, collection)


def drop_others(client: Client, keep: str) -> None:
    """Drop all collections of the index except those with the stamp of `keep`; "" drops all."""
    own_name = re.compile(rf"({re.escape(client.address.name)}_[0-9a-f]{{8}})(_terms)?")
    for name in client.call("list_collections"):
        match = own_name.fullmatch(name)
        if match and match[1] != keep:
            client.call("drop_collection", name)


OF_PASSAGE = ("passage", "document", "embedding", "stems", "row")
"""Columns of a row that `MilvusRow.of` reads."""

_COPIED = ("heading", "context", "text", "start", "end", "line_start", "line_end", "page", "hidden")
_MAX_STEM_LENGTH = 100  # characters of a stem; a longer one is replaced by its hash


@dataclass(frozen=True)
class MilvusRow:
    """A passage that was fetched from the server.

    Attributes:
        embedding: (d,) vector of unit length.
        stems: stems of its words in order, spelled by `key_of`.
    """

    passage: StoredPassage
    embedding: NDArray[np.float32]
    stems: list[str]

    @classmethod
    def of(cls, row: Mapping[str, Any], root: str) -> MilvusRow:
        values = json.loads(row["row"])
        name, record, file = values.pop("name"), values.pop("record"), StoredFile(*values.pop("file"))
        hidden = tuple(tuple(span) for span in values.pop("hidden"))
        passage = StoredPassage(
            passage_id=row["passage"],
            document_id=row["document"],
            path=os.path.join(root, *name.split("/")),  # noqa: PTH118 (quicker than Path)
            document=f"{name}#{record}" if record else name,
            file=file,
            hidden=hidden,
            **values,
        )
        return cls(passage, np.array(row["embedding"], dtype=np.float32), row["stems"].split())


def key_of(stem: str) -> str:
    """Spell a stem in ASCII letters and digits, which no tokenizer splits or changes."""
    if stem.isascii() and stem.isalnum() and len(stem) <= _MAX_STEM_LENGTH:
        return stem
    content = stem.encode("utf-8", "surrogatepass")
    if len(content) <= _MAX_STEM_LENGTH:
        return f"x{content.hex()}"
    return f"x{hashlib.sha256(content).hexdigest()}"


def rows_of(
    stemmer: Stemmer, update: FileUpdate, document: ParsedDocument, passages: list[Passage],
    vectors: Mapping[bytes, bytes], number: int, first: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Build the rows of a document.

    Args:
        vectors: content key -> embedding.
        number: number of the document.
        first: ID of its first passage; the IDs of the others follow.

    Raises:
        InputError: a passage is longer than the server's columns allow.
    """
    file = update.file
    metadata = json.loads(json.dumps(document.metadata))
    facts = (document.kind, file.size, file.mtime_ns, file.inode, update.sha256)
    same = {
        "name": document.path, "record": document.record, "title": document.title, "metadata": metadata,
        "file": facts,
    }  # fmt: skip
    stems = stemmer.stems(indexable(passage.context, passage.visible_text) for passage in passages)
    rows = []
    for id_, (passage, passage_stems) in enumerate(zip(passages, stems, strict=True), first):
        vector = np.frombuffer(vectors[passage_key(passage)], dtype="<f4")
        own = {name: getattr(passage, name) for name in _COPIED}
        row: dict[str, Any] = {
            "passage": id_,
            "document": number,
            "embedding": vector,
            "stems": " ".join(map(key_of, passage_stems)),
            "fields": fields_of(document, passage, file.size),
            "row": json.dumps(same | own),
        }
        if max(len(row["stems"]), len(row["row"]), len(json.dumps(row["fields"]))) > LONGEST:
            raise InputError(
                f"a passage of '{document.name}' is too long for Milvus. Leave the file out with --exclude."
            )
        rows.append(row)
    return rows
