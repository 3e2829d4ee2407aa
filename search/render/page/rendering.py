"""Text of a document as HTML: Markdown and reStructuredText rendered, other text in paragraphs.

Each passage is rendered by itself. Marks enter the source as private characters, which are no markup, and become
`<mark>` elements in the HTML.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from search.render.format import escape
from search.render.page.hit_list import HIDDEN, runs

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Characters of plane 16 stand for marks: the n-th begins mark n, the last one ends each. Icon fonts use plane 15.
_OPEN, _CLOSE = 0x100000, "\U0010fffd"
_OPENED = re.compile("[\U00100000-\U0010fffc]")
_OURS = re.compile("[\U00100000-\U0010fffd]")
_LONGEST_DROPPED = 40  # characters of a mark, which is left out without a sign
_FENCE = re.compile(r"(?m)^ {0,3}(```|~~~)")
_TABLE = re.compile(r"(?m)^\|.*\n\|[-|: ]+$")
_NO_ADDRESS = re.compile(r'<a href="(?!https?:|mailto:)[^"]*"')
_SHORT = re.compile(r"(?m)^(.{1,50})(?=\n\S)")  # a line that ends before the margin

# reStructuredText
_DIRECTIVE = re.compile(r"\.\. (?:[\w-]+::[ \t]*)?")
_RULER = re.compile(r"([^\w\s])\1{2,}")
_GRID = re.compile(r"(?m)^ *(?:=+(?: +=+)+|\+[-=+]+\+)$")
_ROLE = re.compile(r":([\w:+-]+):`([^`]+)`")
_LINK = re.compile(r"`([^`<]+?)\s*<([^>`]+)>`__?")
_REFERENCE = re.compile(r"(``.+?``)|`([^`]+)`__?|\b(\w+)_\b(?!\w)|(\[[^\]]+\])_")


class Renderer:
    """Renders the passages of one document in their order.

    Args:
        kind: kind of the document.
        headings: headings of the document, which converted text contains as plain lines.
    """

    def __init__(self, kind: str, headings: Sequence[str]) -> None:
        self._kind, self._headings = kind, {*headings} - {""}
        self._inside = ""  # the fence of a code block that goes on
        self._table = ""  # the head of a table that goes on

    def html(self, gap: str, text: str, kinds: Sequence[str]) -> Markup:
        """Return a passage as HTML.

        Args:
            gap: text between the previous passage and this one.
            kinds: for each character of `text` the attributes of its mark, HIDDEN for markup, or "".
        """
        marks: list[str] = []
        is_markup = self._kind in ("markdown", "notebook", "rst")
        parts = []
        for kind, part in runs(_OURS.sub("\ufffd", text), kinds):
            if kind and kind != HIDDEN and part.strip():
                parts.append(f"{chr(_OPEN + len(marks))}{part}{_CLOSE}")
                marks.append(kind)
            elif kind != HIDDEN or is_markup:
                parts.append(part)
            elif len(part) >= _LONGEST_DROPPED:  # no markup, but text that is not encoded, such as data
                parts.append(f"[… {len(part):,} characters …]")
        source = "".join(parts).replace("\r\n", "\n")
        if self._kind == "rst":
            source = _from_rst(source)
        elif is_markup:
            source = self._continued(gap, source)
        else:
            lines = (f"## {line}" if line in self._headings else line for line in source.split("\n"))
            source = _SHORT.sub(r"\1  ", "\n".join(lines))
        html = _NO_ADDRESS.sub("<a", escape(_markdown(is_markup).render(source)))
        html = re.sub("<h([1-6])>", r'<h2 class="h\1">', re.sub("</h[1-6]>", "</h2>", html))
        html = html.replace(_CLOSE, "</mark>")
        return Markup(_OPENED.sub(lambda match: f"<mark {marks[ord(match[0]) - _OPEN]}>", html))

    def _continued(self, gap: str, source: str) -> str:
        """Return Markdown with the beginning of the code block or table that a passage continues."""
        for fence in _FENCE.findall(gap):
            self._inside = "" if self._inside else fence
        begun = self._inside
        for fence in _FENCE.findall(source):
            self._inside = "" if self._inside else fence
        if heads := _TABLE.findall(source):
            self._table = _OURS.sub("", heads[-1])
        elif source.startswith("|") and self._table:
            return f"{self._table}\n{source}"
        return f"{begun}\n{source}" if begun else source


@cache
def _markdown(is_markup: bool) -> MarkdownIt:
    """Return a parser of Markdown, or of text with lists and quotations only."""
    from markdown_it import MarkdownIt

    if not is_markup:
        return MarkdownIt("zero").enable(["blockquote", "heading", "list", "newline"])
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("image", lambda _, tokens, i, *__: escape(tokens[i].content))
    return parser


def _from_rst(source: str) -> str:
    """Translate the markup that reStructuredText and Markdown do not share."""
    blocks, is_literal = [], False
    for block in re.split(r"\n[ \t]*\n", source.strip("\n")):
        indented = block.startswith((" ", "\t"))
        is_literal = is_literal and indented
        if is_literal:
            block = re.sub(r"(?m)^ {0,3}(?=\S)|^ {3}(?=\S)", "    ", block)
        elif _GRID.search(block):
            block = f"```\n{block}\n```"
        else:
            is_code = re.search(r"(?:::|code[\w-]*::[^\n]*)\Z", block)
            is_literal = bool(is_code)
            block = _translated(re.sub(r"(?m)^\s+", "> ", block) if indented else block)
        blocks.append(block)
    return "\n\n".join(blocks)


def _translated(block: str) -> str:
    """Translate a block that is not code."""
    lines = block.split("\n")
    rulers = [bool(_RULER.fullmatch(line.strip())) for line in lines]
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and rulers[i + 1] and not rulers[i]:
            lines[i] = f"## {line}"
        elif line.startswith(".. "):
            lines[i] = _DIRECTIVE.sub("", line) if "::" in line else ""
    block = "\n".join(line for line, ruler in zip(lines, rulers, strict=True) if not ruler)
    block = re.sub(r"::\Z", ":", block).removesuffix("\n:")
    block = _LINK.sub(r"[\1](\2)", _ROLE.sub(_role, block))
    return _REFERENCE.sub(lambda match: match[match.lastindex or 0], block)


def _role(match: re.Match[str]) -> str:
    name, content = match[1], match[2].partition(" <")[0]
    return f"{name.upper()} {content}" if name in ("pep", "rfc") else f"``{content}``"
