"""Reading a file into documents, in this process and in a child whose parsers misbehave."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import subprocess
import sys
import threading
import time
from array import array
from pathlib import Path

import openpyxl
import psutil
import pytest

from search.corpus import Contents, Skipped, SourceFile, documents, load, parsing, reader, walk
from search.corpus.parsing import Request
from search.corpus.reader import Reader, own_reader
from search.errors import ReadError
from search.records.documents import LineMap, ParsedDocument, Section
from tests.conftest import REPOSITORY

from .conftest import items, parsed, source_file
from .making import pdf


def test_a_plain_file_is_one_document_with_its_text_and_lines(tmp_path: Path) -> None:
    assert parsed(tmp_path, "notes.txt", "one\r\ntwo\n") == ParsedDocument(
        path="notes.txt",
        kind="text",
        text="one\r\ntwo\n",
        title="notes.txt",
        lines=LineMap(array("I", (0, 5, 9)), range(1, 4)),
        sections=(Section(0, 9),),
    )
    code = parsed(tmp_path, "a.py", "# Not a heading\n===\n")
    assert (code.kind, code.title, len(code.sections)) == ("code", "a.py", 1)


def test_a_file_is_loaded_with_its_hash_unless_it_vanished(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"abc")
    contents = load(source_file(tmp_path / "a.txt"))
    assert contents == Contents(b"abc", hashlib.sha256(b"abc").hexdigest())
    with pytest.raises(ReadError, match=r"sub/gone\.txt: vanished"):
        load(SourceFile("sub/gone.txt", tmp_path / "gone.txt", 1, 0, 0))


@pytest.mark.parametrize(
    ("name", "raw", "reason"),
    [
        ("a.txt", b"", "empty"),
        ("a.md", b"a\0b", "binary"),
        ("a.py", b"-----BEGIN EC PRIVATE KEY-----\n", "secret"),
        ("a.js", b"f(x);" * 300, "generated"),
        ("a.txt", b"Subject: me\n" + b"QUJD" * 16 + b"\n", "generated"),
        ("a.html", b"<p></p>", "no text"),
        ("a.md", b"---\ntitle: Nothing else\n---\n\n", "no text"),
        ("a.rst", b"PEP: 1\nTitle: Nothing else\n\n.. rejected::\n", "no text"),
    ],
)
def test_a_file_that_is_not_read_has_a_reason(tmp_path: Path, name: str, raw: bytes, reason: str) -> None:
    with pytest.raises(ReadError) as caught:
        items(tmp_path, name, raw)
    assert (caught.value.path, caught.value.reason) == (name, reason)


def test_a_name_that_is_no_utf8_gives_a_title_that_can_be_shown() -> None:
    file = SourceFile("d/caf\udce9.md", Path("unused"), 1, 0, 0)
    (document,) = documents(file, Contents(b"text", ""))
    assert isinstance(document, ParsedDocument)
    assert (document.path, document.title) == ("d/caf\udce9.md", "caf\ufffd")


MARKUP = {
    "a.md": "---\ntitle: T\ndate: 2024-01-01\n---\nIntro é\n# One *two*\ntext\n## Three\n\nmore\r\n",
    "a.rst": ":Author: A\n\nOne\n===\n\ntext\n\nTwo\n---\n\nmore 𝄞\n",
    "a.html": "<title>T</title><meta name=author content=A><p>one\n<h1>Two</h1>\n\n<pre>a\n\nb</pre>é",
}


def test_a_child_process_gives_the_same_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {name: items(tmp_path, name, text) for name, text in MARKUP.items()}
    monkeypatch.setattr(reader, "LARGEST_HERE", 0)
    monkeypatch.setattr(reader, "parsed", None)  # of this process, not of the child
    for name, text in MARKUP.items():
        assert items(tmp_path, name, text) == expected[name]


@pytest.mark.parametrize(
    ("name", "limit", "text", "reason"),
    [
        ("a.md", ("MEMORY", 190 * 2**20), "- a\n" * 60_000, "needs too much memory"),
        ("a.html", ("SECONDS", 2), "<b>" * 1_000_000, "took too long: longer than 2 seconds"),
    ],
)
def test_markup_beyond_the_limits_is_plain_text(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    limit: tuple[str, float],
    text: str,
    reason: str,
) -> None:
    monkeypatch.setattr(reader, *limit)
    monkeypatch.setattr(reader, "own_reader", Reader)
    document, skipped = items(tmp_path, name, text)
    assert isinstance(document, ParsedDocument)
    assert (document.text, document.title, len(document.sections)) == (text, name, 1)
    assert skipped == Skipped(name, "read as plain text", f"its markup {reason}")


def test_a_parser_that_fails_leaves_plain_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> ParsedDocument:
        raise IndexError("of a parser")

    monkeypatch.setattr("search.corpus.markdown.document", fails)
    document, skipped = items(tmp_path, "a.md", "# One\ntext")
    assert isinstance(document, ParsedDocument)
    assert (document.text, document.title) == ("# One\ntext", "a.md")
    assert skipped == Skipped("a.md", "read as plain text", "its markup damaged: IndexError: of a parser")


def test_only_the_first_records_left_out_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "_MOST_NAMED", 2)
    results = items(tmp_path, "a.jsonl", "[]\n" * 9 + '"text"\n' + '""\n' * 5)
    assert [getattr(item, "text", None) or item.path for item in results] == [
        "a.jsonl#1",
        "a.jsonl#2",
        "text",
        "a.jsonl",
    ]
    assert getattr(results[-1], "detail", "") == "12 more empty or damaged records"
    with pytest.raises(ReadError, match="none of the 9 records contains text"):
        items(tmp_path, "a.jsonl", "[]\n" * 9)


# A child that runs what it is given to parse.
PROGRAM = """
import sys
sys.path += {paths!r}
import ctypes, os, time
from search.corpus import parsing, reader
from search.corpus.writing import Writing

