"""reStructuredText: docutils finds the headings, the header becomes metadata. The text stays the file."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from search.corpus.text import FALSE_LINE_ENDS, Decoded, Heading, line_starts, one_line, sections, unix_lines
from search.records.documents import Document, Section

_SPACES = {ord(character): " " for character in FALSE_LINE_ENDS}
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*\s*$")


def document(path: str, decoded: Decoded) -> Document:
    """One reStructuredText file.

    The header (see `fields_at`) lies outside all sections; where it stands below the document's
    title, so does that title. The title is the header's Title, as "PEP 8: ..." where it also has a
    PEP number, else the first heading, else the file's stem. A file that docutils cannot parse
    keeps all of its text, in one section.
    """
    from search.corpus import rst_marks

    text = decoded.text
    starts = line_starts(text)
    # docutils counts more characters as line ends than we do; with spaces in their place, both agree.
    source = unix_lines(text).translate(_SPACES).split("\n")
    metadata, body = fields_at(source, _next_filled(source, 0))
    body = body if metadata else 0
    titles = list(_titles([""] * body + source[body:]))
    before: tuple[Section, ...] = ()
    if not metadata and titles:
        metadata, after = fields_at(source, _next_filled(source, titles[0].last + 1))
        if metadata:
            start_of_title = starts[titles[0].first]
            if text[:start_of_title].strip():
                before = (Section(0, start_of_title),)
            titles[0], body = _Title(after, after, titles[0].level, titles[0].words), after
    offsets = (*starts, len(text))
    headings = [Heading(offsets[title.first], title.level, title.words) for title in titles]
    title = _title(metadata) or next((heading.words for heading in headings), "")
    parts = before + sections(headings, offsets[body], len(text))
    marks = rst_marks.marks(text, (title.words for title in titles))
    return decoded.document(path, "rst", title, parts, metadata, marks.offsets())


def _title(metadata: dict[str, str]) -> str:
    by_lower = {name.lower(): value for name, value in reversed(metadata.items())}
    title = one_line(by_lower.get("title", ""))
    return f"PEP {by_lower['pep']}: {title}" if title and by_lower.get("pep") else title


def _next_filled(source: Sequence[str], number: int) -> int:
    """The first line from `number` on that is not blank, or the number of lines."""
    return next((later for later in range(number, len(source)) if source[later].strip()), len(source))


@dataclass(frozen=True)
class _Title:
    """A section's title: its first and last line (from 0, lines above and below it included)."""

    first: int
    last: int
    level: int
    words: str


def _titles(source: list[str]) -> Iterator[_Title]:
    """The section titles that docutils finds; none if it fails, which it does on odd markup."""
    from docutils import nodes

    try:
        tree = _parsed(source)
    except (MemoryError, SystemError):
        raise
    except Exception:  # docutils lets errors of any kind through, from its directives above all
        return
    levels: dict[int, int] = {}
    last = -1
    for section in tree.findall(nodes.section):
        levels[id(section)] = level = levels.get(id(section.parent), 0) + 1
        underline = (section.line or 0) - 1
        if underline <= last + 1 or not _ADORNMENT.match(source[underline]):
            continue
        over = underline - 2
        has_overline = over > last and source[over].rstrip() == source[underline].rstrip()
        first = over if has_overline else underline - 1
        last = underline
        yield _Title(first, last, level, one_line(section[0].astext()))


def _parsed(source: list[str]) -> Any:
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.utils import new_document

    settings = get_default_settings(Parser)
    # A document to be indexed may be anybody's: it includes no files, and its faults are not printed.
    settings.file_insertion_enabled = False
    settings.raw_enabled = False
    settings.report_level, settings.halt_level = 5, 6
    settings.warning_stream = io.StringIO()
    settings.syntax_highlight = "none"
    tree = new_document("", settings)
    # docutils refuses a whole document for one line beyond its limit, so it sees such lines cut short.
    Parser().parse("\n".join(line[: settings.line_length_limit] for line in source), tree)
    return tree


_RFC2822 = re.compile(r"([!-9;-~]+):(?:[ \t]+(.*))?$")
_FIELD = re.compile(r":((?:[^:\\\s]|\\.)(?:[^:\\]|\\.|:(?!\s|$))*):(?:[ \t]+(.*))?$")

# One line "Note: such and such" is prose.
_FEWEST_RFC2822 = 2


def fields_at(lines: Sequence[str], first: int) -> tuple[dict[str, str], int]:
    """The header fields from line number `first` (from 0) on, and the number of the line after them.

    A field goes on in the indented lines below it; its lines are joined with a space. A field that
    comes twice keeps both values, one a line. The header ends at a blank line or the end of the file;
    without that it is prose, and ({}, first) is returned.

    Example:
        >>> fields_at(["PEP: 8", "Author: Guido,", "        Barry", "", "Text"], 0)
        ({'PEP': '8', 'Author': 'Guido, Barry'}, 3)
    """
    for pattern, fewest in ((_RFC2822, _FEWEST_RFC2822), (_FIELD, 1)):
        fields, after = _fields(lines, first, pattern)
        ended = after == len(lines) or not lines[after].strip()
        if len(fields) >= fewest and ended:
            return fields, after
    return {}, first


def _fields(lines: Sequence[str], first: int, pattern: re.Pattern[str]) -> tuple[dict[str, str], int]:
    values: dict[str, list[list[str]]] = {}  # of each name, in their pieces
    name, number = "", first
    for number in range(first, len(lines)):
        line = lines[number].rstrip()
        match = pattern.match(line)
        if match:
            name = match[1].strip()
            values.setdefault(name, []).append([(match[2] or "").strip()])
        elif name and line and line[0] in " \t":
            values[name][-1].append(line.strip())
        else:
            break
    else:
        number = len(lines)
    joined = {key: [" ".join(filter(None, pieces)) for pieces in of] for key, of in values.items()}
    return {key: "\n".join(of) for key, of in joined.items()}, number
