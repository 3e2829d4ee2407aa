from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from search.corpus import Contents, SourceFile, documents, load
from search.errors import ReadError
from search.records.documents import Document, LineMap, Section

from .conftest import parsed, read, source_file


def test_a_plain_file(tmp_path: Path) -> None:
    document = parsed(tmp_path, "notes.txt", "one\r\ntwo\n")
    assert document == Document(
        path="notes.txt",
        kind="text",
        text="one\r\ntwo\n",
        title="notes.txt",
        lines=LineMap((0, 5, 9), (1, 2, 3)),
        sections=(Section(0, 9),),
    )


def test_code_is_one_section(tmp_path: Path) -> None:
    document = parsed(tmp_path, "a.py", "# Not a heading\n===\n")
    assert (document.kind, document.title, len(document.sections)) == ("code", "a.py", 1)


def test_bytes_and_hash(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"abc")
    contents = load(source_file(tmp_path / "a.txt"))
    assert contents == Contents(b"abc", hashlib.sha256(b"abc").hexdigest())
    assert "abc" not in repr(contents)


@pytest.mark.parametrize(
    ("name", "raw", "reason"),
    [
        ("a.txt", b"", "empty"),
        ("a.md", b"a\0b", "binary"),
        ("a.py", b"-----BEGIN EC PRIVATE KEY-----\n", "secret"),
        ("a.html", b"<p></p>", "no text"),
        ("a.md", b"---\ntitle: Nothing else\n---\n\n", "no text"),
        ("a.rst", b"PEP: 1\nTitle: Nothing else\n", "no text"),
        ("a.csv", b"\xef\xbb\xbf\n", "empty"),
    ],
)
def test_reasons(tmp_path: Path, name: str, raw: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(ReadError) as caught:
        list(read(source_file(tmp_path / name)))
    assert (caught.value.path, caught.value.reason) == (name, reason)


def test_a_file_that_vanished(tmp_path: Path) -> None:
    gone = SourceFile("sub/gone.txt", tmp_path / "gone.txt", 1, 0, 0)
    with pytest.raises(ReadError, match=r"sub/gone\.txt: vanished"):
        read(gone)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(13, "Permission denied"), "permission denied"),
        (OSError(5, "Input/output error"), "unreadable file"),
    ],
)
def test_a_file_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, error: OSError, reason: str) -> None:
    def fails(*_: object) -> int:
        raise error

    monkeypatch.setattr("search.corpus.files.os.open", fails)
    with pytest.raises(ReadError) as caught:
        load(SourceFile("a.txt", Path("a.txt"), 1, 0, 0))
    assert caught.value.reason == reason


def test_a_name_that_is_no_utf8_gives_a_title_that_can_be_shown() -> None:
    file = SourceFile("d/caf\udce9.md", Path("unused"), 1, 0, 0)
    (document,) = documents(file, Contents(b"text", ""))
    assert isinstance(document, Document)
    assert (document.path, document.title) == ("d/caf\udce9.md", "caf\ufffd")


def test_fields_reach_both_kinds_of_tables(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "a.jsonl").write_text('{"a": "1", "b": "2"}\n')
    for name in ("a.csv", "a.jsonl"):
        (document,) = read(source_file(tmp_path / name), text_field="b", title_field="a")
        assert isinstance(document, Document)
        assert (document.text, document.title, document.record) == ("2", "1", 1)
