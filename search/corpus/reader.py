"""Ask a child process for the text of a file, and outlive whatever that does to it.

A child serves one file after another. It is replaced after any failure, and when it has grown. Each thread
has a child of its own, which starts when a file needs it and ends with the thread. Measured with files of one
or two pages on two cores of a busy server: the first file of a child took 0.14 s (PowerPoint) to 0.48 s (Excel),
most of it to start Python and import what reads the kind, and each later one 2 to 7 ms.

HTML, Markdown and reStructuredText of more than some size go the same way, as their parsers can take the square of a
file's length in time, and hundreds of times its length in memory.

A request is a line of JSON (kind, path, size) and then so many bytes: the file. An answer is its length in eight bytes
and then JSON. The child ends when nobody asks any more, also because the asking process died.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from array import array
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from search.corpus.files import Reason, Skipped, file_stem, require
from search.corpus.text import Decoded, line_map
from search.corpus.writing import MOST_CHARACTERS, Extracted
from search.errors import ReadError
from search.records.documents import Document, LineMap, Section

# The answer of the child: the text as UTF-8, in JSON, with what belongs to it.
_MOST_ANSWER = 8 * MOST_CHARACTERS
_LENGTH_BYTES = 8
_LONGEST_DETAIL = 200

# Isolated, so that neither the current folder nor the user's environment adds modules; what the parent can
# import comes last.
_START = "from search.corpus.reader import main; main({memory})"
_PATHS = "import sys; sys.path += [path for path in {paths!r} if path not in sys.path]; "

_TICK = 0.05  # seconds between two looks at a busy child
_PATIENCE = 2.0  # seconds for a child to end by itself
_GROWN = 4  # a child that keeps more than this part of the memory is replaced

_NO_MEMORY = 112  # exit code of a child that could not get any more
# Made here, as there may be no memory for a tuple where they are caught. Python also raises the second.
_SHORT_OF_MEMORY = (MemoryError, SystemError)
_INTERRUPTED = (-signal.SIGINT, 0xC000013A)  # by Ctrl-C; the second on Windows


@dataclass(frozen=True)
class Limits:
    """What the child process may use for one file.

    Attributes:
        seconds: of wall time.
        memory: bytes, of address space where the system can limit that, else of resident memory.
    """

    seconds: float = 50.0
    memory: int = 560 * 2**20


# Of files up to so many bytes, and of larger ones.
_LARGE = 8 * 2**20
_LIMITS = (Limits(), Limits(seconds=120.0, memory=2**30))


class Reader:
    """A child process, started when it is needed. For one thread.

    Args:
        limits: for each file; by default as its size says.
        start: the program of the child; tests give others.
    """

    def __init__(self, limits: Limits | None = None, start: str = _START) -> None:
        self._limits, self._start = limits, start
        self._child: _Child | None = None

    def ask(self, path: str, kind: str, raw: bytes) -> dict[str, Any]:
        """What is in a file: the fields of `Extracted`.

        Raises:
            ReadError: what the child said of it; "took too long", "needs too much memory" or "crashed its
                reader" if it did not get that far.
            KeyboardInterrupt: Ctrl-C reached the child.
        """
        limits = self._limits or _LIMITS[len(raw) > _LARGE]
        if self._child is None or not self._child.is_fresh(limits):
            self.close()
            self._child = _Child(self._start, limits)
        try:
            answer = self._child.ask(path, kind, raw)
        except BaseException:
            self.close()
            raise
        if "reason" in answer:
            raise ReadError(path, answer["reason"], answer["detail"])
        return answer

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None:
            self._child.stop()
            self._child = None


class _Child:
    def __init__(self, program: str, limits: Limits) -> None:
        import psutil

        self._limits, program = limits, program.format(memory=limits.memory)

        root = str(Path(__file__).resolve().parents[2])
        paths = [os.path.abspath(path) for path in [root, *sys.path] if path]  # noqa: PTH100 (strings)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", "-c", _PATHS.format(paths=paths) + program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._owner = os.getpid()
        self._memory = psutil.Process(self._process.pid)
        # Also when the thread that uses it ends, or the whole process.
        self.stop = weakref.finalize(self, _stop, self._process, self._owner)

    def is_fresh(self, limits: Limits) -> bool:
        """Whether it lives, is this process's own, has these limits and has not grown much."""
        if self._owner != os.getpid() or self._process.poll() is not None or self._limits != limits:
            return False
        return self._resident() <= limits.memory // _GROWN

    def _resident(self) -> int:
        """Bytes of memory that it uses now; 0 if it has ended."""
        import psutil

        try:
            return int(self._memory.memory_info().rss)
        except psutil.Error:
            return 0

    def ask(self, path: str, kind: str, raw: bytes) -> dict[str, Any]:
        limits = self._limits
        answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        # A pipe blocks until the other side reads or writes, on every system; so another thread waits.
        thread = threading.Thread(target=self._exchange, args=(path, kind, raw, answers), daemon=True)
        thread.start()
        deadline = time.monotonic() + limits.seconds
        while True:
            with contextlib.suppress(queue.Empty):
                answer = answers.get(timeout=_TICK)
                break
            if time.monotonic() > deadline:
                raise ReadError(path, Reason.TOO_SLOW, f"longer than {limits.seconds:g} seconds")
            if self._resident() > limits.memory:
                raise ReadError(path, Reason.OUT_OF_MEMORY, f"more than {limits.memory // 2**20:,} MiB")
        if answer is None:
            raise self._ended(path)
        return json.loads(answer)

    def _exchange(self, path: str, kind: str, raw: bytes, answers: queue.SimpleQueue[bytes | None]) -> None:
        """Send a file, get the answer; None for a child that did not give one."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        answer = None
        with contextlib.suppress(OSError, ValueError):  # it ended, or was ended
            request = {"kind": kind, "path": path, "size": len(raw)}
            stdin.write(json.dumps(request).encode("ascii") + b"\n")
            stdin.write(raw)
            stdin.flush()
            length = int.from_bytes(stdout.read(_LENGTH_BYTES), "big")
            if 0 < length <= _MOST_ANSWER:
                reply = stdout.read(length)
                answer = reply if len(reply) == length else None
        answers.put(answer)

    def _ended(self, path: str) -> BaseException:
        """What to raise for a child that gave no answer."""
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return ReadError(path, Reason.CRASHED, "it gave no answer")
        if code in _INTERRUPTED:
            return KeyboardInterrupt()
        if code == _NO_MEMORY:
            return ReadError(path, Reason.OUT_OF_MEMORY)
        return ReadError(path, Reason.CRASHED, f"it ended with {_named(code)}")


def _named(code: int) -> str:
    try:
        return signal.Signals(-code).name if code < 0 else f"code {code}"
    except ValueError:
        return f"signal {-code}"


def _stop(process: subprocess.Popen[bytes], owner: int) -> None:
    """End a child of this process, and leave nothing of it behind."""
    if owner != os.getpid():  # after a fork it is still the other's
        return
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):  # of what could not be sent
                stream.close()


_own = threading.local()


def own_reader() -> Reader:
    """The reader of the calling thread."""
    if not hasattr(_own, "reader"):
        _own.reader = Reader()
    reader: Reader = _own.reader
    return reader


def extracted(path: str, kind: str, raw: bytes, reader: Reader | None = None) -> Iterator[Document | Skipped]:
    """The document in a PDF, Office file, book or notebook, and what of it is not in that, if anything.

    Args:
        path: of the file.
        kind: "pdf", "docx", "pptx", "xlsx", "epub" or "notebook".
        raw: the file.
        reader: the process to ask; by default the calling thread's own.

    Raises:
        ReadError: "empty", "damaged", "encrypted", "no text", "too large when unpacked", "took too long",
            "needs too much memory" or "crashed its reader".
        OptionalDependency: the extra `documents` is not installed.
    """
    require(kind, path)
    if not raw:
        raise ReadError(path, Reason.EMPTY)
    answer = (reader or own_reader()).ask(path, kind, raw)
    text = answer["text"]
    if not text.strip():
        raise ReadError(path, Reason.NO_TEXT)
    yield Document(
        path=path,
        kind=kind,
        text=text,
        title=answer["title"] or file_stem(path),
        lines=line_map(text),
        sections=tuple(Section(s["start"], s["end"], tuple(s["trail"])) for s in answer["sections"]),
        metadata=answer["metadata"],
        pages=tuple(answer["pages"]),
        marks=tuple(answer["marks"]),
        tables=tuple(answer["tables"]),
    )
    reason, detail = answer["left_out"]
    if reason:
        yield Skipped(path, reason, detail)


def parsed(path: str, kind: str, decoded: Decoded) -> Document:
    """A document in HTML, Markdown or reStructuredText; as `PARSERS` say, within limits.

    Raises:
        ReadError: what they raise; "damaged" if they fail; "took too long", "needs too much memory" or "crashed
            its reader".
    """
    answer = own_reader().ask(path, kind, decoded.text.encode("utf-8"))
    text, trails = answer["text"], [tuple(trail) for trail in answer["trails"]]
    offsets, numbers = (array("I", column) for column in answer["lines"])
    return Document(
        path=path,
        kind=kind,
        text=text,
        title=answer["title"],
        lines=LineMap(offsets, numbers) if offsets else line_map(text),
        sections=tuple(Section(start, end, trails[trail]) for start, end, trail in answer["sections"]),
        metadata=answer["metadata"],
        marks=array("I", answer["marks"]) or (),
        apart=tuple(answer["apart"]),
        tables=tuple(answer["tables"]),
        encoding=decoded.encoding,
    )


def _told(document: Document) -> dict[str, Any]:
    """What `parsed` needs of a document: each trail once, and lines only where they are not those of the text."""
    lines = document.lines
    trails: dict[tuple[str, ...], int] = {}
    return {
        "text": document.text,
        "title": document.title,
        "lines": [list(lines.offsets), list(lines.lines)] if document.kind == "html" else [[], []],
        "sections": [(s.start, s.end, trails.setdefault(s.trail, len(trails))) for s in document.sections],
        "trails": list(trails),
        "metadata": document.metadata,
        "marks": list(document.marks),
        "apart": document.apart,
        "tables": document.tables,
    }


# kind -> what takes such files apart, for those that are not in a module of that name.
EXTRACTORS: dict[str, Callable[[str, bytes], Extracted]] = {}


def main(memory: int) -> None:
    """Be the child: answer until the requests end.

    Args:
        memory: bytes of address space that this process may have, where the system can limit it.
    """
    _limit(memory)
    # Libraries may write to standard output, which must not end up in an answer.
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    requests = sys.stdin.buffer
    try:
        while line := requests.readline():
            request = json.loads(line)
            raw = requests.read(request["size"])
            answer = _answer(request["kind"], request["path"], raw)
            answers.write(len(answer).to_bytes(_LENGTH_BYTES, "big"))
            answers.write(answer)
            answers.flush()
    except _SHORT_OF_MEMORY:
        os._exit(_NO_MEMORY)  # as there may be none for an answer


def _answer(kind: str, path: str, raw: bytes) -> bytes:
    reason, detail = Reason.DAMAGED, ""
    try:
        return _as_json(_taken_apart(kind, path, raw))
    except ReadError as error:
        reason, detail = error.reason, error.detail
    except _SHORT_OF_MEMORY:
        raise
    except RecursionError:
        detail = "nested too deeply"
    except Exception as error:  # libraries let errors of all kinds through, one file at a time
        detail = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_DETAIL]
    return _as_json({"reason": reason, "detail": detail})


def _taken_apart(kind: str, path: str, raw: bytes) -> dict[str, Any]:
    from search.corpus.read import PARSERS

    if kind in PARSERS:
        return _told(PARSERS[kind](path, Decoded(raw.decode("utf-8"), "utf-8")))
    extract = EXTRACTORS.get(kind) or importlib.import_module(f"search.corpus.{kind}").extract
    return asdict(extract(path, raw))


def _as_json(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")


def _limit(memory: int) -> None:
    """Give up what this process does not need, so that a file cannot misuse it."""
    # Ctrl-C ends it at once, also in the middle of a library.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "win32":
        import ctypes

        no_error_windows = 0x0001 | 0x0002
        ctypes.windll.kernel32.SetErrorMode(no_error_windows)
        return
    import resource

    limits = [
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),  # no file is written; pipes are none
    ]
    for kind, most in limits:
        # macOS knows some of these and refuses them. The parent watches too.
        with contextlib.suppress(ValueError, OSError):
            _, hard = resource.getrlimit(kind)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))
