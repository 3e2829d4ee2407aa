"""Boilerplate: paragraphs and lines that many files share, such as licences and signatures.

Boilerplate becomes passages of its own, so that a ranking can show such a text once for all of its files
(`search.store.passages`). It has to be known before the first file is cut, so it is detected in the raw text of the
files, without a parser. A paragraph is a run of lines with letters or digits. Boilerplate may follow other text without
a blank line, so parts of paragraphs are compared, too: for each line, the shortest run of lines with at least 24 words
that starts there, and the one that ends there. Two texts count as equal if they differ only in case, punctuation,
whitespace or a year.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from search.corpus.sources import SourceFile, kind_of, regular_bytes
from search.corpus.text import KEPT_LINE, unpacked
from search.errors import ReadError
from search.records.documents import PLAIN_KINDS

_FEWEST_FILES = 5
_FEWEST_SHARE = 0.02  # of all files
_FEWEST_WORDS = 5
FEWEST_APART = 24  # words of boilerplate that becomes a passage of its own
_MAX_FILE_BYTES = 2 << 20  # no boilerplate is detected in larger files

# Keys that an index stores, so that files of later runs are cut in the same way. All of them are read when an index is
# opened: 80 kB. A few hundred are usual; folders with five editions of a book have more.
MOST_BOILERPLATE = 4_000

WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"(?:19|20)\d\d")


def text_key(text: str) -> int:
    """Return a hash of all words of a text except years; 0 if there are none."""
    return _key([word for word in WORD.findall(text.casefold()) if not _YEAR.fullmatch(word)])


def near_key(file: int, text: str) -> int:
    """Return a positive hash of a file's number and the set of its text's words without digits; 0 if there are none."""
    words = {word for word in WORD.findall(text.casefold()) if not _DIGIT.search(word)}
    return abs(_key([str(file), *sorted(words)])) if words else 0


def message_key(metadata: str, text: str) -> int:
    """Return a hash, negative or 0, of a message's metadata and words."""
    return -abs(_key([metadata, *WORD.findall(text.casefold())]))


def _key(words: Iterable[str]) -> int:
    text = " ".join(words)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) if text else 0


@dataclass(slots=True)
class _FileLine:
    start: int
    end: int
    n: int  # words
    words: str  # without years, in lower case


def repeatable(text: str, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield spans in [start, end) that may recur in other files, as (start, end, key).

    These are paragraphs of a few words or more, and the shortest runs of lines with at least FEWEST_APART words.
    """
    lines = [_line(match) for match in KEPT_LINE.finditer(text, start, end)]
    for n, run in groupby(lines, lambda line: line.n > 0):
        paragraph = list(run) if n else []
        if sum(line.n for line in paragraph) >= _FEWEST_WORDS:
            yield _join_lines(paragraph)
    yield from _runs([line for line in lines if line.n])


def _line(match: re.Match[str]) -> _FileLine:
    words = WORD.findall(match[0].casefold())
    kept = words
    if _YEAR.search(match[0]):
        kept = [word for word in words if not _YEAR.fullmatch(word)]
    return _FileLine(*match.span(), len(words), " ".join(kept))


def _runs(lines: Sequence[_FileLine]) -> Iterator[tuple[int, int, int]]:
    """Yield, for each line, the shortest run of FEWEST_APART words or more that starts or ends there."""
    first = n = 0
    for last, line in enumerate(lines):
        n += line.n
        if n < FEWEST_APART and first:
            yield _join_lines(lines[first - 1 : last + 1])
        while n >= FEWEST_APART:
            yield _join_lines(lines[first : last + 1])
            n -= lines[first].n
            first += 1


def _join_lines(lines: Sequence[_FileLine]) -> tuple[int, int, int]:
    return lines[0].start, lines[-1].end, _key(filter(None, (line.words for line in lines)))


def common(files: Iterable[SourceFile]) -> list[int]:
    """Return the keys of texts that occur in at least five files and in 2 % of the files.

    The most frequent come first; of equally frequent ones, the one that occurs first.
    """
    number, arrays = 0, [np.empty(0, dtype=np.int64)]
    for file in files:
        if kind_of(file.path) in PLAIN_KINDS and file.size <= _MAX_FILE_BYTES:
            number += 1
            arrays.append(_keys(file))
    keys, first, counts = np.unique(np.concatenate(arrays), return_index=True, return_counts=True)
    order = np.lexsort((first, -counts))
    is_common = counts[order] >= max(_FEWEST_FILES, _FEWEST_SHARE * number)
    common_keys: list[int] = keys[order][is_common].tolist()
    return common_keys


def _keys(file: SourceFile) -> NDArray[np.int64]:
    """Return the distinct keys of a file's texts, in the order of the file."""
    try:
        text = unpacked(file.path, regular_bytes(file.absolute)).decode("utf-8", "replace")
    except (OSError, ReadError):  # reported when the file is read
        text = ""
    keys = dict.fromkeys(key for *_, key in repeatable(text, 0, len(text)))
    return np.array([*keys], dtype=np.int64)
