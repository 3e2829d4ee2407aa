"""Small PDF, Word, PowerPoint, Excel and EPUB files to damage, from outside and from inside their archives."""

from __future__ import annotations

import io
import zipfile
from functools import lru_cache
from random import Random

from tests.faults.damage import ANYTHING, TEXT, damaged

_PDF_PAGE = b"BT /F1 24 Tf 72 700 Td (The door is open.) Tj 0 -40 Td (It was larger once.) Tj ET"
_OPF = """<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>A door</dc:title><dc:identifier id="i">1</dc:identifier>
</metadata><manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="c"/></spine></package>"""
_CONTAINER = """<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="c.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
_CHAPTER = (
    "<html xmlns='http://www.w3.org/1999/xhtml'><body><h1>One</h1><p>The door is open.</p></body></html>"
)


@lru_cache(maxsize=1)
def packages() -> dict[str, bytes]:
    """Name -> content; empty without the extra `documents`."""
    try:
        import docx
        import openpyxl
        import pptx
        import pypdfium2  # noqa: F401 (reads what is written here by hand)
    except ImportError:
        return {}
    word = docx.Document()
    word.add_heading("The door")
    word.add_paragraph("The door is open.")
    word.add_table(1, 2).cell(0, 0).text = "cell"
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "The door", "It is open."
    book = openpyxl.Workbook()
    book.active.append(["door", 1, None])
    book.active.append(["lock", 2.5, True])
    saved = {"a.pdf": _pdf(), "a.epub": _epub()}
    for name, document in (("a.docx", word), ("a.pptx", slides), ("a.xlsx", book)):
        stream = io.BytesIO()
        document.save(stream)
        saved[name] = stream.getvalue()
    return saved


def damaged_package(name: str, rng: Random) -> tuple[str, bytes]:
    """The kind of damage, and the result: the file is damaged, or one member of its archive, which is packed again."""
    raw = packages()[name]
    if name.endswith(".pdf") or rng.random() < 0.3:
        return damaged(raw, rng, ANYTHING)
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(raw)) as old,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        members = [info.filename for info in old.infolist()]
        target = rng.choice([m for m in members if m.endswith((".xml", ".rels", ".opf", ".xhtml"))])
        for member in members:
            data = old.read(member)
            if member == target:
                change, data = damaged(data, rng, TEXT)
            new.writestr(member, data)
    return f"{target} {change}", stream.getvalue()


def _epub() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        for name, text in (
            ("META-INF/container.xml", _CONTAINER),
            ("c.opf", _OPF),
            ("c.xhtml", _CHAPTER),
        ):
            archive.writestr(name, text)
    return stream.getvalue()


def _pdf() -> bytes:
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(_PDF_PAGE), _PDF_PAGE),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        len(body),
    )
    return body + head + table + trailer
