"""Find the exact nearest passages: FAISS selects candidates, and the embeddings in index.db decide.

FAISS searches the 8-bit file of each segment, and an `IndexFlatIP` of the embeddings that are in no segment. Each gives
upper bounds of the cosines. The k best passages are found when the k-th best exact cosine, computed from index.db,
exceeds the upper bounds of all other passages; until then, more candidates are examined. This is the threshold
algorithm (Fagin, Lotem and Naor 2003) with one list. Equal cosines are ordered by passage ID.

The file of a segment is an `IndexIDMap2` over an `IndexScalarQuantizer` of the kind `QT_8bit_uniform`, with FAISS's own
training: each number of an embedding becomes a whole number from 0 to 255, so that FAISS's own search with a plain
embedding returns passage IDs and products near the cosine. Here the same bytes are read as `QT_8bit_direct_signed`,
whole numbers from -128 to 127, for which FAISS has a kernel that is two to three times as fast (benchmarks/README.md).
The query is quantised, too, so FAISS's products are whole numbers. For a query q and an embedding x, whose codes decode
to q' and x',

    |q.x - q'.x'|  <=  |q - q'| |x| + |q'| |x - x'|

So the error of an approximate cosine has a known bound, its slack (Cauchy and Schwarz).

A file never changes. Its checksum is compared before FAISS reads it.
"""

from __future__ import annotations

import errno
import math
import mmap
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import IndexDamaged
from search.store.files import content_of, damaged, release
from search.store.vectors import load_faiss, search_by_faiss

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    Cosines: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.float32]]

# FAISS's file: the head of the `IndexIDMap2`, the `IndexScalarQuantizer` with its head and its codes, the ids.
_QUANTIZER = 37
_FRONT = 126  # bytes before the codes
_OFFSET = 128  # byte minus code

_BATCH_ROWS = 4096  # because float32 and float64 take more memory than codes
_CHECKSUM_COLUMNS = 509
MAX_CODE = 127  # highest absolute value of a code of a query
_LENGTH = 1.001  # upper bound for the length of an embedding
# Whole numbers below it are exact in float32, and so are their sums.
_EXACT = 1 << 24

_FIRST_FACTOR = 3  # candidates of the first search, as a multiple of k
_NEXT_FACTOR = 4  # factor by which each further search has more candidates
_MIN_CANDIDATES = 16


class RoughQuery:
    """A query with each number quantised to 8 bits.

    Args:
        query: (d,) vector of unit length.

    Attributes:
        exact: the query.
        codes: (d,) float32, whole numbers from -127 to 127.
        step: a code c stands for `step * c`.
        error, length, sum: distance of the decoded codes from the query, their length, and their sum.
    """

    def __init__(self, query: NDArray[np.float32]) -> None:
        self.exact = query
        exact = query.astype(np.float64)
        self.step = max(float(np.abs(exact).max(initial=0.0)), 1e-12) / MAX_CODE
        self.codes = np.rint(exact / self.step).astype(np.float32)
        decoded = self.codes.astype(np.float64) * self.step
        self.error, self.length = float(np.linalg.norm(exact - decoded)), float(np.linalg.norm(decoded))
        self.sum = float(decoded.sum())


