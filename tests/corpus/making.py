"""Documents with known content: Office files by libraries made for writing them, PDF and EPUB by hand."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

# What the extras `documents` and `dev` bring.
for package in ("mammoth", "openpyxl", "pypdfium2", "docx", "pptx"):
    pytest.importorskip(package)

SIZE, STEP, LEFT, TOP = 10, 12, 72, 720


def pdf(
    pages: Sequence[Sequence[str]],
    *,
    title: str = "",
    bookmarks: Sequence[tuple[str, int]] = (),
    pictures: Sequence[int] = (),
    encrypted: bool = False,
    filled_in: str = "",
) -> bytes:
    """A PDF: for each page its lines, "" for a gap; bookmarks as words and page from 0; pages with pictures.

    Every page has a field of a form in which `filled_in` stands.
    """
    n = len(pages)
    look = f"/AP << /N {7 + 2 * n + len(bookmarks)} 0 R >>"
    annotation = (
        f"<< /Type /Annot /Subtype /Widget /FT /Tx /Rect [9 9 99 99] {look} >>" if filled_in else ""
    )
    first_page, first_mark = 7, 7 + 2 * n
    kids = " ".join(f"{first_page + 2 * i} 0 R" for i in range(n))
    objects = {
        1: f"<< /Type /Catalog /Pages 2 0 R /Outlines {4} 0 R >>".encode(),
        2: f"<< /Type /Pages /Kids [{kids}] /Count {n} >>".encode(),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        5: f"<< /Title ({title}) /Author (Ada) /CreationDate (D:20240229120000+01'00') >>".encode(),
        6: _stream(b"\0", "/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray"
                   " /BitsPerComponent 8"),
    }  # fmt: skip
    last = first_mark + len(bookmarks) - 1
    objects[4] = b"<< /Type /Outlines >>"
    if bookmarks:
        objects[4] = f"<< /Type /Outlines /First {first_mark} 0 R /Last {last} 0 R >>".encode()
    for i, lines in enumerate(pages):
        number = first_page + 2 * i
        objects[number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {number + 1} 0 R"
            f" /Resources << /Font << /F 3 0 R >> /XObject << /I 6 0 R >> >> /Annots [{annotation}] >>"
        ).encode()
        operators = "\n".join(
            f"BT /F {SIZE} Tf {LEFT} {TOP - STEP * row} Td ({_escaped(line)}) Tj ET"
            for row, line in enumerate(lines)
            if line
        )
        if i in pictures:
            operators += "\nq 100 0 0 100 72 72 cm /I Do Q"
        objects[number + 1] = _stream(operators.encode("cp1252"))
    for i, (words, page) in enumerate(bookmarks):
        number = first_mark + i
        beside = f" /Next {number + 1} 0 R" if number < last else ""
        beside += f" /Prev {number - 1} 0 R" if i else ""
        to = f"[{first_page + 2 * page} 0 R /Fit]"
        objects[number] = f"<< /Title ({words}) /Parent 4 0 R /Dest {to}{beside} >>".encode()
    if filled_in:
        objects[last + 1] = _stream(
            f"BT /F 10 Tf 2 2 Td ({filled_in}) Tj ET".encode(),
            "/Type /XObject /Subtype /Form /BBox [0 0 90 90] /Resources << /Font << /F 3 0 R >> >>",
        )
    extra = "/Info 5 0 R"
    if encrypted:
        objects[max(objects) + 1] = (
            f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{'41' * 32}> /U <{'42' * 32}> >>".encode()
        )
        extra += f" /Encrypt {max(objects)} 0 R /ID [<00> <00>]"
    return _assembled(objects, extra)


def _assembled(objects: Mapping[int, bytes], extra: str) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places = {}
    for number in sorted(objects):
        places[number] = len(out)
        out += f"{number} 0 obj\n".encode() + objects[number] + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{places[number]:010} 00000 n \n".encode() for number in sorted(objects))
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {extra} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def _stream(content: bytes, entries: str = "") -> bytes:
    return f"<< {entries} /Length {len(content)} >>\nstream\n".encode() + content + b"\nendstream"


def _escaped(line: str) -> str:
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def docx(write: Callable[[Any], object]) -> bytes:
    """A Word file that `write` has filled."""
    from docx import Document

    document = Document()
    write(document)
    return _saved(document.save)


def pptx(write: Callable[[Any], object]) -> bytes:
    """A presentation that `write` has filled."""
    from pptx import Presentation

    presentation = Presentation()
    presentation.core_properties.title = ""
    write(presentation)
    return _saved(presentation.save)


def xlsx(write: Callable[[Any], object]) -> bytes:
    """A workbook that `write` has filled."""
    from openpyxl import Workbook

    book = Workbook()
    write(book)
    return _saved(book.save)


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    stream = io.BytesIO()
    save(stream)
    return stream.getvalue()


def zipped(entries: Mapping[str, str | bytes]) -> bytes:
    """A zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def replaced(raw: bytes, changes: Mapping[str, str | bytes | Callable[[str], str]]) -> bytes:
    """A zip archive with other content in some entries, or with more entries."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        entries: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    for name, change in changes.items():
        entries[name] = change(str(entries[name], "utf-8")) if callable(change) else change  # type: ignore[arg-type]
    return zipped(entries)


CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""


def epub(chapters: Mapping[str, str], more: Mapping[str, str] = {}, manifest: str = "") -> bytes:
    """A book: chapters by file name, as the inside of <body>; more entries, and lines of the manifest for them."""
    items = "".join(
        f'<item id="c{i}" href="{name}" media-type="application/xhtml+xml"/>'
        for i, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{i}"/>' for i in range(len(chapters)))
    opf = f"""<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">
        <metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Lock</dc:title>
        <dc:creator>Ada</dc:creator><dc:creator>Bob</dc:creator><dc:language>en</dc:language></metadata>
        <manifest>{items}{manifest}</manifest><spine>{spine}</spine></package>"""
    pages = {
        f"OEBPS/{name}": '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">'
        f"<head><title/></head><body>{body}</body></html>"
        for name, body in chapters.items()
    }
    entries = {"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": opf, **pages, **more}
    return zipped({"mimetype": "application/epub+zip", **entries})
