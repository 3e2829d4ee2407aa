"""Manual pages, OpenDocument, RTF, Org, AsciiDoc, LaTeX, subtitles, calendars, address books, and gzip files."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from search.corpus.markup import markup
from search.corpus.sources import MAX_BYTES, Reason, is_secret, kind_of, unreadable
from search.errors import ReadError
from search.records.documents import ParsedDocument
from search.records.visible_text import VisibleText

from .conftest import items, outline, parsed_text
from .making import zipped

Read = Callable[[str, bytes], Any]
Failure = Callable[[str, bytes], ReadError]


def visible_text(document: ParsedDocument) -> str:
    """A document's text without its markup."""
    return VisibleText(document.text, markup(document)).text


MAN = r""".\" A comment
.TH LOCK 1 2024-05-01
.de XX
left out
..
.SH NAME
lock \- turn a \fBkey\fR
.SH OPTIONS
.TP
.BR \-a ", " \-\-all
Open
.I every
door\(emgently.
.IP \(bu 2
One
.B two
.nf
  as  it is
.fi
"""
MDOC = r""".Dd May 1, 2024
.Dt LOCK 8
.Os
.Sh NAME
.Nm lock
.Nd turn a key
.Sh SYNOPSIS
.Nm
.Op Fl a Ns = Ns Ar door
.Bl -tag -width Ds
.It Fl v , Fl -version
See
.Xr key 5 ,
.Dq really .
.It
.Nm ,
.El
"""


def test_a_manual_page_has_its_sections_title_and_date(parse: Read) -> None:
    document = parse("lock.1", MAN.encode())
    assert outline(document) == [
        (("NAME",), "NAME\n\nlock - turn a key\n\n"),
        (
            ("OPTIONS",),
            "OPTIONS\n\n-a, --all\nOpen every door—gently.\n\n• One two\n  as  it is",
        ),
    ]
    assert (document.title, document.kind, document.metadata["date"]) == ("LOCK(1)", "man", "2024-05-01")
    start = document.text.index("every")
    assert document.lines.span(start, start + 5) == (12, 12)


def test_macros_of_mdoc_become_text(parse: Read) -> None:
    document = parse("lock.8", MDOC.encode())
    assert document.text == (
        "NAME\n\nlock – turn a key\n\nSYNOPSIS\n\nlock [-a= door]\n\n-v, --version\nSee key 5, really.\n\nlock,"
    )


def test_a_log_named_like_a_manual_page_is_plain_text(parse: Read) -> None:
    document = parse("syslog.1", b"one\n.two\n")
    assert (document.kind, document.text) == ("text", "one\n.two\n")


def test_a_gzip_file_is_read_as_the_file_inside(tmp_path: Path, parse: Read) -> None:
    assert parse("lock.1.gz", gzip.compress(MAN.encode())).title == "LOCK(1)"
    document = parse("a.md.gz", gzip.compress(b"# One\n") + gzip.compress(b"two\n"))
    assert (document.title, document.text) == ("One", "# One\ntwo\n")
    rows = items(tmp_path, "a.csv.gz", gzip.compress(b"text\nkey\n"))
    assert [row.text for row in rows if isinstance(row, ParsedDocument)] == ["key"]
    assert kind_of("a/B.PY.GZ") == "code"
    assert is_secret("id_rsa.gz")
    assert unreadable("a.tar.gz") == (Reason.BINARY, "")


def test_damaged_and_huge_gzip_files_are_refused(failure: Failure) -> None:
    assert failure("a.txt.gz", gzip.compress(b"abc" * 99)[:-20]).reason == Reason.DAMAGED
    assert failure("a.txt.gz", gzip.compress(b"a" * (MAX_BYTES + 1), 1)).reason == Reason.TOO_LARGE


OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
SPACES = " ".join(
    f'xmlns:{name}="{"http://purl.org/dc/elements/1.1/" if name == "dc" else OFFICE.replace(":office:", f":{name}:")}"'
    for name in ("office", "text", "table", "draw", "presentation", "meta", "dc")
)


def opendocument(body: str, entries: dict[str, str] | None = None) -> bytes:
    """An OpenDocument file whose body is this XML."""
    content = f"<office:c {SPACES}><office:body>{body}</office:body></office:c>"
    meta = (
        f"<office:m {SPACES}><office:meta><dc:title>The house</dc:title>"
        "<meta:initial-creator>Ada</meta:initial-creator></office:meta></office:m>"
    )
    return zipped({"content.xml": content, "meta.xml": meta, **(entries or {})})


