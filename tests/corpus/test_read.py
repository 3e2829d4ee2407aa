from __future__ import annotations

import hashlib
import threading
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest

from search.corpus import Contents, Skipped, SourceFile, documents, load
from search.corpus import read as reading
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
        lines=LineMap(array("I", (0, 5, 9)), range(1, 4)),
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
        ("a.rst", b"PEP: 1\nTitle: Nothing else\n\n.. rejected::\n", "no text"),
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
    (tmp_path / "a.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text('{"a": "1", "b": "2"}\n', encoding="utf-8")
    for name in ("a.csv", "a.jsonl"):
        (document,) = read(source_file(tmp_path / name), text_field="b", title_field="a")
        assert isinstance(document, Document)
        assert (document.text, document.title, document.record) == ("2", "1", 1)


MARKUP = {
    "a.md": "---\ntitle: T\ndate: 2024-01-01\n---\nIntro é\n# One *two*\ntext\n## Three\n\nmore\r\n",
    "a.rst": ":Author: A\n\nOne\n===\n\ntext\n\nTwo\n---\n\nmore 𝄞\n",
    "a.html": "<title>T</title><meta name=author content=A><p>one\n<h1>Two</h1>\n\n<pre>a\n\nb</pre>é",
}

In = Callable[[str, str], list[Document | Skipped]]


@pytest.fixture
def in_a_thread(tmp_path: Path) -> In:
    """Reads a file in a thread of its own, whose child process ends with it."""

    def read_it(name: str, text: str) -> list[Document | Skipped]:
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        found: list[Document | Skipped] = []
        thread = threading.Thread(target=lambda: found.extend(read(source_file(tmp_path / name))))
        thread.start()
        thread.join()
        return found

    return read_it


@pytest.mark.parametrize("name", MARKUP)
def test_a_child_process_gives_the_same_document(
    in_a_thread: In, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (here,) = in_a_thread(name, MARKUP[name])
    monkeypatch.setattr(reading, "_LARGEST_HERE", 0)
    monkeypatch.setattr(reading, "parse", None)  # of this process, not of the child
    assert in_a_thread(name, MARKUP[name]) == [here]
    assert isinstance(here, Document)
    assert here.metadata
    assert len(here.sections) > 1


@pytest.mark.parametrize(
    ("name", "limits", "text", "reason"),
    [
        ("a.md", {"MEMORY": 150 * 2**20}, "- a\n" * 60_000, "needs too much memory"),
        ("a.html", {"SECONDS": 0.5}, "<" * 1_000_000, "took too long"),
    ],
)
def test_markup_beyond_the_limits_is_plain_text(
    in_a_thread: In,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    limits: dict[str, float],
    text: str,
    reason: str,
) -> None:
    for name_, limit in limits.items():
        monkeypatch.setattr(f"search.corpus.reader.{name_}", limit)
    document, skipped = in_a_thread(name, text)
    assert isinstance(document, Document)
    assert (document.text, document.title, document.kind) == (text, name, reading.kind_of(name))
    assert document.sections == (Section(0, len(text)),)
    assert isinstance(skipped, Skipped)
    assert (skipped.path, skipped.reason) == (name, "read as plain text")
    assert reason in skipped.detail


@pytest.mark.parametrize(
    "error", [IndexError("of a parser"), RecursionError(), AssertionError(), MemoryError()]
)
def test_a_parser_that_fails_leaves_plain_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: object) -> Document:
        raise error

    monkeypatch.setattr(reading, "parse", fails)
    (tmp_path / "a.md").write_text("# One\ntext", encoding="utf-8")
    document, skipped = read(source_file(tmp_path / "a.md"))
    assert isinstance(document, Document)
    assert (document.text, document.title) == ("# One\ntext", "a.md")
    assert isinstance(skipped, Skipped)
    assert skipped.reason == "read as plain text"
    assert type(error).__name__ in skipped.detail


def test_more_headings_than_anybody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_MOST_SECTIONS", 3)
    for n_headings, n_items in ((3, 1), (4, 2)):
        (tmp_path / "a.md").write_text("# a\n" * n_headings, encoding="utf-8")
        assert len(list(read(source_file(tmp_path / "a.md")))) == n_items


def test_of_a_million_records_left_out_the_first_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_MOST_NAMED", 2)
    (tmp_path / "a.jsonl").write_text("[]\n" * 9 + '"text"\n' + '""\n' * 5, encoding="utf-8")
    items = list(read(source_file(tmp_path / "a.jsonl")))
    assert [getattr(item, "text", None) or item.path for item in items] == [
        "a.jsonl#1",
        "a.jsonl#2",
        "text",
        "a.jsonl",
    ]
    assert getattr(items[-1], "detail", "") == "12 more records are empty or damaged"
    (tmp_path / "a.jsonl").write_text("[]\n" * 9, encoding="utf-8")
    with pytest.raises(ReadError, match="none of its 9 records holds text"):
        list(read(source_file(tmp_path / "a.jsonl")))
