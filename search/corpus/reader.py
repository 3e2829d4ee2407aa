"""Parse a file in a child process with limits of time and memory, and outlive whatever the file does to it.

Each thread has a child of its own, which starts when a file needs one and serves one file after another. A request is a
pickled (kind, path, content), an answer the pickled documents, or the reason why there are none. The child is a plain
`python -c`: multiprocessing would import the main script of the calling program again, which nobody guards.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import TypeAlias

from search.corpus.files import Reason, Skipped
from search.corpus.text import Decoded
from search.errors import ReadError
from search.records.documents import Document

MARKUP_KINDS = ("markdown", "rst", "html")
Items: TypeAlias = "list[Document | Skipped]"

SECONDS = 100.0  # for one file
MEMORY = 2**30  # bytes of address space, where the system can limit that
_WORN = 2**26  # bytes of files that one child reads

# Isolated, so that neither the current folder nor the user's environment adds modules; what the parent can
# import comes last.
_START = "from search.corpus.reader import main; main({memory})"
_PATHS = "import sys; sys.path += [path for path in {paths!r} if path not in sys.path]; "

_NO_MEMORY = 112  # exit code of a child that could not get any more
# Made here, as there may be no memory for a tuple where they are caught. Python also raises the second.
_SHORT_OF_MEMORY = (MemoryError, SystemError)
_INTERRUPTED = (-signal.SIGINT, 0xC000013A)  # by Ctrl-C; the second on Windows
_LONGEST_DETAIL = 200


class Reader:
    """A child process that parses files, for one thread.

    Args:
        seconds, memory: limits for each file.
        start: the program of the child; tests give others.
    """

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY, start: str = _START) -> None:
        self._seconds = seconds
        root = str(Path(__file__).resolve().parents[2])
        paths = [os.path.abspath(path) for path in [root, *sys.path] if path]  # noqa: PTH100 (strings)
        self._program = _PATHS.format(paths=paths) + start.format(memory=memory)
        self._child: subprocess.Popen[bytes] | None = None
        self._owner, self._read = 0, 0  # process that started the child, bytes that it read

    def parse(self, kind: str, path: str, content: bytes | Decoded) -> Items:
        """The documents in a file, and what of it is not in them.

        Raises:
            ReadError: what the parser says; "took too long", "needs too much memory" or "crashed its reader".
            KeyboardInterrupt: Ctrl-C reached the child.
        """
        late = threading.Event()
        child = self._running(len(content if isinstance(content, bytes) else content.text))
        timer = threading.Timer(self._seconds, _expire, (child, late))
        timer.daemon = True
        timer.start()
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            pickle.dump((kind, path, content), child.stdin)
            child.stdin.flush()
            answer: Items | tuple[str, str] = pickle.load(child.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            if not late.is_set():
                raise _failure(path, child) from None
            detail = f"longer than {self._seconds:g} seconds"
            raise ReadError(path, Reason.TOO_SLOW, detail) from None
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()
        if isinstance(answer, tuple):
            raise ReadError(path, *answer)
        return answer

    def _running(self, size: int) -> subprocess.Popen[bytes]:
        """A child that lives, is this process's own and has not read much."""
        self._read += size
        child = self._child
        if child is None or child.poll() is not None or self._owner != os.getpid() or self._read > _WORN:
            self.close()
            self._owner, self._read = os.getpid(), size
            self._child = child = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", "-c", self._program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            # Also when the thread that uses it ends, or the whole process.
            self._stop = weakref.finalize(self, _stop, child, self._owner)
        return child

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None:
            self._stop()
            self._child = None


def _expire(child: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    child.kill()


def _failure(path: str, child: subprocess.Popen[bytes]) -> BaseException:
    """The exception for a child that gave no answer."""
    child.kill()
    code = child.wait()
    if code in _INTERRUPTED:
        return KeyboardInterrupt()
    if code == _NO_MEMORY:
        return ReadError(path, Reason.OUT_OF_MEMORY)
    return ReadError(path, Reason.CRASHED, f"exit code {code}")


def _stop(child: subprocess.Popen[bytes], owner: int) -> None:
    """End a child of this process; after a fork it is still the other's."""
    if owner == os.getpid():
        child.kill()
        with contextlib.suppress(OSError):  # of what could not be sent
            child.communicate()


_own = threading.local()


def own_reader() -> Reader:
    """The reader of the calling thread."""
    if not hasattr(_own, "reader"):
        _own.reader = Reader(SECONDS, MEMORY)
    reader: Reader = _own.reader
    return reader


def parse(kind: str, path: str, content: bytes | Decoded) -> Items:
    """The documents in a file, parsed in this process.

    Args:
        content: the text of HTML, Markdown and reStructuredText, else the bytes.
    """
    if kind in MARKUP_KINDS:
        assert isinstance(content, Decoded)
        from search.corpus import html, markdown, rst

        parsers = {"markdown": markdown.document, "rst": rst.document, "html": html.document}
        return [parsers[kind](path, content)]
    from search.corpus import notebook, office, pdf

    extractors = {"pdf": pdf.extract, "notebook": notebook.extract, "docx": office.docx}
    extractors |= {"pptx": office.pptx, "xlsx": office.xlsx, "epub": office.epub}
    assert isinstance(content, bytes)
    return extractors[kind](path, content)


def main(memory: int) -> None:
    """Be the child: answer until the requests end, also because the asking process died.

    Args:
        memory: bytes of address space that this process may have, where the system can limit it.
    """
    # Libraries may write to standard output, which must not end up in an answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it at once, also in the middle of a library
    _limit(memory)
    try:
        while True:
            pickle.dump(_answer(*pickle.load(sys.stdin.buffer)), answers)
            answers.flush()
    except EOFError:
        pass
    except _SHORT_OF_MEMORY:
        os._exit(_NO_MEMORY)  # as there may be none for an answer


def _answer(kind: str, path: str, content: bytes | Decoded) -> Items | tuple[str, str]:
    try:
        return parse(kind, path, content)
    except ReadError as error:
        return error.reason, error.detail
    except _SHORT_OF_MEMORY:
        raise
    except RecursionError:
        return Reason.DAMAGED, "nested too deeply"
    except Exception as error:  # libraries let errors of all kinds through, one file at a time
        detail = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_DETAIL]
        return Reason.DAMAGED, detail


def _limit(memory: int) -> None:
    """Give up what this process does not need, so that a file cannot misuse it."""
    if sys.platform == "win32":
        return
    import resource

    # No dump of memory, and no file is written; pipes are none.
    for limit, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0)):
        with contextlib.suppress(ValueError, OSError):  # macOS knows some of these and refuses them
            _, hard = resource.getrlimit(limit)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(limit, (most, most))
