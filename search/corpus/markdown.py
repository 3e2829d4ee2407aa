"""Markdown: headings to sections, front matter to metadata. The text stays as it is in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from search.corpus.text import (
    Decoded,
    Heading,
    json_values,
    line_starts,
    one_line,
    sections,
    unix_lines,
    whole_characters,
)
from search.records.documents import Document

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(
    r"(?P<fence>---|\+\+\+)[ \t]*(?:\r\n|\n|\r)"
    r"(?P<block>(?:.*?(?:\r\n|\n|\r))??)"
    r"(?P=fence)[ \t]*(?:\r\n|\n|\r|\Z)",
    re.DOTALL,
)


def document(path: str, decoded: Decoded) -> Document:
    """One Markdown file. Its title is the front matter's, else the first h1, else the file's stem."""
    text = decoded.text
    metadata, start = front_matter(text)
    headings = _headings(text, start)
    title = one_line(whole_characters(str(metadata.get("title") or "")))
    if not title:
        title = next((heading.words for heading in headings if heading.level == 1 and heading.words), "")
    return decoded.document(path, "markdown", title, sections(headings, start, len(text)), metadata)


def front_matter(text: str) -> tuple[dict[str, Any], int]:
    """The values in the YAML (---) or TOML (+++) block that begins the text, and where it ends.

    A block that is not valid, or holds no keys and values, is part of the text: ({}, 0). So is a
    thematic break that happens to be the first line.
    """
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, 0
    try:
        values = _values(match["fence"], unix_lines(match["block"]))
        return (json_values(values), match.end()) if isinstance(values, dict) else ({}, 0)
    except (ValueError, RecursionError):
        return {}, 0


def _values(fence: str, block: str) -> Any:
    """
    Raises:
        ValueError: the block is no YAML, or no TOML.
    """
    if fence == "---":
        import yaml

        try:
            return yaml.safe_load(block)
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[import-not-found,no-redef,unused-ignore]
    return tomllib.loads(block)


def _headings(text: str, start: int) -> list[Heading]:
    """The headings at the outermost level from `start` on: not those in quotes, lists or code."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    # Of all the inline markup only the headings' is looked at, below, which saves most of the time.
    parser.core.ruler.disable(["inline", "text_join"])
    references: dict[str, Any] = {}
    tokens = parser.parse(unix_lines(text[start:]), references)
    starts = line_starts(text[start:])
    headings = []
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.level == 0 and opening.map:
            parts: list[Token] = []
            parser.inline.parse(inline.content, parser, references, parts)
            at = start + starts[opening.map[0]]
            headings.append(Heading(at, int(opening.tag[1]), one_line("".join(_seen(parts)))))
    return headings


def _seen(tokens: Iterable[Token]) -> Iterator[str]:
    """What a reader sees of inline markup: the words, without the marks around them."""
    for token in tokens:
        if token.type == "image":
            yield from _seen(token.children or ())
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type != "html_inline":
            yield token.content
