"""The child process, with parsers in it that misbehave."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from search.corpus import SourceFile, walk
from search.corpus.reader import Reader, own_reader
from search.errors import OptionalDependency, ReadError
from tests.conftest import REPOSITORY

from .conftest import items, parsed
from .making import pdf

PROGRAM = """
import ctypes, os, signal, sys, time
from search.corpus import reader
from search.corpus.writing import Writing

def parse(kind, path, raw):
    {body}
    writing = Writing(path, kind)
    writing.paragraph(f"text {{os.getpid()}}")
    return [writing.done()]

reader.parse = parse
reader.main({memory})
"""

Make = Callable[..., Reader]


@pytest.fixture
def made() -> Iterator[Make]:
    """Readers whose child does something with each file."""
    found: list[Reader] = []

    def make(body: str, seconds: float = 60, memory: int = 2**29) -> Reader:
        program = PROGRAM.format(body=body, memory=memory)
        found.append(Reader(seconds, memory, program.replace("{", "{{").replace("}", "}}")))
        return found[-1]

    yield make
    for one in found:
        one.close()


def text(reader: Reader, raw: bytes = b"x") -> str:
    (document,) = reader.parse("pdf", "a.pdf", raw)
    return document.text  # type: ignore[union-attr]


def failure(reader: Reader, raw: bytes = b"x") -> tuple[str, str]:
    with pytest.raises(ReadError) as caught:
        text(reader, raw)
    assert caught.value.path == "a.pdf"
    return caught.value.reason, caught.value.detail


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def test_one_child_serves_several_files_and_is_replaced_after_many(made: Make) -> None:
    reader, before = made("pass"), len(children())
    first = text(reader)
    assert text(reader, bytes(10**7)) == first
    assert len(children()) == before + 1
    assert text(reader, bytes(2**26)) != first
    reader.close()
    assert len(children()) == before


@pytest.mark.parametrize(
    ("body", "reason", "detail"),
    [
        ("os._exit(3)", "crashed its reader", "exit code 3"),
        ("os._exit(0)", "crashed its reader", "exit code 0"),
        ("raise MemoryError", "needs too much memory", ""),
        ("raise ValueError('no\\n good')", "damaged", "ValueError: no good"),
        ("return parse(kind, path, raw)", "damaged", "nested too deeply"),
        ("raise KeyError('x' * 999)", "damaged", "KeyError: '" + "x" * 189),
    ],
)
def test_failures_have_a_reason_and_leave_nothing_behind(
    made: Make, body: str, reason: str, detail: str
) -> None:
    reader, before = made(body), len(children())
    assert failure(reader, bytes(10**7)) == (reason, detail)
    reader.close()
    assert len(children()) == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has codes in place of signals")
def test_a_crash_in_a_library(made: Make) -> None:
    assert failure(made("ctypes.string_at(0)")) == ("crashed its reader", "exit code -11")


def test_a_child_that_hangs(made: Make) -> None:
    reader, before = made("time.sleep(99)", seconds=1), len(children())
    assert failure(reader) == ("took too long", "longer than 1 seconds")
    reader.close()
    assert len(children()) == before
    deaf = Reader(1, start="import time; time.sleep(99)")
    assert failure(deaf, bytes(10**7))[0] == "took too long"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits the address space")
def test_a_child_limits_its_own_memory(made: Make) -> None:
    assert failure(made("bytearray(2**30)"))[0] == "needs too much memory"
    none_for_a_pair = "global rest; rest = None\n    while True: rest = (rest, None)"
    assert failure(made(none_for_a_pair, memory=2**27))[0] == "needs too much memory"


def test_after_a_failure_the_next_file_is_read(made: Make) -> None:
    reader = made("if raw == b'bad': os._exit(1)")
    before = text(reader)
    assert failure(reader, b"bad")[0] == "crashed its reader"
    assert text(reader) != before


def test_what_a_library_prints_is_no_answer(made: Make) -> None:
    noisy = "print('noise' * 10**5, flush=True); os.write(1, b'noise'); os.write(2, b'noise' * 10**5)"
    assert text(made(noisy)).startswith("text")
    junk = Reader(20, start="import sys; sys.stdout.buffer.write(b'junk'); sys.stdout.flush()")
    assert failure(junk)[0] == "crashed its reader"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_reaches_the_asking_side(made: Make) -> None:
    with pytest.raises(KeyboardInterrupt):
        text(made("os.kill(os.getpid(), signal.SIGINT); time.sleep(99)"))


def test_the_child_of_a_thread_ends_with_it() -> None:
    before, seen = len(children()), list[int]()

    def work() -> None:
        own_reader().parse("pdf", "a.pdf", pdf([["Text."]]))
        seen.append(len(children()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before + 1]
    assert len(children()) == before


def test_a_script_without_a_guard_and_a_parent_that_is_killed(tmp_path: Path) -> None:
    """The script is not run again by the child, and the child ends with its parent."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, time; from search.corpus.reader import own_reader\n"
        f"own_reader().parse('pdf', 'a.pdf', {pdf([['Text.']])!r})\n"
        "print(own_reader()._child.pid, flush=True); time.sleep(99)",
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


def test_modules_in_the_current_folder_are_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pypdfium2.py", "pickle.py"):
        (tmp_path / name).write_text("raise SystemExit('loaded')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", ["", *sys.path, str(tmp_path)])
    reader = Reader()
    assert text(reader, pdf([["Text."]])) == "Text."
    reader.close()


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from search.corpus import files

    for name in ("a.pdf", "b.DOCX", "c.pptx", "d.doc", "e.xlsx", "f.md"):
        (tmp_path / name).write_bytes(pdf([["Text."]]))
    present = files.find_spec
    monkeypatch.setattr(files, "find_spec", lambda name: None if name != "openpyxl" else present(name))
    found = {item.path: getattr(item, "reason", "found") for item in walk(tmp_path)}
    needs = "needs seewhy[documents]"
    assert found == {
        "a.pdf": needs,
        "b.DOCX": needs,
        "c.pptx": needs,
        "d.doc": "document format",
        "e.xlsx": "found",
        "f.md": "found",
    }
    message = r"'a\.pdf' needs the package 'pypdfium2'.*seewhy\[documents\]"
    with pytest.raises(OptionalDependency, match=message):
        items(tmp_path, "a.pdf", b"x")
    monkeypatch.undo()
    assert all(isinstance(item, SourceFile) for item in walk(tmp_path) if item.path != "d.doc")
    assert parsed(tmp_path, "a.pdf", pdf([["Text."]])).text == "Text."
