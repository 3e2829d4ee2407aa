"""Find the exact nearest passages: 8-bit codes select candidates, and the embeddings decide.

Each number of an embedding is divided by a step and rounded to an integer from -127 to 127; FAISS calls
this `QT_8bit_direct_signed`. The query is quantised, too, so FAISS's products are integers. For a query
q and an embedding x, whose codes decode to q' and x',

    |q.x - q'.x'|  <=  |q - q'| |x| + |q'| |x - x'|

So the error of an approximate cosine has a known bound, its slack (Cauchy and Schwarz). The k best passages are found
when the k-th best exact cosine, computed from the embeddings in index.db, exceeds the upper bounds of all other
passages; until then, more candidates are examined. This is the threshold algorithm (Fagin, Lotem and Naor 2003) with
one list. Equal cosines are ordered by passage ID.

The codes of a segment are stored in an immutable FAISS file. Its checksum is compared before FAISS reads it.
"""

from __future__ import annotations

import errno
import math
import mmap
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import IndexDamaged
from search.store.files import content_of, damaged
from search.store.vectors import cosines_of, load_faiss

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FRONT = 118  # bytes before the codes
_OFFSET = 128  # byte minus code

_BATCH_ROWS = 4096  # because float32 and float64 take more memory than codes
_CHECKSUM_COLUMNS = 509
MAX_CODE = 127  # highest absolute value of a code
_PEAK, _ERROR = 1 << 16, 1 << 24  # the units of `CodeScale`
_LENGTH = 1.001  # upper bound for the length of an embedding
# Whole numbers below it are exact in float32, and so are their sums.
_EXACT = 1 << 24

_FIRST_FACTOR = 3  # candidates of the first search, as a multiple of k
_NEXT_FACTOR = 4  # factor by which each further search has more candidates
_MIN_CANDIDATES = 16


@dataclass(frozen=True)
class CodeScale:
    """Quantisation parameters of a segment.

    Attributes:
        peak: highest absolute value in its embeddings, in units of 1/65,536, rounded up.
        error: maximum quantisation error: the greatest distance between an embedding and its decoded codes, in units of
            1/2**24, rounded up.
    """

    peak: int
    error: int

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> tuple[CodeScale, NDArray[np.int8]]:
        """Return the scale that fits (n, d) embeddings, and their (n, d) codes."""
        if not np.isfinite(vectors).all():
            raise IndexDamaged(f"an embedding in the index is NaN or infinite. {IndexDamaged.CHECK}")
        peak = max(1, math.ceil(float(np.abs(vectors).max(initial=0.0)) * _PEAK))
        step, error = peak / _PEAK / MAX_CODE, 0.0
        codes = np.empty(vectors.shape, dtype=np.int8)
        for start in range(0, len(vectors), _BATCH_ROWS):
            block = vectors[start : start + _BATCH_ROWS]
            chosen = np.rint(block.astype(np.float64) / step).astype(np.int8)
            codes[start : start + _BATCH_ROWS] = chosen
            error = max(error, float(np.linalg.norm(block - chosen * step, axis=1).max()))
        return cls(peak, math.ceil(error * _ERROR) + 1), codes


class RoughQuery:
    """A query with each number quantised to 8 bits.

    Args:
        query: (d,) vector of unit length.
    """

    def __init__(self, query: NDArray[np.float32]) -> None:
        exact = query.astype(np.float64)
        self._step = max(float(np.abs(exact).max(initial=0.0)), 1e-12) / MAX_CODE
        self.codes = np.rint(exact / self._step).astype(np.float32)
        decoded = self.codes.astype(np.float64) * self._step
        self._off, self._length = float(np.linalg.norm(exact - decoded)), float(np.linalg.norm(decoded))

    def against(self, scale: CodeScale) -> tuple[float, float]:
        """Return (factor, error): `factor` times a product of codes is the cosine, up to `error`."""
        error = scale.error / _ERROR
        slack = self._off * _LENGTH + self._length * error + 1e-6
        if (
            MAX_CODE**2 * len(self.codes) >= _EXACT
        ):  # sums in float32 are rounded (Higham 2002, section 3.1)
            slack += len(self.codes) * 2.0**-24 * self._length * (_LENGTH + error)
        return self._step * scale.peak / _PEAK / MAX_CODE, slack


