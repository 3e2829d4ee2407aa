r"""Reader for manual pages: their text as `man` shows it, without roff's requests, with the source line of each piece.

It knows the macros of man(7) and mdoc(7). A term and its definition (.TP, .IP, .It) are one paragraph. Macros that a
page defines are not expanded, and unknown ones are left out, as roff does.
"""

from __future__ import annotations

import re
from string import ascii_letters
from unicodedata import normalize

from search.corpus.text import file_document, one_line, unix_lines
from search.corpus.writing import Writing
from search.records.documents import Document, Section

_ROFF = re.compile(r"^(?:\.[ \t]*(?:TH|Dd|Dt|SH|Sh|so)\b|['.]\\\")", re.MULTILINE)
_HEAD = 20_000  # characters that are searched for roff requests
_COMMENT = re.compile(r"(?<!\\)\\[\"#].*")
_REQUEST = re.compile(r"[.'][ \t]*([^ \t\\]*)[ \t]*(.*)")
_FOR_PAPER = re.compile(r"t[ \t]|!n[ \t]")
_CONDITION = re.compile(r"(?:'[^']*'[^']*'|\S+(?!\S))[ \t]*(?:\\\{)?[ \t]*([^\\ \t].*)")
_ARGUMENT = re.compile(r"\"((?:[^\"]|\"\")*)\"?|((?:\\ |\S)+)")
_CELL = re.compile(r"T\}.T\{|T[{}]|^[_=]$")
_ESCAPE = re.compile(
    r"""\\(?: [fFmMgkYnV](?:\[[^\]]*\]|\(..|[+-]?.) | s(?:\[[^\]]*\]|'[^']*'|[+-]?\(?\d{1,2}|[+-]\d)
      | [bhvwlLDoXZNASxHCR]'[^']*' | \*?\[([^\]]*)\] | \*?\((..) | \*(.) | (.) )""",
    re.VERBOSE,
)
_ACCENTS = zip("'`^:~,o", "\u0301\u0300\u0302\u0308\u0303\u0327\u030a", strict=True)
_SIGNS = {
    sign + letter: normalize("NFC", letter + accent)
    for sign, accent in _ACCENTS
    for letter in ascii_letters
}
_NAMED_SIGNS = """
    aq ' dq " em — en – hy - mi - bu • co © rg ® tm ™ lq “ rq ” oq ‘ cq ’ rs \\ ti ~ ha ^ ga ` pl + mu × <= ≤ >= ≥
    -> → <- ← de ° sc § la ⟨ ra ⟩ Fo « Fc » ss ß eu € lB [ rB ] lC { rC } ba | at @ sh # sl / L" " R" " -- -- Aq '
""".split()
_SIGNS |= dict(zip(_NAMED_SIGNS[::2], _NAMED_SIGNS[1::2], strict=True))
_PLAIN = dict(zip("e~0t", "\\  \t", strict=True)) | dict.fromkeys("&|^)/,:%c{}duapr!?z", "")

_PARAGRAPHS = "PP P LP HP Pp sp Bl El Bd Ed RS RE SY YS Rs Re TS TE DS DE TP IP It".split()
_LINE_ENDS = dict.fromkeys(_PARAGRAPHS, 2) | dict.fromkeys(
    "br nf fi EX EE Vb Ve TQ ti in D1 Dl Fd".split(), 1
)
_FILLED = dict.fromkeys("nf EX Vb DS TS".split(), False) | dict.fromkeys(
    "fi EE Ve DE TE Ed SH Sh".split(), True
)
_HEADINGS = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
_FONTS = dict.fromkeys("B I SM SB R UR MT UE URL MTO".split(), " ") | dict.fromkeys(
    "BR RB BI IB IR RI".split(), ""
)

# mdoc: the signs before and after the words of a macro.
_SIGNED = (
    'Op [] Pq () Dq “” Sq ‘’ Ql ‘’ Qq "" Bq [] Brq {} Aq <> Oo [ Po ( Do “ So ‘ Bo [ Nd –  Fl -'.split()
)
_MDOC = dict(zip(_SIGNED[::2], _SIGNED[1::2], strict=True))
_CLOSING = dict(zip("Oc Pc Dc Sc Bc".split(), "])”’]", strict=True))
_OTHERS = """An Ar Cd Cm Dv Em Er Ev Fa Fn Fo Fc Ft Ic In Li Lk Ms Mt Nm No Ns Pa Pf St Sx Sy Ta Tn Va Vt Xc Xo Xr
    Ap Fd D1 Dl Ux Bx Nx Fx Ox %A %B %D %I %J %N %O %P %R %T %U %V"""
_MDOC |= _CLOSING | dict.fromkeys(_OTHERS.split(), "")
_NO_WORDS = {
    "Fl": "-",
    "Ar": "file ...",
    "Ap": "'",
    "Ux": "UNIX",
    "Bx": "BSD",
    "Nx": "NetBSD",
    "Fx": "FreeBSD",
}
_GLUED = ".,:;)]?!”’"


