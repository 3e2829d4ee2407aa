r"""Reader for manual pages: their text without roff's requests and escapes, with the source line of each piece.

It knows the macros of man(7), and of mdoc(7) those for headings, lists, names, options and flags; of other macros only
the words are kept. A term and its definition (.TP, .IP, .It) are one paragraph. Macros that a page defines are not
expanded.
"""

from __future__ import annotations

import re

from search.corpus.text import file_document, one_line, unix_lines
from search.corpus.writing import Writing
from search.records.documents import ParsedDocument, Section

_ROFF = re.compile(r"^(?:\.[ \t]*(?:TH|Dd|Dt|SH|Sh|so)\b|['.]\\\")", re.MULTILINE)
_HEAD = 20_000  # characters that are searched for roff requests
_COMMENT = re.compile(r"(?<!\\)\\[\"#].*")
_REQUEST = re.compile(r"[.'][ \t]*([^ \t\\]*)[ \t]*(.*)")
_ARGUMENT = re.compile(r"\"((?:[^\"]|\"\")*)\"?|((?:\\ |\S)+)")
_CELL = re.compile(r"T\}.T\{|T[{}]|^[_=]$")
_ESCAPE = re.compile(
    r"""\\(?: [fFmMgkYnVs](?:\[[^\]\\]*\]|\(..|[+-]?.) | [bhvwlLDoXZNASxHCR]'[^']*'
      | \*?\[([^\]\\]*)\] | \*?\((..) | \*(.) | (.) )""",
    re.VERBOSE,
)
_SIGNS = dict(
    sign.split(":")
    for sign in """aq:' dq:" em:— en:– hy:- mi:- bu:• co:© rg:® tm:™ lq:“ rq:” oq:‘ cq:’ rs:\\ ti:~ ha:^ ga:` pl:+ mu:×
    <=:≤ >=:≥ ->:→ <-:← de:° sc:§ la:⟨ ra:⟩ ss:ß eu:€ ba:| at:@ sh:# sl:/ L":“ R":”""".split()
)
_PLAIN = {"e": "\\", "~": " ", "0": " ", "t": "\t", **dict.fromkeys("&|^)/,:%c{}duapr!?z", "")}
_PARAGRAPHS = ("PP P LP HP Pp sp Bl El Bd Ed RS RE SY YS Rs Re TS TE DS DE TP IP It").split()
_LINES = "br nf fi EX EE Vb Ve TQ ti in D1 Dl Fd".split()
_FILLED = {
    "nf": False,
    "EX": False,
    "Vb": False,
    "TS": False,
    "fi": True,
    "EE": True,
    "Ve": True,
    "TE": True,
}
_HEADINGS = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
_FONTS = dict.fromkeys("B I SM SB R UR MT UE URL MTO".split(), " ") | dict.fromkeys(
    "BR RB BI IB IR RI".split(), ""
)
_MDOC = """An Ar Cd Cm Dv Em Er Ev Fa Fn Fo Fc Ft Ic In Li Lk Ms Mt Nm No Ns Pa Pf St Sx Sy Ta Tn Va Vt Xc Xo Xr Fl Op
    Pq Dq Sq Ql Qq Bq Brq Aq Oo Oc Po Pc Do Dc Nd D1 Dl""".split()
_GLUED = ".,:;)]|"
_DEFINED = ("de", "de1", "am", "ig")


def document(path: str, text: str) -> ParsedDocument:
    """Read a manual page; a file that is only named like one ("syslog.1") stays plain text."""
    if not _ROFF.search(text, 0, _HEAD):
        title, parts = path.rpartition("/")[2], (Section(0, len(text)),)
        return file_document(path, "text", text, title, sections=parts)
    page = _ManPage(Writing(path, "man", len(text)))
    for page.writing.line, line in enumerate(unix_lines(text).split("\n"), 1):
        page.read(line)
    return page.writing.done(page.title, page.metadata)


