"""Writing the FAISS file: straight from index.db to disk, a block at a time.

What FAISS would write of an index that it holds in memory, without holding it: so the memory that
indexing takes does not grow with the number of passages.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.store.stored_vectors import Ann, embeddings

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Behind the four letters of an index's kind: dimension, count, two reserved numbers, is_trained, metric.
_HEADER = struct.Struct("<iqqq?i")
_RESERVED, _INNER_PRODUCT = 1 << 20, 0
_FRAME = 2 * (4 + _HEADER.size) + 8 + 8  # all but vectors and ids: two headers, two sizes


def write_file(connection: sqlite3.Connection, dimension: int, index: Path, generation: int) -> Ann | None:
    """Write all embeddings to a new FAISS file under `index/ann`; None when there are none.

    The file is on disk, whole, when this returns; naming it in index.db is the caller's transaction.
    """
    count, watermark = connection.execute("SELECT count(*), max(passage) FROM embeddings").fetchone()
    if not count:
        return None
    temporary = index / "tmp" / f"g{generation}.faiss"
    temporary.parent.mkdir(exist_ok=True)
    (index / "ann").mkdir(exist_ok=True)
    with temporary.open("wb") as stream:
        if _as_expected(dimension):
            stream.writelines(_flat(connection, dimension, count))
        else:
            stream.write(_by_faiss(embeddings(connection, dimension), dimension))
        stream.flush()
        os.fsync(stream.fileno())
    digest = _sha256(temporary)
    name = f"ann/g{generation}-{digest[:16]}.faiss"
    temporary.replace(index / name)
    sync_folder(index / "ann")
    return Ann(generation, name, digest, watermark, count, 0)


def next_generation(index: Path, after: int = 0) -> int:
    """A number for a FAISS file, above `after` and those of all files that are there, named or not."""
    found = (re.match(r"g(\d+)-", path.name) for path in (index / "ann").glob("*.faiss"))
    return max([after, *(int(match[1]) for match in found if match)]) + 1


def is_whole(index: Path, ann: Ann, dimension: int) -> bool:
    """Whether the FAISS file is there with the right size, headers and hash, without loading it."""
    file = index / ann.file
    try:
        return has_frame(file, ann.count, dimension) and _sha256(file) == ann.sha256
    except (OSError, ValueError):  # the latter for a name with a NUL
        return False


def has_frame(file: Path, count: int, dimension: int) -> bool:
    """Whether a file has the size and the headers of a flat index of so many vectors.

    To be asked before FAISS parses it, for FAISS believes a header that promises 2**60 vectors. The hash says
    only that it is the file that index.db names, and who can write the one can write the other.

    Raises:
        OSError: the file is not there, or cannot be read.
    """
    n_vectors = 4 * dimension * count
    if count < 1 or file.stat().st_size != _FRAME + n_vectors + 8 * count:
        return not _as_expected(dimension) and file.is_file()
    head, middle = _frame(dimension, count)
    with file.open("rb") as stream:
        before = stream.read(len(head))
        stream.seek(len(head) + n_vectors)
        return (before, stream.read(len(middle))) == (head, middle) or not _as_expected(dimension)


def _flat(connection: sqlite3.Connection, dimension: int, count: int) -> Iterator[bytes]:
    """The bytes of an IndexIDMap over an IndexFlatIP: headers, vectors, ids."""
    head, middle = _frame(dimension, count)
    yield head
    for _, vectors in embeddings(connection, dimension):
        yield vectors.tobytes()
    yield middle
    ids = connection.execute("SELECT passage FROM embeddings ORDER BY passage")
    while block := ids.fetchmany(65536):
        yield np.array(block, dtype="<i8").tobytes()


def _frame(dimension: int, count: int) -> tuple[bytes, bytes]:
    """What stands before the vectors, and what stands between them and the ids."""
    header = _HEADER.pack(dimension, count, _RESERVED, _RESERVED, True, _INNER_PRODUCT)
    head = b"IxMp" + header + b"IxFI" + header + (count * dimension).to_bytes(8, "little")
    return head, count.to_bytes(8, "little")


def _as_expected(dimension: int) -> bool:
    """Whether FAISS, as it is installed, would write two vectors as this module does."""
    ids, vectors = np.array([3, 5]), np.arange(2 * dimension, dtype="<f4").reshape(2, dimension)
    head, middle = _frame(dimension, 2)
    mine = head + vectors.tobytes() + middle + ids.astype("<i8").tobytes()
    return mine == _by_faiss([(ids, vectors)], dimension)


def _by_faiss(blocks: Iterable[tuple[NDArray[np.int64], NDArray[np.float32]]], dimension: int) -> Any:
    """The same bytes from FAISS itself, which needs all vectors in memory."""
    import faiss

    numbered = faiss.IndexIDMap(faiss.IndexFlatIP(dimension))
    for ids, vectors in blocks:
        numbered.add_with_ids(vectors, ids)
    return faiss.serialize_index(numbered).tobytes()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def sync_folder(folder: Path) -> None:
    """Make a rename durable. Windows has no such call and does not need it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
