"""The FAISS file: how it is written, and what is looked at before FAISS parses it.

FAISS believes a header that promises 2**60 vectors. So the size of the file and all of it that is neither a vector nor
an id are compared with what they must be.
"""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
import struct
from pathlib import Path

from search.errors import SearchError
from search.store.files import FAISS_NAME, VECTORS, WORK, is_own_file, require_no_link, sync_folder
from search.store.stored_vectors import Ann, embeddings

# Behind the four letters of an index's kind: dimension, count, two reserved numbers, is_trained, metric.
_HEADER = struct.Struct("<iqqq?i")
_RESERVED, _INNER_PRODUCT = 1 << 20, 0


def write_file(connection: sqlite3.Connection, dimension: int, index: Path, generation: int) -> Ann | None:
    """Write all embeddings to a new FAISS file under `index/ann`; None when there are none.

    The file is on disk, whole, when this returns; naming it in index.db is the caller's transaction.
    """
    import faiss

    count, watermark = connection.execute("SELECT count(*), max(passage) FROM embeddings").fetchone()
    if not count:
        return None
    numbered = faiss.IndexIDMap(faiss.IndexFlatIP(dimension))
    for ids, vectors in embeddings(connection, dimension):
        numbered.add_with_ids(vectors, ids)
    name = f"g{generation}-{secrets.token_hex(8)}.faiss"
    temporary = index / WORK / name
    for folder in (index / WORK, index / VECTORS):
        require_no_link(folder, folder=True)
        folder.mkdir(exist_ok=True)
    try:
        faiss.write_index(numbered, str(temporary))
    except RuntimeError as error:  # what FAISS raises when a disk is full
        raise OSError(errno.EIO, str(error), str(temporary)) from None
    with temporary.open("rb+") as stream:
        os.fsync(stream.fileno())
    ann = Ann(generation, f"{VECTORS}/{name}", temporary.stat().st_size, watermark, count, 0)
    if not has_frame(temporary, count, dimension):
        raise SearchError(
            f"FAISS {faiss.__version__} writes another format than seewhy reads. Install another version of it with: "
            "pip install 'faiss-cpu<2'"
        )
    temporary.replace(index / ann.file)
    sync_folder(index / VECTORS)
    return ann


def next_generation(index: Path, after: int = 0) -> int:
    """A number for a FAISS file, above `after` and those of all files that are there, named or not."""
    matches = (FAISS_NAME.fullmatch(path.name) for path in (index / VECTORS).glob("*.faiss"))
    return max([after, *(int(match[1]) for match in matches if match)]) + 1


def is_whole(index: Path, ann: Ann, dimension: int) -> bool:
    """Whether the FAISS file is there with the right size and headers; vectors and ids are not looked at."""
    try:
        require_no_link(index / VECTORS, folder=True)
        file = index / ann.file
        if not FAISS_NAME.fullmatch(ann.file.removeprefix(f"{VECTORS}/")) or not is_own_file(file):
            return False
        return file.stat().st_size == ann.size and has_frame(file, ann.count, dimension)
    except OSError:
        return False


def has_frame(file: Path, count: int, dimension: int) -> bool:
    """Whether a file has the size and the headers of a flat index of so many vectors.

    Raises:
        OSError: the file is not there, or cannot be read.
    """
    header = _HEADER.pack(dimension, count, _RESERVED, _RESERVED, True, _INNER_PRODUCT)
    head = b"IxMp" + header + b"IxFI" + header + (count * dimension).to_bytes(8, "little")
    middle = count.to_bytes(8, "little")
    n_vectors = 4 * dimension * count
    if count < 1 or file.stat().st_size != len(head) + n_vectors + len(middle) + 8 * count:
        return False
    with file.open("rb") as stream:
        before = stream.read(len(head))
        stream.seek(len(head) + n_vectors)
        return (before, stream.read(len(middle))) == (head, middle)
