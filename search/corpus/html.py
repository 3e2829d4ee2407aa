"""HTML reader: the visible text in paragraphs, with the source line of each piece.

Navigation, which includes lists of links within the site, is in no passage. Headers, footers, asides and other lists of
links are set apart from the main text: if many pages repeat them, a ranking can show them once.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from search.corpus.dates import iso
from search.corpus.sources import Reason, file_stem
from search.corpus.text import Heading, one_line, sections, unix_lines
from search.errors import ReadError
from search.records.documents import LineMap, ParsedDocument

if TYPE_CHECKING:
    from justhtml import Node, Text


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# Invisible elements, and fallbacks that browsers show only if something else fails.
_UNSEEN = _names(
    "script style template noscript svg iframe noembed noframes object audio video canvas datalist annotation"
    " annotation-xml"
)
# Elements between blank lines, and elements on a line of their own. All others continue the current line.
_SPACED = _names(
    "address article aside blockquote center details dialog dir div dl fieldset figure footer form"
    " dt h1 h2 h3 h4 h5 h6 header hgroup hr main menu nav ol p pre listing search section table ul"
)
_STACKED = _names("caption dd figcaption legend li option optgroup summary tr")
_LINE_ENDS = dict.fromkeys(_SPACED, 2) | dict.fromkeys(_STACKED, 1)
_CELLS = _names("td th")
_VERBATIM = _names("pre listing textarea xmp plaintext")
_HEADINGS = _names("h1 h2 h3 h4 h5 h6")
_LANDMARKS = _names("header footer aside")
_ROLES = _names("banner contentinfo complementary")
_PERMALINKS = _names("¶ # § 🔗 \uf0c1")  # the text of a link from a heading to itself
_FEWEST_LINKS = 5  # of a list that is navigation
_VERY_MANY_LINKS = 50  # of a list that is navigation although it has words beside links
_NO_LEVEL = 99  # level of text that is not a heading, below all headings
_METADATA = _names("description author keywords")
_DATES = _names("date dc.date dcterms.date article:published_time")

_VERBATIM_PIECE = re.compile(r"[^\n]+|\n")
# HTML collapses only this whitespace; a no-break space is kept.
_WORD = re.compile(r"[^ \t\n\f\r]+")
_LETTER = re.compile(r"[^\W_]")
# The parser reports the XML declaration and other instructions as text.
_INSTRUCTION, _NOT_LINE_END = re.compile(r"<\?(?:(?!<\?)[^>])*>"), re.compile(r"[^\n]")
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def document(path: str, source: str) -> ParsedDocument:
    """Read an HTML file. Its title is the title element, else the first h1, else the file name without suffix.

    Raises:
        ReadError: "no text" if nothing is visible.
    """
    from justhtml import JustHTML

    source = _INSTRUCTION.sub(lambda match: _NOT_LINE_END.sub(" ", match[0]), unix_lines(source))
    page = _Page(source)
    _visit(JustHTML(source, sanitize=False, track_node_locations=True).root, page)
    text, headings = "".join(page.pieces), page.headings
    parts = sections(headings, 0, len(text))
    filled = (part for part in parts if text[part.start : part.end].strip())
    outside = tuple(part for part in filled if part.start not in page.navigation)
    if not text.strip():
        raise ReadError(path, Reason.NO_TEXT, "no visible text")
    return ParsedDocument(
        path=path,
        kind="html",
        text=text,
        title=page.title or next((h.words for h in headings if h.level == 1), "") or file_stem(path),
        lines=LineMap(page.offsets, page.lines),
        sections=outside or parts,
        metadata=page.metadata,
        apart=tuple(offset for span in page.apart for offset in span),
        tables=tuple(offset for _, *table in sorted(page.tables) for offset in table),
    )


class _Page:
    """Builder of a page's document: the visible text, and the source line of each piece."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.title = ""
        self.metadata: dict[str, Any] = {}
        self.headings: list[Heading] = []
        self.pieces: list[str] = []
        self.apart: list[tuple[int, int]] = []
        self.navigation: set[int] = set()  # offsets at which navigation starts
        self.tables: list[tuple[int, int, int, int]] = []
        self._headers: list[tuple[int, int] | None] = []  # header row of each open table
        self.in_links = 0  # number of open links
        self.n_inner = 0  # links to this site
        self.n_outer = 0  # links to other sites
        self.unlinked = 0  # pieces with a letter or digit outside of links
        self._length = 0
        # Separator before the next piece: this many line ends, or if none, this space or tab.
        self._line_ends, self._space = 0, ""
        # Offsets in the text at which another source line begins, and the numbers of these lines.
        self.offsets, self.lines = array("I", [0]), array("I", [1])

    def space(self, space: str = " ") -> None:
        """Separate the next piece from the last one; a tab between cells replaces a space."""
        self._space = max(self._space, space, key=("", " ", "\t").index)

    def line_ends(self, least: int) -> None:
        """Start the next piece at least this many lines below the last one."""
        self._line_ends = max(self._line_ends, least)

    def line_break(self) -> None:
        """Add a <br>: two in a row make a blank line, more have no effect."""
        self._line_ends = min(self._line_ends + 1, 2)

    def verbatim_line_end(self) -> None:
        """Add a line end that is always kept, as in <pre>."""
        self._line_ends += 1

    def add(self, piece: str, line: int) -> None:
        """Add a piece of text, with collapsed whitespace, and the source line where it starts."""
        separator = self._separator()
        self._line_ends, self._space = 0, ""
        start = self._length + len(separator)
        if start == 0:
            self.lines[0] = line
        elif line != self.lines[-1]:
            self.offsets.append(start)
            self.lines.append(line)
        self.pieces += (separator, piece)
        self.unlinked += not self.in_links and _LETTER.search(piece) is not None
        self._length = start + len(piece)

    def mark(self) -> tuple[int, int]:
        """Return the offset and the number that the next piece will have."""
        return self._length + len(self._separator()), len(self.pieces)

    def end_heading(self, mark: tuple[int, int], level: int) -> None:
        """Make the text added since `mark` a heading, if it contains words."""
        start, first = mark
        words = one_line("".join(self.pieces[first:]))
        if words:
            self.headings.append(Heading(start, level, words))
        self.line_ends(2)

    def end_link(self) -> None:
        self.in_links -= 1

    def end_apart(self, mark: tuple[int, int], _unlinked: int = 0) -> None:
        """Set the text added since `mark` apart from the main text."""
        start, _ = mark
        if start < self._length:
            while self.apart and self.apart[-1][0] >= start:
                self.apart.pop()
            self.apart.append((start, self._length))

    def end_list(self, mark: tuple[int, int], unlinked: int, n_inner: int, n_outer: int) -> None:
        """Treat the text since `mark` as navigation if it consists of many links within this site, such as a table of
        contents, or mostly of very many, such as a list of keywords; set it apart if it consists of other links.
        """
        n_links = self.n_inner - n_inner if self.n_outer == n_outer else 0
        if self.unlinked == unlinked:
            (self.end_navigation if n_links >= _FEWEST_LINKS else self.end_apart)(mark, unlinked)
        elif n_links >= _VERY_MANY_LINKS and 2 * (self.unlinked - unlinked) <= self._words_since(mark):
            self.end_navigation(mark, unlinked)

    def end_navigation(self, mark: tuple[int, int], unlinked: int) -> None:
        """Make the text added since `mark` navigation; if most of its words are not links, only set it apart."""
        start, _ = mark
        if 2 * (self.unlinked - unlinked) > self._words_since(mark):
            self.end_apart(mark)
        elif start < self._length:
            self.headings = [heading for heading in self.headings if heading.start < start]
            self.headings += Heading(start, _NO_LEVEL, ""), Heading(self._length, _NO_LEVEL, "")
            self.navigation.add(start)

    def _words_since(self, mark: tuple[int, int]) -> int:
        return (len(self.pieces) - mark[1]) // 2  # each with its separator

    def begin_table(self) -> None:
        self._headers.append(None)

    def end_header(self, mark: tuple[int, int]) -> None:
        """Make the text added since `mark` the header of the open table, if it has none yet."""
        if self._headers and self._headers[-1] is None and mark[0] < self._length:
            self._headers[-1] = mark[0], self._length

    def end_table(self) -> None:
        header = self._headers.pop()
        if header:
            self.tables.append((header[1], *header, self._length))

    def _separator(self) -> str:
        return ("\n" * self._line_ends or self._space) if self._length else ""