def test_an_opendocument_text_has_headings_notes_lists_and_tables(parse: Read) -> None:
    body = (
        "<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
        '<text:h text:outline-level="1">Keys</text:h><text:p>Two<text:s text:c="2"/>\n <text:span>of</text:span>'
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A note.</text:p>"
        "</text:note-body></text:note></text:p><text:list><text:list-item><text:p>one</text:p></text:list-item>"
        "<text:list-item><text:p>two</text:p></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>"
        "<table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table></office:text>"
    )
    document = parse("a.odt", opendocument(body))
    assert outline(document) == [(("Keys",), "Keys\n\nTwo   of[1]\none\ntwo\n\na\tb\n\n[1] A note.")]
    assert (document.title, document.kind, document.metadata) == ("The house", "odt", {"author": "Ada"})


def test_opendocument_sheets_are_pages_with_repeated_rows(parse: Read) -> None:
    def row(*cells: str, more: str = "") -> str:
        inside = "".join(
            f'<table:table-cell office:value-type="{"float" if cell.isdigit() else "string"}"'
            f"><text:p>{cell}</text:p></table:table-cell>"
            for cell in cells
        )
        empty = '<table:table-cell table:number-columns-repeated="9999"/>'
        return f"<table:table-row {more}>{inside}{empty}</table:table-row>"

    twice = row("roof", "5", more="table:number-rows-repeated='2'")
    body = f'<table:table table:name="Costs">{row("what", "paid")}{twice}</table:table>'
    document = parse("a.ods", opendocument(f"<office:spreadsheet>{body * 2}</office:spreadsheet>"))
    sheet = "what\tpaid\nroof\t5\nroof\t5"
    assert [text.strip() for _, text in outline(document)] == [sheet, sheet]
    assert [trail for trail, _ in outline(document)] == [("Costs",)] * 2
    assert document.page(document.text.rindex("what")) == 2
    assert document.tables[:3] == (0, 9, len(sheet))


def test_an_opendocument_slide_has_its_title_and_speaker_notes(parse: Read) -> None:
    slide = (
        '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Hello</text:p></draw:text-box>'
        "</draw:frame><draw:frame><draw:text-box><text:p>World</text:p></draw:text-box></draw:frame>"
        "<presentation:notes><draw:frame><draw:text-box><text:p>Smile.</text:p></draw:text-box></draw:frame>"
        "</presentation:notes></draw:page>"
    )
    document = parse("a.odp", opendocument(f"<office:presentation>{slide}</office:presentation>"))
    assert outline(document) == [
        (("Hello",), "Hello\n\nWorld\n\n"),
        (("Hello", "Speaker notes"), "Smile."),
    ]


def test_an_opendocument_file_with_a_password_is_refused_as_encrypted(failure: Failure) -> None:
    manifest = {"META-INF/manifest.xml": "<m><encryption-data/></m>"}
    assert failure("a.odt", opendocument("", manifest)).reason == Reason.ENCRYPTED


def test_rtf_gives_text_title_and_author(parse: Read, failure: Failure) -> None:
    source = rb"{\rtf1\ansi\ansicpg1252{\info{\title The roof}{\author Ada}}{\b M\'fcll}er \u8364? 5\par Next.\par}"
    document = parse("a.rtf", source)
    assert (document.title, document.text, document.metadata) == (
        "The roof",
        "Müller € 5\nNext.",
        {"author": "Ada"},
    )
    assert failure("a.rtf", b"plain").reason == Reason.DAMAGED


LIGHT = {
    "a.org": (
        "#+TITLE: The house\n# no\n* TODO Roof :home:\n:PROPERTIES:\n:ID: 1\n:END:\n- [ ] *fix* the [[http://x][gutter]]\n"
        "#+begin_src sh\n*ls* /a/\n#+end_src\n** Inside\n| a | b |\n|---+---|\n",
        "\n\nTODO Roof\n\n\n\nfix the gutter\n\n*ls* /a/\n\nInside\n a  b \n\n",
        [(), ("TODO Roof",), ("TODO Roof", "Inside")],
    ),
    "a.adoc": (
        "= The house\n:author: Ada\n\nRoof\n----\n[source,sh]\n----\n== *no*\n----\n\n=== Gutter\n\n"
        "* *fix* the link:http://x[gutter]\n// no\nterm::\n  <<a,text>>\n",
        "The house\n\n\nRoof\n\n\n\n== *no*\n\n\nGutter\n\nfix the gutter\n\nterm\n  text\n",
        [("The house",), ("The house", "Roof"), ("The house", "Roof", "Gutter")],
    ),
    "a.tex": (
        "\\documentclass{article}\n\\title{The \\emph{house}}\n\\begin{document}\n\\maketitle\n"
        "\\section{Roof}\\label{r}\n"
        "The \\textbf{gutter} \\& 5\\% % no\n\\begin{itemize}\n\\item one \\cite{x}\n\\end{itemize}\n"
        "\\begin{verbatim}\n\\a{%\n\\end{verbatim}\n\\subsection*{Inside}\n",
        "\\documentclass{article}\n\\title{The \\emph{house}}\n\\begin{document}\n\nRoof\nThe gutter & 5% \n\n"
        "one \n\n\n\\a{%\n\nInside\n",
        [(), ("Roof",), ("Roof", "Inside")],
    ),
}