def document(path: str, text: str) -> Document:
    """Read a manual page; a file that is only named like one ("syslog.1") stays plain text."""
    if not _ROFF.search(text, 0, _HEAD):
        title, parts = path.rpartition("/")[2], (Section(0, len(text)),)
        return file_document(path, "text", text, title, sections=parts)
    page = _ManPage(Writing(path, "man"))
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
        self._name, self._strings = "", dict(_SIGNS)
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
        words = _ESCAPE.sub(self._sign, source)
        if self._heading:
            self._heading *= not self.writing.heading(words, self._heading)
            self._line_ends = 2
            return
        words = one_line(words) if self._is_filled else words
        if self.writing.add(" " * (self._line_ends == 0) + words, max(self._line_ends, 0)):
            self._line_ends = int(self._is_term or not self._is_filled)
            self._is_term = False
        if source.endswith(r"\c"):
            self._line_ends = -1

    def _sign(self, match: re.Match[str]) -> str:
        """Return the character or string of an escape sequence."""
        if match[4]:
            return _PLAIN.get(match[4], match[4])
        code = match[1] or match[2] or match[3] or ""
        is_number = re.fullmatch("u[0-9A-F]{4,5}", code)
        return chr(int(code[1:], 16)) if is_number else self._strings.get(code, "")

    def _request(self, name: str, rest: str) -> None:
        words = [a.replace('""', '"') or b for a, b in _ARGUMENT.findall(rest)]
        self._line_ends = max(self._line_ends, _LINE_ENDS.get(name, self._line_ends))
        self._is_filled = _FILLED.get(name, self._is_filled) and "-literal" not in words
        self._heading = _HEADINGS.get(name, self._heading)
        self._is_term |= name in ("TP", "TQ") or (name == "It" and bool(words))
        if name in ("if", "ie", "el"):
            self._condition(name, rest)
        elif name in _MDOC or name == "It":
            self._mdoc(words if name == "It" else [name, *words])
        elif name in _FONTS or name in _HEADINGS:
            self._text(_FONTS.get(name, " ").join(words))
        elif name == "IP" and words:
            self._text(words[0])
            self._line_ends = int(any(map(str.isalnum, _ESCAPE.sub("", words[0]))))
        else:
            self._define(name, words, rest)

    def _define(self, name: str, words: list[str], rest: str) -> None:
        if name in ("de", "de1", "am", "ig", "TS", "T&"):
            self._until = "." if name[0] == "T" else "." + (words[1:] or ["."])[0]
        elif name == "ds" and words:
            value = rest.partition(" ")[2].lstrip().removeprefix('"')
            self._strings[words[0]] = _ESCAPE.sub(self._sign, value)
        elif name in ("TH", "Dt") and words:
            words = [_ESCAPE.sub(self._sign, word) for word in words]
            self.title = f"{words[0]}({words[1]})" if words[1:] else words[0]
            self.metadata |= dict(zip(("section", "date"), words[1:], strict=False))
        elif name == "Dd":
            self.metadata["date"] = rest

    def _condition(self, name: str, rest: str) -> None:
        """Read the text of a condition, unless it applies to paper only; leave out its other branch."""
        if name == "el" or _FOR_PAPER.match(rest):
            self._until = r"\}" if r"\{" in rest and r"\}" not in rest else ""
        elif (body := _CONDITION.match(rest)) and ".ig" not in rest:
            self.read(body[1])

    def _mdoc(self, tokens: list[str]) -> None:
        """Add a line with macros of mdoc, which may follow each other."""
        line, closing, macro, space = "", "", "", ""
        for token, after in zip(tokens, [*tokens[1:], ""], strict=False):
            has_words = after not in ("", *_MDOC, *_GLUED)
            if token in _MDOC:
                macro, signs = token, _MDOC[token]
                word = self._signed(macro, has_words, after, signs)
                closing = signs[1:] + closing
            else:
                sign = {"Fl": "-", "Xr(": "("}.get(macro, "") if token not in (*_GLUED, "|") else ""
                word = sign + token + ")" * (sign == "(")
                macro = "Xr(" if macro == "Xr" else "" if macro == "Xr(" else macro
            is_glued = token in (*_CLOSING, "Ns", "Ap") or word in (*_GLUED,) or word[:1] == "("
            line += (word if is_glued else space + word) if word else ""
            is_open = token in ("Ns", "Ap", "Pf") or (token in _MDOC and word[-1:] in (*"[(“‘{<-",))
            space = "" if is_open or not line else " " if word else space
        body = line.rstrip(".,:;") if closing else line
        if self._line_ends == 0 and (tokens[:1] == ["Ns"] or line[:1] in (*_GLUED,)):
            self._line_ends = -1
        self._text(body + closing + line[len(body) :])

    def _signed(self, macro: str, has_words: bool, after: str, signs: str) -> str:
        """Return the text that a macro puts before its words: a sign, the name of the page, or the macro's default."""
        if macro == "Nm":
            self._name = self._name or after
            return "" if has_words else self._name
        return (signs[:1] if macro != "Fl" else "") if has_words else _NO_WORDS.get(macro, signs[:1])
