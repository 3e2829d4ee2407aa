"""Text of scanned pages and images. Pictures are drawn by the tests, and read by the real models."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import search
from search import Encoder, InputError, OptionalDependency, ReadError
from search.corpus import Skipped, SourceFile, documents, load, ocr, walk
from search.corpus.ocr import UnfinishedPages, joined, recognized
from search.records import documents as records
from tests.conftest import Run
from tests.corpus.conftest import parsed
from tests.corpus.making import pdf

pytest.importorskip("rapidocr")
from PIL import Image, ImageDraw, ImageFont

LINES = ["Minutes of 9 April 2024", "The roof is repaired by Barrow.", "It costs 340 euros."]


def picture(*lines: str, width: int = 900) -> Image.Image:
    """A picture with black text on white."""
    image = Image.new("RGB", (width, 60 + 70 * len(lines)), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(36)
    for number, line in enumerate(lines):
        draw.text((40, 30 + 70 * number), line, fill="black", font=font)
    return image


def as_bytes(image: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


@pytest.fixture(scope="module", autouse=True)
def _end_child() -> Iterator[None]:
    """End the child process of this thread after the tests."""
    yield
    ocr._own_process().stop()


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "recognized"
    folder.mkdir()
    monkeypatch.setattr(ocr, "cache_folder", lambda name: folder)


def test_all_frames_of_an_image_are_read_and_kept_by_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = [picture(*LINES), Image.new("RGB", (200, 200), "blue"), picture("Second page")]
    raw = as_bytes(frames[0], "TIFF", save_all=True, append_images=frames[1:])
    texts = recognized("scan.tif", "image", raw, "multi")
    assert texts == {1: "\n".join(LINES), 2: "", 3: "Second page"}
    (cached,) = (tmp_path / "recognized").iterdir()
    assert json.loads(cached.read_text("utf-8")) == {str(page): text for page, text in texts.items()}
    if sys.platform != "win32":
        assert cached.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(ocr, "_own_process", None)  # nothing is read again
    assert recognized("other name.tif", "image", raw, "multi") == texts


def test_a_picture_on_its_side_or_on_a_clear_ground_is_read() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees to the right
    raw = as_bytes(picture(LINES[1]).rotate(90, expand=True), "JPEG", exif=exif)
    assert recognized("photo.jpg", "image", raw, "multi") == {1: LINES[1]}
    clear = picture(LINES[1]).convert("RGBA")
    clear.putdata([(r, g, b, 0 if r > 128 else 255) for r, g, b, _ in clear.getdata()])
    assert recognized("clear.png", "image", as_bytes(clear, "PNG"), "multi") == {1: LINES[1]}


@pytest.mark.parametrize("raw", [b"no picture", as_bytes(picture("x"), "PNG")[:200]])
def test_a_damaged_picture_has_an_error(raw: bytes) -> None:
    with pytest.raises(ReadError) as error:
        recognized("a.png", "image", raw, "multi")
    assert error.value.reason == "damaged" and error.value.path == "a.png"


def test_a_page_that_takes_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "SECONDS", 0.0)
    with pytest.raises(ReadError) as error:
        recognized("a.png", "image", as_bytes(picture("late"), "PNG"), "multi")
    assert error.value.reason == "took too long"


def test_after_a_page_that_took_too_long_the_next_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ocr, "SECONDS", 0.0)
        with pytest.raises(ReadError):
            recognized("a.png", "image", as_bytes(picture("late"), "PNG"), "multi")
    assert recognized("b.png", "image", as_bytes(picture(LINES[1]), "PNG"), "multi") == {1: LINES[1]}


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded() -> None:
    raw = as_bytes(Image.new("1", (30_000, 5_000)), "PNG")
    with pytest.raises(ReadError, match="a picture of 30,000 x 5,000 pixels"):
        recognized("a.png", "image", raw, "multi")


def read(folder: Path, name: str, raw: bytes) -> list[records.ParsedDocument | Skipped]:
    """Documents of a file, read with OCR, and what is left out."""
    (folder / name).write_bytes(raw)
    (file,) = [item for item in walk(folder, images=True) if item.path == name]
    assert isinstance(file, SourceFile)
    return list(documents(file, load(file), ocr="multi"))


def test_what_a_pdf_gives_without_ocr_is_not_lost_with_it(tmp_path: Path) -> None:
    raw = as_bytes(picture(*LINES), "PDF")
    (packed,) = read(tmp_path, "a.pdf.gz", gzip.compress(raw))
    assert isinstance(packed, records.ParsedDocument) and packed.text.strip() == " ".join(LINES)
    for name, content, reason in (
        ("closed.pdf", pdf([["Secret."]], encrypted=True), "encrypted"),
        ("empty.pdf", b"", "empty"),
        ("cut.pdf", raw[:300], "damaged"),
    ):
        with pytest.raises(ReadError) as error:
            read(tmp_path, name, content)
        assert error.value.reason == reason


@pytest.mark.parametrize("texts", [{}, {1: "One page"}])
def test_pages_that_cannot_be_read_are_named_and_the_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: dict[int, str]
) -> None:
    def late(path: str, kind: str, raw: bytes, language: str) -> dict[int, str]:
        raise UnfinishedPages(path, "took too long", "a page", texts)

    monkeypatch.setattr(ocr, "recognized", late)
    document, skipped = read(tmp_path, "text.pdf", pdf([["Some text."]]))
    assert isinstance(document, records.ParsedDocument) and document.text.strip() == "Some text."
    assert isinstance(skipped, Skipped)
    assert (skipped.reason, skipped.detail) == ("took too long", "pages that are pictures: a page")
    raw = as_bytes(picture("one"), "PDF", save_all=True, append_images=[picture("two")])
    if texts:
        document, *others = read(tmp_path, "scan.pdf", raw)
        assert isinstance(document, records.ParsedDocument) and document.text.strip() == "One page"
        assert {item.reason for item in others if isinstance(item, Skipped)} == {
            "no text",
            "took too long",
        }
    else:
        with pytest.raises(ReadError) as error:
            read(tmp_path, "scan.pdf", raw)
        assert error.value.reason == "took too long"


def test_an_image_has_the_date_of_its_name(tmp_path: Path) -> None:
    (document,) = read(tmp_path, "2024-03-01 scan.png", as_bytes(picture(LINES[1]), "PNG"))
    assert isinstance(document, records.ParsedDocument) and document.metadata["date"] == "2024-03-01"


def test_pieces_of_a_row_are_joined_from_left_to_right() -> None:
    rows = [(0.0, 10.0, 50.0, "b"), (1.0, 11.0, 0.0, "a"), (12.0, 22.0, 0.0, "c"), (40.0, 50.0, 0.0, "d")]
    assert joined(rows) == "a b\nc\n\nd"
    assert joined([]) == ""


def test_an_index_reads_pictures_only_if_it_is_told_to(tmp_path: Path, tiny: Encoder, run: Run) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("Open the door.", encoding="utf-8")
    (folder / "photo.png").write_bytes(as_bytes(picture(LINES[1]), "PNG"))
    (folder / "blue.png").write_bytes(as_bytes(Image.new("RGB", (99, 99), "blue"), "PNG"))
    (folder / "scan.pdf").write_bytes(
        as_bytes(
            picture(*LINES), "PDF", save_all=True, append_images=[Image.new("RGB", (200, 200), "blue")]
        )
    )
    index = search.Index.build(folder, encoder=tiny)
    skipped = {group.reason: group.examples for group in index.status().skipped}
    assert skipped == {
        "binary": ("blue.png", "photo.png"),
        "no text": ("scan.pdf (scanned pages need OCR: --ocr)",),
    }
    report = search.Index.build(folder, encoder=tiny, ocr=True).report
    assert report and (report.added, report.unchanged) == (2, 1)
    hits = {hit.document: hit for hit in index.query("the roof", 10)}
    assert hits.keys() == {"a.txt", "photo.png", "scan.pdf"}
    assert (hits["scan.pdf"].page, hits["scan.pdf"].metadata["ocr_pages"]) == (1, [1])
    assert hits["scan.pdf"].text == " ".join(LINES)
    assert hits["photo.png"].kind == "image"
    out = run("query", "the roof")[1]
    assert "scan.pdf page 1, read by OCR" in out and "photo.png page 1, read by OCR" in out
    assert "a.txt:1  p" in out
    skipped = {group.reason: group.examples for group in index.status().skipped}
    assert skipped["no text"] == (
        "blue.png (no text in the picture)",
        "scan.pdf (damaged pages or images without OCR: 1 of 2 pages, the first is page 2)",
    )
    assert index.update().nothing_changed  # the index remembers it
    report = search.Index.build(folder, encoder=tiny, ocr=False).report
    assert report and report.removed == 2 and index.status().documents == 1


def test_what_is_missing_or_unknown_is_named(
    tmp_path: Path, tiny: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("Open the door.", encoding="utf-8")
    with pytest.raises(InputError, match="unknown ocr_language 'klingon'. Choose from: multi, arabic"):
        search.Index.build(tmp_path / "notes", encoder=tiny, ocr=True, ocr_language="klingon")
    monkeypatch.setattr(ocr, "find_spec", lambda package: None)
    with pytest.raises(OptionalDependency, match=r"pip install 'seewhy\[ocr\]'"):
        search.Index.build(tmp_path / "notes", encoder=tiny, ocr=True)


def test_without_ocr_a_scan_says_how_to_read_it(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="scanned pages need OCR: --ocr"):
        parsed(tmp_path, "a.pdf", as_bytes(picture(*LINES), "PDF"))