def extract(path, raw):
    exec(raw)
    writing = Writing(path, "pdf", len(raw))
    writing.paragraph(f"text {{os.getpid()}}")
    return [writing.done()]

parsing._extractor = lambda kind: extract
reader.main({memory}, {seconds})
"""


@pytest.fixture
def obedient(monkeypatch: pytest.MonkeyPatch) -> Reader:
    monkeypatch.setattr(reader, "_PROGRAM", PROGRAM)
    monkeypatch.setattr(reader, "MEMORY", 2**29)
    return Reader()


def text(parser: Reader, raw: bytes = b"pass") -> str:
    (document,) = parser.items(Request("a.pdf", "pdf", raw))
    return document.text  # type: ignore[union-attr]


def failure(parser: Reader, raw: str) -> tuple[str, str]:
    with pytest.raises(ReadError) as caught:
        text(parser, raw.encode())
    assert caught.value.path == "a.pdf"
    return caught.value.reason, caught.value.detail


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_one_child_serves_several_files_and_is_replaced_after_many(
    obedient: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_MOST_READ", 10**6)
    before = children()
    first = text(obedient)
    assert text(obedient, b"#" * 10**5) == first
    assert children() - before == {int(first.split()[1])}
    second = text(obedient, b"#" * 10**6)
    assert second != first
    obedient.close()
    assert children() <= before


FAILURES = {
    "os._exit(3)": ("crashed its reader", "exit code 3"),
    "os._exit(0)": ("crashed its reader", "exit code 0"),
    "raise ValueError('no\\n good')": ("damaged", "ValueError: no good"),
    "extract(path, raw)": ("damaged", "nested too deeply"),
    "raise KeyError('x' * 999)": ("damaged", "KeyError: '" + "x" * 189),
}
if sys.platform != "win32":
    FAILURES["ctypes.string_at(0)"] = ("crashed its reader", "exit code -11")
if sys.platform == "linux":
    FAILURES["bytearray(2**30)"] = ("needs too much memory", "")


def test_failures_have_a_reason_and_the_next_file_is_read(obedient: Reader) -> None:
    for body, expected in FAILURES.items():
        assert failure(obedient, body) == expected
    noise = b"print('noise' * 10**5, flush=True); os.write(1, b'noise'); os.write(2, b'noise' * 10**5)"
    assert text(obedient, noise).startswith("text")


def test_a_child_that_hangs_is_ended(obedient: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SECONDS", 1)
    before = children()
    assert failure(obedient, "time.sleep(99)") == ("took too long", "longer than 1 seconds")
    obedient.close()
    assert children() <= before
    for program in ("import time; time.sleep(99)", "import sys; sys.stdout.buffer.write(b'junk')"):
        monkeypatch.setattr(reader, "_PROGRAM", program)
        assert failure(Reader(), "#" * 10**7)[0] in ("took too long", "crashed its reader")


def mailbox(*attachments: bytes) -> bytes:
    """A mailbox of two messages, each with a text and these attachments."""
    parts = b"".join(
        b'--b\nContent-Disposition: attachment; filename="%d.pdf"\nContent-Transfer-Encoding: base64\n\n%s'
        % (number, base64.encodebytes(raw))
        for number, raw in enumerate(attachments)
    )
    message = (
        b"From a@b 8:41\nSubject: s\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\n%s--b--\n"
        % parts
    )
    return message * 2


def test_only_the_attachment_that_breaks_a_limit_is_left_out(
    obedient: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "SECONDS", 2)
    attachments = [b"pass", b"os._exit(3)", b"time.sleep(99)" + b" " * 9_000, b"pass"]
    results = list(obedient.items(Request("a.mbox", "mail", mailbox(*attachments))))
    outcomes = [
        item.name if isinstance(item, ParsedDocument) else (item.path, item.reason) for item in results
    ]
    assert outcomes == [
        "a.mbox#1", "a.mbox#2", ("a.mbox#3", "crashed its reader"), ("a.mbox#4", "took too long"), "a.mbox#5",
        "a.mbox#6", "a.mbox#7", ("a.mbox#8", "crashed its reader"), ("a.mbox#9", "took too long"), "a.mbox#10",
    ]  # fmt: skip
    assert [item.detail for item in results if isinstance(item, Skipped)] == [
        "attachment '1.pdf' exit code 3",
        "attachment '2.pdf' longer than 2 seconds",
    ] * 2


def test_a_file_of_slow_parts_has_a_time_limit(obedient: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SECONDS", 1)
    monkeypatch.setattr(reader, "FILE_SECONDS", 1.5)
    results = []
    with pytest.raises(ReadError, match=r"a\.mbox: took too long \(longer than 1\.5 seconds\)"):
        for item in obedient.items(Request("a.mbox", "mail", mailbox(b"time.sleep(99)"))):
            results.append(item)
    assert [item.path for item in results] in ([], ["a.mbox", "a.mbox#2"])


def test_time_that_the_caller_takes_does_not_count_towards_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parser = Reader()
    lines = "".join(f'{{"text": "record {number}"}}\n' for number in range(20_000))
    results = parser.items(Request("a.jsonl", "jsonl", lines.encode()))
    first = next(results)
    monkeypatch.setattr(reader, "SECONDS", 0.5)
    time.sleep(1.5)
    assert isinstance(first, ParsedDocument)
    assert [first.text, *(item.text for item in results if isinstance(item, ParsedDocument))] == [
        f"record {number}" for number in range(20_000)
    ]


def test_records_are_yielded_before_the_last_one_is_parsed() -> None:
    """So a table of any length takes little memory, and a caller who stops early does not wait."""
    parser, before = Reader(), children()
    lines = b'{"text": "record"}\n' * 1_000_000
    results = parser.items(Request("a.jsonl", "jsonl", lines))
    start = time.process_time()
    assert isinstance(next(results), ParsedDocument)
    assert time.process_time() - start < 1
    (child,) = children() - before
    results.close()
    assert child not in children()


def test_two_files_of_a_thread_can_be_read_at_the_same_time() -> None:
    parser = Reader()
    lines = [f'{{"text": "{word}"}}\n'.encode() * 3_000 for word in ("one", "two")]
    pairs = zip(*(parser.items(Request("a.jsonl", "jsonl", raw)) for raw in lines), strict=True)
    texts = {tuple(getattr(item, "text", "") for item in pair) for pair in pairs}
    assert texts == {("one", "two")}
    parser.close()


def test_short_texts_are_parsed_without_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "own_reader", None)
    for name, content in {**MARKUP, "a.eml": "Subject: s\n\ntext", "a.csv": "text\na\n"}.items():
        assert len(items(tmp_path, name, content)) == 1
    long = "# a\n" * reader.LARGEST_HERE
    assert len(list(reader.items(Request("", "text", long)))) == 1  # nothing in it is parsed
    with pytest.raises(TypeError):
        list(reader.items(Request("", "markdown", long)))


def test_documents_that_hold_far_more_than_their_file_are_left_out(tmp_path: Path) -> None:
    names = "To: " + "a name <a@b>, " * 1_500
    part = "--b\nContent-Disposition: attachment; filename=a.txt\n\nx\n"
    source = f"{names}\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\n{part * 900}--b--\n"
    results = []
    with pytest.raises(ReadError, match=r"a\.eml: too large \(more than [\d,]+ characters of text\)"):
        for item in documents(SourceFile("a.eml", "", 0, 0, 0), Contents(source.encode(), "")):
            results.append(item)
    assert 100 < len(results) < 900


def test_a_compressed_file_may_be_very_repetitive(tmp_path: Path) -> None:
    log = b"2024-02-29 12:00:00 INFO the service answers\n" * 50_000
    packed = gzip.compress(log)
    assert len(log) > 100 * len(packed)
    assert parsed(tmp_path, "a.log.gz", packed).text == log.decode()
    answer = "Neither satisfied nor dissatisfied with the service of our branch in the last twelve months"
    book = openpyxl.Workbook()
    for number in range(4_000):
        book.active.append([number, *[answer] * 6])
    stream = io.BytesIO()
    book.save(stream)
    document = parsed(tmp_path, "a.xlsx", stream.getvalue())
    assert document.text.count(answer) == 24_000
    assert len(document.text) > 15 * len(stream.getvalue())


def test_the_child_of_a_thread_ends_with_it() -> None:
    before, pids = children(), set[int]()

    def work() -> None:
        text(own_reader(), pdf([["Text."]]))
        pids.update(children() - before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(pids) == 1
    assert not pids & children()


def test_a_child_does_not_rerun_its_script_and_ends_with_its_parent(tmp_path: Path) -> None:
    """The script is not run again by the child, and the child ends with its parent."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, time; from search.corpus.reader import Request, items, own_reader\n"
        f"list(items(Request('a.pdf', 'pdf', {pdf([['Text.']])!r})))\n"
        "print(own_reader()._idle.process.pid, flush=True); time.sleep(99)",
        encoding="utf-8",
    )
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, cwd=REPOSITORY)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    gone, _ = psutil.wait_procs([child], timeout=30)
    assert gone == [child]


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no limit of processor time")
def test_a_child_that_is_busy_ends_without_its_parent(obedient: Reader) -> None:
    obedient._program = PROGRAM.format(paths=sys.path, memory=2**29, seconds=-1)
    assert failure(obedient, "parsing_forever = [0 for _ in iter(int, 1)]")[0] == "crashed its reader"


def test_modules_in_the_current_folder_are_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pypdfium2.py", "pickle.py"):
        (tmp_path / name).write_text("raise SystemExit('loaded')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", ["", *sys.path, str(tmp_path)])
    assert text(Reader(), pdf([["Text."]])) == "Text."


def test_files_that_need_a_missing_extra_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from search.corpus import sources

    for name in ("a.pdf", "b.DOCX", "d.doc", "e.xlsx", "f.md"):
        (tmp_path / name).write_bytes(pdf([["Text."]]))
    present = sources.find_spec
    monkeypatch.setattr(sources, "find_spec", lambda name: None if name != "openpyxl" else present(name))
    verdicts = {item.path: getattr(item, "reason", "found") for item in walk(tmp_path)}
    needs = "needs seewhy[documents]"
    assert verdicts == {
        "a.pdf": needs,
        "b.DOCX": needs,
        "d.doc": "document format",
        "e.xlsx": "found",
        "f.md": "found",
    }


def test_a_child_that_died_between_two_files_is_replaced(obedient: Reader) -> None:
    first = text(obedient)
    process = psutil.Process(int(first.split()[1]))
    process.kill()
    psutil.wait_procs([process], timeout=10)
    assert text(obedient) != first
