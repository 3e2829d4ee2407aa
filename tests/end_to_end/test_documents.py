"""PDF, Office files and books, from a folder of them to hits: the real command, in new processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import search
from tests.conftest import DATA, REPOSITORY
from tests.corpus.making import docx, epub, pdf, pptx, xlsx

FORMATS = DATA / "folders" / "formats"


LONG = "It is about the door and the water. " * 4  # too long for a passage with what follows


def talk(presentation: Any) -> None:
    for words in (LONG, "Open the water"):
        presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text = words


def report(document: Any) -> None:
    document.add_heading("Time", 1)
    document.add_paragraph("Many people say that time is long.")


def table(book: Any) -> None:
    book.active.append([LONG])
    book.create_sheet("Sounds").append(["A sound", "less long"])


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A folder with one document of each format, and others that cannot be read."""
    folder = tmp_path / "papers"
    folder.mkdir()
    files = {
        "keys.pdf": pdf([[LONG], ["To rotate the key, turn the lock."]]),
        "time.docx": docx(report),
        "talk.pptx": pptx(talk),
        "sounds.xlsx": xlsx(table),
        "book.epub": epub({"a.xhtml": "<h1>The Water</h1><p>The key is in the water.</p>"}),
        "notes.md": b"# Notes\n\nPlain text is read as ever.\n",
        "old.doc": b"\xd0\xcf\x11\xe0",
        "scan.pdf": pdf([[]], pictures=[0]),
        "closed.pdf": pdf([["Secret."]], encrypted=True),
        "cut.docx": docx(report)[:999],
        "empty.xlsx": b"",
    }
    for name, raw in files.items():
        (folder / name).write_bytes(raw)
    return folder


def seewhy(home: Path, *args: Any) -> str:
    process = subprocess.run(
        [sys.executable, "-m", "search", *map(str, args)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=REPOSITORY,
        env={**os.environ, "SEEWHY_HOME": str(home), "PYTHONIOENCODING": "utf-8", "COLUMNS": "200"},
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_documents_are_indexed_with_pages_and_reasons_for_skipping(
    own_home: Path, papers: Path, tiny_model: Path
) -> None:
    summary = json.loads(seewhy(own_home, "index", papers, "--model", tiny_model, "--json"))
    assert summary["documents"] == 6
    assert summary["truncated_tokens"] == 0
    assert {group["reason"]: group["examples"] for group in summary["skipped"]} == {
        "damaged": ["cut.docx (not a valid zip archive)"],
        "document format": ["old.doc (unsupported format; save it as .docx)"],
        "empty": ["empty.xlsx"],
        "encrypted": ["closed.pdf (password-protected)"],
        "no text": ["scan.pdf (scanned pages need OCR: --ocr)"],
    }
    hits = json.loads(seewhy(own_home, "query", "to rotate the key turn the lock", "-k", "20", "--json"))
    by_name = {
        hit["document"]: hit for hit in hits if "rotate" in hit["text"] or hit["document"] != "keys.pdf"
    }
    assert by_name["keys.pdf"]["page"] == 2
    assert by_name["time.docx"]["page"] is None
    assert by_name["time.docx"]["heading"] == "Time"
    assert {by_name["sounds.xlsx"]["page"], by_name["talk.pptx"]["page"]} <= {1, 2}
    output = seewhy(own_home, "query", "to rotate the key turn the lock", "-k", "20")
    for place in (
        "keys.pdf page 2",
        "talk.pptx slide 1",
        "sounds.xlsx sheet 2",
        "time.docx  p",
        "notes.md:1-3",
    ):
        assert place in output
    assert "encrypted: closed.pdf" in seewhy(own_home, "status")
    again = json.loads(seewhy(own_home, "index", papers, "--json"))
    assert (again["unchanged"], again["added"], again["changed"]) == (6, 0, 0)


def test_once_the_extra_is_installed_the_files_are_read(
    papers: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("search.corpus.sources.find_spec", lambda name: None)
        before = search.Index.build(papers, model=str(tiny_model))
    assert before.report is not None
    assert before.report.documents == 2  # the book needs no package
    assert ("needs seewhy[documents]", 8) in [
        (group.reason, group.count) for group in before.report.skipped
    ]
    after = search.Index.build(papers)
    assert after.report is not None
    assert after.report.documents == 6


@pytest.mark.skipif(not FORMATS.is_dir(), reason="the sample files are not at hand")
def test_the_sample_files_are_indexed_with_their_pages(own_home: Path, tiny_model: Path) -> None:
    summary = json.loads(seewhy(own_home, "index", FORMATS, "--model", tiny_model, "--json"))
    assert summary["documents"] == 6
    assert [(group["reason"], group["count"]) for group in summary["skipped"]] == [("document format", 3)]
    hits = json.loads(seewhy(own_home, "query", "Stet clita kasd gubergren", "-k", "40", "--json"))
    assert {Path(hit["path"]).suffix for hit in hits} == {
        ".docx",
        ".html",
        ".pdf",
        ".pptx",
        ".txt",
        ".xlsx",
    }
    assert {hit["page"] for hit in hits if hit["path"].endswith(("pdf", "pptx"))} == {1, 2}
