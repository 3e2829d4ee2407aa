r"""Readers for Org, AsciiDoc and LaTeX: titles become sections, markup is hidden; the text of the file stays unchanged.

Each format is a table of patterns, for its headings, header fields, verbatim blocks and marks.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from search.corpus.markup import WITHIN, Marks
from search.corpus.text import Heading, file_document, one_line, sections
from search.records.documents import ParsedDocument


class _Format(NamedTuple):
    """Patterns of a markup language.

    Attributes:
        heading: the pattern of a heading, with groups `level` and `words`; for an underlined one, `words2` and `under`.
        fields: the groups are name and value of a field of the header.
        begin, end: first and last line or command of a block without headings and marks, with equal groups `name`.
        marks: as in `Marks.inline`.
        levels: level of a heading by its group `level`, or by the first character of its underline. Without an entry,
            the length of the group `level` is the level.
        preamble: everything before the text.
    """

    heading: str
    fields: str
    begin: str
    end: str
    marks: str
    levels: Mapping[str, int]
    preamble: str = ""


_FLAGS = re.VERBOSE | re.MULTILINE
# fmt: off
_ORG = _Format(
    r"^(?P<level>\*+)[ \t]+(?P<words>\S[^\n]*)$",
    r"^\#\+(?i:(title|author|date|description|keywords|filetags)):[ \t]*([^\n]*)$",
    r"^[ \t]*\#\+(?i:begin_(?P<name>src|example|export))\b[^\n]*\n",
    r"^[ \t]*\#\+(?i:end_(?P<name>src|example|export))\b",
    rf"""
      ^(\*+[ \t]+)(?=\S) | ^[ \t]*((?:[-+]|\d+[.)])[ \t]+(?:\[[ xX-]\][ \t]+)?)
    | (?P<whole>(?<![ \t])[ \t]+:[\w@\#%:]+:[ \t]*$ | ^[ \t]*\#(?:\+\w|[ \t]|$)[^\n]*$
        | ^[ \t]*:[\w-]+:(?:[ \t][^\n]*)?$ | ^[ \t]*\|[-+]+\|[ \t]*$ | \[fn:[\w-]*\])
    | (?P<apart>(?<=[ \t])\|(?=[ \t\n])|^\|(?=[ \t]))
    | (\[\[[^\[\]\n]+\]\[)[^\[\]]+(\]\]) | (\[\[)[^\[\]\n]+(\]\])
    | (?<![^\s('"{{-])(?P<star>[*/_=~+])(?=[^\s*/=~+]){WITHIN}(?<=\S)(?P<whole3>(?P=star))(?![\w/])
    """, {})
_ASCIIDOC = _Format(
    r"""^(?P<level>={1,6}|\#{1,6})[ \t]+(?P<words>\S[^\n]*)$
    |^(?:(?<=\n\n)|(?<=\]\n)|\A)(?P<words2>[^\s.\[/|:=*-][^\n]*)\n(?P<under>(?P<sign>[-=~^+])(?P=sign)+)[ \t]*$""",
    r"^:(author|date|description|keywords|lang):[ \t]+([^\n]*)$",
    r"^(?:(?<=\n\n)|(?<=\]\n)|(?<=\+\n)|\A)(?P<name>-{4,}(?!-)|\.{4,}(?!\.)|/{4,}(?!/)|`{3,}(?!`))[^\n]*\n",
    r"^(?P<name>-{4,}|\.{4,}|/{4,}|`{3,})[ \t]*$",
    rf"""
      ^((?:={{1,6}}|\#{{1,6}})[ \t]+)(?=\S) | ^[ \t]*((?:\*{{1,5}}|-|\.{{1,5}}|\d+\.)[ \t]+)(?=\S)
    | (?P<whole>^(?:[=.*_/-]{{4,}}|--|\++|`{{3,}}\w*|\|===+)[ \t]*$ | ^\[[^\n]*\][ \t]*$ | ^//[^\n]*$
        | ^:[\w!-]+:(?:[ \t][^\n]*)?$ | ^(?:include|ifdef|ifndef|ifeval|endif)::[^\n]*$ | [ \t]\+$ | <\d+>)
    | ^(\.)(?=[\w`*"]) | (?<=[^\s:])(::+)[ \t]*$ | (?<=\S)(;;)[ \t]*$ | (?P<apart>^\||[ \t]\|(?=[^=]))
    | (\b(?:link|xref|image|footnote|kbd|pass|mailto|linkgit|https?):[^\s\[\]<>]{{0,1000}}\[)[^\[\]\n]*(\])
    | (<<(?:[^<>,\n]+,[ ]*)?)[^<>]+(>>)
    | (?<![\w*`_+\#])(?P<star>\*{{1,2}}|_{{1,2}}|`{{1,2}}|\+{{1,3}})(?=[^\s*`_+]){WITHIN}
      (?<=[^\s*`_+])(?P<whole2>(?P=star))(?![\w*`_+])
    """, {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5})
_TEX = _Format(
    r"""^[ \t]*\\(?P<level>part|chapter|section|subsection|subsubsection|paragraph|frametitle|begin\{frame\})\*?
    (?:\[[^\[\]\n]*\])?\{(?P<words>(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]*\})*\})+)\}""",
    r"^[^%\n]*\\(title|author|date)\{((?:[^{}]|\{[^{}]*\})+)\}",
    r"\\begin\{(?P<name>verbatim|lstlisting|minted|Verbatim|comment)\*?\}",
    r"\\end\{(?P<name>verbatim|lstlisting|minted|Verbatim|comment)\*?\}",
    r"""
      (?P<whole>(?<!\\)%[^\n]*$)
    | (?P<apart>\\(?:begin|end)\{[^{}\n]*\}(?:\[[^\[\]\n]*\])?(?:\{[clrpX|@{}!>\d.\\ ]*\})?
        |\\(?:label|ref|eqref|pageref|autoref|cite\w*|index|[vh]space|includegraphics|input|include|bibliography\w*
        |usepackage|documentclass|\w*length|\w*pagestyle|setcounter|bibitem)\*?(?:\[[^\[\]\n]*\])*\{[^{}\n]*\}(?:\{[^{}\n]*\})?
        |\\(?:item|centering|noindent|maketitle|tableofcontents|clearpage|newpage|hline|(?:top|mid|bottom)rule|par|appendix
        |(?:big|med|small)skip|small|large|footnotesize|bf|it|tt|em|left|right)(?![A-Za-z@])[ \t]?
        |\\\\(?:\[[^\[\]\n]*\])?|(?<!\\)&)
    | (?P<whole2>\\[A-Za-z@]+\*?(?=(?:\[[^\[\]\n]*\])?\{)(?:\[[^\[\]\n]*\])?) | (\\)(?=[\w@&%$\#{}~^"'`=.,;:! \n-])
    | (?P<whole3>(?<!\\)[{}$])
    """,
    {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "begin{frame}": 3, "frametitle": 3, "paragraph": 5,
     "subsubsection": 4},
    r"[\s\S]*?^[ \t]*\\begin\{document\}")
# fmt: on
FORMATS = {"org": _ORG, "asciidoc": _ASCIIDOC, "tex": _TEX}
# Characters by which an underline may differ from the words above it.
_UNDERLINE = 2
_HEAD = 20_000  # characters that are searched for fields


def document(path: str, text: str, kind: str) -> ParsedDocument:
    """Read a text with lightweight markup. Its title is a header field, the first heading or the file's name."""
    form, marks = FORMATS[kind], Marks(text)
    preamble = re.match(form.preamble, marks.text, _FLAGS)
    start = preamble.end() if preamble else 0
    blocks = list(_verbatim(form, marks.text, start))
    at = start
    for _, first, last in [*blocks, (len(text), len(text), len(text))]:
        marks.inline(re.compile(form.marks, _FLAGS), at, first)
        at = last
    begins = [begin for begin, _, _ in blocks]
    headings = [
        heading
        for heading in _headings(form, marks, start)
        if not (before := bisect_left(begins, heading.start)) or heading.start >= blocks[before - 1][2]
    ]
    fields = re.findall(form.fields, text[:_HEAD], _FLAGS)
    metadata = {name.lower(): _plain(form, value) for name, value in reversed(fields)}
    title = metadata.pop("title", "") or next((heading.words for heading in headings), "")
    parts = sections(headings, start, len(text))
    return file_document(
        path, kind, text, title, sections=parts, metadata=metadata, marks=marks.offsets()
    )


def _verbatim(form: _Format, text: str, start: int) -> Iterator[tuple[int, int, int]]:
    """Yield the blocks without headings: where each begins, and start and end of what is inside."""
    ends = defaultdict[str, list[int]](list)
    for match in re.compile(form.end, _FLAGS).finditer(text, start):
        ends[match["name"].lower()].append(match.start())
    end = -1
    for match in re.compile(form.begin, _FLAGS).finditer(text, start):
        own = ends[match["name"].lower()]
        following = bisect_left(own, match.end())
        if match.start() > end and following < len(own):
            end = own[following]
            yield match.start(), match.end(), end


def _headings(form: _Format, marks: Marks, start: int) -> Iterator[Heading]:
    """Yield the headings, and hide the lines below them."""
    for match in re.compile(form.heading, _FLAGS).finditer(marks.text, start):
        named = match.groupdict()
        words, under = named["words"], named.get("under")
        if under:
            words = named["words2"]
            if abs(len(words) - len(under)) > _UNDERLINE:
                continue
            marks.hide(*match.span("under"))
        level = under[0] if under else match["level"]
        if not under and level[0] in "=#":  # "== Title =="
            words = words.rstrip().removesuffix(f" {level}")
        yield Heading(match.start(), form.levels.get(level, len(level)), _plain(form, words))


def _plain(form: _Format, words: str) -> str:
    marks = Marks(words)
    marks.inline(re.compile(form.marks, _FLAGS))
    return one_line(marks.stripped())
