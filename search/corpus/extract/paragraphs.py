"""Lines on a page -> paragraphs, and words that were divided at the end of a line made whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# What pdfium puts where a hyphen ended a line.
DIVIDED = "\ufffe"
_DIVIDED_WORD = re.compile(rf"([\w'’-]{{1,64}}){DIVIDED}([\w'’-]*)")
_WORD = re.compile(r"\w[\w'’-]*")

# In heights of a line: how far down the next line of a paragraph is at most, how far it is out of line with the
# one before, in a list as well, and how much smaller or larger its letters are. Chosen by eye.
_FURTHEST_DOWN = 1.9
_INDENT, _LIST_INDENT = 0.9, 3.0
_OTHER_SIZE = 0.2

# A line that ends before this share of the widest one was ended by its writer.
_FULL = 0.8
# Lines of fewer characters than this are more often entries of a list or table than full lines of text.
_FEWEST_CHARACTERS = 25

_ITEM = re.compile(r"[•‣▪◦●○■□–—*-] |\(?(?:\d{1,3}|[a-zA-Z])[.)] ")
_LEADER = re.compile(r"(?:\. ?){4,}\w*$|…\s*\w*$")  # of a table of contents
_LEADER_SEEN = 80  # characters at the end of a line


@dataclass(frozen=True)
class Line:
    """A line of text and where it stands, in points from the left and from below.

    Where it goes on in further lines of the page after divided words, it begins in one and ends in another.
    """

    text: str
    left: float
    bottom: float
    top: float
    right: float
    last_bottom: float
    last_top: float

    @property
    def height(self) -> float:
        return self.last_top - self.last_bottom


def paragraphs(lines: Sequence[Line], texts: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The texts of a page's lines, joined with a space where one line runs on in the next.

    In doubt they are not joined: then a line stands alone, which costs little.

    Args:
        lines: in order.
        texts: what to give for each of them.

    Yields:
        A text, and how many lines it is to stand below the one before: 2 after a gap, 1 for a new line.
    """
    held, apart = list(texts[:1]), 2
    for line, following, text in zip(lines, lines[1:], texts[1:], strict=False):
        close = _is_close(line, following)
        if close and _runs_on(lines, line, following):
            held.append(text)
        else:
            yield " ".join(held), apart
            held, apart = [text], 1 if close else 2
    if held:
        yield " ".join(held), apart


def _is_close(line: Line, following: Line) -> bool:
    """Whether a line stands right below another and looks alike."""
    step = line.last_bottom - following.bottom
    other_size = abs(following.top - following.bottom - line.height)
    return 0 < step <= _FURTHEST_DOWN * line.height and other_size <= _OTHER_SIZE * line.height


def _runs_on(lines: Sequence[Line], line: Line, following: Line) -> bool:
    """Whether the line below goes on with the sentence of this one."""
    if (
        len(line.text) < _FEWEST_CHARACTERS
        or _LEADER.search(line.text[-_LEADER_SEEN:])
        or _ITEM.match(following.text)
    ):
        return False
    # The first line of a paragraph may be indented, of an entry in a list it never is.
    indent = _LIST_INDENT if _ITEM.match(line.text) else _INDENT
    out_of_line = following.left - line.left
    if not -_LIST_INDENT * line.height <= out_of_line <= indent * line.height:
        return False
    # A line with a divided word may end in another column than it began in.
    here = [other for other in lines if abs(other.left - line.left) <= _LIST_INDENT * line.height]
    widest = max(other.right for other in [one for one in here if DIVIDED not in one.text] or here)
    return line.right - line.left >= _FULL * (widest - line.left)


def undivided(pages: Sequence[Sequence[Line]]) -> list[list[str]]:
    """The texts of all lines, each divided word as it is elsewhere in the document.

    A hyphen at the end of a line belongs to the word ("well-known") or only divides it ("vocab-ulary"). It
    is kept if the word stands with it elsewhere, if both halves are words of the document and the whole
    is not, or if the word has another hyphen.
    """
    texts = [_DIVIDED_WORD.sub(" ", line.text) for page in pages for line in page]
    known = {word.casefold() for text in texts for word in _WORD.findall(text)}

    def whole(match: re.Match[str]) -> str:
        before, after = match[1], match[2]
        joined, hyphenated = before + after, f"{before}-{after}"
        compound, _, last = before.rpartition("-")
        if not after[:1].isalpha() or not last[-1:].isalpha():
            return hyphenated
        if joined.casefold() in known or (last + after).casefold() in known:
            return joined
        halves = {last.casefold(), after.partition("-")[0].casefold()}
        is_kept = compound or hyphenated.casefold() in known or halves <= known
        return hyphenated if is_kept else joined

    return [[_DIVIDED_WORD.sub(whole, line.text).replace(DIVIDED, "-") for line in page] for page in pages]
