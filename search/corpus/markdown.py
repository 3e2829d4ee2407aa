"""Markdown and Jupyter notebook readers.

Markdown headings become sections and front matter becomes metadata; the text of the file stays unchanged. A
notebook has one page per cell: visible Markdown, code, and text output.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from search.corpus.markup import MARKDOWN, Marks
from search.corpus.sources import MAX_BYTES, Reason, Skipped
from search.corpus.text import (
    Heading,
    file_document,
    json_values,
    line_starts,
    one_line,
    sections,
    unix_lines,
    whole_characters,
)
from search.corpus.writing import clean, metadata_values, real_title
from search.errors import ReadError
from search.files import toml
from search.records.documents import ParsedDocument

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(
    r"(?P<fence>---|\+\+\+)[ \t]*(?:\r\n|\n|\r)"
    r"(?P<block>(?:.*?(?:\r\n|\n|\r))??)"
    r"(?P=fence)[ \t]*(?:\r\n|\n|\r|\Z)",
    re.DOTALL,
)
_LONGEST_FRONT_MATTER = 100_000  # characters; YAML is slow


# Characters of a paragraph; in longer ones, inline marks stay in the text.
_LONGEST_INLINE = 10_000
_FIRST = re.compile(
    r"(?:[ \t]*(?:>|[-+*](?=\s|$)|\d{1,9}[.)](?=\s|$)|\[[ xX]\](?=\s)))*(?:[ \t]*#{1,6}(?=\s|$))?[ \t]*"
)
_NEXT = re.compile(r"(?:[ \t]*>)+")
_CLOSING = re.compile(r"[ \t]#+[ \t]*$")
_PIPE = re.compile(r"(?<!\\)\|")
_TAG = re.compile(r"(?<!\S)#(?=[\w/-]*[^\W\d_])(\w(?:[\w/-]{0,98}\w)?)(?![\w/-])")
_CODE = re.compile(r"`[^`]*`")
# The target of a link to a file, without its title: [the beds](<../garden/Vegetable beds.md#soil> "soil").
_TARGET = re.compile(
    r"(?<!!)\[[^\[\]\n]*\]\(\s*(?!<?(?:[A-Za-z][A-Za-z\d+.-]*:|//|#))"
    r"(?:<([^<>\n]+)>|([^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*))"
)
_LINK = re.compile(r"\[\[\s*([^\[\]|#^\n]*[^\[\]|#^\s])")


class Markdown:
    """Headings, tables, tags and marks of a Markdown text from offset `start` on, parsed with markdown-it.

    Attributes:
        headings: headings at the outermost level.
        tables: as in `ParsedDocument`.
        tags: Obsidian tags outside headings and code.
        links: names of the notes that [[links]] outside code lead to; `targets`: those of other links to files.
        marks: start and end offsets, alternating.
    """

    def __init__(self, text: str, start: int = 0) -> None:
        from markdown_it import MarkdownIt

        parser = MarkdownIt("commonmark", {"inline_definitions": True}).enable("table")
        parser.core.ruler.disable(["inline", "text_join"])
        source = unix_lines(text[start:])
        self.headings: list[Heading] = []
        self.tables: list[int] = []
        self.tags: dict[str, None] = {}
        self.links: dict[str, None] = {}
        self.targets: dict[str, None] = {}
        self._marks = Marks(text)
        self._text = self._marks.text
        self._lines = source.split("\n")
        self._starts = [start + at for at in line_starts(text[start:])]
        self._heading: Token | None = None
        self._seen = -1  # the last line whose inline marks are known
        for token in parser.parse(source):
            if token.map:
                self._read(token, *token.map)
        self.marks = self._marks.offsets()

    def _read(self, token: Token, first: int, after: int) -> None:
        start, end = self._starts[first], self._end(after - 1)
        if token.type == "heading_open":
            self._heading = token
            if token.markup[0] != "#":
                self._marks.hide(self._starts[after - 1], end)
        elif token.type == "inline":
            self._read_inline(token, first, after)
        elif token.type in ("hr", "definition"):
            self._marks.hide(start, end)
        elif token.type == "fence":
            self._marks.hide(start, self._end(first))
            if after - 1 > first and token.markup in self._lines[after - 1]:
                self._marks.hide(self._starts[after - 1], end)
        elif token.type == "html_block":
            self._marks.inline(MARKDOWN, start, end)
        elif token.type == "table_open":
            self._marks.hide(self._starts[first + 1], self._end(first + 1))
            self.tables += (start, self._end(first), end)
            for pipe in _PIPE.finditer(self._text, start, end):
                self._marks.hide(*pipe.span(), apart=True)

    def _read_inline(self, token: Token, first: int, after: int) -> None:
        heading, self._heading = self._heading, None
        start, end = self._starts[first], self._end(after - 1)
        prose = _CODE.sub("`", token.content)
        self.links.update(dict.fromkeys(_LINK.findall(prose)))
        self.targets.update(dict.fromkeys(match[1] or match[2] for match in _TARGET.finditer(prose)))
        if heading is None:
            self.tags.update(dict.fromkeys(_TAG.findall(prose)))
        elif heading.level == 0:
            marks = Marks(token.content)
            marks.inline(MARKDOWN)
            self.headings.append(Heading(start, int(heading.tag[1]), one_line(marks.stripped())))
        if heading and (closing := _CLOSING.search(self._text, start, end)):
            self._marks.hide(*closing.span())
        for number in range(max(first, self._seen + 1), after):
            prefix = (_FIRST if number == first else _NEXT).match(self._text, self._starts[number], end)
            if prefix:
                self._marks.hide(*prefix.span())
        if after - 1 > self._seen and end - start <= _LONGEST_INLINE:
            self._marks.inline(MARKDOWN, start, end)
        self._seen = after - 1

    def files(self, path: str) -> list[str]:
        """Return the files that links lead to: their paths in the indexed folder, after a slash.

        Args:
            path: of the text, in the same folder.
        """
        names = dict[str, None]()
        for target in self.targets:
            file = unquote(re.split("[#?]", target, maxsplit=1)[0])
            if file and not file.endswith("/"):
                names[posixpath.normpath(posixpath.join("/", posixpath.dirname(path), file))] = None
        names.pop(f"/{path}", None)
        return [*names]

    def _end(self, line: int) -> int:
        """Return the end of a line's text."""
        return self._starts[line] + len(self._lines[line])


