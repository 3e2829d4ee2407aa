"""The FAISS file: a cache of the embeddings in index.db, in a form that is quick to search (vectors.py).

It is immutable. A new one is written beside it, forced to disk, and only then named in index.db. FAISS trusts what it
is given and believes a header that promises 2**60 vectors, so before it parses the file its size and all of it that is
neither a vector nor an id are compared with what they must be. The passages that a search finds are compared with
index.db; only `seewhy check` looks at the whole file. Inner products of unit vectors are cosines, and a flat index is
exact.
"""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
import stat
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from search.errors import SearchError
from search.files import PRIVATE_FOLDER, create, open_file, sync_folder
from search.store.files import DATABASE, FAISS_NAME, VECTORS, WORK, is_own_file, require_no_link
from search.store.vectors import Ann, embeddings, load_faiss

# Behind the four letters of an index's kind: dimension, count, two reserved numbers, is_trained, metric.
_HEADER = struct.Struct("<iqqq?i")
_FRAME = 2 * (4 + _HEADER.size) + 8 + 8  # bytes of such a file that are neither vectors nor ids
_RESERVED, _INNER_PRODUCT = 1 << 20, 0


def write_file(connection: sqlite3.Connection, dimension: int, index: Path, generation: int) -> Ann | None:
    """Write all embeddings to a new FAISS file under `index/ann`; None when there are none.

    The file is on disk, whole, when this returns; naming it in index.db is the caller's transaction.
    """
    faiss = load_faiss()
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
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
    create(temporary)
    with suppress(FileNotFoundError):  # who may read the one needs the other
        temporary.chmod(stat.S_IMODE((index / DATABASE).stat().st_mode) & 0o666)
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
    n_vectors = 4 * dimension * count
    # So count is no absurd number below.
    if count < 1 or file.lstat().st_size != _FRAME + n_vectors + 8 * count:
        return False
    header = _HEADER.pack(dimension, count, _RESERVED, _RESERVED, True, _INNER_PRODUCT)
    head = b"IxMp" + header + b"IxFI" + header + (count * dimension).to_bytes(8, "little")
    middle = count.to_bytes(8, "little")
    with open_file(file, links=False) as stream:
        before = stream.read(len(head))
        stream.seek(len(head) + n_vectors)
        return (before, stream.read(len(middle))) == (head, middle)


class LoadedVectors:
    """The FAISS file in memory, loaded again when index.db names another one. Safe between threads."""

    def __init__(self, index: Path) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._file: str | None = None
        self._loaded: Any = None
        self.problem = ""

    def holds(self, ann: Ann) -> bool:
        """Whether the FAISS file that `ann` names is in memory."""
        with self._lock:
            return self._loaded is not None and ann.file == self._file

    def get(self, ann: Ann, dimension: int) -> Any | None:
        """The FAISS index that `ann` names; None, and `problem` says why, when it cannot be trusted."""
        with self._lock:
            if ann.file != self._file:
                self._loaded, self.problem = self._load(ann, dimension)
                self._file = ann.file
            return self._loaded

    def distrust(self, ann: Ann) -> None:
        """Let nobody use the file that `ann` names: it does not hold what index.db holds."""
        with self._lock:
            self._loaded, self.problem = _damaged(ann)
            self._file = ann.file

    def _load(self, ann: Ann, dimension: int) -> tuple[Any, str]:
        if not is_whole(self._index, ann, dimension):
            return _damaged(ann)
        faiss = load_faiss()
        try:
            return faiss.read_index(str(self._index / ann.file)), ""
        except RuntimeError:  # what FAISS raises, also when it cannot read on
            return _damaged(ann)


def _damaged(ann: Ann) -> tuple[None, str]:
    return None, (
        f"the file '{ann.file}' of the index is damaged or missing. Queries are exact without it, only "
        "slower. Mend it with: seewhy repair"
    )
