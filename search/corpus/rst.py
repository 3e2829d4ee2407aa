"""reStructuredText reader: titles become sections, the header becomes metadata; marks hide common markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from search.corpus.markup import EMPHASIS, WITHIN, Marks
from search.corpus.text import Heading, file_document, line_starts, one_line, sections, unix_lines
from search.records.documents import ParsedDocument

_MARKUP = re.compile(
    rf"""
      ^[ \t]*(?:
        (?P<whole>\.\.[ ](?:_[^\n]*:(?=\s|$)|__)[^\n]*(?:\n[ \t]+\S[^\n]*)*)
      | (?P<whole2>\.\.[ ](?:code|code-block|sourcecode|highlight|index|include|literalinclude|image|figure|toctree
          |contents|raw|meta|role|module|currentmodule|only|class|container)::[^\n]*)
      | (\.\.[ ])(?:attention|caution|danger|error|hint|important|note|tip|warning|seealso|todo|deprecated
          |version[a-z]+)(::)
      | (\.\.[ ](?:\|[^|\n]+\|[ ]replace::|[\w][\w:+.-]*::|\[[^\]\n]+\])) (?=\s|$)
      | (?P<whole3>\.\.[ \t]*\n(?:[ \t]+\S[^\n]*(?:\n|\Z)|[ \t]*\n(?=[ \t]+\S))+)
      | (\.\.)(?=\s)
      | (:)(?=\S)[^:\n]+(:)(?=\s)
      | ((?:[-*+•]|\#\.|\d{{1,3}}\.|\(\w\))(?=\s))
      | (?P<whole4>[+=][-=+][-=+| \t]*$)
      )
    | (?<=[^\s:]:)(:)[ \t]*$ | ^[ \t]*(::)[ \t]*$
    | (?<![\w`])(``)(?=\S){WITHIN}(?<=\S)(?P<whole5>``)(?!\w)
    | (:)(?=(?:pep|rfc):`\d)
    | (:[a-zA-Z][\w:+.-]{{0,100}}:`[~!]?)(?=[^\s`]){WITHIN}((?:\s+<[^<>`]+>)?`)(?!\w)
    | (?<![\w`])(`)(?=[^\s`]){WITHIN}((?:\s+<[^<>`]+>)?`_{{0,2}})(?!\w)
    | (?P<whole6>\[(?:\d+|\#[\w-]*|\*)\]_)(?!\w)
    | (\\[ ]) | (?P<whole7>\\)\S
    | {EMPHASIS}
    """,
    re.VERBOSE | re.MULTILINE,
)
_ROW = re.compile(r"^[ \t]*\|(?=\s).*\|[ \t]*$", re.MULTILINE)
_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1*\s*$")
_LITERAL = re.compile(r"^(?!\s*\.\. ).*::\s*$|^\s*\.\. (?:code|code-block|sourcecode|highlight)::")


def document(path: str, text: str) -> ParsedDocument:
    """Read a reStructuredText file.

    The header (see `fields_at`) is outside all sections. The title is the header's Title, with the PEP number if it has
    one ("PEP 8: ..."), else the first heading, else the file name without suffix.
    """
    starts = [*line_starts(text), len(text)]
    source = unix_lines(text).split("\n")
    metadata, after = fields_at(source, _next_filled(source, 0))
    body = after if metadata else 0
    headings = list(_headings(source, body, starts))
    title = _title(metadata) or next((heading.words for heading in headings), "")
    parts = sections(headings, starts[body], len(text))
    marks = _marks(text, source, starts).offsets()
    return file_document(path, "rst", text, title, sections=parts, metadata=metadata, marks=marks)


def _marks(text: str, source: Sequence[str], starts: Sequence[int]) -> Marks:
    """Return the marks of a text, outside code."""
    marks = Marks(text)
    begun = 0  # first line after the last code block
    for first, after in [*_literals(source), (len(source), len(source))]:
        marks.inline(_MARKUP, starts[begun], starts[first])
        for row in _ROW.finditer(marks.text, starts[begun], starts[first]):
            for offset in range(*row.span()):
                if text[offset] == "|":
                    marks.hide(offset, offset + 1, apart=True)
        begun = after
    return marks


def _literals(source: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield ranges of code lines: indented lines after a line that ends with "::" or a code directive."""
    number = 0
    while number < len(source):
        indent, is_code, number = _indent(source[number]), _LITERAL.search(source[number]), number + 1
        first = _next_filled(source, number) if is_code else len(source)
        if first < len(source) and (inside := _indent(source[first])) > indent:
            number = first
            while number < len(source) and (
                not source[number].strip() or _indent(source[number]) >= inside
            ):
                number += 1
            yield first, number


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _title(metadata: dict[str, str]) -> str:
    by_lower = {name.lower(): value for name, value in reversed(metadata.items())}
    title = one_line(by_lower.get("title", ""))
    return f"PEP {by_lower['pep']}: {title}" if title and by_lower.get("pep") else title


def _next_filled(source: Sequence[str], number: int) -> int:
    """Return the number of the first line from `number` on that is not blank, or the number of lines."""
    return next((later for later in range(number, len(source)) if source[later].strip()), len(source))


def _headings(source: Sequence[str], body: int, starts: Sequence[int]) -> Iterator[Heading]:
    """Yield the titles: unindented lines with a line of punctuation of the same length below, or above and below."""
    styles: list[str] = []
    done = body
    for number in range(body + 1, len(source)):
        words, line = source[number - 1].rstrip(), source[number].rstrip()
        underline = _UNDERLINE.match(line)
        if not underline or not words.strip() or number - 1 < done or _UNDERLINE.match(words):
            continue
        over = number - 2 >= done and source[number - 2].rstrip() == line
        is_paragraph = number - 2 >= done and source[number - 2].strip() and not over
        if is_paragraph or len(line) < min(len(words), 4) or (words[0].isspace() and not over):
            continue
        style = underline[1] * 2 if over else underline[1]
        if style not in styles:
            styles.append(style)
        done = number + 1
        marks = Marks(words)
        marks.inline(_MARKUP)
        plain = one_line(marks.stripped()) or one_line(words)
        yield Heading(starts[number - 1 - over], styles.index(style) + 1, plain)


_RFC2822 = re.compile(r"([!-9;-~]+):(?:[ \t]+(.*))?$")
_FIELD = re.compile(r":((?:[^:\\\s]|\\.)(?:[^:\\]|\\.|:(?!\s|$))*):(?:[ \t]+(.*))?$")

# A single line like "Note: remember this" is prose, not a header.
_FEWEST_RFC2822 = 2


def fields_at(lines: Sequence[str], first: int) -> tuple[dict[str, str], int]:
    """Parse the header fields from line number `first` (from 0) on; return them and the number of the next line.

    A field continues in the indented lines below it, which are joined with spaces. A repeated field keeps all values,
    one per line. The header ends at a blank line or the end of the file; otherwise it is prose, and the result is ({},
    first).

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
    values: dict[str, list[list[str]]] = {}  # name -> values -> lines of the value
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
