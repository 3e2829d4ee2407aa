"""Values of rows: content keys, names of documents, spans of markup."""

from __future__ import annotations

import hashlib
import json
import os

from search.records.shown import Spans


def name_of(path: bytes, record: int | None = 0) -> str:
    """`path` or `path#record` of a document, given its path as it is stored."""
    return os.fsdecode(path) + (f"#{record}" if record else "")


def content_key(context: str, text: str) -> bytes:
    """What tells whether two passages have the same embedding: sha256 of all that is encoded, 16 bytes."""
    return hashlib.sha256(f"{context}\0{text}".encode("utf-8", "surrogatepass")).digest()[:16]


def hidden_of(stored: str) -> Spans:
    """The spans of a passage's text that are markup, as its row holds them."""
    return tuple((start, end) for start, end in json.loads(stored))
