"""Where the marks of a reStructuredText are. docutils finds the same blocks, but forgets where in the text they were.

Unlike docutils this knows no directive by what it does. What stands below one is text, but for those of a few names:
code stays as it is, and what is of a page and not of its text is a mark.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from docutils.utils.punctuation_chars import closers, closing_delimiters, delimiters, match_chars, openers

from search.corpus.markup import FEWEST_IN_RULER, Marks
from search.corpus.text import KEPT_LINE, unix_lines

# Of a longer paragraph only the block's own marks are looked for.
_LONGEST_INLINE = 100_000

# Directives with code below them; with nothing in them that is text; whose argument is none; whose name is read.
_CODE = frozenset(
    "code code-block sourcecode highlight math productionlist doctest testcode testsetup testoutput prompt graphviz "
    "digraph csv-table ipython plot".split()
)
_SILENT = frozenset(
    "raw index meta role default-role include literalinclude sectnum contents target-notes currentmodule "
    "module tabularcolumns header footer".split()
)
_UNNAMED = frozenset(
    "code code-block sourcecode highlight prompt doctest testcode testsetup testoutput ipython figure image only "
    "toctree container class rst-class".split()
)
_NAMED = frozenset(
    "attention caution danger error hint important note tip warning seealso todo deprecated versionadded "
    "versionchanged versionremoved".split()
)

_BLANK = re.compile(r"\s*")
_EXPLICIT = re.compile(r"\.\.(?:[ \t]+|$)")
_FOOTNOTE = re.compile(r"\[(?:\d+|#[\w.-]*|\*)\](?=\s|$)")
_CITATION = re.compile(r"\[[^\W_][\w.-]*\](?=\s|$)")
_TARGET = re.compile(r"__?(?!\s)[^\r\n]*:(?=\s|$)")
_REPLACEMENT = re.compile(r"\|[^|\r\n]+\|[ \t]+replace::(?=\s|$)")
_DIRECTIVE = re.compile(r"(\w[\w:+.-]*?)[ ]?::(?=\s|$)")
_OPTION = re.compile(r":[\w-]+:(?=\s|$)")
_READ_OPTION = re.compile(r":(?:alt|caption):")
_FIELD = re.compile(r":(?![:\s])(?:[^:\\]|\\.|:(?!\s|$))+:(?=\s|$)")
_ANONYMOUS = re.compile(r"__(?=\s)")
_BULLET = re.compile(r"[-*+•‣⁃](?=\s|$)")
_NUMBER = re.compile(
    r"(?:\(?(?:\d+|[A-Za-z]|[ivxlcdmIVXLCDM]+|#)\)|(?:\d+|[A-Za-z]|[ivxlcdmIVXLCDM]+|#)\.)(?=\s|$)"
)
_GRID = re.compile(r"\+-[-+]*\+$")
_COLUMNS = re.compile(r"=+(?:[ \t]+=+)+$")
_LINE = re.compile(r"\|(?=\s|$)")
_PROMPT = re.compile(r">>>(?=\s|$)")
_FRAME = re.compile(r"\+[-=][-=+]+")  # part of one, where cells span rows
_IN_RULE = frozenset("-=+| \t")

_DEFINED = re.compile(r"^[ \t]*\.\. _(?:`([^`\r\n]+)`|([^\s:][^:\r\n]*)):", re.MULTILINE)
_ANONYMOUS_DEFINED = re.compile(r"^[ \t]*(?:__[ \t]|\.\. __:)", re.MULTILINE)

# Inline markup begins and ends where docutils says.
_BEFORE = f"(?:^|(?<=[\\s{openers}{delimiters}]))"
_AFTER = f"(?=$|[\\s\\x00{closing_delimiters}{delimiters}{closers}])"
_NAME = r"[^\W_]{1,100}(?:[-._+:][^\W_]{1,100}){0,10}"
_CANDIDATE = re.compile(r"[*`|_\[:\x00]")
_START = re.compile(
    rf"""{_BEFORE}(?:
          (?P<mark> \*\*(?!\s) | \*(?![\s*]) | ``(?!\s) | \|(?![\s|]) )
        | (?: _ | (?P<role> :{_NAME}: )? ) (?P<tick> ` ) (?![\s`])
        | \[ (?: \d+ | \#(?:{_NAME})? | \* | (?P<citation>{_NAME}) ) \]_ {_AFTER} )
      | (?<=[^\W_]) (?P<reference>__?) {_AFTER}
      | (?P<escape>\x00\s?)""",
    re.VERBOSE,
)
_ENDS = {
    "**": re.compile(rf"(?<![\s\x00])\*\*{_AFTER}"),
    "*": re.compile(rf"(?<![\s\x00])\*{_AFTER}"),
    "``": re.compile(rf"(?<!\s)``{_AFTER}"),
    "|": re.compile(rf"(?<![\s\x00])\|_{{0,2}}{_AFTER}"),
    "`": re.compile(rf"(?<![\s\x00])`(?:__?|(?P<role>:{_NAME}:))?{_AFTER}"),
}
_NAME_BEFORE = re.compile(rf"(?:^|(?<=[{openers}{delimiters}]))({_NAME})\Z")
_LONGEST_NAME = 100
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = re.compile(r"\x00\s?")
_EMBEDDED = re.compile(r"(?<=\S)\s+<[^<>]+>\Z")
_NUMBERED = (":pep:", ":rfc:")  # roles that say what the number is of


def marks(text: str, titles: Iterable[str] = ()) -> Marks:
    """The marks of a text.

    Args:
        text: of the file.
        titles: of its sections, which are targets as well.
    """
    reading = _Reading(text, titles)
    line = 0
    while line < len(reading.lines):
        line = reading.block(line)
    return reading.marks


class _Reading:
    def __init__(self, text: str, titles: Iterable[str]) -> None:
        self.marks = Marks(text)
        self._text = text
        # As docutils does it: a NUL for a backslash, which takes its meaning away from what follows.
        self._masked = _ESCAPE.sub("\x00\\1", text.replace("\x00", "\ufffd"))
        source = unix_lines(text)
        names = {" ".join((quoted or plain).split()).casefold() for quoted, plain in _DEFINED.findall(source)}
        self._names = names | {title.casefold() for title in titles}
        self._has_anonymous = _ANONYMOUS_DEFINED.search(source) is not None
        # Where the text of each line starts and ends, and how far in it is; a blank one has none.
        self.lines: list[tuple[int, int, int]] = []
        for line in KEPT_LINE.finditer(text):
            bare = line[0].strip()
            before = line[0][: len(line[0]) - len(line[0].lstrip())] if bare else ""
            start = line.start() + len(before)
            self.lines.append((start, start + len(bare), len(before.expandtabs())))
        self._borders: list[int] | None = None  # lines that could end a simple table

    def block(self, line: int) -> int:
        """The marks of the block that begins in a line; the line after it."""
        at, end, indent = self.lines[line]
        hanging = False  # where the block goes on it is further in, nobody knows how far
        while at < end:
            if not hanging and (item := self._item(line, at, end, indent)):
                after = self._skip(item, end)
                self.marks.hide(at, item)
                indent += after - at
            elif field := _FIELD.match(self._text, at, end):
                after, hanging = self._skip(field.end(), end), True
                self.marks.hide(at, at + 1)
                self.marks.hide(field.end() - 1, field.end())
            elif not hanging and (explicit := _EXPLICIT.match(self._text, at, end)):
                self.marks.hide(*explicit.span())
                after, hanging = self._labelled(explicit.end(), end), True
                if not after:
                    return self._explicit(line, explicit.end(), end, indent)
            else:
                return self._bare(line, at, end, indent, hanging)
            at = after
        return line + 1

    def _skip(self, start: int, end: int) -> int:
        """The first place from `start` on that is not blank."""
        blank = _BLANK.match(self._text, start, end)
        return blank.end() if blank else end

    def _item(self, line: int, at: int, end: int, indent: int) -> int:
        """Where the sign of an item ends that begins here; 0 if none does."""
        if bullet := _BULLET.match(self._text, at, end):
            return bullet.end()
        number = _NUMBER.match(self._text, at, end)
        if number is None:
            return 0
        start, last, further = self.lines[line + 1] if line + 1 < len(self.lines) else (0, 0, 0)
        is_item = start == last or further > indent
        is_item = is_item or (further == indent and _NUMBER.match(self._text, start, last) is not None)
        return number.end() if is_item else 0

    def _labelled(self, at: int, end: int) -> int:
        """Where the text begins of a note, a citation or a replacement, behind its marks; 0 for anything else."""
        if note := _FOOTNOTE.match(self._text, at, end):
            self.marks.hide(*note.span())
            return self._skip(note.end(), end)
        if citation := _CITATION.match(self._text, at, end):
            self.marks.hide(at, at + 1)
            self.marks.hide(citation.end() - 1, citation.end())
            return self._skip(citation.end(), end)
        replacement = _REPLACEMENT.match(self._text, at, end)
        if replacement:
            self.marks.hide(*replacement.span())
            return self._skip(replacement.end(), end)
        return 0

    def _explicit(self, line: int, at: int, end: int, indent: int) -> int:
        """A target, a definition, a directive or a comment, from behind `..` on; the line after it."""
        directive = _DIRECTIVE.match(self._text, at, end)
        name = directive[1].lower() if directive else ""
        if directive and name not in _SILENT:
            return self._directive(line, directive, end, indent, name)
        if at == end and self._is_blank(line + 1):
            return line + 1
        is_target = _TARGET.match(self._text, at, end) is not None
        after = self._below(line + 1, indent, until_blank=is_target)
        self.marks.hide(at, self._end(after))
        return after

    def _directive(self, line: int, directive: re.Match[str], end: int, indent: int, name: str) -> int:
        """A directive that holds text or code; the line after its options, or after the code."""
        self.marks.hide(directive.end(1) if name in _NAMED else directive.start(), directive.end())
        if name in _UNNAMED:
            self.marks.hide(directive.end(), end)
        else:
            self._inline(directive.end(), end)
        line += 1
        while not self._is_blank(line) and self.lines[line][2] > indent:
            start, last, further = self.lines[line]
            if not _OPTION.match(self._text, start, last):
                break
            line = self._below(line + 1, further, until_blank=True)
            read = _READ_OPTION.match(self._text, start, last)
            self.marks.hide(start, read.end() if read else self._end(line))
        return self._below(line, indent) if name in _CODE else line

    def _bare(self, line: int, at: int, end: int, indent: int, hanging: bool) -> int:
        """A block without a sign before it; the line after it."""
        if at == self.lines[line][0]:
            if self._is_ruler(line) and (end - at >= FEWEST_IN_RULER or self._is_over(line)):
                self.marks.hide(at, end)
                return line + 1
            if _GRID.match(self._text, at, end):
                return self._grid(line)
            if _COLUMNS.match(self._text, at, end) and (last := self._table_end(line)):
                return self._columns(line, last)
        if _ANONYMOUS.match(self._text, at, end):
            self.marks.hide(at, end)
            return line + 1
        if _PROMPT.match(self._text, at, end):
            return self._until_blank(line)
        if _LINE.match(self._text, at, end):
            self.marks.hide(at, at + 1)
            self._inline(at + 1, end)
            return line + 1
        return self._paragraph(line, at, indent, hanging)

    def _paragraph(self, line: int, at: int, indent: int, hanging: bool) -> int:
        """A paragraph or a title, and what is literal below it; the line after that."""
        own = None if hanging else indent
        after = line + 1
        if not self._is_blank(after) and self._is_ruler(after):
            end, (start, last, _) = self.lines[line][1], self.lines[after]
            if last - start >= min(end - at, FEWEST_IN_RULER):
                self._inline(at, end)
                self.marks.hide(start, last)
                return after + 1
        while not self._is_blank(after):
            further = self.lines[after][2]
            if own is None and further > indent:
                own = further
            if further != own:
                break
            after += 1
        end = self._end(after)
        self._inline(at, end)
        if self._text[max(at, end - 2) : end] != "::":
            return after
        before = self._text[max(at, end - 3) : end - 2].strip()
        self.marks.hide(end - 1 if before else end - 2, end)
        return self._literal(after, indent if own is None else own)

    def _literal(self, line: int, indent: int) -> int:
        """The line after a literal block: one further in, or with the same sign at the start of each line."""
        first = line
        while line < len(self.lines) and self._is_blank(line):
            line += 1
        if line == first or line == len(self.lines):
            return line
        start, _, further = self.lines[line]
        if further > indent:
            return self._below(line, indent)
        sign = self._text[start]
        while not sign.isalnum() and not self._is_blank(line) and self._text[self.lines[line][0]] == sign:
            line += 1
        return line

    def _grid(self, line: int) -> int:
        """A table in a frame; the line after it."""
        after = self._until_blank(line)
        rules = {number for number in range(line, after) if self._is_rule(number)}
        columns = set[int]()
        for number in rules:
            start, end, _ = self.lines[number]
            self.marks.hide(start, end)
            columns.update(place for place in range(end - start) if self._text[start + place] == "+")
        for number in sorted(set(range(line, after)) - rules):
            start, end, _ = self.lines[number]
            for frame in _FRAME.finditer(self._text, start, end):
                self.marks.hide(*frame.span(), apart=True)
            at = start
            for place in (start + column for column in sorted(columns)):
                if place < end and self._text[place] == "|":
                    self.marks.hide(place, place + 1, apart=True)
                    self._inline(at, place)
                    at = place + 1
            self._inline(at, end)
        return after

    def _columns(self, line: int, last: int) -> int:
        """A table whose columns lie below rules; the line after it."""
        for number in range(line, last + 1):
            start, end, _ = self.lines[number]
            if self._is_rule(number):
                self.marks.hide(start, end)
            else:
                self._inline(start, end)
        return last + 1

    def _table_end(self, line: int) -> int:
        """The line that ends the simple table that begins here; 0 if none does."""
        if self._borders is None:
            self._borders = [
                number
                for number, (start, end, _) in enumerate(self.lines)
                if self._is_blank(number + 1) and _COLUMNS.match(self._text, start, end)
            ]
        following = bisect_right(self._borders, line)
        return self._borders[following] if following < len(self._borders) else 0

    def _is_blank(self, line: int) -> bool:
        """Whether a line has no text, or is beyond the last one."""
        return line >= len(self.lines) or self.lines[line][0] == self.lines[line][1]

    def _is_ruler(self, line: int) -> bool:
        start, end, _ = self.lines[line]
        sign = self._text[start]
        return not sign.isalnum() and self._text[start:end] == sign * (end - start)

    def _is_over(self, line: int) -> bool:
        """Whether a ruler stands above a title that has the same one below it."""
        if self._is_blank(line + 1) or self._is_blank(line + 2):
            return False
        return self._text[slice(*self.lines[line][:2])] == self._text[slice(*self.lines[line + 2][:2])]

    def _is_rule(self, line: int) -> bool:
        """Whether a line of a table is no row."""
        start, end, _ = self.lines[line]
        rule = self._text[start:end]
        return ("--" in rule or "==" in rule) and _IN_RULE.issuperset(rule)

    def _end(self, line: int) -> int:
        """Where the last text before a line ends."""
        while self._is_blank(line - 1):
            line -= 1
        return self.lines[line - 1][1]

    def _below(self, line: int, indent: int, until_blank: bool = False) -> int:
        """The first line from `line` on that is not further in than `indent`."""
        while line < len(self.lines):
            is_inside = not until_blank if self._is_blank(line) else self.lines[line][2] > indent
            if not is_inside:
                break
            line += 1
        return line

    def _until_blank(self, line: int) -> int:
        while not self._is_blank(line):
            line += 1
        return line

    def _inline(self, at: int, end: int) -> None:
        """The marks within a stretch of text."""
        if end - at > _LONGEST_INLINE:
            return
        endless = set[str]()  # what begins somewhere and never ends
        while candidate := _CANDIDATE.search(self._masked, at, end):
            at = self._mark(candidate.start(), end, endless)

    def _mark(self, at: int, end: int, endless: set[str]) -> int:
        """What begins here, if anything; the place behind it."""
        opening = _START.match(self._masked, at, end)
        if opening is None:
            return at + 1
        kind = opening["mark"] or opening["tick"]
        if opening["reference"]:
            if self._refers(at, opening["reference"]):
                self.marks.hide(*opening.span())
        elif opening["citation"]:
            self.marks.hide(at, at + 1)
            self.marks.hide(opening.end() - 2, opening.end())
        elif not kind:
            self.marks.hide(*opening.span())
        elif kind not in endless and not self._is_quoted(opening, end):
            closing = _ENDS[kind].search(self._masked, opening.end(), end)
            if closing is None:
                endless.add(kind)
            elif closing.start() > opening.end():
                self._enclosed(kind, opening, closing)
                return closing.end()
        return opening.end()

    def _is_quoted(self, opening: re.Match[str], end: int) -> bool:
        """Whether a sign stands between quotes or brackets, and begins nothing."""
        before, after = opening.start() - 1, opening.end()
        return before >= 0 and after < end and bool(match_chars(self._text[before], self._text[after]))

    def _refers(self, at: int, sign: str) -> bool:
        """Whether the underscore behind a name makes a reference of it."""
        if sign == "__":
            return self._has_anonymous
        word = self._masked[max(0, at - _LONGEST_NAME) : at].split()[-1]
        name = _NAME_BEFORE.search(word) if self._names else None
        return name is not None and name[1].casefold() in self._names

    def _enclosed(self, kind: str, opening: re.Match[str], closing: re.Match[str]) -> None:
        """The marks at both ends of a stretch, and those within."""
        start, end = opening.end(), closing.start()
        self.marks.hide(end, closing.end())
        role = opening["role"] or (closing["role"] if kind == "`" else None)
        embedded = _EMBEDDED.search(self._masked, start, end) if kind == "`" else None
        if opening["role"] in _NUMBERED and not embedded:
            self.marks.hide(opening.start(), opening.start() + 1)
            self.marks.hide(start - 1, start)
        else:
            self.marks.hide(opening.start(), start)
        if kind != "``":
            for escape in _ESCAPED.finditer(self._masked, start, end):
                self.marks.hide(*escape.span())
        if embedded and (role or closing[0].endswith("_")):
            self.marks.hide(*embedded.span())
        elif role and self._text[start] in "~!":
            self.marks.hide(start, start + 1)
        elif closing[0].endswith("_") and self._text[start] == "<" and self._text[end - 1] == ">":
            self.marks.hide(start, start + 1)
            self.marks.hide(end - 1, end)
