"""Markup: the spans of a text that a rendered page does not show.

Texts are encoded and their words counted without markup. Deleting a mark between two words would join them, so its last
character is kept.

Inline marks are found by one regular expression per format, whose groups are the marks. It finds the common marks;
others stay in the text.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator

from search.corpus.text import KEPT_LINE
from search.records.documents import ParsedDocument
from search.records.visible_text import visible

_MOST_MARKS = 500_000  # of a document; more are left in its text

# Bold and underlined text as for a printer: a character, a backspace, and the character again, or "_" first.
_OVERSTRUCK = re.compile(r"[^\n\x08]\x08")
_TERMINAL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # colours in logs

# A picture or other file within the text: a data URI, or so many characters of base64 in one line.
_DATA = re.compile(r"data:[\w.+-]{1,100}/[\w.+-]{1,100}(?:;[\w=.+-]{1,100}){0,5};base64,[\w+/=%-]*")
_BASE64 = re.compile(r"[A-Za-z0-9+/=_-]{200,}")
_DIGIT, _LOWER, _UPPER = re.compile(r"\d"), re.compile("[a-z]"), re.compile("[A-Z]")

# A ruler is a line of one kind of punctuation only; in code, the sign of a comment may precede it.
_FEWEST_IN_RULER = 4
_COMMENT = re.compile(r"#|//|/\*|--|;|%|\*|\"")


class Marks:
    """Collects the marks of a text, in any order; marks may be nested.

    Attributes:
        text: the text with every line end as "\n", and unchanged length.
    """

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", " \n").replace("\r", "\n")
        self._spans: list[tuple[int, int, bool]] = []

    def hide(self, start: int, end: int, apart: bool = False) -> None:
        """Add a mark. With `apart`, it separates the words before and after it; otherwise the two become one word."""
        if start < end and len(self._spans) < _MOST_MARKS:
            self._spans.append((start, end, apart))

    def inline(self, pattern: re.Pattern[str], start: int = 0, end: int | None = None) -> None:
        """Hide the groups of each match of a pattern within a span of the text.

        The text between the groups is searched too, unless the name of the last group begins with "whole".
        """
        end = len(self.text) if end is None else end
        while match := pattern.search(self.text, start, end):
            spans = [match.span(n) for n in range(1, pattern.groups + 1) if match.start(n) >= 0]
            for first, last in spans:
                self.hide(first, last, apart=match.lastgroup == "apart")
            is_whole = (match.lastgroup or "").startswith(("whole", "apart"))
            start = max(match.end() if is_whole or not spans else spans[0][1], match.start() + 1)

    def offsets(self) -> array[int]:
        """Return start and end offsets of the marks, alternating. Adjacent marks are merged."""
        offsets = array("I")
        for start, end, kept in self._joined():
            is_between = self.text[start - 1 : start].strip() and self.text[end : end + 1].strip()
            pieces = [(start, kept), (kept + 1, end)] if kept >= 0 and is_between else [(start, end)]
            for piece in pieces:
                offsets.extend(piece if piece[0] < piece[1] else ())
        return offsets

    def stripped(self) -> str:
        """Return the text without its marks."""
        offsets = self.offsets()
        return visible(self.text, tuple(zip(offsets[::2], offsets[1::2], strict=True)))

    def _joined(self) -> Iterator[tuple[int, int, int]]:
        """Yield the merged marks: start, end, and the offset of one character to keep as a word separator.

        The offset is -1 if none is needed.
        """
        first, last, kept = 0, 0, -1
        for start, end, apart in sorted(self._spans):
            if start > last:
                yield first, last, kept
                first, last, kept = start, end, -1
            last = max(last, end)
            kept = end - 1 if apart and kept < 0 else kept
        yield first, last, kept


# Any characters within one paragraph.
WITHIN = r"(?:(?!\n[ \t>]*\n)[\s\S]){1,1000}?"
EMPHASIS = rf"(?<!\*)(?P<star>\*{{1,3}}|~~)(?![\s*~]){WITHIN}(?<![\s*])((?P=star))(?!\*)"

# Includes Obsidian's own marks: links by name, embedded notes, callouts, comments and block names.
MARKDOWN = re.compile(
    rf"""
      (?<!`)(?P<tick>`{{1,3}})(?!`){WITHIN}(?<!`)(?P<whole>(?P=tick))(?!`)
    | (\\)[!-/:-@\[-`{{-~](?P<whole2>)
    | (!\[\[[^\[\]\n]+\.(?:avif|gif|jpe?g|mp[34]|pdf|png|svg|webp)[^\[\]\n]*\]\])
    | (!?\[\[(?:[^\[\]|\n]+\|)?)[^\[\]|\n]+(\]\])
    | (!?\[)(?:[^\[\]!]|!(?!\[)|!?\[[^\[\]]{{0,300}}\](?:\([^()]{{0,500}}\))?){{0,500}}?
      (\](?:\((?:[^()\s]|\([^()\s]{{0,300}}\)){{0,1000}}(?:\s+["'][^"']{{0,300}}["'])?\s*\)|\[[^\[\]]{{0,100}}\]))
    | (\[\^[^\]\[\s]+\]:?) | (\[!)[A-Za-z][\w-]*(\][+-]?) | (?<!\S)(%%[^%]+%%)(?!\S) | (?<!\S)(\^[\w-]{{4,}})$
    | (<)(?:(?:https?|mailto):[^\s<>]+|[\w.+-]+@[\w.-]+)(>)
    | (</?(?:a|b|code|em|i|kbd|mark|s|small|span|strong|sub|sup|tt|u)\b[^<>]{{0,500}}>)
    | (?P<apart><!--(?:(?!<!--)[\s\S]){{0,5000}}?-->
        |<(?:script|style)\b(?:(?!<(?:script|style)\b)[\s\S])*?</(?:script|style)>
        |</?[A-Za-z][^<>]{{0,500}}>)
    | {EMPHASIS}
    | (?<!\w)(?P<under>_{{1,3}})(?![\s_]){WITHIN}(?<![\s_])((?P=under))(?!\w)
    """,
    re.VERBOSE | re.MULTILINE,
)


def markup(document: ParsedDocument) -> list[tuple[int, int]]:
    """Return the markup spans of a document's text: half-open, increasing and disjoint."""
    text = document.text
    marks = Marks(text)
    for start, end in zip(document.marks[::2], document.marks[1::2], strict=True):
        marks.hide(start, end)
    for pattern in (_OVERSTRUCK, _TERMINAL) if "\b" in text or "\x1b" in text else ():
        for mark in pattern.finditer(text):
            marks.hide(*mark.span())
    for data in _DATA.finditer(text):
        marks.hide(*data.span(), apart=True)
    for data in _BASE64.finditer(text):
        if all(kind.search(data[0]) for kind in (_DIGIT, _LOWER, _UPPER)):
            marks.hide(*data.span(), apart=True)
    if document.kind != "markdown":  # its parser reports rulers
        for start, end in _rulers(text, document.kind):
            marks.hide(start, end)
    offsets = marks.offsets()
    return list(zip(offsets[::2], offsets[1::2], strict=True))


def _rulers(text: str, kind: str) -> Iterator[tuple[int, int]]:
    """Yield the lines that consist of one repeated kind of punctuation."""
    for line in KEPT_LINE.finditer(text):
        ruler = "".join(line[0].split())
        if kind == "code" and ruler:
            ruler = _COMMENT.sub("", ruler, count=1) if _COMMENT.match(ruler) else ruler
            ruler = ruler.removesuffix("*/").strip()
        is_ruler = (
            len(ruler) >= _FEWEST_IN_RULER and not ruler[0].isalnum() and ruler == ruler[0] * len(ruler)
        )
        if is_ruler:
            yield line.start(), line.start() + len(line[0].rstrip())
