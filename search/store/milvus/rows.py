"""Passages and documents as rows of a server's collections: how they are written, and how they are read again.

What is asked for by an expression is a field of its own (layout.py); all else is JSON in ROW, in ASCII, as names may
hold bytes that no text has. A row that is longer than a text can be is compressed: then it begins with another letter.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from search.errors import IndexDamaged, InputError
from search.records.documents import Annotation, Mention
from search.records.shown import shown
from search.store.checksums import content_key, hidden_of, row_checksum
from search.store.folders import stays_inside
from search.store.milvus.layout import (
    ALIVE,
    BORN,
    CHECKSUM,
    CONTENT,
    COPY,
    DENSE,
    DENSE_CHECKSUM,
    DIED,
    DOCUMENT,
    FILE,
    KEY,
    LONGEST,
    NOTHING,
    PASSAGE,
    ROW,
    WAY_OUT,
)
from search.store.passages import metadata_of
from search.store.protocol import StoredFile, StoredPassage

if TYPE_CHECKING:
    from numpy.typing import NDArray

Made = TypeVar("Made")

OF_PASSAGE = (PASSAGE, DOCUMENT, COPY, CONTENT, ROW, CHECKSUM)
"""The fields that `stored_passage` and `said_of` need."""
OF_EMBEDDING = (PASSAGE, DENSE, DENSE_CHECKSUM)
OF_DOCUMENT = (DOCUMENT, FILE, ROW, CHECKSUM)

_PLAIN = "{"  # what the JSON of a row begins with
_COMPRESSED = "z"
_LARGEST = 1 << 26  # bytes of a row; what says to be more would only take memory


def key(id_: int, born: int) -> str:
    """The key of the version of a passage, document or term that came with a generation."""
    return f"{id_}@{born}"


def file_key(name: str) -> str:
    """What the name of a file, relative to the indexed folder, is found by."""
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:32]


def passage_row(
    stored: StoredPassage,
    root: str,
    born: int,
    *,
    tokens: int,
    copy: int = 0,
    said: Mapping[str, Annotation] | None = None,
) -> dict[str, Any]:
    """A version of a passage: all fields but those of filters, words and meaning.

    Args:
        root: the indexed folder, from which the passage's path leads.
        born: the generation that it comes with.
        tokens: of context and text together.
        copy: the key of its text, 0 for none.
        said: annotator -> what it says of the passage.

    Raises:
        InputError: it is too long for a server.
    """
    name, record = _file(stored, root)
    content = {
        "name": name,
        "record": record,
        "title": stored.title,
        "heading": stored.heading,
        "context": stored.context,
        "text": stored.text,
        "hidden": stored.hidden,
        "span": (stored.start, stored.end),
        "lines": (stored.line_start, stored.line_end),
        "page": stored.page,
        "tokens": tokens,
        "metadata": stored.metadata,
        "file": astuple(stored.file),
        "said": {
            annotator: {"values": dict(one.values), "spans": [astuple(span) for span in one.spans]}
            for annotator, one in (said or {}).items()
        },
    }
    text = _packed(content, f"passage {stored.id} of '{stored.document}'")
    values = (
        stored.id,
        stored.document_id,
        copy,
        content_key(stored.context, stored.shown).hex(),
        text,
    )
    return _version(born, (PASSAGE, DOCUMENT, COPY, CONTENT, ROW), values)


def embedding_fields(passage: int, embedding: NDArray[np.float32]) -> dict[str, Any]:
    """What a passage's row says of its meaning."""
    vector = np.ascontiguousarray(embedding, dtype="<f4")
    return {DENSE: vector, DENSE_CHECKSUM: row_checksum(passage, vector.tobytes())}


def document_row(stored: StoredPassage, root: str, born: int) -> dict[str, Any]:
    """A version of a document, given one of its passages.

    Raises:
        InputError: it is too long for a server.
    """
    name, record = _file(stored, root)
    content = {
        "name": name,
        "record": record,
        "title": stored.title,
        "metadata": stored.metadata,
        "file": astuple(stored.file),
    }
    values = (stored.document_id, file_key(name), _packed(content, f"'{stored.document}'"))
    return {**_version(born, (DOCUMENT, FILE, ROW), values), NOTHING: [0.0, 0.0]}


def stored_passage(row: Mapping[str, Any], root: str) -> StoredPassage:
    """A passage, given the fields OF_PASSAGE of its row.

    Raises:
        IndexDamaged: the row is not what was written, or says what no index does.
    """
    content = _content(row, OF_PASSAGE)
    return _sensible(lambda: _stored(row, content, root), row[PASSAGE])


def said_of(row: Mapping[str, Any]) -> dict[str, Annotation]:
    """annotator -> what it says of a passage, by the annotators' names.

    Raises:
        IndexDamaged: as for `stored_passage`.
    """
    content, passage = _content(row, OF_PASSAGE), int(row[PASSAGE])

    def annotations() -> dict[str, Annotation]:
        return {
            str(name): Annotation(
                passage, dict(one["values"]), tuple(Mention(*span) for span in one["spans"])
            )
            for name, one in sorted(content["said"].items())
        }

    return _sensible(annotations, passage)


