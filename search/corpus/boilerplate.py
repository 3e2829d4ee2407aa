"""Paragraphs and lines that many files share: licences, signatures, notes on rights.

They are cut apart from the text around them, so that a passage is either such a text or a file's own, and a
ranking can show the text once for all of its files (`search.store.passages`). To be known before the first file is cut,
they are looked for in the files' own text, without a parser. A paragraph is a run of lines that have a letter or
digit. Where no blank line sets a text off from the rest, its lines are known: from each line on, and up to each, the
fewest that have 24 words. Two texts are equal if they differ in case, punctuation, white space or the number of a year
alone.
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
from search.corpus.text import KEPT_LINE
from search.records.documents import PLAIN_KINDS

_FEWEST_FILES, _FEWEST_SHARE = 5, 0.02
_FEWEST_WORDS = 5
FEWEST_APART = 24  # words of a text that is cut apart: a passage of fewer would say next to nothing
_LARGEST = 2 << 20  # bytes of a file that is looked at
WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?:19|20)\d\d")


def text_key(text: str) -> int:
    """A number that two texts share if they have the same words, but for years; 0 for none."""
    return _key([word for word in WORD.findall(text.casefold()) if not _YEAR.fullmatch(word)])


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
    """The spans in [start, end) of a text that may be the same in other files, with their keys.

    Paragraphs, and runs of lines with any beginning and end; both with enough words to count.
    """
    lines = [_line(match) for match in KEPT_LINE.finditer(text, start, end)]
    for n, run in groupby(lines, lambda line: line.n > 0):
        paragraph = list(run) if n else []
        if sum(line.n for line in paragraph) >= _FEWEST_WORDS:
            yield _together(paragraph)
    yield from _runs([line for line in lines if line.n])


def _line(match: re.Match[str]) -> _FileLine:
    words = WORD.findall(match[0].casefold())
    return _FileLine(*match.span(), len(words), " ".join(w for w in words if not _YEAR.fullmatch(w)))


def _runs(lines: Sequence[_FileLine]) -> Iterator[tuple[int, int, int]]:
    """From each line on, and up to each line, the fewest that have enough words."""
    first = n = 0
    for last, line in enumerate(lines):
        n += line.n
        if n < FEWEST_APART and first:
            yield _together(lines[first - 1 : last + 1])
        while n >= FEWEST_APART:
            yield _together(lines[first : last + 1])
            n -= lines[first].n
            first += 1


def _together(lines: Sequence[_FileLine]) -> tuple[int, int, int]:
    return lines[0].start, lines[-1].end, _key(filter(None, (line.words for line in lines)))


def common(files: Iterable[SourceFile]) -> frozenset[int]:
    """The keys of texts that many files share: at least five, and two of a hundred."""
    number, arrays = 0, [np.empty(0, dtype=np.int64)]
    for file in files:
        if kind_of(file.path) in PLAIN_KINDS and file.size <= _LARGEST:
            number += 1
            arrays.append(_keys(file))
    keys, counts = np.unique(np.concatenate(arrays), return_counts=True)
    return frozenset(keys[counts >= max(_FEWEST_FILES, _FEWEST_SHARE * number)].tolist())


def _keys(file: SourceFile) -> NDArray[np.int64]:
    try:
        text = regular_bytes(file.absolute).decode("utf-8", "replace")
    except OSError:  # reported when the file is read
        text = ""
    return np.unique(np.fromiter((key for *_, key in repeatable(text, 0, len(text))), dtype=np.int64))