def _visit(root: Node, page: _Page) -> None:
    """Add the visible text below `root`. Iterative, because pages may nest deeper than Python's recursion limit."""
    from justhtml import Text

    todo: list[tuple[Node | Text, bool] | Callable[[], None]] = [(root, False)]
    while todo:
        item = todo.pop()
        if callable(item):
            item()
            continue
        node, verbatim = item
        if isinstance(node, Text):
            _add_text(node, verbatim, page)
        elif node.name in ("title", "meta"):
            _note(node, page)
        elif _is_seen(node):
            leave = _enter(node, page)
            if leave is not None:
                todo.append(leave)
            if _is_navigation(node):
                todo.append(partial(page.end_navigation, page.mark(), page.unlinked))
            elif _is_landmark(node):
                todo.append(partial(page.end_apart, page.mark()))
            elif node.name in _SPACED:
                before = page.unlinked, page.n_inner, page.n_outer
                todo.append(partial(page.end_list, page.mark(), *before))
            if node.name == "table":
                page.begin_table()
                todo.append(page.end_table)
            elif node.name == "tr" and _is_header(node):
                todo.append(partial(page.end_header, page.mark()))
            inside = verbatim or node.name in _VERBATIM
            todo += [(child, inside) for child in reversed(node.children or ())]


