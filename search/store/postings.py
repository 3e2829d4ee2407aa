"""Blocks of postings: for each stem, the passages that contain it and its frequency in each, in a buffer of arrays.

A block has at most 65,536 passages, and is stored as a value in index.db or as a file. Stems are in
groups of 64: a look-up finds the group by the first stem of each, then searches this group only. The
bytes of a block depend on its passages alone, not on the order of merges.

Arrays are little-endian, each in the smallest unsigned type that holds its values, starting at multiples of 8:

    header           magic number; type and number of entries of each array; the first ID
    ids              IDs of the passages, increasing, minus the first ID
    lengths          lengths of the passages, in tokens; those of word_forms.py do not count
    stem_starts      position in `stems` at which each group of 64 begins, and the end of the last group
    posting_starts   position in `rows` at which each group begins, and the end of the last group
    firsts           the first stem of each group, each with a line feed
    stems            all stems in the order of their UTF-8 bytes, each with a line feed
    counts           number of passages with each stem
    rows             the passages with each stem, as positions among the IDs, increasing
    frequencies      frequency of the stem in each of these passages
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from search.errors import IndexDamaged
from search.store.files import release
from search.store.terms import Stemmer
from search.store.word_forms import FIRST

if TYPE_CHECKING:
    from mmap import mmap
    from typing import TypeAlias

    from numpy.typing import NDArray

    Unsigned: TypeAlias = NDArray[np.unsignedinteger[Any]]

MAX_PASSAGES = 65_536  # of a block
GROUP = 64  # stems
_MAGIC = b"seewhy words 2\0\0"
_FORM = FIRST.encode()
_HEADER = struct.Struct("<16s9s7xIIQQQq")
_ARRAYS = (
    "ids", "lengths", "stem_starts", "posting_starts", "firsts", "stems", "counts", "rows", "frequencies",
)  # fmt: skip


class Header(NamedTuple):
    """Header of a block.

    Attributes:
        widths: number of bytes of an entry, for each array.
    """

    magic: bytes
    widths: bytes
    passages: int
    terms: int
    postings: int
    stem_bytes: int
    first_bytes: int
    first_id: int

    @property
    def groups(self) -> int:
        return -(-self.terms // GROUP)

    def spans(self) -> tuple[dict[str, tuple[int, int]], int]:
        """Return start and end of each array by name, and the end of the block."""
        of_groups = (self.groups + 1, self.groups + 1, self.first_bytes)
        of_terms = (self.stem_bytes, self.terms, self.postings, self.postings)
        sizes = (self.passages, self.passages, *of_groups, *of_terms)
        spans, end = {}, _HEADER.size
        for name, width, size in zip(_ARRAYS, self.widths, sizes, strict=True):
            spans[name] = (end, end + width * size)
            end = _aligned(end + width * size)
        return spans, end


class Postings(NamedTuple):
    """The postings of a block.

    Attributes:
        stems: all stems, in the order of their UTF-8 bytes.
        counts: number of passages with each stem.
        rows: positions in `PostingsBlock.ids` of the passages with the first stem, with the second, and so on.
        frequencies: frequency of the stem in each of these passages.
    """

    stems: list[bytes]
    counts: NDArray[Any]
    rows: NDArray[Any]
    frequencies: NDArray[Any]


class PostingsBlock:
    """A block that is open for look-ups. Thread-safe.

    Attributes:
        lengths: (n,) number of tokens of each passage.

    Raises:
        IndexDamaged: the buffer is not a block.
    """

    def __init__(self, buffer: bytes | memoryview | mmap) -> None:
        self._buffer = buffer
        view = memoryview(buffer).cast("B")
        try:
            self._header = Header(*_HEADER.unpack_from(view))
            spans, end = self._header.spans()
        except (struct.error, ValueError):
            end = -1
        if end != len(view) or self._header.magic != _MAGIC:
            raise IndexDamaged(f"the postings of the index are damaged. {IndexDamaged.REPAIR}")
        self._arrays = {
            name: np.frombuffer(view[start:stop], dtype=f"<u{width}")
            for (name, (start, stop)), width in zip(spans.items(), self._header.widths, strict=True)
        }
        self.lengths: Unsigned = self._arrays["lengths"]
        self._firsts = self._arrays["firsts"].tobytes().split(b"\n")[:-1]

    def __len__(self) -> int:
        return self._header.passages

    @property
    def ids(self) -> NDArray[np.int64]:
        """(n,) IDs of the passages, increasing."""
        return self._arrays["ids"].astype(np.int64) + self._header.first_id

    def release(self) -> None:
        """Return the memory of a mapped file to the system."""
        release(self._buffer)

    def find(self, stem: str | bytes) -> tuple[Unsigned, Unsigned] | None:
        """Return positions in `ids` of the passages with a stem, and its frequency in each; None if there are none."""
        sought = stem.encode("utf-8", "surrogatepass") if isinstance(stem, str) else stem
        group = bisect_right(self._firsts, sought) - 1
        if group < 0:
            return None
        begin, end = self._arrays["stem_starts"][group : group + 2].tolist()
        stems = self._arrays["stems"][begin:end].tobytes().split(b"\n")[:-1]
        if sought not in stems:
            return None
        first, number = group * GROUP, group * GROUP + stems.index(sought)
        start = int(self._arrays["posting_starts"][group])
        start += int(self._arrays["counts"][first:number].sum())
        stop = start + int(self._arrays["counts"][number])
        return self._arrays["rows"][start:stop], self._arrays["frequencies"][start:stop]

    def containing(self, part: bytes) -> Iterator[bytes]:
        """Yield the stems that contain a text."""
        stems = b"\n" + self._arrays["stems"].tobytes()
        at = stems.find(part)
        while at >= 0:
            start, end = stems.rfind(b"\n", 0, at) + 1, stems.find(b"\n", at)
            yield stems[start:end]
            at = stems.find(part, end)

    def postings(self) -> Postings:
        """Return all postings of the block."""
        stems = self._arrays["stems"].tobytes().split(b"\n")[:-1]
        counts = self._arrays["counts"].astype(np.int64)
        return Postings(stems, counts, self._arrays["rows"], self._arrays["frequencies"])


def serialise(first_id: int, arrays: Mapping[str, Unsigned]) -> bytes:
    """Return the bytes of a block."""
    widths = bytes(arrays[name].itemsize for name in _ARRAYS)
    sizes = (len(arrays[name]) for name in ("ids", "counts", "rows", "stems", "firsts"))
    header = _HEADER.pack(_MAGIC, widths, *sizes, first_id)
    return b"".join((header, *(_padded(arrays[name]) for name in _ARRAYS)))


def _aligned(size: int) -> int:
    return -(-size // 8) * 8


def _padded(array: Unsigned) -> bytes:
    return array.tobytes().ljust(_aligned(array.nbytes), b"\0")


def build_block(stemmer: Stemmer, passages: Sequence[tuple[int, str]]) -> bytes:
    """Build a block from passages, given as (ID, `indexable` text) by increasing IDs."""
    ids = np.array([id_ for id_, _ in passages], dtype=np.int64)
    tokens = stemmer.inverted(text for _, text in passages)
    all_numbers = ",".join(numbers for _, numbers in tokens)
    rows = np.fromstring(all_numbers, dtype=np.int64, sep=",") if tokens else np.empty(0, dtype=np.int64)
    times = np.array([numbers.count(",") + 1 for _, numbers in tokens], dtype=np.int64)
    is_word = np.array([not stem.startswith(_FORM) for stem, _ in tokens], dtype=bool)
    lengths = np.bincount(rows[np.repeat(is_word, times)], minlength=len(ids))
    cells, frequencies = np.unique(_numbers(times) * len(ids) + rows, return_counts=True)
    terms, rows = np.divmod(cells, max(1, len(ids)))
    counts = np.bincount(terms, minlength=len(tokens))
    return _composed(ids, lengths, Postings([stem for stem, _ in tokens], counts, rows, frequencies))


def merge_blocks(blocks: Sequence[PostingsBlock], alive: Sequence[NDArray[np.bool_]]) -> bytes:
    """Merge blocks, without their deleted passages. The result has the same bytes as a block built from the rest.

    Args:
        blocks: blocks in the order of IDs.
        alive: for each block, an (n,) mask of the passages that are not deleted.
    """
    postings = [_living(block.postings(), living) for block, living in zip(blocks, alive, strict=True)]
    ids = [block.ids[living] for block, living in zip(blocks, alive, strict=True)]
    lengths = [block.lengths[living] for block, living in zip(blocks, alive, strict=True)]
    joined = _joined(postings, [len(ids_of_block) for ids_of_block in ids])
    return _composed(np.concatenate(ids), np.concatenate(lengths), joined)


def _living(postings: Postings, alive: NDArray[np.bool_]) -> Postings:
    """Return postings without the deleted passages; the rows of the others are renumbered."""
    kept = alive[postings.rows]
    counts = np.bincount(_numbers(postings.counts)[kept], minlength=len(postings.stems))
    stems = [stem for stem, count in zip(postings.stems, counts.tolist(), strict=True) if count]
    rows = (np.cumsum(alive) - 1).astype(np.uint16)[postings.rows[kept]]
    return Postings(stems, counts[counts > 0], rows, postings.frequencies[kept])


def _joined(postings: Sequence[Postings], passages: Sequence[int]) -> Postings:
    """Concatenate the postings of several blocks.

    Args:
        passages: number of passages of each block.
    """
    stems = sorted(set().union(*(block.stems for block in postings)))
    number_of = {stem: number for number, stem in enumerate(stems)}
    numbers = [np.array([number_of[stem] for stem in block.stems], dtype=np.int64) for block in postings]
    counts = np.zeros(len(stems), dtype=np.int64)
    for block, stem_numbers in zip(postings, numbers, strict=True):
        counts[stem_numbers] += block.counts
    rows = np.empty(counts.sum(), dtype=np.uint16)
    frequencies = np.empty(
        len(rows), dtype=np.result_type(np.uint8, *(block.frequencies for block in postings))
    )
    free = _starts(counts)  # next free position of each stem
    before = 0
    for block, stem_numbers, size in zip(postings, numbers, passages, strict=True):
        shifts = free[stem_numbers] - _starts(block.counts)
        targets = np.repeat(shifts, block.counts) + np.arange(len(block.rows))
        rows[targets] = block.rows.astype(np.int64) + before
        frequencies[targets] = block.frequencies
        free[stem_numbers] += block.counts
        before += size
    return Postings(stems, counts, rows, frequencies)


def _composed(ids: NDArray[np.int64], lengths: NDArray[Any], postings: Postings) -> bytes:
    """Build the block of passages from their ids, lengths and postings."""
    if len(ids) > MAX_PASSAGES or (ids[1:] <= ids[:-1]).any():
        raise ValueError(f"a block takes at most {MAX_PASSAGES:,} passages, in order of increasing ID")
    first_id = int(ids[0]) if len(ids) else 0
    stems = _lines(postings.stems)
    counts, rows, frequencies = map(_smallest, postings[1:])
    stem_starts = _of_groups(np.array([len(stem) + 1 for stem in postings.stems], dtype=np.int64))
    arrays = {
        "ids": _smallest(ids - first_id),
        "lengths": _smallest(lengths),
        "stem_starts": _smallest(stem_starts),
        "posting_starts": _smallest(_of_groups(postings.counts)),
        "firsts": _lines(postings.stems[::GROUP]),
        "stems": stems,
        "counts": counts,
        "rows": rows,
        "frequencies": frequencies,
    }
    return serialise(first_id, arrays)


def _numbers(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the stem's number for each posting: [0, 0, 1] for the counts [2, 1]."""
    return np.repeat(np.arange(len(counts)), counts)


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.cumsum(counts) - counts


def _of_groups(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the start of each group of stems, and the end of the last group.

    Args:
        sizes: (stems,) number of bytes, or of postings, of each stem.
    """
    return np.append(_starts(sizes)[::GROUP], sizes.sum())


def _lines(stems: Sequence[bytes]) -> Unsigned:
    return np.frombuffer(b"".join(stem + b"\n" for stem in stems), dtype=np.uint8)


def _smallest(values: NDArray[Any]) -> Unsigned:
    """Cast values to the smallest type that holds them."""
    highest = int(values.max()) if len(values) else 0
    return values.astype(np.min_scalar_type(highest).newbyteorder("<"))
