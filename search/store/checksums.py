"""A checksum for every row, because SQLite keeps none: a bit that flips in a text would be read as it is.

A row's checksum is the CRC-32 of the columns in `COVERED`, one after the other, each as its kind, its
length and its bytes. It is compared whenever a row is used for an answer, so damage is an error and not a
wrong answer. It guards against accidents, not against somebody who can write to the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import TypeGuard

from search.errors import IndexDamaged
from search.records.shown import Spans

COVERED = {
    "meta": ("key", "value"),
    "files": ("id", "path"),
    "documents": ("id", "file", "record", "kind", "title", "metadata", "encoding", "sha256"),
    "passages": (
        "id", "document", "start", "end", "line_start", "line_end", "heading", "context", "text",
        "n_tokens", "page", "hidden",
    ),
    "segments": (
        "id", "file", "first", "last", "count", "peak", "error", "codes_crc", "words_size", "words_crc",
    ),
    "tombstones": ("passage",),
    "baseline": ("id", "passages", "queries", "made_with", "pairs", "hubs"),
    "annotators": ("name", "made_with", "fields"),
    "annotations": ("passage", "annotator", "values", "spans"),
}  # fmt: skip

Value = int | str | bytes | None


def row_checksum(*values: Value) -> int:
    """The checksum of a row: of its columns in COVERED, in that order."""
    found = 0
    for value in values:
        if isinstance(value, str):
            kind, data = b"s", value.encode("utf-8", "surrogatepass")
        elif isinstance(value, int):
            kind, data = b"i", str(value).encode()
        elif value is None:
            kind, data = b"n", b""
        elif isinstance(value, bytes):
            kind, data = b"b", value
        else:  # a number with a fraction, which no row has
            kind, data = b"?", b""
        found = zlib.crc32(data, zlib.crc32(kind + len(data).to_bytes(8, "little"), found))
    return found


def is_blob(value: object, checksum: object) -> TypeGuard[bytes]:
    """Whether a value is a blob with this checksum; a page in the wrong place gives values of any kind."""
    return isinstance(value, bytes) and zlib.crc32(value) == checksum


def name_of(path: object, record: int | None = 0) -> str:
    """`path` or `path#record` of a document, given its path as it is stored.

    Raises:
        IndexDamaged: this is none, as in a page in the wrong place.
    """
    if not isinstance(path, bytes):
        raise IndexDamaged(f"the index holds '{path!s:.80}' in place of a path. Mend it with: seewhy repair")
    return os.fsdecode(path) + (f"#{record}" if record else "")


def with_checksum(table: str, *values: Value) -> dict[str, Value]:
    """A row of a table, given its columns in COVERED, with their checksum."""
    return {**dict(zip(COVERED[table], values, strict=True)), "checksum": row_checksum(*values)}


def content_key(context: str, text: str) -> bytes:
    """What tells whether two passages have the same embedding: sha256 of all that is encoded, 16 bytes."""
    return hashlib.sha256(f"{context}\0{text}".encode("utf-8", "surrogatepass")).digest()[:16]


def hidden_of(written: str, text: str) -> Spans:
    """The spans of a passage's text that are markup, as its row holds them.

    Raises:
        IndexDamaged: these are none.
    """
    try:
        found = tuple((start, end) for start, end in json.loads(written))
        places = [0, *chain.from_iterable(found), len(text)]
        if all(type(place) is int for place in places) and all(a <= b for a, b in pairwise(places)):
            return found
    except (ValueError, TypeError, RecursionError):
        pass
    raise IndexDamaged("a row of the index says of no text what its markup is. Mend it with: seewhy repair")


def covered(table: str) -> str:
    """The covered columns of a table as SQL, each with the table's name."""
    return ", ".join(f'{table}."{column}"' for column in COVERED[table])


def require(table: str, values: Sequence[Value], checksum: int) -> None:
    """Raise IndexDamaged if a row that was read is not the row that was written."""
    if row_checksum(*values) != checksum:
        raise IndexDamaged(
            f"a row in the table '{table}' of the index is damaged (its checksum is wrong): '{values[0]!s:.80}'. "
            "Mend it with: seewhy repair"
        )