def document(path: str, text: str) -> ParsedDocument:
    """Read a Markdown file. The title is in the front matter, else the first h1, else the file name without suffix."""
    metadata, start = front_matter(text)
    markdown = Markdown(text, start)
    lists = {
        "tags": _values(metadata.get("tags"), r"[,\s]+", markdown.tags),
        "aliases": _values(metadata.get("aliases"), r"\s*,\s*"),
        "links": _values(metadata.get("links"), r"\s*,\s*", [*markdown.links, *markdown.files(path)]),
    }
    metadata |= {name: values for name, values in lists.items() if values}
    title = one_line(whole_characters(str(metadata.get("title") or "")))
    if not title:
        title = next(
            (heading.words for heading in markdown.headings if heading.level == 1 and heading.words), ""
        )
    cut = sections(markdown.headings, start, len(text))
    more = {"metadata": metadata, "marks": markdown.marks, "tables": tuple(markdown.tables)}
    return file_document(path, "markdown", text, title, sections=cut, **more)


def _values(stated: Any, separator: str, more: Iterable[str] = ()) -> list[Any]:
    """Return the values of a field of the front matter as a list, followed by `more` values from the text."""
    if isinstance(stated, str):
        stated = re.split(separator, stated)
    values = stated if isinstance(stated, list) else [stated]
    values = [value.removeprefix("#") if isinstance(value, str) else value for value in values if value]
    names = {str(value).casefold() for value in values}
    return [*values, *(value for value in more if value.casefold() not in names)]


def front_matter(text: str) -> tuple[dict[str, Any], int]:
    """Return the values of the YAML (---) or TOML (+++) front matter, and the offset where it ends.

    Returns ({}, 0) if there is none, if it is invalid, or if it contains no keys (a thematic break, for example); the
    block is then part of the text.
    """
    match = _FRONT_MATTER.match(text)
    if match is None or match.end() > _LONGEST_FRONT_MATTER:
        return {}, 0
    try:
        block = unix_lines(match["block"])
        values = _from_yaml(block) if match["fence"] == "---" else toml(block, "the front matter")
        return (json_values(values), match.end()) if isinstance(values, dict) else ({}, 0)
    except Exception:  # PyYAML raises errors of any class for malformed numbers, dates and tags
        return {}, 0


def _from_yaml(block: str) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            """YAML loader that rejects aliases: with them, twenty lines can expand to a billion values."""
            if self.check_event(yaml.AliasEvent):
                raise ValueError("an alias")
            return super().compose_node(parent, index)

    return yaml.load(block, Loader)


_LONGEST_OUTPUT = 2_000  # characters
_FENCE = "~~~~~"  # around code
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def notebook(path: str, raw: bytes) -> list[ParsedDocument | Skipped]:
    """Read a Jupyter notebook of format 4, without images and raw cells, as Markdown; long outputs are truncated.

    Raises:
        ReadError: "damaged" or "too large".
    """
    content = json.loads(raw)
    if "cells" not in content:
        raise ReadError(path, Reason.DAMAGED, "not a Jupyter notebook of format 4")
    text, pages = "", []
    for cell in content["cells"]:
        pages.append(len(text))
        source = clean("".join(cell["source"])).strip("\n")
        if cell["cell_type"] == "markdown":
            text += f"{source}\n\n" if source.strip() else ""
        elif cell["cell_type"] == "code":
            outputs = (_COLOUR.sub("", _written(output)) for output in cell["outputs"])
            for block in (source, *(clean(output[:_LONGEST_OUTPUT]).strip("\n") for output in outputs)):
                text += f"{_FENCE}\n{block}\n{_FENCE}\n\n" if block.strip() else ""
    if len(text) > MAX_BYTES:
        raise ReadError(path, Reason.TOO_LARGE, f"more than {MAX_BYTES:,} characters of text")
    metadata = content.get("metadata", {})
    language = metadata.get("language_info", {}).get("name", "")
    read = document(path, text.rstrip("\n"))
    title = real_title(str(metadata.get("title", ""))) or read.title
    more = {**read.metadata, **metadata_values({"language": language})}
    starts = tuple(min(page, len(read.text)) for page in pages)
    return [replace(read, kind="notebook", title=title, metadata=more, pages=starts)]


def _written(output: dict[str, Any]) -> str:
    """Return the text of an output; "" for an image, whose text is only a placeholder."""
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    data = output.get("data", output)
    is_picture = any(kind.startswith("image/") for kind in data)
    return "" if is_picture else "".join(data.get("text/plain", data.get("text", "")))
