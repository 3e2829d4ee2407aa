"""A block of words: which passages have a stem and how often, in one buffer that is looked up as it lies.

A block has at most 65,536 passages, and is a value in index.db or a file that is mapped into memory: nothing of it is
read before it is asked for but the ids, the lengths, and the first stem of every 64. Its bytes follow from its
passages alone, however it was put together.

Arrays are little-endian, each in the smallest unsigned type that holds its values, beginning at multiples of 8:

    header           magic, the types, how many there are of everything, the first id, checksums
    ids              of the passages, increasing, less the first one
    lengths          of the passages, in tokens
    stem_starts      where the stems of each group of 64 begin, and where the last ends
    posting_starts   where its postings begin, and where the last ends
    group_checks     the CRC-32 of the group's stems, counts and checks
    firsts           the first stem of each group, each with a line feed
    stems            all stems in the order of their UTF-8 bytes, each with a line feed
    counts           in how many passages each stem is
    checks           the CRC-32 of its rows and frequencies
    rows             of each stem the passages that have it, as positions among the ids, increasing
    frequencies      how often each of these has it

One CRC-32 in the header is of the header, one of all from ids to firsts, which are compared when a block is opened; the
one of the group, and the one of the stem, are compared when a lookup uses them first. So a bit that flips makes no
answer wrong: it is of none, or it is an error. The last is of stems to frequencies, for who reads all of them.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from search.errors import IndexDamaged

if TYPE_CHECKING:
    from collections.abc import Mapping
    from mmap import mmap
    from typing import TypeAlias

    from numpy.typing import NDArray

    Unsigned: TypeAlias = NDArray[np.unsignedinteger[Any]]

MOST = 65_536  # passages of a block
GROUP = 64  # stems
_MAGIC = b"seewhy words 1\0\0"
_HEADER = struct.Struct("<16s11s5xIIQQQqII")
_CHECK = struct.Struct("<I4x")  # of the header
_BEFORE = _HEADER.size + _CHECK.size
_TOP = ("ids", "lengths", "stem_starts", "posting_starts", "group_checks", "firsts")
_BODY = ("stems", "counts", "checks", "rows", "frequencies")


class Header(NamedTuple):
    """What a block begins with.

    Attributes:
        widths: how many bytes an entry of each array has.
        top, body: checksums of the arrays from ids to firsts, and from stems to frequencies.
    """

    magic: bytes
    widths: bytes
    passages: int
    terms: int
    postings: int
    stem_bytes: int
    first_bytes: int
    first_id: int
    top: int
    body: int

    @property
    def groups(self) -> int:
        return -(-self.terms // GROUP)

    def spans(self) -> tuple[dict[str, tuple[int, int]], int]:
        """Where each array lies, and where the block ends."""
        of_groups = (self.groups + 1, self.groups + 1, self.groups, self.first_bytes)
        of_terms = (self.stem_bytes, self.terms, self.terms, self.postings, self.postings)
        sizes = (self.passages, self.passages, *of_groups, *of_terms)
        spans, end = {}, _BEFORE
        for name, width, size in zip(_TOP + _BODY, self.widths, sizes, strict=True):
            spans[name] = (end, end + width * size)
            end = _aligned(end + width * size)
        return spans, end


class Postings(NamedTuple):
    """All postings of some passages.

    Attributes:
        stems: in the order of their bytes.
        counts: how many of the rows each has.
        rows: of one stem after the other.
        frequencies: of the rows.
    """

    stems: list[bytes]
    counts: NDArray[Any]
    rows: NDArray[Any]
    frequencies: NDArray[Any]


class Block:
    """A block that is there to be asked. Safe between threads.

    Attributes:
        lengths: (n,) how many tokens each of its passages has.

    Raises:
        IndexDamaged: the buffer holds no block, or a damaged one.
    """

    def __init__(self, buffer: bytes | memoryview | mmap, name: str) -> None:
        """
        Args:
            name: what to call it where it is damaged.
        """
        self.name, self._bytes = name, memoryview(buffer).cast("B")
        self._header, spans = self._opened()
        self._body = spans["stems"][0]
        if zlib.crc32(self._bytes[_BEFORE : self._body]) != self._header.top:
            self._damaged("its ids")
        self._arrays = {
            name: np.frombuffer(self._bytes[start:end], dtype=f"<u{width}")
            for (name, (start, end)), width in zip(spans.items(), self._header.widths, strict=True)
        }
        self.lengths: Unsigned = self._arrays["lengths"]
        self._check_ids()
        self._firsts = self._arrays["firsts"].tobytes().split(b"\n")[:-1]
        if len(self._firsts) != self._header.groups:
            self._damaged("its stems")
        # Of which groups and stems the checksums were compared.
        self._groups, self._terms = bytearray(self._header.groups), bytearray(self._header.terms)

    def __len__(self) -> int:
        return self._header.passages

    @property
    def crc(self) -> int:
        """The CRC-32 of all its bytes."""
        return zlib.crc32(self._bytes)

    @property
    def ids(self) -> NDArray[np.int64]:
        """(n,) of its passages, increasing."""
        return self._arrays["ids"].astype(np.int64) + self._header.first_id

    def find(self, stem: str) -> tuple[Unsigned, Unsigned] | None:
        """Where a stem is: (m,) increasing positions among the ids, and how often each has it; None for nowhere.

        Raises:
            IndexDamaged: it cannot be told.
        """
        sought = stem.encode("utf-8", "surrogatepass")
        group = bisect_right(self._firsts, sought) - 1
        if group < 0:
            return None
        starts, first = self._arrays["posting_starts"], group * GROUP
        stems = self._group(group)
        try:
            place = stems.index(sought)
        except ValueError:
            return None
        start = int(starts[group]) + int(self._arrays["counts"][first : first + place].sum())
        return self._found(first + place, start)

    def postings(self) -> Postings:
        """All that it holds.

        Raises:
            IndexDamaged: any of it is damaged.
        """
        stems, counts, _, rows, frequencies = (self._arrays[name] for name in _BODY)
        lines = stems.tobytes().split(b"\n")[:-1]
        if (
            zlib.crc32(self._bytes[self._body :]) != self._header.body
            or len(lines) != len(counts)
            or sum(counts.tolist()) != len(rows)
            or (len(rows) and int(rows.max()) >= len(self))
        ):
            self._damaged("its postings")
        return Postings(lines, counts.astype(np.int64), rows, frequencies)

    def _opened(self) -> tuple[Header, dict[str, tuple[int, int]]]:
        """The header and where the arrays lie, where the buffer is as long as it says."""
        if len(self._bytes) < _BEFORE:
            self._damaged("its length")
        start = self._bytes[: _HEADER.size]
        if _CHECK.unpack_from(self._bytes, _HEADER.size) != (zlib.crc32(start),):
            self._damaged("its header")
        header = Header(*_HEADER.unpack(start))
        if header.magic != _MAGIC or not set(header.widths) <= {1, 2, 4, 8} or header.passages > MOST:
            self._damaged("its header")
        spans, end = header.spans()
        if end != len(self._bytes):
            self._damaged("its length")
        return header, spans

    def _check_ids(self) -> None:
        offsets = self._arrays["ids"]
        if len(offsets) and (
            int(offsets[0]) != 0
            or (offsets[1:] <= offsets[:-1]).any()
            or self._header.first_id + int(offsets[-1]) > np.iinfo(np.int64).max
        ):
            self._damaged("its ids")

    def _group(self, group: int) -> list[bytes]:
        """The stems of a group, of which all was compared."""
        first = group * GROUP
        counts = self._arrays["counts"][first : first + GROUP]
        start, end = self._arrays["stem_starts"][group : group + 2].tolist()
        stems = self._arrays["stems"][start:end]
        found = stems.tobytes().split(b"\n")[:-1]
        if not self._groups[group]:
            begin, stop = self._arrays["posting_starts"][group : group + 2].tolist()
            if (
                chained(stems, counts, self._arrays["checks"][first : first + GROUP])
                != self._arrays["group_checks"][group]
                or len(found) != len(counts)
                or begin + sum(counts.tolist()) != stop
                or stop > self._header.postings
            ):
                self._damaged("its stems")
            self._groups[group] = 1
        return found

    def _found(self, term: int, start: int) -> tuple[Unsigned, Unsigned]:
        """The rows and frequencies of a stem of a group that was compared."""
        end = start + int(self._arrays["counts"][term])
        rows, frequencies = self._arrays["rows"][start:end], self._arrays["frequencies"][start:end]
        if not self._terms[term]:
            if (
                chained(rows, frequencies) != self._arrays["checks"][term]
                or not len(rows)
                or rows[-1] >= len(self)
                or (rows[1:] <= rows[:-1]).any()
                or not frequencies.all()
            ):
                self._damaged("the passages of a word")
            self._terms[term] = 1
        return rows, frequencies

    def _damaged(self, what: str) -> NoReturn:
        raise IndexDamaged(f"the words in '{self.name}' are damaged ({what}). Mend them with: seewhy repair")


def laid_out(first_id: int, arrays: Mapping[str, Unsigned]) -> bytes:
    """A block of these arrays."""
    top, body = (b"".join(_padded(arrays[name]) for name in names) for names in (_TOP, _BODY))
    widths = bytes(arrays[name].itemsize for name in _TOP + _BODY)
    sizes = (len(arrays[name]) for name in ("ids", "counts", "rows", "stems", "firsts"))
    start = _HEADER.pack(_MAGIC, widths, *sizes, first_id, zlib.crc32(top), zlib.crc32(body))
    return b"".join((start, _CHECK.pack(zlib.crc32(start)), top, body))


def chained(*arrays: Unsigned) -> int:
    """The CRC-32 of one array after the other."""
    found = 0
    for array in arrays:
        found = zlib.crc32(array.data, found)
    return found


def _aligned(size: int) -> int:
    return -(-size // 8) * 8


def _padded(array: Unsigned) -> bytes:
    return array.tobytes().ljust(_aligned(array.nbytes), b"\0")
