"""Texts and files that are made to take long, to need much memory, or to grow in the index.

PATTERNS: for each format, beginnings of a file and tokens, all markers of the format among them. A parser that is not
linear usually shows it on one token repeated a thousand times. `files` makes folders of hostile files.
"""

from __future__ import annotations

import base64
import gc
import gzip
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from search.corpus.parsing import Request, parsed
from search.corpus.sources import kind_of
from search.errors import ReadError
from tests.faults.packages import packages

HostileFile: TypeAlias = "tuple[str, str | bytes]"


class Pattern(NamedTuple):
    """A file that repeats one token: its name, how it begins, and the token."""

    name: str
    head: str
    token: str

    def content(self, n_bytes: int) -> bytes:
        """The file, with about so many bytes."""
        head, token = self.head.encode(), self.token.encode()
        return head + token * (n_bytes // len(token))


MOST_GROWTH = 2.5  # of the time, for twice the bytes
FLOOR = 0.3  # seconds; the growth of shorter times cannot be measured on a busy machine


def parse_seconds(pattern: Pattern, n_bytes: int) -> float:
    """Processor time of parsing a file of this pattern in this process.

    Garbage is not collected meanwhile: that takes the time of what is in memory, not of what is parsed.
    """
    request = Request(pattern.name, kind_of(pattern.name), pattern.content(n_bytes), is_named=True)
    gc.disable()
    started = time.process_time()
    try:
        for _ in parsed(request):
            pass
    except ReadError:
        pass
    finally:
        gc.enable()
    return time.process_time() - started


ANYWHERE = (
    " ", "\n", "\t", "\r", "\r\n", "a", "1", ":", "=", "-", ".", ",", ";", '"', "'", "(", ")", "[", "]", "{", "}", "<",
    ">", "|", "\\", "/", "*", "_", "`", "~", "#", "+", "@", "&", "%", "$", "!", "?", "^", "a ", "a:", "a\n", " \n",
    "\n\n\n", "é", "a1B", "1:1 ", "12:34", "((", "\u2028", "\x0c", "&amp;", "a.b", "- ", "== ", "a: b\n", "-- \n",
    "\ta\n", "\u200b",
)  # fmt: skip

_VERBATIM = ("src", "example", "export")
_TOKENS: dict[str, tuple[str, ...]] = {
    "a.txt": (
        "data:a/b;base64,", "data:a/b;a=b", "data:", "QUJD" * 16 + "\n", "====\n", "Aa1" * 70 + "\n", "2024-01-01 ",
    ),
    "a.py": ("# ---\n", "/* */", "----\n", "//\n", '"""\n'),
    "a.md": (
        "<script>", "<style>", "</script>", "<script", "<script></style>", "[a](", "![", "![a](", "<!--", "-->", "<a ",
        "<b>", "</b", "[[", "[[a|", "]]", "[^", "[^a]:", "[!", "%%", "%% ", "^aaaa", "`a\n", "```", "```\n", "~~~\n",
        "~~", "**", "***", "*a ", "*a", "__", "_a ", "_a", "> ", "> a   ", "- [ ] ", "1. ", "# ", "#a ", "###### a\n",
        "a\n=\n", "a\n-\n", "|a|", "|-|\n", "| a |\n|---|\n", "\\*", "![[a.png", "![[", "[a][", "[a]: b\n", "<http:",
        "<a@b", "---\n", "+++\n", "---\na: [", "---\na: ", "&#", "<?", "<![CDATA[", "</", "<a>\n", "[](", "]()",
        "[a](b ", '[a](b "', "* * ", "*_", "**a", "`` ", "[x", "![x", "[[[", "][", "(((", "a*", "a_", "a`", "\n>",
        "\n> ", "\n- ", "\n* a", "    a\n", "*\n", "#\n", "<div>", "<div>\n\n", "<a b=", "<a b='", "  - a\n", "\\\n",
    ),
    "a.rst": (
        ".. a::\n", ".. ", "..\n", ".. _a: b\n", ".. _a", ".. |a| replace:: b\n", ".. [1] ", "::\n", "::", ":a:`",
        ":a:", ":a: b\n", "``", "`a", "`a <", "`a`_ ", "**a", "*a", "|a", "|a|", "| a |", "| ", "+--+\n", "+==+\n",
        "====\n", "a\n=\n", "=\na\n=\n", "[1]_", "[#", "\\ ", " a\n", "a::\n  b\n", "a::\n\n", "\n\n\n  ", "..\n a\n",
        "..\n  \n a\n", "a:\\", ":a\\", ".. code::\n", ".. code::\n\n  a\n", "a b\n===\n", "a: b\n c\n", "  ::\n",
    ),
    "a.html": (
        "<script>", "<style>", "<a>", "<a ", "<a href=", "</a>", "<!--", "-->", "<!", "<?", "<?>", "<b>", "</b>", "<p>",
        "<div>", "<table>", "<tr>", "<td>", "<table><tr><td>", "<ul><li>", "<i><b>", "</p>", "<pre>", "<pre>\n", "<br>",
        "<h1>a", "<nav>", "<nav>a", "<header>a", "<aside>a</aside>", "<li><a href=a>a</a>", "<svg>", "<math>",
        "<template>", "<select><option>", "<form>", "<a><div>", "<b><p>", "<font>", "<font size=1>", "&#x", "&#1;",
        "&amp", "&a", "<title>", "<meta name=a content=b>", "<textarea>", "<plaintext>", "<frameset>",
        "<p style='display:none'>", "<a b=c ", "<time datetime=", "<th>a<th>b<tr>", "<style", "<svg><a>", "<math><mi>",
        "<button>", "<nobr>", "<h1>", "<dl><dt>", "<ruby><rt>", "<iframe>", "<noscript>", "<!DOCTYPE", "<![CDATA[",
        "</", "<a a", "<section>a <section>",
    ),
    "a.org": (
        "* ", "* a", "* a :b:\n", "* a :", "** ", "*a ", "*a", "/a", "_a", "=a", "~a", "+a", "#+", "#+a: b\n",
        "#+title: a\n", *(f"#+{side}_{name}\n" for side in ("begin", "end") for name in _VERBATIM), "| a ", "|-",
        "|-+", ":a:\n", ":a: b\n", "[[", "[[a][", "[[a]]", "[fn:", "[fn:a]", "- [ ] ", "1. ", " :a:", " :a",
        "* a" + " " * 20, "* TODO a\n", "# a\n", "\n* ", "\n*", "\n* a ",
    ),
    "a.adoc": (
        "= ", "== a\n", "= a", "= a =", "a\n--\n", "a\n==\n", "----\n", "----a\n", "\n\n----\n", "....\n", "````\n",
        "|===\n", "|a", "[a]\n", "[", "<<", "<<a,", "<<a>>", "link:a[", "link:", "https:", "image::a[", "*a", "**a",
        "_a", "`a", "+a", "+++", "::", "a::", "a::\n", ";;", "* a\n", ". a\n", ":a: b\n", ":a", "// a\n",
        "include::a\n", "<1>", "+\n", "a +\n", "xref:", "a:", "\n\na", "]\na\n", "= a" + " " * 20, "\n= ", "\n= a ",
        "#a ", "kbd:[",
    ),
    "a.tex": (
        "\\", "\\a", "\\a{", "\\section{", "\\section{a}", "\\section[", "\\section{{", "\\section{{{", "\\title{",
        "\\title{{", "\\title{a}", "\\begin{verbatim}", "\\end{verbatim}", "\\begin{a}", "\\begin{document}",
        "\\begin{", "\\end{", "\\item ", "\\cite{", "\\cite[", "\\\\[", "\\\\", "%", "% a\n", "{", "}", "{}", "$", "&",
        "\\a[", "\\[", "\\@", "\\a*", "\\begin{a}[", "\\begin{a}{", "\\begin{tabular}{c", "\\includegraphics[",
        "\\bibliography", "\\a{}{", "\\aa", " \\section", "\\cite[]", "\\ref{a}{",
    ),
    "a.1": (
        "\\f", "\\[", "\\[a", "\\[a]", "\\(", "\\(em", "\\*", "\\*[", "\\h'", "\\h'a", "\\fB", "\\f[", '\\"', "\\#",
        ".B ", ".B a\n", '.B "a', '.B "a" ', ".SH a\n", ".TP\n", ".IP a\n", ".de a\n", ".de\n", "..\n", ".TS\n",
        ".TE\n", "T{", "T}", "T}aT{", ".It Fl ", ".Fl a ", "Fl ", ".Op ", ".Nm\n", ".Nm a\n", '""', "\\c\n", ".nf\n",
        ".fi\n", "\\ ", "a\\ ", ".  \n", ".SS\n", ".Oo ", "[ ", "\\s+",
    ),
    "a.srt": (
        "1:", "0:00", "00:00:01,000 --> 00:00:02,000\n", "00:00:01,000 -->", "00:00:01,000 ",
        "00:00:01,000 --> 00:00:02,000\na\n\n", "<v ", "<v.", "<v.a ", "<v a>", "<a", "</", "{\\", "{\\a", "1:11,1",
        "1:11,1 ", "1:11,1   ", "11:11", "11:11,1-->",
    ),
    "a.eml": (
        "From: a\n", "From ", "From 1:11 ", "From a 1:11\n", "\nFrom 1:11 1:11 ", "\nFrom 1:11\n", "> ", "> a   ",
        "> a\n", ">From ", "\n>From ", "On a\n", "On a:\n", "On ", "--\n", "-- ", "----", "---- a ----\n",
        "-----Original", "____________________\n", "From: a\nSent: ", "=?utf-8?q?a?=", "=?utf-8?q?a?= ",
        "=?utf-8?b?YQ==?=", "=?", "=?a?", "a:\n", "\n:", "To: a\n", "To: a,", "a, ", "a <a@b>, ", "=\n", "=3D", "=20\n",
        "--b\n", "--b\n\n", "--b--\n", "Content-Type: multipart/mixed; boundary=b\n\n--b\n", " a\n", "; a=b", "; a*0=b",
        "-a\n", "begin 644 a\n",
    ),
    "a.mbox": (
        "From a 1:11\n", "From a 1:11\na: b\n\na\n", "From 1:11 1:11 ", "From 1:11", "From \n", "\nFrom ", ">From \n",
        "From 1:11\n\n", "From \na:",
    ),
    "a.ics": (
        "BEGIN:VEVENT\n", "END:VEVENT\n", "BEGIN:VEVENT\nEND:VEVENT\n", "SUMMARY:a\n", "SUMMARY;CN=a:b\n", ";CN=",
        ';CN="', ";a=b", "a;", "a;b", " a\n", "\\n", "\\,", "DTSTART:2024", "2024", "20240101", "2024-01-01T10:10 ",
        "DTSTART:20240101\n", 'ATTENDEE;CN="a":mailto:b\n', "=\n", "=41", "CATEGORIES:a,", "mailto:", "a-",
        "BEGIN:VALARM\n", "END:VALARM\n", "BEGIN:VTODO\nEND:VEVENT\n",
    ),
    "a.vcf": (
        "BEGIN:VCARD\n", "END:VCARD\n", "BEGIN:VCARD\nFN:a\nEND:VCARD\n", "N:a;", "ADR:;", "\\;", "item1.",
        "TEL;TYPE=a:1\n", ";TYPE=", ';TYPE="a"', "=\n", "NOTE;ENCODING=QUOTED-PRINTABLE:a=\n",
        "NOTE;ENCODING=QUOTED-PRINTABLE:", "a=\n", "QUOTED-PRINTABLE=\n", "=C3=BC",
    ),
    "a.csv": ("a,", '""', '","', "a,b\n", '"a\nb",', "a;", "a|", "a\t", '"a', 'a, "'),
    "a.jsonl": (
        "[", "{", '{"a":', '"a"\n', '{"a": "b"}\n', "\\u", "\\ud800", "[]\n", "{}\n", "1e9", '{"text": 1}\n', "null\n",
        "[[", '{"a":{"a":',
    ),
}  # fmt: skip
_HEADS: dict[str, tuple[str, ...]] = {
    "a.md": ("- ", "---\na: b\n", "a", "|a|b|\n|-|-|\n", "+++\na"),
    "a.rst": ("a\n=\n\n",),
    "a.html": ("<html><body><p>",),
    "a.org": ("* a\n",),
    "a.adoc": ("= a\n\n",),
    "a.tex": ("a\n\\begin{document}\n",),
    "a.1": (".TH a 1\n.SH a\n", ".TH a 1\n.B "),
    "a.srt": ("00:00:01,000 --> 00:00:02,000\n",),
    "a.eml": (
        "Subject: s\n\n", "Subject: ", "To: ", "Content-Type: text/html\n\n", "Content-Type: ",
        "Content-Type: multipart/mixed; boundary=b\n\n--b\n", "Content-Transfer-Encoding: quoted-printable\n\n",
    ),
    "a.mbox": ("From a 1:11\na: b\n\n",),
    "a.ics": ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:",),
    "a.vcf": ("BEGIN:VCARD\nNOTE;ENCODING=QUOTED-PRINTABLE:",),
    "a.csv": ("text,b\n",),
}  # fmt: skip

FORMATS = tuple(_TOKENS)


def patterns(name: str, *, everything: bool = False) -> Iterator[Pattern]:
    """The patterns of a format: its own tokens, after nothing and after its first beginning.

    Args:
        everything: each beginning with each token, also with those that mean nothing in the format.
    """
    heads = ("", *_HEADS.get(name, ()))
    for head in heads if everything else heads[:2]:
        for token in dict.fromkeys((*_TOKENS[name], *ANYWHERE)) if everything else _TOKENS[name]:
            yield Pattern(name, head, token)


class _Times:
    """Scales numbers of repetitions."""

    def __init__(self, scale: float) -> None:
        self._scale = scale

    def __call__(self, count: int) -> int:
        return max(2, int(count * self._scale))


def files(scale: float = 1.0) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of hostile files.

    Args:
        scale: factor of the number of repetitions; 1 for bombs that break a limit.
    """
    # A long text is cut and stored as any other; what matters is that it takes no longer than others.
    texts, bombs = _Times(scale / 10), _Times(scale)
    for group in (_texts, _tables, _mails, _calendars):
        for name, content in group(texts):
            yield (
                f"{group.__name__[1:]}-{name}",
                content.encode() if isinstance(content, str) else content,
            )
    for group in (_archives, _xml, _pdfs, _others):
        for name, content in group(bombs):
            yield (
                f"{group.__name__[1:]}-{name}",
                content.encode() if isinstance(content, str) else content,
            )


def _texts(times: _Times) -> Iterator[HostileFile]:
    yield "one-word.txt", "a" * times(4_000_000)
    yield "zero-width.txt", "\u200b" * times(500_000) + "a"
    yield "combining.txt", "e" + "\u0301" * times(500_000)
    yield "bidi.txt", "\u202eabc\u2066" * times(100_000)
    yield "wide.txt", "漢" * times(500_000)
    yield "emoji.txt", "\U0001f468\u200d" * times(200_000)
    yield "blank-lines.txt", "a" + "\n" * times(2_000_000) + "b"
    yield "returns.txt", "a\r" * times(500_000)
    yield "latin.txt", b"gr\xf6\xdfer und ung\xfcltig " * times(100_000)
    yield "mixed.txt", "größer ".encode() * times(50_000) + b"\xff\xfe\xfa\x80\x81" * times(50_000)
    yield "utf16.txt", ("ab " * times(300_000)).encode("utf-16-le")
    yield "nul.txt", b"a\0" * times(300_000)
    yield "escapes.txt", b"\x1b$B" * times(200_000)
    yield "key.txt", "-----BEGIN " * times(50_000)
    yield "base64.txt", "Aa1" * times(1_000_000)
    yield "deep.html", "<div>" * times(200_000) + "a"
    yield "tables.html", "<table><tr><td>" * times(60_000) + "a"
    yield "formatting.html", "<b><i><u><font>" * times(3_000) + "<p>a" * times(3_000)
    yield "entities.html", "&CounterClockwiseContourIntegral;" * times(60_000)
    yield "attributes.html", "<p " + "a=b " * times(300_000) + ">a"
    yield "comments.html", "<!-- " * times(300_000) + "a"
    yield "million.html", "<p>a" * times(300_000)
    yield "quotes.md", "> " * times(30_000) + "a"
    yield "lists.md", "".join(" " * n + "- a\n" for n in range(times(1_000)))
    yield "links.md", "[a](" * times(100_000)
    yield "brackets.md", "[" * times(100_000) + "a" + "]" * times(100_000)
    yield "emphasis.md", "*a **b " * times(60_000)
    yield "ticks.md", " ".join("`" * n for n in range(1, times(600)))
    yield "references.md", "[a]: b\n" * times(50_000) + "[a]" * times(50_000)
    yield "scripts.md", "<script>" * times(120_000)
    yield "headings.md", "# a\n" * times(100_000)
    yield "levels.org", "".join("*" * n + " a\n" for n in range(1, times(800)))
    yield "levels.rst", "".join(f"a\n{sign}\n" for sign in "=-~^\"'+*#.:`_") * times(3_000)
    yield "spaces.adoc", "= a" + " " * times(200_000) + "b\n"
    yield "colons.adoc", "a" + ":" * times(200_000) + "b"
    yield "rules.adoc", "\n".join("-" * n for n in range(4, times(900)))
    yield "spaces.org", "* a" + " " * times(200_000) + "b\n"
    yield "groups.tex", "\\section{" * times(50_000)
    yield "braces.tex", "{" * times(500_000)
    yield "escapes.1", ".TH a 1\n.SH a\n" + "\\[a" * times(200_000)
    yield "digits.srt", "00:00:01,000 --> 00:00:02,000\na\n" + "1" * times(500_000)
    aliases = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
    yield "aliases.md", f"---\na0: &a0 [lol]\n{aliases}\n---\ntext"
    merges = "".join(f"a{n + 1}: &a{n + 1} {{<<: [*a{n}, *a{n}]}}\n" for n in range(24))
    yield "merges.md", f"---\na0: &a0 {{k: v}}\n{merges}---\ntext"
    yield "python-tag.md", "---\na: !!python/object/apply:os.system ['true']\n---\ntext"
    yield "deep-yaml.md", "---\na: " + "[" * times(40_000) + "\n---\ntext"
    yield "long-yaml.md", "---\n" + "a: b\n" * times(19_000) + "---\ntext"
    yield "dots.md", "+++\n" + "a." * times(45_000) + "a = 1\n+++\ntext"
    yield "deep-toml.md", "+++\na = " + "[" * times(40_000) + "\n+++\ntext"
    yield "hexadecimal.md", f"---\na: 0x{'f' * times(50_000)}\n---\ntext"


def _tables(times: _Times) -> Iterator[HostileFile]:
    yield "cell.csv", "text,b\n" + "a " * times(2_000_000)
    yield "columns.csv", "a," * times(300_000) + "\n" + "b," * times(300_000)
    yield "header.csv", "text," + "n" * times(500_000) + "\n" + "a,b\n" * times(3_000)
    yield "open-quote.csv", 'text,b\n"' + "a,b\n" * times(300_000)
    yield "quotes.csv", "text,b\n" + '"' * times(1_000_000)
    yield "rows.csv", "text\n" + "a\n" * times(20_000)
    yield "ragged.csv", "".join("a," * n + "\n" for n in range(times(600)))
    yield "deep.jsonl", "[" * times(500_000)
    yield "deep-object.jsonl", '{"a":' * times(200_000)
    yield "number.jsonl", '{"text": "a", "n": ' + "1" * times(500_000) + "}"
    yield "string.jsonl", json.dumps({"text": "a " * times(1_000_000)})
    yield "surrogates.jsonl", '{"text": "' + "\\ud800" * times(200_000) + '"}'
    yield "nothing.jsonl", "[]\n" * times(500_000)
    yield "keys.jsonl", json.dumps({f"k{n}": n for n in range(times(50_000))} | {"text": "a"})
    yield "name.jsonl", json.dumps({"text": "a", "n" * times(1_000_000): 1})


def _mails(times: _Times) -> Iterator[HostileFile]:
    plain = "From: a@b\nSubject: s\n"
    yield "blanks.eml", f"{plain}\nhello\n> a" + " " * times(150_000) + "b\nx\n"
    yield (
        "soft-breaks.eml",
        f"{plain}Content-Transfer-Encoding: quoted-printable\n\n" + "=\n" * times(500_000),
    )
    yield "quoted.eml", f"{plain}Content-Transfer-Encoding: quoted-printable\n\n" + "=41" * times(300_000)
    yield "words.eml", "Subject: " + "=?utf-8?q?a?= " * times(50_000) + "\n\ntext"
    yield "comments.eml", "To: " + "(" * times(100_000) + "\n\ntext"
    yield "people.eml", "To: " + "a <a@b>, " * times(50_000) + "\n\ntext"
    yield "headers.eml", "a: b\n" * times(100_000) + "\ntext"
    yield "folded.eml", "Subject: a\n" + " a\n" * times(100_000) + "\ntext"
    yield "parameters.eml", "Content-Type: text/plain" + "; a*0=b" * times(30_000) + "\n\ntext"
    forwarded = "Content-Type: message/rfc822\n\n"
    yield "forwarded.eml", plain + forwarded * times(2_000) + "text"
    yield "forwarded-deep.eml", plain + forwarded * times(50_000) + "text"
    nested = "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(times(3_000))
    )
    yield "nested.eml", plain + nested + "text"
    part = "--b\nContent-Disposition: attachment; filename=a.txt\n\na\n"
    yield "attachments.eml", f"{plain}Content-Type: multipart/mixed; boundary=b\n\n" + part * times(3_000)
    recipients = "To: " + "a <a@b>, " * times(15_000) + "\nContent-Type: multipart/mixed; boundary=b\n\n"
    yield "metadata.eml", recipients + part * times(15_000)
    yield (
        "boundaries.eml",
        f"{plain}Content-Type: multipart/mixed; boundary=b\n\n" + "--b\n" * times(50_000),
    )
    html = "Content-Type: text/html\n\n" + "<b><p>" * times(30_000)
    yield "page.eml", plain + html
    bombs = {"a.txt.gz": gzip.compress(b"a" * times(70_000_000), 1), "a.ods": _sheet(times(10**8))}
    yield (
        "bombs.eml",
        plain + _multipart({f"{n}{name}": raw for n in range(3) for name, raw in bombs.items()}),
    )
    start = "From a@b Mon Jun  3 08:41:52 2024\n"
    yield "times.mbox", "From " + "1:11 " * times(50_000) + "\na: b\n\ntext"
    yield "empty.mbox", f"{start}A: b\n\n" * times(10_000)
    yield "many.mbox", f"{start}Subject: s\n\ntext\n" * times(3_000)
    yield "base64.eml", f"{plain}Content-Transfer-Encoding: base64\n\n" + "YWEg\n" * times(300_000)
    yield "encoded.eml", f"{plain}begin 644 a\n" + "M" * times(500_000)
    yield "quotations.eml", f"{plain}\n" + "> a\n\nOn a:\n" * times(50_000)


def _multipart(attached: dict[str, bytes]) -> str:
    parts = (
        f'--b\nContent-Disposition: attachment; filename="{name}"\nContent-Transfer-Encoding: base64\n\n'
        + base64.encodebytes(raw).decode()
        for name, raw in attached.items()
    )
    return "Content-Type: multipart/mixed; boundary=b\n\n" + "".join(parts) + "--b--\n"


def _calendars(times: _Times) -> Iterator[HostileFile]:
    event = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:a\nDESCRIPTION:" + "word " * times(4_000) + "\n"
    yield "ends.ics", event + "END:VEVENT\n" * times(20_000)
    yield "begins.ics", "BEGIN:VEVENT\n" * times(100_000) + "END:VTODO\n" * times(100_000)
    yield "alarms.ics", event + "BEGIN:VALARM\n" * times(100_000) + "END:VEVENT\n"
    yield "folded.ics", event + " a\n" * times(200_000) + "END:VEVENT\n"
    yield "parameters.ics", "BEGIN:VEVENT\nATTENDEE" + ';CN="a"' * times(100_000) + ":b\nEND:VEVENT\n"
    yield "dates.ics", "BEGIN:VEVENT\nDTSTART:" + "20240101" * times(100_000) + "\nEND:VEVENT\n"
    yield (
        "soft-breaks.vcf",
        ("BEGIN:VCARD\nNOTE;ENCODING=QUOTED-PRINTABLE:" + "a=\n" * times(200_000) + "\nEND:VCARD\n"),
    )
    yield "ends.vcf", "BEGIN:VCARD\nFN:a\n" + "END:VCARD\n" * times(100_000)


_SPACES = 'xmlns:o="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:t="urn:t" xmlns:x="urn:x"'


def _zipped(entries: Mapping[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _open_document(body: str) -> str:
    return f"<o:c {_SPACES}><o:body>{body}</o:body></o:c>"


def _packed(body: str, head: str = "") -> bytes:
    """An OpenDocument file with this body."""
    return _zipped({"content.xml": head + _open_document(body)})


def _sheet(repeated: int) -> bytes:
    """A spreadsheet with one row that is repeated."""
    line = f'<t:table-row t:number-rows-repeated="{repeated}"><t:table-cell><x:p>a b</x:p></t:table-cell></t:table-row>'
    return _packed(f"<o:spreadsheet><t:table>{line}</t:table></o:spreadsheet>")


def _repacked(name: str, entry: str, change: Callable[[str], str]) -> bytes:
    """A package with one entry changed."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(packages()[name])) as old,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for member in old.namelist():
            raw = old.read(member)
            new.writestr(member, change(raw.decode()) if member == entry else raw)
    return stream.getvalue()


def _archives(times: _Times) -> Iterator[HostileFile]:
    member = gzip.compress(b"\n" * times(2**26), 9)
    yield "ten-gigabytes.txt.gz", member * 160
    yield "twice.txt.gz", gzip.compress(gzip.compress(b"a" * times(10**8), 9))
    yield "letters.txt.gz", gzip.compress(b"a" * times(2 * 10**6))
    yield "cut.txt.gz", gzip.compress(b"some text " * 1_000)[:-30]
    yield "rows.ods", _sheet(times(10**9))
    cell = f'<t:table-cell t:number-columns-repeated="{times(10**9)}"><x:p>a</x:p></t:table-cell>'
    table = f"<t:table><t:table-row>{cell}</t:table-row></t:table>"
    yield "columns.ods", _packed(f"<o:spreadsheet>{table}</o:spreadsheet>")
    yield "spaces.odt", _packed('<o:text><x:p>a<x:s t:c="1000000000"/>b</x:p></o:text>')
    yield "text.odt", _packed(f"<o:text><x:p>{'a b ' * times(10**7)}</x:p></o:text>")
    yield "blanks.odt", _zipped({"content.xml": " " * times(5 * 10**8)})
    if not packages():
        return
    word, slide = "word/document.xml", "ppt/slides/slide1.xml"
    yield "text.docx", _repacked("a.docx", word, lambda xml: xml.replace("open", "open " * times(10**7)))
    yield "blanks.docx", _repacked("a.docx", word, lambda xml: xml + " " * times(10**9))
    yield (
        "paragraphs.docx",
        _repacked(
            "a.docx",
            word,
            lambda xml: xml.replace(
                "<w:sectPr", "<w:p><w:r><w:t>a</w:t></w:r></w:p>" * times(30_000) + "<w:sectPr", 1
            ),
        ),
    )
    rows = "<row>" + '<c t="s"><v>0</v></c>' * 20 + "</row>"
    yield "cells.xlsx", _workbook("a", rows * times(20_000))
    yield "strings.xlsx", _workbook("a b " * times(8_000), rows * times(5_000))
    yield "text.pptx", _repacked("a.pptx", slide, lambda xml: xml.replace("open", "open " * times(10**7)))
    yield (
        "spine.epub",
        _repacked(
            "a.epub",
            "c.opf",
            lambda xml: xml.replace('<itemref idref="c"/>', '<itemref idref="c"/>' * times(20_000)),
        ),
    )
    yield (
        "chapter.epub",
        _repacked("a.epub", "c.xhtml", lambda xml: xml.replace("open", "open " * times(10**7))),
    )
    for name in packages():
        yield f"cut-{name}", packages()[name][:-200]


def _workbook(text: str, rows: str) -> bytes:
    """An Excel file whose cells share one string."""
    with zipfile.ZipFile(io.BytesIO(packages()["a.xlsx"])) as archive:
        entries: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    types = entries["[Content_Types].xml"]
    assert isinstance(types, bytes)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    override = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
    entries["[Content_Types].xml"] = types.decode().replace("</Types>", override)
    entries["xl/sharedStrings.xml"] = f'<sst xmlns="{main}"><si><t>{text}</t></si></sst>'
    entries["xl/worksheets/sheet1.xml"] = (
        f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
    )
    return _zipped(entries)


def _xml(times: _Times) -> Iterator[HostileFile]:
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    laughs = f'<!DOCTYPE a [<!ENTITY a0 "lol">{laughs}]>'
    quadratic = f'<!DOCTYPE a [<!ENTITY a "{"a" * times(50_000)}">]>'
    outside = '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
    for name, head, use in (
        ("laughs", laughs, "&a9;"),
        ("quadratic", quadratic, "&a;" * times(50_000)),
        ("external", outside, "&a;"),
    ):
        text = f"<o:text><x:p>{use}</x:p></o:text>"
        yield f"{name}.fodt", head + _open_document(text)
        yield f"{name}.odt", _packed(text, head)
        if packages():
            for package, entry in (("a.docx", "word/document.xml"), ("a.xlsx", "xl/worksheets/sheet1.xml"),
                                   ("a.pptx", "ppt/slides/slide1.xml"), ("a.epub", "c.xhtml")):  # fmt: skip

                def with_entity(xml: str, head: str = head, use: str = use) -> str:
                    start = xml.index("?>") + 2 if xml.startswith("<?") else 0
                    return xml[:start] + head + xml[start:].replace("open", use).replace("door", use)

                yield f"{name}-{package}", _repacked(package, entry, with_entity)
    yield (
        "deep.fodt",
        _open_document(
            "<o:text>" + "<x:p>" * times(100_000) + "a" + "</x:p>" * times(100_000) + "</o:text>"
        ),
    )
    yield (
        "lists.fodt",
        _open_document(
            "<o:text>"
            + "<x:list>" * times(5_000)
            + "<x:p>a</x:p>"
            + "</x:list>" * times(5_000)
            + "</o:text>"
        ),
    )


def _pdfs(times: _Times) -> Iterator[HostileFile]:
    if not packages():
        return
    raw = packages()["a.pdf"]
    yield "page-is-its-own-parent.pdf", raw.replace(b"/Kids [3 0 R]", b"/Kids [2 0 R]")
    yield (
        "many-kids.pdf",
        raw.replace(
            b"/Kids [3 0 R] /Count 1",
            b"/Kids [%s] /Count %d" % (b"3 0 R " * times(20_000), times(20_000)),
        ),
    )
    yield "count.pdf", raw.replace(b"/Count 1", b"/Count 999999999")
    yield "length.pdf", raw.replace(b"/Length ", b"/Length 9999999")
    yield "reference.pdf", raw.replace(b"startxref\n", b"startxref\n-")
    yield "dictionaries.pdf", raw.replace(b"/Type /Catalog", b"/A " + b"<< /A " * times(100_000))
    yield "arrays.pdf", raw.replace(b"/Type /Catalog", b"/A " + b"[" * times(300_000))
    yield "text.pdf", raw.replace(b"(The door is open.) Tj", b"(The door is open.) Tj " * times(100_000))
    yield "strings.pdf", raw.replace(b"(The door is open.)", b"(" * times(100_000))
    yield "header.pdf", b"%PDF-1.4\n" * times(100_000)
    yield "objects.pdf", b"%PDF-1.4\n" + b"1 0 obj\n<<>>\nendobj\n" * times(50_000)


def _others(times: _Times) -> Iterator[HostileFile]:
    yield "groups.rtf", "{\\rtf1 " + "{" * times(1_000_000)
    yield "controls.rtf", "{\\rtf1 " + "\\a" * times(500_000) + "}"
    yield "characters.rtf", "{\\rtf1 " + "\\u20320?" * times(200_000) + "}"
    yield "binary.rtf", "{\\rtf1 \\bin999999999 a}"
    yield "deep.ipynb", '{"cells": ' + "[" * times(100_000)
    cell = {"cell_type": "code", "source": ["a"], "outputs": []}
    yield "cells.ipynb", json.dumps({"cells": [cell] * times(20_000), "metadata": {}})
    output = {"output_type": "stream", "text": "a " * times(1_000_000)}
    yield "output.ipynb", json.dumps({"cells": [{**cell, "outputs": [output] * 10}], "metadata": {}})
    yield (
        "markdown.ipynb",
        json.dumps({"cells": [{"cell_type": "markdown", "source": "<script>" * times(100_000)}]}),
    )
    yield "mixed.ipynb", json.dumps({"cells": 1})