def embedding_in(row: Mapping[str, Any], dimension: int) -> NDArray[np.float32]:
    """(d,) of a passage, given the fields OF_EMBEDDING of its row.

    Raises:
        IndexDamaged: it is not what was written.
    """
    vector = np.asarray(row[DENSE], dtype="<f4")
    if vector.shape != (dimension,) or row_checksum(row[PASSAGE], vector.tobytes()) != row[DENSE_CHECKSUM]:
        raise IndexDamaged(f"the embedding of passage {row[PASSAGE]} on the server is damaged. {WAY_OUT}")
    return vector


def document_content(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the row of a document says, given its fields OF_DOCUMENT: "name" of its file, "record" (0 for the whole
    file), "title", "metadata" and "file", a StoredFile.

    Raises:
        IndexDamaged: the row is not what was written, or says what no index does.
    """
    content = _content(row, OF_DOCUMENT)

    def document() -> dict[str, Any]:
        return {
            "name": _inside(content["name"]),
            "record": int(content["record"]),
            "title": str(content["title"]),
            "metadata": metadata_of(json.dumps(content["metadata"])),
            "file": StoredFile(*content["file"]),
        }

    return _sensible(document, row[DOCUMENT])


def _stored(row: Mapping[str, Any], content: dict[str, Any], root: str) -> StoredPassage:
    name, record, text = _inside(content["name"]), int(content["record"]), str(content["text"])
    context, hidden = str(content["context"]), hidden_of(json.dumps(content["hidden"]), text)
    if row[CONTENT] != content_key(context, shown(text, hidden)).hex():
        raise ValueError
    start, end = map(int, content["span"])
    first, last = map(int, content["lines"])
    annotations: dict[str, Any] = {}
    for _, one in sorted(content["said"].items()):
        annotations |= one["values"]
    return StoredPassage(
        id=int(row[PASSAGE]),
        path=os.path.join(root, *name.split("/")),  # noqa: PTH118 (quicker than Path)
        document=f"{name}#{record}" if record else name,
        document_id=int(row[DOCUMENT]),
        title=str(content["title"]),
        heading=str(content["heading"]),
        context=context,
        text=text,
        start=start,
        end=end,
        line_start=first,
        line_end=last,
        metadata=metadata_of(json.dumps(content["metadata"])),
        page=None if content["page"] is None else int(content["page"]),
        file=StoredFile(*content["file"]),
        hidden=hidden,
        annotations=annotations,
    )


def _version(born: int, names: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    """A row that has not died, given its fields, of which the first is its id, with their checksum."""
    return {
        KEY: key(values[0], born),
        BORN: born,
        DIED: ALIVE,
        **dict(zip(names, values, strict=True)),
        CHECKSUM: row_checksum(*values),
    }


def _file(stored: StoredPassage, root: str) -> tuple[str, int]:
    """The name of a passage's file, relative to the indexed folder, and the record that it is of, 0 for none."""
    name = Path(stored.path).relative_to(root).as_posix()
    return name, int(stored.document[len(name) + 1 :] or 0)


def _inside(name: str) -> str:
    if not stays_inside(name):
        raise ValueError
    return name


def _content(row: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """What ROW says, where the row is what was written."""
    values = [row[name] for name in fields if name != CHECKSUM]
    if row_checksum(*values) != row[CHECKSUM]:
        raise IndexDamaged(
            f"the row of {fields[0]} {row[fields[0]]} on the server is damaged (its checksum is wrong). {WAY_OUT}"
        )
    return _sensible(lambda: _unpacked(row[ROW]), row[fields[0]])


def _sensible(made: Callable[[], Made], id_: int) -> Made:
    """What is made of a row: a checksum says nothing about who wrote it."""
    try:
        return made()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, zlib.error, IndexDamaged):
        raise IndexDamaged(f"the row of {id_} on the server makes no sense. {WAY_OUT}") from None


def _packed(content: dict[str, Any], what: str) -> str:
    text = json.dumps(content, separators=(",", ":"))
    if len(text) > LONGEST:
        text = _COMPRESSED + base64.b85encode(zlib.compress(text.encode())).decode()
    if len(text) > LONGEST:
        raise InputError(
            f"{what} is too long for Milvus, whose texts have at most {LONGEST:,} bytes. Leave its file out with "
            "--exclude, or keep the index on this machine alone."
        )
    return text


def _unpacked(text: str) -> dict[str, Any]:
    if text.startswith(_COMPRESSED):
        inflate = zlib.decompressobj()
        found = inflate.decompress(base64.b85decode(text[1:]), _LARGEST)
        text = "" if inflate.unconsumed_tail else found.decode()
    content = json.loads(text)
    if not text.startswith(_PLAIN):
        raise ValueError
    return dict(content)