def write(path: Path, ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> tuple[CodeScale, int]:
    """Quantise (n, d) embeddings; write the codes and the increasing passage IDs to an existing empty file.

    Returns:
        The scale of the codes, and the `checksum` of the file.
    """
    faiss = load_faiss()
    scale, codes = CodeScale.of(vectors)
    kind = faiss.ScalarQuantizer.QT_8bit_direct_signed
    quantizer = faiss.IndexScalarQuantizer(vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
    with_ids = faiss.IndexIDMap(quantizer)
    for start in range(0, len(ids), _BATCH_ROWS):
        end = start + _BATCH_ROWS
        with_ids.add_with_ids(codes[start:end].astype(np.float32), ids[start:end])
    try:
        faiss.write_index(with_ids, str(path))
    except RuntimeError as error:  # what FAISS raises when a disk is full
        raise OSError(errno.EIO, str(error), str(path)) from None
    content = path.read_bytes()
    return scale, checksum(content)


def size_of(count: int, dimension: int) -> int:
    """Size in bytes of the file for `count` embeddings."""
    return _FRONT + count * dimension + 8 + 8 * count


def checksum(content: bytes | mmap.mmap) -> int:
    """Return a fast checksum for a file: one CRC-32 over the sums of 509 columns and the remaining bytes.

    Column c sums the file's 8-byte numbers c, c + 509, c + 1018, ... modulo 2**64. This is four times as fast as the
    CRC-32 of the whole file: 1 ms for 25 MB. Any flipped bit changes the checksum, and swapped disk pages do, too:
    509 is a prime.
    """
    rows = len(content) // (8 * _CHECKSUM_COLUMNS)
    numbers = np.frombuffer(content, dtype="<u8", count=rows * _CHECKSUM_COLUMNS).reshape(
        rows, _CHECKSUM_COLUMNS
    )
    with memoryview(content) as view:
        return zlib.crc32(
            view[8 * rows * _CHECKSUM_COLUMNS :],
            zlib.crc32(numbers.sum(axis=0, dtype=np.uint64).tobytes()),
        )


class Codes:
    """The FAISS file of a segment.

    Args:
        path: the file.
        count, dimension: number and width of the embeddings in it.
        scale: scale of the codes, as returned by `write`.
        crc: checksum of the file, as returned by `write`.

    Raises:
        IndexDamaged: the file is missing, or its checksum is wrong.
    """

    def __init__(self, path: Path, count: int, dimension: int, scale: CodeScale, crc: int) -> None:
        self._content = content_of(path, size_of(count, dimension))
        content = memoryview(self._content)
        if checksum(self._content) != crc:
            raise damaged(path)
        self.scale = scale
        end = _FRONT + count * dimension
        self._codes = np.frombuffer(content[_FRONT:end], dtype=np.uint8).reshape(count, dimension)
        self.ids = np.frombuffer(content[end + 8 :], dtype="<i8")
        self._index: Any = None

    def nearest(
        self, query: RoughQuery, k: int, alive: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return rows and values of the k highest approximate cosines, best first; of all rows if there are fewer.

        Args:
            alive: (n,) mask of the rows to choose from; None for all.
        """
        faiss = load_faiss()
        if self._index is None:
            file = np.frombuffer(self._content, dtype=np.uint8)
            reader = faiss.ZeroCopyIOReader(faiss.swig_ptr(file), file.size)
            with_ids = faiss.read_index(reader)
            with_ids.referenced_objects = (file, reader)
            self._index = with_ids
        parameters = None
        if alive is not None:
            bits = np.packbits(alive, bitorder="little")
            parameters = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits))
        vectors = faiss.downcast_index(self._index.index)
        # FAISS divides queries among threads, not vectors: with one query a second thread would only wait.
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)
        try:
            products, rows = vectors.search(
                query.codes[None, :], min(k, len(self.ids)), params=parameters
            )
        finally:
            faiss.omp_set_num_threads(threads)
        valid = rows[0] >= 0
        return rows[0][valid], products[0][valid].astype(np.float64) * query.against(self.scale)[0]

    def highest(self, query: RoughQuery, passages: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (n,) upper bounds of the cosines of n passages in the segment, in their order."""
        rows, products = np.searchsorted(self.ids, passages), np.empty(len(passages))
        for start in range(0, len(rows), _BATCH_ROWS):
            numbers = (self._codes[rows[start : start + _BATCH_ROWS]] ^ _OFFSET).view(np.int8)
            products[start : start + _BATCH_ROWS] = numbers.astype(np.float32) @ query.codes
        factor, slack = query.against(self.scale)
        return products * factor + slack


class SegmentView:
    """The state of a search in one segment.

    Args:
        chosen: (n,) mask of the passages to choose from; None for all.

    Attributes:
        limit: number of passages that the last search returned.
        ids, highest: the IDs of these passages, and upper bounds of their cosines.
        rest: upper bound of the cosines of all other passages of the segment.
    """

    def __init__(self, codes: Codes, chosen: NDArray[np.bool_] | None = None) -> None:
        self.codes, self._chosen = codes, chosen
        self.count = len(codes.ids) if chosen is None else int(np.count_nonzero(chosen))

    @property
    def passages(self) -> NDArray[np.int64]:
        """IDs of the passages to choose from, increasing."""
        return self.codes.ids if self._chosen is None else self.codes.ids[self._chosen]

    def search(self, query: RoughQuery, limit: int) -> None:
        """Search for the `limit` nearest passages; for all passages if `limit` is more than half of their number."""
        self.limit = limit if 2 * limit < self.count else self.count
        rows, rough = self.codes.nearest(query, self.limit, self._chosen)
        self.ids, self.highest = self.codes.ids[rows], rough + query.against(self.codes.scale)[1]
        self.rest = float(self.highest[-1]) if self.limit < self.count else -np.inf


def nearest_of(
    connection: sqlite3.Connection,
    segments: Sequence[SegmentView],
    query: NDArray[np.float32],
    k: int,
    scores: dict[int, float],
) -> list[tuple[int, float]]:
    """Return the k passages with the highest cosine, best first, as (passage ID, cosine).

    Args:
        segments: segments to search; no two share a passage.
        query: (d,) vector of unit length.
        scores: passage ID -> cosine, for the passages in no segment; all cosines computed here are added.
    """
    views = [view for view in segments if view.count]
    if views:
        rough = RoughQuery(query)
        for view in views:
            view.search(rough, _FIRST_FACTOR * k // len(segments) + _MIN_CANDIDATES)
    unsure = bool(views)
    while unsure:
        ids = np.concatenate([view.ids for view in views])
        highest = np.concatenate([view.highest for view in views])
        least = _add_cosines(connection, query, ids[np.argsort(-highest)[:k]], scores, k)
        least = _add_cosines(connection, query, ids[highest >= least], scores, k)
        unsure = False
        for view in views:
            if view.limit < view.count and view.rest >= least:
                view.search(rough, _NEXT_FACTOR * view.limit)
                unsure = True
    ids = np.array(list(scores), dtype=np.int64)
    cosines = np.array(list(scores.values()), dtype=np.float64)
    first = np.lexsort((ids, -cosines))[:k]
    return list(zip(ids[first].tolist(), cosines[first].tolist(), strict=True))


def _add_cosines(
    connection: sqlite3.Connection,
    query: NDArray[np.float32],
    passages: NDArray[np.int64],
    scores: dict[int, float],
    k: int,
) -> float:
    """Add the exact cosines of passages to `scores`; return the k-th highest score, -inf if there are fewer than k."""
    new = np.setdiff1d(passages, np.array(list(scores), dtype=np.int64))
    scores.update(zip(new.tolist(), cosines_of(connection, query, new).tolist(), strict=True))
    if len(scores) < k:
        return -np.inf
    return float(np.partition(np.array(list(scores.values())), -k)[-k])
