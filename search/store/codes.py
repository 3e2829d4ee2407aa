"""The embeddings of a segment in 8 bits a number: a FAISS file that says which passages may be the nearest.

A number x is kept as the whole number nearest to x / step, from -127 to 127; FAISS calls it `QT_8bit_direct_signed`.
With the query in whole numbers, too, FAISS's products are whole numbers, and of x', which the codes stand for, and
q', what the query's numbers stand for,

    |q.x - q'.x'|  <=  |q - q'| |x| + |q'| |x - x'|

So a rough cosine comes with a bound of how far it is from the cosine (Cauchy and Schwarz). nearest.py says how that
makes an exact answer of few embeddings of index.db.

A file is immutable. Its checksum is compared when it is opened, before FAISS reads it.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import IndexDamaged, SearchError
from search.store.files import content_of, damaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FRONT = 118  # bytes before the codes
_OFFSET = 128  # of a byte from the code that it is

_AT_ONCE = 4096  # rows; float32 and float64 take more memory than codes
_LANES = 509
MOST = 127  # of a code, whatever its sign
_PEAK, _ERROR = 1 << 16, 1 << 24  # the units of Scale
_LENGTH = 1.001  # no embedding is longer
_EXACT = 1 << 24  # whole numbers below it are exact in float32, and so are their sums

# Bytes of address space that FAISS and its BLAS take when they are loaded, and for each core of the machine besides.
_FAISS_TAKES, _FAISS_TAKES_A_CORE = 300 << 20, 50 << 20


def load_faiss() -> Any:
    """The module `faiss`.

    Raises:
        MemoryError: there is not the room for it; it does not look, and would end the process.
    """
    if "faiss" not in sys.modules and os.name == "posix":
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            import psutil

            needed = _FAISS_TAKES + _FAISS_TAKES_A_CORE * (os.cpu_count() or 1)
            if psutil.Process().memory_info().vms + needed > most:
                raise MemoryError
    import faiss

    return faiss


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    """FAISS shares out queries, not vectors: with one query a second thread only waits, on a busy machine for long."""
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


@dataclass(frozen=True)
class Scale:
    """What a segment's codes stand for.

    Attributes:
        peak: the highest number of its embeddings, whatever the sign, in 1/65,536, rounded up.
        error: the length of the longest difference between an embedding and what its codes stand for, in 1/2**24,
            rounded up.
    """

    peak: int
    error: int

    @property
    def step(self) -> float:
        """What a code of 1 stands for."""
        return self.peak / _PEAK / MOST

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> tuple[Scale, NDArray[np.int8]]:
        """The scale that fits some embeddings, (n, d), and their codes, (n, d)."""
        if not np.isfinite(vectors).all():
            raise IndexDamaged(
                "an embedding of the index holds what is no number. To fix this, run: seewhy check --repair"
            )
        scale = cls(max(1, math.ceil(float(np.abs(vectors).max(initial=0.0)) * _PEAK)), 0)
        codes = np.empty(vectors.shape, dtype=np.int8)
        error = 0.0
        for start in range(0, len(vectors), _AT_ONCE):
            block = vectors[start : start + _AT_ONCE]
            codes[start : start + _AT_ONCE] = chosen = scale.codes(block)
            error = max(error, float(np.linalg.norm(block - chosen * scale.step, axis=1).max()))
        return cls(scale.peak, math.ceil(error * _ERROR) + 1), codes

    def codes(self, vectors: NDArray[np.float32]) -> NDArray[np.int8]:
        """(n, d) what is nearest to (n, d) numbers."""
        return np.rint(vectors.astype(np.float64) / self.step).astype(np.int8)


class RoughQuery:
    """A query in whole numbers.

    Args:
        query: (d,) unit length.
    """

    def __init__(self, query: NDArray[np.float32]) -> None:
        exact = query.astype(np.float64)
        self._step = max(float(np.abs(exact).max(initial=0.0)), 1e-12) / MOST
        self.codes = np.rint(exact / self._step).astype(np.float32)
        decoded = self.codes.astype(np.float64) * self._step
        self._off, self._length = float(np.linalg.norm(exact - decoded)), float(np.linalg.norm(decoded))

    def factor(self, scale: Scale) -> float:
        """What a product of codes is to be multiplied with to be a rough cosine."""
        return self._step * scale.step

    def slack(self, scale: Scale) -> float:
        """How far a rough cosine may be from the cosine, at most."""
        error = scale.error / _ERROR
        slack = self._off * _LENGTH + self._length * error + 1e-6
        if MOST**2 * len(self.codes) >= _EXACT:  # sums in float32 are rounded (Higham 2002, section 3.1)
            slack += len(self.codes) * 2.0**-24 * self._length * (_LENGTH + error)
        return slack


def write(path: Path, ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> tuple[Scale, int]:
    """Write embeddings, (n, d), with the ids of their passages, increasing, to a file that is there and empty.

    Returns:
        What the codes stand for, and the `checksum` of the file.
    """
    faiss = load_faiss()
    scale, codes = Scale.of(vectors)
    kind = faiss.ScalarQuantizer.QT_8bit_direct_signed
    numbered = faiss.IndexIDMap(
        faiss.IndexScalarQuantizer(vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
    )
    for start in range(0, len(ids), _AT_ONCE):
        end = start + _AT_ONCE
        numbered.add_with_ids(codes[start:end].astype(np.float32), ids[start:end])
    try:
        faiss.write_index(numbered, str(path))
    except RuntimeError as error:  # what FAISS raises when a disk is full
        raise OSError(errno.EIO, str(error), str(path)) from None
    content = path.read_bytes()
    if len(content) != size_of(*vectors.shape):
        raise SearchError(
            f"FAISS {faiss.__version__} writes another format than seewhy reads. Install another version of it with: "
            "pip install 'faiss-cpu<2'"
        )
    return scale, checksum(content)


def size_of(count: int, dimension: int) -> int:
    """Bytes of the file of so many embeddings."""
    return _FRONT + count * dimension + 8 + 8 * count


def checksum(content: bytes | mmap.mmap) -> int:
    """The CRC-32 of the sums of every 509th 8-byte number of a file, modulo 2**64, and of the bytes that are left.

    That is told four times as quickly as the CRC-32 of all: 1 ms for 25 MB. Any bit that flips changes it, and so do
    pages of a disk that change places, as 509 is a prime.
    """
    rows = len(content) // (8 * _LANES)
    numbers = np.frombuffer(content, dtype="<u8", count=rows * _LANES).reshape(rows, _LANES)
    with memoryview(content) as view:
        return zlib.crc32(
            view[8 * rows * _LANES :], zlib.crc32(numbers.sum(axis=0, dtype=np.uint64).tobytes())
        )


class Codes:
    """The FAISS file of a segment.

    Args:
        path, count, dimension, scale: as they were written.
        crc: the file's `checksum`.

    Raises:
        IndexDamaged: it is missing, or its checksum is wrong.
    """

    def __init__(self, path: Path, count: int, dimension: int, scale: Scale, crc: int) -> None:
        self._content = content_of(path, size_of(count, dimension))
        content = memoryview(self._content)
        if checksum(self._content) != crc:
            raise damaged(path)
        self.scale = scale
        behind = _FRONT + count * dimension
        self._codes = np.frombuffer(content[_FRONT:behind], dtype=np.uint8).reshape(count, dimension)
        self.ids = np.frombuffer(content[behind + 8 :], dtype="<i8")
        self._index: Any = None

    def nearest(
        self, query: RoughQuery, k: int, alive: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows and rough cosines of the k with the highest rough cosines, best first; fewer if there are no more.

        Args:
            alive: (n,) which rows to choose from; None for all.
        """
        faiss = load_faiss()
        if self._index is None:
            everything = np.frombuffer(self._content, dtype=np.uint8)
            reader = faiss.ZeroCopyIOReader(faiss.swig_ptr(everything), everything.size)
            numbered = faiss.read_index(reader)
            numbered.referenced_objects = (everything, reader)
            self._index = numbered
        parameters = None
        if alive is not None:
            bits = np.packbits(alive, bitorder="little")
            parameters = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits))
        vectors = faiss.downcast_index(self._index.index)
        with _one_thread(faiss):
            products, rows = vectors.search(query.codes[None, :], min(k, len(self.ids)), params=parameters)
        found = rows[0] >= 0
        return rows[0][found], products[0][found].astype(np.float64) * query.factor(self.scale)

    def rough(self, query: RoughQuery, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """(n,) rough cosines of some rows, in their order."""
        found = np.empty(len(rows))
        for start in range(0, len(rows), _AT_ONCE):
            numbers = self.numbers(rows[start : start + _AT_ONCE]).astype(np.float32)
            found[start : start + _AT_ONCE] = numbers @ query.codes
        return found * query.factor(self.scale)

    def numbers(self, rows: NDArray[np.intp]) -> NDArray[np.int8]:
        """(n, d) the codes of some rows, in their order."""
        return (self._codes[rows] ^ _OFFSET).view(np.int8)

    def give_back(self) -> None:
        """Let the system have the memory of a mapped file; it is read again where it is needed."""
        if hasattr(self._content, "madvise"):
            self._content.madvise(mmap.MADV_DONTNEED)
