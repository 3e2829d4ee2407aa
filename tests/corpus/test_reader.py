"""The child process, with programs in it that misbehave."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import psutil
import pytest

from search.corpus import SourceFile, walk
from search.corpus.reader import Limits, Reader, extracted, own_reader
from search.errors import OptionalDependency, ReadError
from tests.conftest import REPOSITORY

from .conftest import read
from .making import pdf

PROGRAM = """
import ctypes, os, signal, sys, time
from search.corpus import reader
from search.corpus.writing import Writing

def extract(path, raw):
    {body}
    writing = Writing(path)
    writing.paragraph(f"text {{os.getpid()}}")
    return writing.done()

reader.EXTRACTORS["pdf"] = extract
reader.main({memory})
"""

Make = Callable[..., Reader]


@pytest.fixture
def made() -> Iterator[Make]:
    """Readers whose child does something with each file; with how much memory it limits itself to."""
    found: list[Reader] = []

    def make(body: str, seconds: float = 60, memory: int = 2**29, itself: int | None = None) -> Reader:
        program = PROGRAM.format(body=body, memory=memory if itself is None else itself)
        found.append(Reader(Limits(seconds, memory), program.replace("{", "{{").replace("}", "}}")))
        return found[-1]

    yield make
    for one in found:
        one.close()


def failure(reader: Reader, raw: bytes = b"x") -> ReadError:
    with pytest.raises(ReadError) as caught:
        reader.ask("a.pdf", "pdf", raw)
    assert caught.value.path == "a.pdf"
    return caught.value


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def test_one_child_serves_several_files(made: Make) -> None:
    reader = made("pass")
    before = len(children())
    assert reader.ask("a.pdf", "pdf", b"x")["text"] == reader.ask("b.pdf", "pdf", bytes(10**7))["text"]
    assert len(children()) == before + 1
    reader.close()
    assert len(children()) == before


@pytest.mark.parametrize(
    ("body", "reason", "detail"),
    [
        ("os._exit(3)", "crashed its reader", "it ended with code 3"),
        ("os._exit(0)", "crashed its reader", "it ended with code 0"),
        ("raise MemoryError", "needs too much memory", ""),
        ("raise ValueError('no\\n good')", "damaged", "ValueError: no good"),
        ("return extract(path, raw)", "damaged", "nested too deeply"),
        ("raise KeyError('x' * 999)", "damaged", "KeyError: '" + "x" * 189),
    ],
)
def test_failures_have_a_reason_and_leave_nothing_behind(
    made: Make, body: str, reason: str, detail: str
) -> None:
    reader, before = made(body), len(children())
    error = failure(reader, bytes(10**7))
    assert (error.reason, error.detail) == (reason, detail)
    reader.close()
    assert len(children()) == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has codes in place of signals")
def test_a_crash_in_a_library(made: Make) -> None:
    error = failure(made("ctypes.string_at(0)"))
    assert (error.reason, error.detail) == ("crashed its reader", "it ended with SIGSEGV")


def test_a_child_that_hangs(made: Make) -> None:
    reader, before = made("time.sleep(99)", seconds=1), len(children())
    error = failure(reader)
    assert (error.reason, error.detail) == ("took too long", "longer than 1 seconds")
    assert len(children()) == before


def test_a_child_that_takes_no_file(made: Make) -> None:
    reader = Reader(Limits(seconds=1), "import time; time.sleep(99)")
    assert failure(reader, bytes(10**7)).reason == "took too long"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems leave it to the parent")
def test_a_child_limits_its_own_memory(made: Make) -> None:
    assert failure(made("bytearray(2**30)")).reason == "needs too much memory"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems leave it to the parent")
def test_a_child_says_that_memory_is_short_when_none_is_left(made: Make) -> None:
    none_for_a_pair = "global rest; rest = None\n    while True: rest = (rest, None)"
    assert failure(made(none_for_a_pair, itself=2**26)).reason == "needs too much memory"


def test_the_parent_watches_the_childs_memory(made: Make) -> None:
    greedy = "hoard = []\n    while True: hoard.append(b'x' * 2**20); time.sleep(0.001)"
    error = failure(made(greedy, memory=2**28, itself=2**40))
    assert (error.reason, error.detail) == ("needs too much memory", "more than 256 MiB")


def test_a_child_that_has_grown_is_replaced(made: Make) -> None:
    reader = made("globals()['kept'] = b'x' * 2**28", itself=2**40)
    assert reader.ask("a.pdf", "pdf", b"x") != reader.ask("a.pdf", "pdf", b"x")


def test_after_a_failure_the_next_file_is_read(made: Make) -> None:
    reader = made("if raw == b'bad': os._exit(1)")
    before = reader.ask("a.pdf", "pdf", b"good")
    assert failure(reader, b"bad").reason == "crashed its reader"
    after = reader.ask("a.pdf", "pdf", b"good")
    assert after["text"].startswith("text")
    assert after != before


def test_a_child_that_died_between_two_files_is_replaced(made: Make) -> None:
    reader = made("pass")
    pid = int(reader.ask("a.pdf", "pdf", b"x")["text"].split()[1])
    process = psutil.Process(pid)
    process.kill()
    psutil.wait_procs([process], timeout=10)
    assert reader.ask("a.pdf", "pdf", b"x")["text"] != f"text {pid}"


def test_what_a_library_prints_is_no_answer(made: Make) -> None:
    noisy = "print('noise' * 10**5, flush=True); os.write(1, b'noise'); os.write(2, b'noise' * 10**5)"
    assert made(noisy).ask("a.pdf", "pdf", b"x")["text"].startswith("text")


@pytest.mark.parametrize(
    "answer",
    [
        "b'junk'",
        "(2**60).to_bytes(8, 'big') + b'x'",
        "(100).to_bytes(8, 'big') + b'x'",
        "bytes(8)",
    ],
)
def test_an_answer_that_is_none(answer: str) -> None:
    reader = Reader(Limits(seconds=20), f"import sys; sys.stdout.buffer.write({answer}); sys.stdout.flush()")
    assert failure(reader).reason == "crashed its reader"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_reaches_the_asking_side(made: Make) -> None:
    with pytest.raises(KeyboardInterrupt):
        made("os.kill(os.getpid(), signal.SIGINT); time.sleep(99)").ask("a.pdf", "pdf", b"x")


def test_the_child_of_a_thread_ends_with_it() -> None:
    before, seen = len(children()), list[int]()

    def work() -> None:
        own_reader().ask("a.pdf", "pdf", pdf([["Text."]]))
        seen.append(len(children()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before + 1]
    assert len(children()) == before


def test_the_child_ends_when_its_parent_is_killed() -> None:
    program = (
        "import sys, time; from search.corpus.reader import Reader\n"
        "r = Reader(start='from search.corpus import reader; import os; "
        "from search.corpus.writing import Extracted; "
        'reader.EXTRACTORS["pdf"] = lambda path, raw: Extracted(str(os.getpid())); reader.main({memory})\')\n'
        "print(r.ask('a', 'pdf', b'x')['text'], flush=True); time.sleep(99)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=REPOSITORY)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    gone, _ = psutil.wait_procs([child], timeout=30)
    assert gone == [child]


def test_modules_in_the_current_folder_are_not_loaded(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("evil")
    (folder / "pypdfium2.py").write_text("raise SystemExit('loaded')", encoding="utf-8")
    (folder / "json.py").write_text("raise SystemExit('loaded')", encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setattr(sys, "path", ["", *sys.path, str(folder)])
    reader = Reader()
    assert reader.ask("a.pdf", "pdf", pdf([["Text."]]))["text"] == "Text."
    reader.close()


def test_without_the_extra(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    from search.corpus import files

    folder = tmp_path_factory.mktemp("folder")
    for name in ("a.pdf", "b.DOCX", "c.epub", "d.doc", "e.xlsx", "f.md"):
        (folder / name).write_bytes(pdf([["Text."]]))
    present = files.find_spec
    monkeypatch.setattr(files, "find_spec", lambda name: None if name != "openpyxl" else present(name))
    found = {item.path: getattr(item, "reason", "found") for item in walk(folder)}
    needs = "needs seewhy[documents]"
    assert found == {
        "a.pdf": needs,
        "b.DOCX": needs,
        "c.epub": needs,
        "d.doc": "document format",
        "e.xlsx": "found",
        "f.md": "found",
    }
    with pytest.raises(
        OptionalDependency, match=r"'a\.pdf' needs the package 'pypdfium2'.*seewhy\[documents\]"
    ):
        list(extracted("a.pdf", "pdf", b""))
    monkeypatch.undo()
    assert all(isinstance(item, SourceFile) for item in walk(folder) if item.path != "d.doc")


def test_read_asks_a_child(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("folder")
    (folder / "a.pdf").write_bytes(pdf([["Text."]]))
    (file,) = walk(folder)
    assert isinstance(file, SourceFile)
    (document,) = read(file)
    assert document.text == "Text."  # type: ignore[union-attr]


def test_after_a_fork_the_child_stays_the_parents(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    one = made("pass")
    text = one.ask("a.pdf", "pdf", b"x")["text"]
    pid = os.getpid()
    with monkeypatch.context() as patch:
        patch.setattr("search.corpus.reader.os.getpid", lambda: pid + 1)
        assert one._child is not None
        assert not one._child.is_fresh(2**40)
    assert one.ask("a.pdf", "pdf", b"x")["text"] == text
