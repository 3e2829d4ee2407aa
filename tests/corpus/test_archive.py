"""Archives that are made to do harm."""

from __future__ import annotations

import io
import zipfile

import pytest

from search.corpus.archive import MOST_ENTRIES, MOST_UNPACKED, Archive
from search.corpus.reader import Reader, extracted
from search.errors import ReadError

from .making import docx, epub, pptx, replaced, xlsx, zipped

PART = {
    "docx": "word/document.xml",
    "pptx": "ppt/presentation.xml",
    "xlsx": "xl/worksheets/sheet1.xml",
    "epub": "OEBPS/book.opf",
}


def whole(kind: str) -> bytes:
    """A file of each kind with the word "Text." in it."""

    def slide(presentation: object) -> None:
        shapes = presentation.slides.add_slide(presentation.slide_layouts[5]).shapes  # type: ignore[attr-defined]
        shapes.title.text = "Text."

    if kind == "docx":
        return docx(lambda document: document.add_paragraph("Text."))
    if kind == "pptx":
        return pptx(slide)
    return (
        xlsx(lambda book: book.active.append(["Text."]))
        if kind == "xlsx"
        else epub({"a.xhtml": "<p>Text.</p>"})
    )


def zeros(n_bytes: int) -> bytes:
    """A zip entry's worth of zeros, packed to a thousandth."""
    return bytes(n_bytes)


def test_entries_are_found_in_any_case() -> None:
    archive = Archive("a", zipped({"Word/A.xml": "<a/>"}))
    assert "word/a.XML" in archive
    assert archive.read("word/a.xml") == b"<a/>"
    assert archive.names() == ["Word/A.xml"]
    with pytest.raises(ReadError, match="damaged .'b' is missing in it"):
        archive.read("b")


def test_no_more_is_unpacked_than_is_allowed() -> None:
    raw = zipped({"a": zeros(600), "b": zeros(600)})
    archive = Archive("x.docx", raw, most=1000)
    assert len(archive.read("a")) == 600
    with pytest.raises(
        ReadError, match=r"x\.docx: too large when unpacked \(at least 1,200 bytes; the limit is 1,000"
    ):
        archive.read("b")


def test_an_archive_that_lies_about_a_size_gives_no_more_than_it_says() -> None:
    raw = zipped({"a": zeros(100_000)})
    honest = (100_000).to_bytes(4, "little")
    assert raw.count(honest) == 2
    with pytest.raises(ReadError) as caught:
        Archive("a", raw.replace(honest, (10).to_bytes(4, "little")), most=1000).read("a")
    assert caught.value.reason == "damaged"


def test_too_many_entries() -> None:
    raw = zipped({str(i): "" for i in range(MOST_ENTRIES + 1)})
    with pytest.raises(ReadError, match="10,001 entries; the limit is 10,000"):
        Archive("a", raw)


def test_encrypted_entries() -> None:
    raw = bytearray(zipped({"a": "text"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(mark) + offset] |= 1
    with pytest.raises(ReadError) as caught:
        Archive("a", bytes(raw)).read("a")
    assert caught.value.reason == "encrypted"


def test_bytes_that_are_not_what_was_packed() -> None:
    raw = bytearray(zipped({"a": "text that is long enough to be packed, packed, packed, packed"}))
    raw[raw.index(b"a", 30) + 5] ^= 0xFF
    with pytest.raises(ReadError, match="damaged .'a' in it cannot be unpacked"):
        Archive("a", bytes(raw)).read("a")


@pytest.mark.parametrize("kind", sorted(PART))
def test_a_bomb(reader: Reader, kind: str) -> None:
    raw = replaced(whole(kind), {PART[kind]: zeros(MOST_UNPACKED + 1)})
    assert len(raw) < 10**6
    with pytest.raises(ReadError) as caught:
        list(extracted(f"a.{kind}", kind, raw, reader))
    assert caught.value.reason == "too large when unpacked"


ENTITIES = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "' + "&a;" * 100 + '"><!ENTITY c "' + "&b;" * 100 + '">'
BOMB = ENTITIES + '<!ENTITY d "' + "&c;" * 100 + '"><!ENTITY e "' + "&d;" * 100 + '">]>'


@pytest.mark.parametrize("kind", sorted(PART))
@pytest.mark.parametrize("outside", [False, True])
def test_entities_are_not_expanded(
    reader: Reader, kind: str, outside: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("outside") / "secret.txt"
    secret.write_text("a secret", encoding="utf-8")
    prolog = f'<!DOCTYPE a [<!ENTITY e SYSTEM "{secret.as_uri()}">]>' if outside else BOMB

    def arm(part: str) -> str:
        _, _, rest = part.rpartition("?>")
        return (
            '<?xml version="1.0"?>'
            + prolog
            + rest.replace("Text.", "Text.&e;").replace("The Lock", "The Lock&e;")
        )

    files = {"xlsx": "xl/worksheets/sheet1.xml", "epub": "OEBPS/a.xhtml"}
    raw = replaced(whole(kind), {PART[kind]: arm, files.get(kind, PART[kind]): arm})
    try:
        (document,) = extracted(f"a.{kind}", kind, raw, reader)
    except ReadError as error:
        assert error.reason == "damaged"
    else:
        assert len(document.text) < 100  # type: ignore[union-attr]
        assert "secret" not in f"{document}"
        assert "haha" not in f"{document}"


@pytest.mark.parametrize("kind", sorted(PART))
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_truncated_files(reader: Reader, kind: str, share: float) -> None:
    raw = whole(kind)
    with pytest.raises(ReadError) as caught:
        list(extracted(f"a.{kind}", kind, raw[: int(len(raw) * share)], reader))
    assert caught.value.reason == ("damaged" if share else "empty")


@pytest.mark.parametrize("kind", sorted(PART))
def test_a_whole_file_is_read(reader: Reader, kind: str) -> None:
    (document,) = extracted(f"a.{kind}", kind, whole(kind), reader)
    assert document.text == "Text."  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", sorted(PART))
def test_a_zip_archive_of_something_else(reader: Reader, kind: str) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("../../evil.txt", "text")
    with pytest.raises(ReadError) as caught:
        list(extracted(f"a.{kind}", kind, stream.getvalue(), reader))
    assert caught.value.reason == "damaged"
