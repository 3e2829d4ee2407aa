"""Markdown: headings to sections, front matter to metadata. The text stays as it is in the file."""

from __future__ import annotations

import re
from typing import Any

from search.corpus.text import (
    Decoded,
    json_values,
    one_line,
    sections,
    unix_lines,
    whole_characters,
)
from search.files import toml
from search.records.documents import Document

_FRONT_MATTER = re.compile(
    r"(?P<fence>---|\+\+\+)[ \t]*(?:\r\n|\n|\r)"
    r"(?P<block>(?:.*?(?:\r\n|\n|\r))??)"
    r"(?P=fence)[ \t]*(?:\r\n|\n|\r|\Z)",
    re.DOTALL,
)
_LONGEST_FRONT_MATTER = 100_000  # characters; YAML is slow
_MOST_MERGED = 1_000  # keys that a mapping takes over from others


def document(path: str, decoded: Decoded) -> Document:
    """One Markdown file. Its title is the front matter's, else the first h1, else the file's stem."""
    from search.corpus.markdown_marks import parsed

    text = decoded.text
    metadata, start = front_matter(text)
    headings, marks, tables, tags = parsed(text, start)
    if tags:
        metadata["tags"] = _with_tags(metadata.get("tags"), tags)
    title = one_line(whole_characters(str(metadata.get("title") or "")))
    if not title:
        title = next((heading.words for heading in headings if heading.level == 1 and heading.words), "")
    cut = sections(headings, start, len(text))
    return decoded.document(path, "markdown", title, cut, metadata, marks.offsets(), tables)


def _with_tags(stated: Any, found: list[str]) -> list[Any]:
    """The tags of the front matter, then those of the text that are others."""
    if isinstance(stated, str):
        stated = stated.replace(",", " ").split()
    tags = stated if isinstance(stated, list) else [] if stated is None else [stated]
    known = {str(tag).removeprefix("#").casefold() for tag in tags}
    return [*tags, *(tag for tag in found if tag.casefold() not in known)]


def front_matter(text: str) -> tuple[dict[str, Any], int]:
    """The values in the YAML (---) or TOML (+++) block that begins the text, and where it ends.

    A block that is not valid, or holds no keys and values, is part of the text: ({}, 0). So is a
    thematic break that happens to be the first line.
    """
    match = _FRONT_MATTER.match(text)
    if match is None or match.end() > _LONGEST_FRONT_MATTER:
        return {}, 0
    try:
        values = _values(match["fence"], unix_lines(match["block"]))
        return (json_values(values), match.end()) if isinstance(values, dict) else ({}, 0)
    except Exception:  # for a malformed number, date or tag PyYAML raises whatever comes
        return {}, 0


def _values(fence: str, block: str) -> Any:
    return _from_yaml(block) if fence == "---" else toml(block, "the front matter")


def _from_yaml(block: str) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            """Take over what "<<" names. Each line could double what the line above it holds."""
            most = len(node.value) + _MOST_MERGED
            super().flatten_mapping(node)
            if len(node.value) > most:
                raise ValueError(f"more than {_MOST_MERGED:,} keys are merged")

    return yaml.load(block, Loader)
