"""Where the marks of a Markdown text are: markdown-it parses it, and its rules say what they took for marks."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import unescape
from typing import Any, TypeAlias

from markdown_it import MarkdownIt, rules_block, rules_inline
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from search.corpus.markup import Marks
from search.corpus.text import Heading, line_starts, one_line, unix_lines

# Of a longer paragraph, heading or cell the marks are not looked for: 10,000 characters can take 0.2 seconds.
_LONGEST_INLINE = 10_000

_NOTE = re.compile(r"^[ \t>]*\[\^([^\]\[\s]+)\]:", re.MULTILINE)
_NOTE_BEGINS = re.compile(r"\[\^[^\]\[\s]+\]:")

# What others than CommonMark know, as Obsidian: links by name, notes, callouts, comments and names of blocks.
_OWN = re.compile(
    r"""(?P<embedded>!?)\[\[(?P<page>[^\s\[\]|][^\[\]|\n]*?)(?:\\?\|(?P<alias>[^\[\]|\n]*))?\]\](?![(\[])
      | \[\^(?P<note>[^\]\[\s]+)\](?::(?=\s))?
      | \[!(?P<callout>[A-Za-z][\w-]*)\][+-]?(?![(\[])
      | (?<!\S)%%[^%]+%%(?!\S)
      | (?<!\S)\^[A-Za-z0-9-]{4,}\Z""",
    re.VERBOSE,
)
# A comment of several paragraphs.
_COMMENT = re.compile(r"^[ \t]*%%[^%]*(?:%(?!%)[^%]*)*%%[ \t]*$", re.MULTILINE)
_PICTURE = re.compile(r".*\.(?:avif|bmp|gif|jpe?g|mp[34]|pdf|png|svg|webm|webp)(?:#.*)?", re.IGNORECASE)
_SIZE = re.compile(r"\d+(?:x\d+)?")

_TAG = re.compile(r"(?<!\S)#(?=[\w/-]*[^\W\d_])(\w(?:[\w/-]{0,98}\w)?)(?![\w/-])")
_MOST_TAGS = 100  # of one text

_QUOTE = re.compile(r"[ \t]*>")
_ITEM = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]+\[[ xX]\](?=[ \t]|$))?")
_PIPE = re.compile(r"(?<!\\)\|")

_HTML = re.compile(
    r"<!---?>|<!--.*?(?:-->|(?P<endless>\Z))|<(?P<silent>script|style)\b[^<>]*>.*?(?:</(?P=silent)\s*>|\Z)"
    r"|</?(?P<tag>[a-z][a-z0-9-]*)[^<>]*>|&(?:#x?[0-9a-f]{1,8}|[a-z][a-z0-9]{1,31});",
    re.DOTALL | re.IGNORECASE,
)
# Tags that may stand inside a word.
_WITHIN = frozenset(
    "a abbr b bdi bdo cite code del dfn em font i ins kbd mark q s samp small span strong sub sup tt u var wbr".split()
)


Span: TypeAlias = tuple[int, int, bool]


class Inline:
    """markdown-it, told to say where the marks are in the inline text that it parses.

    Args:
        notes: the names of the notes that the text has.
    """

    def __init__(self, notes: frozenset[str]) -> None:
        self._notes = notes
        self._found: list[Span] = []
        self._base = 0  # of the text within a picture's brackets
        self.parser = parser = MarkdownIt("commonmark", {"inline_definitions": True})
        parser.enable(["table", "strikethrough"])
        # Inline text is looked at here, block by block.
        parser.core.ruler.disable(["inline", "text_join"])
        parser.block.ruler.at("reference", self._reference, {"alt": []})
        rules = parser.inline.ruler
        rules.before("link", "own", self._own)
        rules.at("image", self._image)
        for name, rule, tell in (
            ("escape", rules_inline.escape, self._escape),
            ("backticks", rules_inline.backtick, self._backticks),
            ("strikethrough", rules_inline.strikethrough.tokenize, self._delimiters),
            ("emphasis", rules_inline.emphasis.tokenize, self._delimiters),
            ("link", rules_inline.link, self._link),
            ("autolink", rules_inline.autolink, self._autolink),
            ("html_inline", rules_inline.html_inline, self._tag),
            ("entity", rules_inline.entity, self._entity),
        ):
            rules.at(name, _telling(rule, tell))
        parser.inline.ruler2.before("fragments_join", "marks", self._delimited)

    def parse(self, content: str, references: dict[str, Any]) -> tuple[list[Token], list[Span]]:
        """The tokens of a block's text, and the spans of its marks, each with whether it stands alone."""
        tokens: list[Token] = []
        self._found = []
        self.parser.inline.parse(content, self.parser, references, tokens)
        return tokens, self._found

    def _hide(self, start: int, end: int, apart: bool = False) -> None:
        self._found.append((self._base + start, self._base + end, apart))

    def _reference(self, state: StateBlock, start: int, end: int, silent: bool) -> bool:
        """The definition of a link, which that of a note looks like."""
        is_note = _NOTE_BEGINS.match(state.src, state.bMarks[start] + state.tShift[start])
        return not is_note and rules_block.reference(state, start, end, silent)

    def _own(self, state: StateInline, silent: bool) -> bool:
        match = _OWN.match(state.src, state.pos, state.posMax)
        if match is None or (match["note"] and match["note"] not in self._notes):
            return False
        if match["callout"] and state.pos:
            return False
        if not silent:
            alias, page = match["alias"], match["page"]
            if match["embedded"] and alias and _SIZE.fullmatch(alias):
                alias = None
            is_picture = match["embedded"] and _PICTURE.fullmatch(page or "")
            group = "callout" if match["callout"] else "alias" if alias else "page"
            first, last = match.span(group) if alias or not is_picture else (-1, -1)
            if first < 0:
                first = last = match.end()
            self._hide(match.start(), first)
            self._hide(last, match.end())
            state.pending += state.src[first:last]
        state.pos = match.end()
        return True

    def _image(self, state: StateInline, silent: bool) -> bool:
        start, base = state.pos, self._base
        self._base += start + len("![")
        done = rules_inline.image(state, silent)
        self._base = base
        if done and not silent:
            self._bracketed(state, start, start + 1)
        return done

    def _link(self, state: StateInline, start: int) -> None:
        self._bracketed(state, start, start)

    def _bracketed(self, state: StateInline, start: int, bracket: int) -> None:
        end = state.md.helpers.parseLinkLabel(state, bracket, bracket == start)
        self._hide(start, bracket + 1)
        self._hide(end, state.pos)

    def _escape(self, state: StateInline, start: int) -> None:
        token = state.tokens[-1]
        if token.type == "hardbreak" or token.content != token.markup:
            self._hide(start, start + 1)

    def _backticks(self, state: StateInline, start: int) -> None:
        token = state.tokens[-1] if state.tokens else None
        if token and token.type == "code_inline" and not state.pending:
            self._hide(start, start + len(token.markup))
            self._hide(state.pos - len(token.markup), state.pos)

    def _delimiters(self, state: StateInline, start: int) -> None:
        end = state.pos
        for token in reversed(state.tokens):
            if end == start:
                break
            token.meta["span"] = self._base + end - len(token.content), self._base + end
            end -= len(token.content)

    def _delimited(self, state: StateInline) -> None:
        """The delimiters that turned out to be marks, which is known at the end."""
        self._found += [
            (*token.meta["span"], False)
            for token in state.tokens
            if "span" in token.meta and not token.content
        ]

    def _autolink(self, state: StateInline, start: int) -> None:
        self._hide(start, start + 1)
        self._hide(state.pos - 1, state.pos)

    def _tag(self, state: StateInline, start: int) -> None:
        self._found += _html(state.src, start, state.pos, self._base)

    def _entity(self, state: StateInline, start: int) -> None:
        self._found += _entity(state.src, start, state.pos, self._base)


def _telling(
    rule: Callable[[StateInline, bool], bool], tell: Callable[[StateInline, int], None]
) -> Callable[[StateInline, bool], bool]:
    """A rule of markdown-it, that tells of what it has found, and where that starts."""

    def told(state: StateInline, silent: bool) -> bool:
        start = state.pos
        done = rule(state, silent)
        if done and not silent:
            tell(state, start)
        return done

    return told


def _html(text: str, start: int, end: int, base: int = 0) -> Iterator[Span]:
    """The marks in a stretch of HTML, `base` added."""
    for match in _HTML.finditer(text, start, end):
        if match[0][0] == "&":
            yield from _entity(text, *match.span(), base)
        elif match["endless"] is None:
            apart = (match["tag"] or "").lower() not in _WITHIN
            yield base + match.start(), base + match.end(), apart


def _entity(text: str, start: int, end: int, base: int = 0) -> Iterator[Span]:
    """What of an entity is not the character that it stands for, or the letter that that one is made of."""
    shown = unicodedata.normalize("NFKD", unescape(text[start:end]))[:1]
    kept = text.find(shown, start, end)
    if kept < 0:
        yield base + start, base + end, True
    else:
        yield base + start, base + kept, False
        yield base + kept + 1, base + end, False


def parsed(text: str, start: int) -> tuple[list[Heading], Marks, list[int], list[str]]:
    """The headings at the outermost level of a Markdown text from `start` on, its marks, its tables, and its #tags."""
    reading = _Reading(text, start)
    for token in reading.tokens:
        reading.read(token)
    comments = list(reading.comments())
    for span in comments:
        reading.marks.hide(*span)
    headings = [heading for heading in reading.headings if not _within(comments, heading.start)]
    return headings, reading.marks, reading.tables, list(reading.tags)[:_MOST_TAGS]


def _within(spans: Sequence[tuple[int, int]], place: int) -> bool:
    """Whether a place is in one of some spans, which are in order."""
    before = bisect_right(spans, place, key=lambda span: span[0])
    return before > 0 and place < spans[before - 1][1]


class _Reading:
    def __init__(self, text: str, start: int) -> None:
        self.marks = Marks(text)
        self.headings: list[Heading] = []
        self.tables: list[int] = []  # as in `Document`
        self.tags: dict[str, None] = {}  # as Obsidian knows them, outside of headings and code
        self._text = text
        source = unix_lines(text[start:])
        self._lines = source.split("\n")
        self._starts = [start + at for at in line_starts(text[start:])]
        self._code: list[tuple[int, int]] = []  # the spans of blocks of code
        self._columns = [0] * len(
            self._lines
        )  # where the marks of quotes and items that a line begins with end
        self._cells: Iterator[tuple[int, int]] | None = None  # of the row that is being read
        self._heading: Token | None = None
        self._inline = Inline(frozenset(_NOTE.findall(source)))
        self._references: dict[str, Any] = {}
        self.tokens = self._inline.parser.parse(source, self._references)

    def read(self, token: Token) -> None:
        """The marks of one block, or of the text within it."""
        first, after = token.map or (0, 0)
        if token.type in ("fence", "code_block"):
            self._code.append((self._starts[first], self._end(after - 1)))
        if token.type == "inline":
            self._read_inline(token)
        elif token.type == "heading_open":
            self._heading = token
            if token.markup[0] != "#":
                self._hide_line(after - 1)
        elif token.type == "blockquote_open":
            for line in range(first, after):
                self._begins(line, _QUOTE)
        elif token.type == "list_item_open":
            self._begins(first, _ITEM)
        elif token.type in ("hr", "definition"):
            for line in range(first, after):
                self._hide_line(line)
        elif token.type == "fence":
            self._hide_line(first)
            last = self._lines[after - 1][self._columns[after - 1] :].strip()
            if after - 1 > first and len(last) >= len(token.markup) and not last.strip(token.markup[0]):
                self._hide_line(after - 1)
        elif token.type == "html_block":
            for span in _html(self._text, self._starts[first], self._end(after - 1)):
                self.marks.hide(*span)
        elif token.type == "table_open":
            self._hide_line(first + 1)
            self.tables += (self._starts[first], self._end(first), self._end(after - 1))
        elif token.type == "tr_open":
            self._cells = self._row(first)
        elif token.type == "tr_close":
            self._cells = None

    def comments(self) -> Iterator[tuple[int, int]]:
        """The comments that begin and end a line, but for those in code."""
        for match in _COMMENT.finditer(self._text.replace("\r", "\n"), self._starts[0]):
            if not _within(self._code, match.start()):
                yield match.span()

    def _end(self, line: int) -> int:
        """Where a line's text ends."""
        return self._starts[line] + len(self._lines[line])

    def _hide_line(self, line: int) -> None:
        self.marks.hide(self._starts[line] + self._columns[line], self._end(line))

    def _begins(self, line: int, mark: re.Pattern[str]) -> None:
        """Take over the mark that a line begins with, if it has one: a quote goes on without."""
        match = mark.match(self._lines[line], self._columns[line])
        if match:
            self.marks.hide(self._starts[line] + match.start(), self._starts[line] + match.end())
            self._columns[line] = match.end()

    def _row(self, line: int) -> Iterator[tuple[int, int]]:
        """The cells of a row, as spans of its line without the blanks around; the pipes between them are marks."""
        row = self._lines[line]
        start = (
            self._columns[line] + len(row[self._columns[line] :]) - len(row[self._columns[line] :].lstrip())
        )
        end = len(row.rstrip())
        pipes = [pipe.start() for pipe in _PIPE.finditer(row, start, end)]
        for pipe in pipes:
            self.marks.hide(self._starts[line] + pipe, self._starts[line] + pipe + 1, apart=True)
        if pipes[:1] == [start]:
            start = pipes.pop(0) + 1
        for pipe in [*pipes, end]:
            cell = row[start:pipe]
            yield start + len(cell) - len(cell.lstrip()), start + len(cell.rstrip())
            start = pipe + 1

    def _read_inline(self, token: Token) -> None:
        heading, self._heading = self._heading, None
        first = token.map[0] if token.map else 0
        places: list[tuple[int, int]] | None
        if self._cells:
            start, end = next(self._cells, (0, 0))
            content, places = self._lines[first][start:end], [(0, self._starts[first] + start)]
        else:
            content, places = token.content, self._places(token.content, first)
        is_short = len(content) <= _LONGEST_INLINE
        parts, spans = self._inline.parse(content, self._references) if is_short else ([], [])
        if not heading:
            self.tags.update(dict.fromkeys(_TAG.findall("".join(map(_apart, parts)))))
        if heading and heading.level == 0:
            words = one_line("".join(seen(parts)) if is_short else content)
            self.headings.append(Heading(self._starts[first], int(heading.tag[1]), words))
        if places is None:
            return
        for start, end, apart in spans:
            self._hide_in(places, start, end, apart)
        if heading and heading.markup[0] == "#":
            self.marks.hide(self._starts[first] + self._columns[first], places[0][1])
            self.marks.hide(places[0][1] + len(content), self._end(first))

    def _places(self, content: str, line: int) -> list[tuple[int, int]] | None:
        """For each line of a block's text where it starts there and in the source; None if it is not found."""
        places, at = [], 0
        for number, part in enumerate(content.split("\n"), line):
            bare = part.lstrip(" \t")
            column = self._lines[number].rfind(bare) if number < len(self._lines) else -1
            if column < 0:
                return None
            places.append((at + len(part) - len(bare), self._starts[number] + column))
            at += len(part) + 1
        return places

    def _hide_in(self, places: list[tuple[int, int]], start: int, end: int, apart: bool) -> None:
        """A span of a block's text, line by line."""
        number = bisect_right(places, (start, len(self._text))) - 1
        while start < end:
            at, source = places[max(number, 0)]
            following = places[number + 1][0] if number + 1 < len(places) else end + 1
            stop = min(end, following - 1)
            self.marks.hide(source + max(start - at, 0), source + max(stop - at, 0), apart)
            start, number = min(end, following), number + 1


def _apart(part: Token) -> str:
    """Text as it stands, and of all else what keeps the texts beside it apart."""
    return part.content if part.type == "text" else "\n" if part.type.endswith("break") else "`"


def seen(tokens: Iterable[Token]) -> Iterator[str]:
    """What a reader sees of inline markup: the words, without the marks around them."""
    for token in tokens:
        if token.type == "image":
            yield from seen(token.children or ())
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type != "html_inline":
            yield token.content
