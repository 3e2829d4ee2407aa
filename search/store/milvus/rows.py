"""Passages as rows of a collection, and back."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import InputError
from search.records.contents import StoredFile, StoredPassage
from search.store.milvus.collections import LONGEST
from search.store.milvus.filters import fields_of
from search.store.passages import content_key
from search.store.terms import indexable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.records.documents import Document, Passage
    from search.store.terms import Stemmer
    from search.store.writer import Work

OF_PASSAGE = ("passage", "document", "embedding", "stems", "row")
"""The fields that `Row.of` needs."""

_COPIED = ("heading", "context", "text", "start", "end", "line_start", "line_end", "page", "hidden")
_LONGEST_KEPT = 100  # characters of a stem; one that is longer is called by its hash


@dataclass(frozen=True)
class Row:
    """A passage that was fetched.

    Attributes:
        embedding: (d,) unit length.
        stems: in order, as `key_of` spells them.
    """

    passage: StoredPassage
    embedding: NDArray[np.float32]
    stems: list[str]

    @classmethod
    def of(cls, row: Mapping[str, Any], root: str) -> Row:
        held = json.loads(row["row"])
        name, record, file = held.pop("name"), held.pop("record"), StoredFile(*held.pop("file"))
        hidden = tuple(tuple(span) for span in held.pop("hidden"))
        passage = StoredPassage(
            passage_id=row["passage"],
            document_id=row["document"],
            path=os.path.join(root, *name.split("/")),  # noqa: PTH118 (quicker than Path)
            document=f"{name}#{record}" if record else name,
            file=file,
            hidden=hidden,
            **held,
        )
        return cls(passage, np.array(row["embedding"], dtype=np.float32), row["stems"].split())


def key_of(stem: str) -> str:
    """A stem as a word of plain letters, which no tokenizer cuts or changes."""
    if stem.isascii() and stem.isalnum() and len(stem) <= _LONGEST_KEPT:
        return stem
    written = stem.encode("utf-8", "surrogatepass")
    return f"x{written.hex() if len(written) <= _LONGEST_KEPT else hashlib.sha256(written).hexdigest()}"


def rows_of(
    stemmer: Stemmer, work: Work, document: Document, passages: list[Passage], vectors: Mapping[bytes, bytes],
    number: int, first: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """The rows of a document.

    Args:
        vectors: content key -> embedding.
        number: of the document.
        first: the id of its first passage; the others follow.

    Raises:
        InputError: one is too long for a server.
    """
    file = work.file
    metadata = json.loads(json.dumps(document.metadata))
    facts = (document.kind, file.size, file.mtime_ns, file.inode, work.sha256)
    same = {
        "name": document.path, "record": document.record, "title": document.title, "metadata": metadata,
        "file": facts,
    }  # fmt: skip
    stems = stemmer.stems(indexable(passage.context, passage.shown) for passage in passages)
    rows = []
    for id_, (passage, its_stems) in enumerate(zip(passages, stems, strict=True), first):
        vector = np.frombuffer(vectors[content_key(passage.context, passage.shown)], dtype="<f4")
        own = {name: getattr(passage, name) for name in _COPIED}
        row: dict[str, Any] = {
            "passage": id_,
            "document": number,
            "embedding": vector,
            "stems": " ".join(map(key_of, its_stems)),
            "fields": fields_of(document, passage, file.size),
            "row": json.dumps(same | own),
        }
        if max(len(row["stems"]), len(row["row"]), len(json.dumps(row["fields"]))) > LONGEST:
            raise InputError(
                f"a passage of '{document.name}', or its metadata, is too long "
                "for Milvus. Leave the file out with --exclude."
            )
        rows.append(row)
    return rows