class _ManPage:
    """A manual page that is being read.

    Attributes:
        title, metadata: from its header.
    """

    def __init__(self, writing: Writing) -> None:
        self.writing, self.title = writing, ""
        self.metadata: dict[str, str] = {}
        self._name = ""
        self._line_ends = 2  # before the next words; 0 for a space, -1 for nothing
        self._heading = 0  # level of the heading that the next words form; 0 for none
        self._is_filled, self._is_term = True, False
        self._until = ""  # request that ends the lines to leave out

    def read(self, line: str) -> None:
        """Read the next line of the source."""
        request = _REQUEST.match(line)
        if self._until:
            self._until = "" if self._until in line.replace(" ", "") else self._until
        elif request:
            self._request(request[1], _COMMENT.sub("", request[2]))
        elif line.strip():
            self._text(_CELL.sub("", _COMMENT.sub("", line)))
        else:
            self._line_ends = 2

    def _text(self, source: str) -> None:
        words = _ESCAPE.sub(_sign, source)
        if self._heading:
            if self.writing.heading(words, self._heading):
                self._heading = 0
            self._line_ends = 2
            return
        words = one_line(words) if self._is_filled else words
        space = " " if self._line_ends == 0 else ""
        if self.writing.add(space + words, max(self._line_ends, 0)):
            self._line_ends = int(self._is_term or not self._is_filled)
            self._is_term = False
        if source.endswith(r"\c"):
            self._line_ends = -1

    def _request(self, name: str, rest: str) -> None:
        words = [a.replace('""', '"') or b for a, b in _ARGUMENT.findall(rest)]
        least = 2 if name in _PARAGRAPHS else int(name in _LINES)
        self._line_ends = max(self._line_ends, least)
        self._is_filled = _FILLED.get(name, self._is_filled or name in _HEADINGS)
        self._heading = _HEADINGS.get(name, self._heading)
        self._is_term |= name in ("TP", "TQ") or (name == "It" and bool(words))
        if name in _MDOC or name == "It":
            self._text(self._mdoc(words if name == "It" else [name, *words]))
        elif name in _FONTS or name in _HEADINGS:
            self._text(_FONTS.get(name, " ").join(words))
        elif name == "IP" and words:
            self._text(words[0])
            self._line_ends = int(any(map(str.isalnum, _ESCAPE.sub("", words[0]))))
        elif name in _DEFINED or name == "TS":
            self._until = "." if name == "TS" else "." + (words[1:] or ["."])[0]
        elif name in ("TH", "Dt") and words:
            words = [_ESCAPE.sub(_sign, word) for word in words]
            self.title = f"{words[0]}({words[1]})" if words[1:] else words[0]
            self.metadata |= dict(zip(("section", "date"), words[1:], strict=False))
        elif name == "Dd":
            self.metadata["date"] = rest

    def _mdoc(self, tokens: list[str]) -> str:
        """Return the words of a line with macros of mdoc, which may follow each other."""
        line, macro = "", ""
        for token in tokens:
            is_macro = token in _MDOC
            word = "" if is_macro else "-" + token if macro == "Fl" else token
            if macro == "Nm":
                self._name = self._name or word
                word = self._name + word if word in (*_GLUED, "") else word
            is_glued = word in (*_GLUED, "") or macro == "Ns" or line[-1:] in ("", "[")
            line += word if is_glued else f" {word}"
            if token == "Nd":
                line += " –"
            elif token in ("Op", "Oo"):
                line += " ["
            macro = token if is_macro else ""
        line += self._name if macro == "Nm" else ""
        return line.strip() + "]" * (line.count("[") - line.count("]"))


def _sign(match: re.Match[str]) -> str:
    """Return the character of an escape sequence."""
    if match[4]:
        return _PLAIN.get(match[4], match[4])
    code = match[1] or match[2] or match[3] or ""
    is_number = re.fullmatch("u[0-9A-F]{4,5}", code)
    return chr(int(code[1:], 16)) if is_number else _SIGNS.get(code, "")
