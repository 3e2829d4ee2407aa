"""Paragraphs that stand in many files: licences, signatures, notes on rights.

They are cut apart from what stands around them, so that a passage is either such a text or a file's own, and a
ranking can show the text once for all of its files (`search.store.copies`). To be known before the first file is cut,
they are looked for in the files as they are, without a parser. A paragraph is a run of lines that have a letter or
digit; two are equal if they differ in case, punctuation, white space or the number of a year alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from search.corpus.files import SourceFile, kind_of, regular_bytes
from search.corpus.text import KEPT_LINE

_KINDS = ("text", "code", "markdown", "rst")  # of which the text is the file itself
_FEWEST_FILES, _FEWEST_SHARE = 5, 0.02
_FEWEST_WORDS = 5
_LARGEST = 2 << 20  # bytes of a file that is looked at
WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?:19|20)\d\d")


def text_key(text: str) -> int:
    """A number that two texts share if they have the same words, but for years; 0 for none."""
    said = " ".join(word for word in WORD.findall(text.casefold()) if not _YEAR.fullmatch(word))
    digest = hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) if said else 0


def paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The spans of the paragraphs in [start, end) of a text that are long enough to be told apart, with their keys."""
    lines = KEPT_LINE.finditer(text, start, end)
    for has_words, run in groupby(lines, lambda line: WORD.search(line[0]) is not None):
        spans = [line.span() for line in run] if has_words else []
        first, last = (spans[0][0], spans[-1][1]) if spans else (0, 0)
        if len(WORD.findall(text, first, last)) >= _FEWEST_WORDS:
            yield first, last, text_key(text[first:last])


def common(files: Iterable[SourceFile]) -> frozenset[int]:
    """The keys of the paragraphs that stand in many of some files: in five at least, and in two of a hundred."""
    number, held = 0, [np.empty(0, dtype=np.int64)]
    for file in files:
        if kind_of(file.path) in _KINDS and file.size <= _LARGEST:
            number += 1
            held.append(_keys(file))
    keys, counts = np.unique(np.concatenate(held), return_counts=True)
    return frozenset(keys[counts >= max(_FEWEST_FILES, _FEWEST_SHARE * number)].tolist())


def _keys(file: SourceFile) -> NDArray[np.int64]:
    try:
        text = regular_bytes(file.absolute).decode("utf-8", "replace")
    except OSError:  # which is told when it is read
        text = ""
    return np.unique(np.fromiter((key for *_, key in paragraphs(text, 0, len(text))), dtype=np.int64))