@pytest.mark.parametrize("name", LIGHT)
def test_light_markup_is_hidden_and_its_headings_are_sections(name: str, parse: Read) -> None:
    source, visible, trails = LIGHT[name]
    document = parse(name, source.encode())
    assert document.text == source
    assert document.title == "The house"
    assert [trail for trail, _ in outline(document)] == trails
    assert visible_text(document) == visible


SRT = (
    "1\n00:00:01,000 --> 00:00:02,000\n<i>Good</i> morning,\nAda.\n\n2\n00:00:02,500 --> 00:00:03,000\nAda.\n\n"
    "3\n00:00:09,000 --> 00:00:10,000\n{\\an8}Later.\n"
)
VTT = "WEBVTT\n\nNOTE no\n\n00:01.000 --> 00:02.000 align:start\n<v Bob>Tom &amp; me\n"


def test_subtitles_are_read_without_times_and_repetitions(parse: Read, failure: Failure) -> None:
    document = parse("a.srt", SRT.encode())
    assert document.text == "Good morning,\nAda.\n\nLater."
    assert document.lines.span(document.text.index("Later"), len(document.text)) == (12, 12)
    assert parse("a.vtt", VTT.encode()).text == "Bob: Tom & me"
    assert failure("b.vtt", b"WEBVTT\n").reason == Reason.NO_TEXT


ICS = (
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Dentist\\, Dr. Ho\n lm\nDTSTART;TZID=X:20250202T143000\nLOCATION:Bonn\n"
    "BEGIN:VALARM\nDESCRIPTION:no\nEND:VALARM\nDESCRIPTION:Bring\\nthe card\nEND:VEVENT\n"
    "BEGIN:VEVENT\nUID:1\nEND:VEVENT\n"
    "END:VCALENDAR\n"
)
VCF = (
    "BEGIN:VCARD\nN:Lovelace;Ada;;;\nFN:Ada Lovelace\nitem1.TEL;TYPE=home:+49 1\nPHOTO:AAAA\n"
    "NOTE;ENCODING=QUOTED-PRINTABLE:sch=C3=B6n=\n=20oder\nEND:VCARD\n"
)


def test_an_event_of_a_calendar_is_a_document(tmp_path: Path) -> None:
    event, empty = items(tmp_path, "a.ics", ICS)
    assert isinstance(event, ParsedDocument)
    assert event.text == "Dentist, Dr. Holm\nDate: 2025-02-02 14:30\nPlace: Bonn\nBring\nthe card"
    assert (event.title, event.record, event.lines.span(0, 1)) == ("Dentist, Dr. Holm", 1, (2, 11))
    assert event.metadata == {"date": "2025-02-02 14:30", "place": "Bonn"}
    assert (empty.path, getattr(empty, "reason", "")) == ("a.ics#2", Reason.EMPTY)


def test_only_an_event_that_was_begun_is_read(tmp_path: Path) -> None:
    event = "BEGIN:VEVENT\nSUMMARY:One\n" + "END:VEVENT\n" * 600
    alarm = "BEGIN:VTODO\nSUMMARY:Two\nBEGIN:VALARM\nSUMMARY:no\nEND:VTODO\nSUMMARY:no\nEND:VALARM\n"
    events = items(tmp_path, "a.ics", f"END:VEVENT\nSUMMARY:no\n{event}{alarm}END:VTODO\n")
    assert [getattr(item, "text", item) for item in events] == ["One", "Two"]


def test_a_contact_has_its_name_telephone_and_note(parse: Read) -> None:
    document = parse("a.vcf", VCF.encode())
    assert (document.title, document.text) == (
        "Ada Lovelace",
        "Ada Lovelace\nTelephone: +49 1 (home)\nschön oder",
    )


def test_a_format_without_a_reader_names_one_to_save_it_as() -> None:
    for name, better in (
        ("a.doc", ".docx"),
        ("b.MOBI", ".epub"),
        ("c.djvu", ".pdf"),
        ("d.ps.gz", ".pdf"),
    ):
        assert unreadable(name) == (Reason.DOCUMENT_FORMAT, f"unsupported format; save it as {better}")


def test_a_manual_page_that_asciidoctor_made_keeps_its_text() -> None:
    lines = [
        ".TH A 1",
        ".if x \\{\\",
        ".  am URL",
        ".    ad l",
        ".  .",
        ".\\}",
        ".SH NAME",
        "a \\- enter",
    ]
    source = "\n".join([*lines, '.URL "https://a.b"'])
    assert parsed_text("man", source).text == "NAME\n\na - enter https://a.b"