class CodeScale:
    """The numbers that codes stand for: a code c from -128 to 127 is `middle + step * c`.

    Args:
        trained: what FAISS's quantiser has learned: the lowest number, and the width of the range.
        error: maximum quantisation error: the greatest distance between an embedding and its decoded codes.
    """

    def __init__(self, trained: NDArray[np.float32], error: float = 0.0) -> None:
        lowest, width = trained.astype(np.float64).tolist()
        self.step = width / 255
        self.middle = lowest + (_OFFSET + 0.5) * self.step
        self.error = error

    def greatest_error(self, codes: NDArray[np.uint8], vectors: NDArray[np.float32]) -> float:
        """Return the greatest distance of (n, d) embeddings from their decoded codes, which are bytes of the file."""
        greatest = 0.0
        for start in range(0, len(codes), _BATCH_ROWS):
            rows = slice(start, start + _BATCH_ROWS)
            decoded = self.middle + (codes[rows].astype(np.float64) - _OFFSET) * self.step
            greatest = max(greatest, float(np.linalg.norm(vectors[rows] - decoded, axis=1).max()))
        return greatest * (1 + 1e-9)  # the rounding of its own sum

    def highest(self, query: RoughQuery, products: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return upper bounds of the cosines for products of a query's codes with embeddings' codes."""
        slack = query.error * _LENGTH + query.length * self.error + 1e-6
        dimension = len(query.codes)
        if (
            _OFFSET * MAX_CODE * dimension >= _EXACT
        ):  # float32 rounds these sums (Higham 2002, section 3.1)
            length = _LENGTH + self.error + abs(self.middle) * math.sqrt(dimension)
            slack += dimension * 2.0**-24 * query.length * length
        return query.step * self.step * products.astype(np.float64) + (self.middle * query.sum + slack)


def write(path: Path, ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> tuple[float, int]:
    """Write the FAISS file of (n, d) embeddings with increasing passage IDs to an existing empty file.

    Returns:
        The maximum quantisation error, and the `checksum` of the file.

    Raises:
        IndexDamaged: an embedding is not finite.
    """
    if not np.isfinite(vectors).all():
        raise IndexDamaged(f"an embedding in the index is NaN or infinite. {IndexDamaged.CHECK}")
    faiss = load_faiss()
    kind = faiss.ScalarQuantizer.QT_8bit_uniform
    quantizer = faiss.IndexScalarQuantizer(vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
    with_ids = faiss.IndexIDMap2(quantizer)
    with_ids.train(vectors)
    with_ids.add_with_ids(vectors, ids)
    try:
        faiss.write_index(with_ids, str(path))
    except RuntimeError as error:  # what FAISS raises when a disk is full
        raise OSError(errno.EIO, str(error), str(path)) from None
    content = path.read_bytes()
    scale = CodeScale(faiss.vector_to_array(quantizer.sq.trained))
    codes = np.frombuffer(content, dtype=np.uint8, count=vectors.size, offset=_FRONT)
    return scale.greatest_error(codes.reshape(vectors.shape), vectors), checksum(content)


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
        error, crc: maximum quantisation error and checksum, as returned by `write`.

    Attributes:
        ids: (n,) increasing IDs of the passages.
        stays_mapped: False to return the memory of a mapped file to the system after each use, as the first query of a
            process does, which is often its only one; later queries are faster if it stays.

    Raises:
        IndexDamaged: the file is missing, or its checksum is wrong.
    """

    def __init__(self, path: Path, count: int, dimension: int, error: float, crc: int) -> None:
        self._content = content_of(path, size_of(count, dimension))
        content = memoryview(self._content)
        if checksum(self._content) != crc:
            raise damaged(path)
        release(self._content)
        end = _FRONT + count * dimension
        self._codes = np.frombuffer(content[_FRONT:end], dtype=np.uint8).reshape(count, dimension)
        self.ids = np.frombuffer(content[end + 8 :], dtype="<i8")
        self._error, self.stays_mapped = error, False

    @cached_property
    def _index(self) -> Any:
        """FAISS's index of the codes, as whole numbers with a sign."""
        # Without the IDs, of which FAISS would make a table in memory.
        file = np.frombuffer(self._content, dtype=np.uint8)[_QUANTIZER:]
        faiss = load_faiss()
        reader = faiss.ZeroCopyIOReader(faiss.swig_ptr(file), file.size)
        index = faiss.read_index(reader)
        index.referenced_objects = (file, reader)
        index.sq.qtype = faiss.ScalarQuantizer.QT_8bit_direct_signed
        return index

    @cached_property
    def _scale(self) -> CodeScale:
        return CodeScale(load_faiss().vector_to_array(self._index.sq.trained), self._error)

    def nearest(
        self, query: RoughQuery, k: int, alive: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows with the k highest approximate cosines, best first, and upper bounds of their exact cosines.

        Args:
            alive: (n,) mask of the rows to choose from; None for all.
        """
        rows, products = search_by_faiss(self._index, query.codes, k, alive)
        if not self.stays_mapped:
            release(self._content)
        return rows, self._scale.highest(query, products)

    def highest(self, query: RoughQuery, passages: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (n,) upper bounds of the cosines of n passages in the segment, in their order."""
        rows, products = np.searchsorted(self.ids, passages), np.empty(len(passages), dtype=np.float32)
        for start in range(0, len(rows), _BATCH_ROWS):
            numbers = (self._codes[rows[start : start + _BATCH_ROWS]] ^ _OFFSET).view(np.int8)
            products[start : start + _BATCH_ROWS] = numbers.astype(np.float32) @ query.codes
        if not self.stays_mapped:
            release(self._content)
        return self._scale.highest(query, products)


class FlatVectors:
    """The embeddings of passages in an `IndexFlatIP` in memory: the write buffer, or a segment whose file is damaged.

    Args:
        blocks: IDs and (n, d) embeddings, in the order of IDs.
        dimension: d.

    Attributes:
        ids: (n,) increasing IDs of the passages.
    """

    def __init__(
        self, blocks: Iterable[tuple[NDArray[np.int64], NDArray[np.float32]]], dimension: int
    ) -> None:
        self._index: Any = load_faiss().IndexFlatIP(dimension)
        ids = [np.empty(0, dtype=np.int64)]
        for numbers, vectors in blocks:
            ids.append(numbers)
            self._index.add(vectors)
        self.ids = np.concatenate(ids)
        # Of a sum in float32, in any order (Higham 2002, section 3.1), and of the exact cosine.
        self._rounding = 1e-6 + 1.01 * dimension * 2.0**-24

    def nearest(
        self, query: RoughQuery, k: int, alive: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows with the k highest cosines, best first, and upper bounds of their exact cosines.

        Args:
            alive: (n,) mask of the rows to choose from; None for all.
        """
        rows, products = search_by_faiss(self._index, query.exact, k, alive)
        return rows, products.astype(np.float64) + self._rounding

    def highest(self, query: RoughQuery, passages: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (n,) upper bounds of the cosines of n of these passages, in their order."""
        vectors = self._index.reconstruct_batch(np.searchsorted(self.ids, passages))
        return (vectors @ query.exact).astype(np.float64) + self._rounding


class PartView:
    """The state of a search in one part of an index: a segment, or the write buffer.

    Args:
        part: the part.
        chosen: (n,) mask of the passages to choose from; None for all.

    Attributes:
        count: number of passages to choose from.
        limit: number of passages that the last search returned.
        ids, highest: the IDs of these passages, and upper bounds of their cosines.
        rest: upper bound of the cosines of all other passages of the part.
    """

    def __init__(self, part: Codes | FlatVectors, chosen: NDArray[np.bool_] | None = None) -> None:
        self.part, self._chosen = part, chosen
        self.count = len(part.ids) if chosen is None else int(np.count_nonzero(chosen))

    @property
    def passages(self) -> NDArray[np.int64]:
        """IDs of the passages to choose from, increasing."""
        return self.part.ids if self._chosen is None else self.part.ids[self._chosen]

    def search(self, query: RoughQuery, limit: int) -> None:
        """Search for the `limit` nearest passages; for all passages if `limit` is more than half of their number."""
        self.limit = limit if 2 * limit < self.count else self.count
        rows, self.highest = self.part.nearest(query, self.limit, self._chosen)
        self.ids = self.part.ids[rows]
        self.rest = float(self.highest[-1]) if self.limit < self.count else -np.inf


def nearest_of(
    cosines_of: Cosines, parts: Sequence[PartView], query: NDArray[np.float32], k: int
) -> list[tuple[int, float]]:
    """Return the k passages with the highest cosine, best first, as (passage ID, cosine).

    Args:
        cosines_of: returns the exact cosines of passages with increasing IDs.
        parts: the parts of the index to search; no two share a passage.
        query: (d,) vector of unit length.
    """
    views = [view for view in parts if view.count]
    if not views:
        return []
    rough, scores = RoughQuery(query), dict[int, float]()
    for view in views:
        view.search(rough, _FIRST_FACTOR * k // len(views) + _MIN_CANDIDATES)
    unsure = True
    while unsure:
        ids = np.concatenate([view.ids for view in views])
        highest = np.concatenate([view.highest for view in views])
        least = _add_cosines(cosines_of, ids[np.argsort(-highest)[:k]], scores, k)
        least = _add_cosines(cosines_of, ids[highest >= least], scores, k)
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
    cosines_of: Cosines, passages: NDArray[np.int64], scores: dict[int, float], k: int
) -> float:
    """Add the exact cosines of passages to `scores`; return the k-th highest score, -inf if there are fewer than k."""
    new = np.setdiff1d(passages, np.array(list(scores), dtype=np.int64))
    scores.update(zip(new.tolist(), cosines_of(new).tolist(), strict=True))
    if len(scores) < k:
        return -np.inf
    return float(np.partition(np.array(list(scores.values())), -k)[-k])