def _is_seen(node: Node) -> bool:
    if node.name in _UNSEEN or node.name in ("#comment", "!doctype"):
        return False
    attributes = node.attrs or {}
    return "hidden" not in attributes and not _HIDDEN_STYLE.search(attributes.get("style") or "")


def _is_navigation(node: Node) -> bool:
    return node.name == "nav" or (node.attrs or {}).get("role") == "navigation"


def _is_landmark(node: Node) -> bool:
    """Return True for headers, footers and asides, which surround the main text."""
    return node.name in _LANDMARKS or (node.attrs or {}).get("role") in _ROLES


def _is_header(row: Node) -> bool:
    """Return True if a table row is a header row."""
    cells = [child.name for child in row.children or () if child.name in _CELLS]
    return len(cells) > 1 and "td" not in cells


def _enter(node: Node, page: _Page) -> Callable[[], None] | None:
    """Add the space before an element's content; return the function to call after the content, if any."""
    name = node.name
    if name == "br":
        page.line_break()
    elif name == "a":
        page.in_links += 1
        is_outer = ":" in ((node.attrs or {}).get("href") or ":")
        page.n_outer += is_outer
        page.n_inner += not is_outer
        return page.end_link
    elif name == "time" and (moment := iso((node.attrs or {}).get("datetime"))):
        page.metadata.setdefault("date", moment)
    elif name in _CELLS:
        page.space("\t")
        return partial(page.space, "\t")
    elif name in _LINE_ENDS:
        page.line_ends(_LINE_ENDS[name])
        if name in _HEADINGS:
            return partial(page.end_heading, page.mark(), int(name[1]))
        return partial(page.line_ends, _LINE_ENDS[name])
    return None


def _add_text(node: Text, verbatim: bool, page: _Page) -> None:
    data, line = node.data or "", _first_line(node, page)
    if page.in_links and data.strip() in _PERMALINKS:
        return
    if verbatim:
        for piece in _VERBATIM_PIECE.findall(data):
            if piece == "\n":
                page.verbatim_line_end()
                line += 1
            else:
                page.add(piece, line)
        return
    end = 0
    for word in _WORD.finditer(data):
        if word.start() > end:
            page.space()
        line += data.count("\n", end, word.start())
        end = word.end()
        page.add(word[0], line)
    if len(data) > end:
        page.space()


def _first_line(node: Text, page: _Page) -> int:
    """Return the source line of the first character of a text."""
    if node.origin_line is None:
        return page.lines[-1]
    at = node.origin_offset or 0
    # The parser drops a line end right after <pre>, but says that the text begins with it.
    parent = node.parent
    dropped = (
        parent is not None
        and parent.name in ("pre", "listing", "textarea")
        and page.source[at : at + 1] == "\n"
        and (parent.children or [None])[0] is node
    )
    return node.origin_line + dropped


def _note(node: Node, page: _Page) -> None:
    """Store the title of the page, or a value of its metadata."""
    if node.name == "title":
        words = "".join(child.data or "" for child in node.children or () if child.name == "#text")
        page.title = page.title or one_line(words)
        return
    attributes = node.attrs or {}
    name = (attributes.get("name") or attributes.get("property") or "").lower()
    content = one_line(attributes.get("content") or "")
    if name in _METADATA | _DATES and content:
        page.metadata.setdefault("date" if name in _DATES else name, content)
