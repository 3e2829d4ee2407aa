"""From a file to its documents: load its bytes and parse them, in a child process with limits of time and memory.

Each thread has its own child, started on demand and reused for further files. A request to it is pickled; its answers
are pickled, too: lists of documents, and after each file None or the reason for a failure. Documents are sent as they
are parsed, so neither process holds all records of a large file, and the child waits while the caller works. The child
is a plain `python -c`: multiprocessing would run the main script of the calling program, which may lack
`if __name__ == "__main__"`.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from search.corpus.dates import dated
from search.corpus.parsing import MARKUP_KINDS, SHORT_OF_MEMORY, FileParts, Item, Place, Request, parsed
from search.corpus.sources import (
    DOCUMENT_KINDS,
    Contents,
    Reason,
    Skipped,
    SourceFile,
    kind_of,
    refusal,
    regular_bytes,
)
from search.corpus.text import file_document, is_gzip, unpacked
from search.corpus.writing import clean
from search.errors import ReadError
from search.records.documents import OCR_PAGES, ParsedDocument, Section

# Bytes of a text that is parsed in this process: a child takes 0.2 s to start. Of 4,000 hostile texts of this size,
# none takes more than 0.2 s of processor time (benchmarks/hostile.py --patterns), and the parsers are linear.
LARGEST_HERE = 2**13

SECONDS = 100.0  # for one document, attachment or batch of records; the time that the caller takes does not count
FILE_SECONDS = 1_000.0  # for all documents of a file
MEMORY = 2**30  # bytes of address space, where the system can limit that
_MOST_READ = 2**26  # bytes of files after which a child is replaced
_BATCH = 2**16  # characters of text after which the child sends its documents
_OVERHEAD = 2**8  # characters that a document without text counts

# Isolated, so that neither the current folder nor the user's environment adds modules; what the parent can
# import comes last.
_PROGRAM = """
import sys
sys.path += [path for path in {paths!r} if path not in sys.path]
from search.corpus.reader import main
main({memory}, {seconds})
"""

_LATER = 2  # seconds after its parent at which the child ends itself
_NO_MEMORY = 112  # exit code of a child that ran out of memory

Broken: TypeAlias = "Mapping[Place, tuple[str, str]]"


def load(file: SourceFile) -> Contents:
    """Read a file's bytes and compute their hash.

    Raises:
        ReadError: "vanished", "permission denied", "unreadable file"; or, if the file changed since the walk: "symbolic
            link", "not a regular file", "too large".
    """
    try:
        raw = regular_bytes(file.absolute)
    except OSError as error:
        raise ReadError(file.path, *refusal(error)) from error
    return Contents(raw, hashlib.sha256(raw).hexdigest())


def documents(
    file: SourceFile,
    contents: Contents,
    *,
    text_field: str | None = None,
    title_field: str | None = None,
    ocr: str | None = None,
) -> Iterator[ParsedDocument | Skipped]:
    """Yield the documents of a loaded file: one, or one per record of a table.

    Args:
        file: source of the contents; its name decides how they are parsed.
        contents: from `load`.
        text_field: CSV column or JSONL key that is searched. By default a well-known name ("text", "body", "abstract",
            ...), else the one with the most characters.
        title_field: CSV column or JSONL key of the title; by default a well-known name, if there is one.
        ocr: language in which scanned pages are read, as for `search.corpus.ocr.recognized`; None: they are not.

    Yields:
        Documents, and a `Skipped` named `path#record` for each record without one ("empty" or "damaged"). If some pages
        of a PDF give no text, or markup is read as plain text, also a `Skipped` named `path`.

    Raises:
        ReadError: "binary", "secret", "generated", "empty", "undecodable", "damaged", "no text", "too large" or "no
            such column"; for PDF, Office files and EPUB also "encrypted"; and "took too long", "needs too much memory"
            or "crashed its reader". Raised during iteration: what was yielded before is sound.
    """
    kind = kind_of(file.path)
    request = Request(file.path, kind, contents.raw, file.is_named, text_field, title_field)
    return items(request) if ocr is None or kind not in ("pdf", "image") else _with_ocr(request, ocr)


def _with_ocr(request: Request, language: str) -> Iterator[Item]:
    """Yield what an image or a PDF file gives, with the text of its pages that are pictures.

    A PDF file whose pictures cannot be read is parsed as without OCR, and a `Skipped` says why.
    """
    from search.corpus.ocr import UnfinishedPages, recognized, require_ocr

    require_ocr(language)
    path, kind = request.path, request.kind
    assert isinstance(request.content, bytes)
    content = unpacked(path, request.content)
    if kind == "image":
        yield dated(image_document(path, recognized(path, kind, content, language)))
        return
    problem: ReadError | None = None
    try:
        texts = recognized(path, kind, content, language)
    except UnfinishedPages as error:
        texts, problem = error.texts, error
    try:
        yield from items(replace(request, recognized=texts))
    except ReadError as error:
        raise (problem if problem and error.reason == Reason.NO_TEXT else error) from None
    if problem:
        yield Skipped(path, problem.reason, f"pages that are pictures: {problem.detail}".rstrip(": "))


def image_document(path: str, texts: Mapping[int, str]) -> ParsedDocument:
    """Return the document of an image: a page for each of its frames.

    Raises:
        ReadError: "no text".
    """
    pages, text = [], ""
    for page in range(1, max(texts, default=0) + 1):
        pages.append(len(text))
        text += clean(texts.get(page, "").strip()) + "\n\n"
    if not text.strip():
        raise ReadError(path, Reason.NO_TEXT, "no text in the picture")
    whole = (Section(0, len(text)),)
    read = [page for page, words in texts.items() if words.strip()]
    return file_document(
        path, "image", text, "", sections=whole, pages=tuple(pages), metadata={OCR_PAGES: read}
    )


def items(request: Request) -> Iterator[Item]:
    """Yield what a request gives; short texts are parsed in this process, everything else in the thread's child."""
    content, kind = request.content, request.kind
    if isinstance(content, str):
        is_short = len(content) <= LARGEST_HERE or kind not in MARKUP_KINDS
    else:
        is_short = len(content) <= LARGEST_HERE and kind not in DOCUMENT_KINDS and not is_gzip(content)
    return parsed(request, read=items) if is_short else own_reader().items(request)


class _Child(NamedTuple):
    """A child process, and the function that ends it, which also runs when its thread or the whole process ends."""

    process: subprocess.Popen[bytes]
    stop: Callable[[], object]


class _ChildDied(Exception):
    """The child ended during a request."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


class Reader:
    """Child processes that parse files for one thread. A second one starts only while a file is not read to its end."""

    def __init__(self) -> None:
        root = str(Path(__file__).resolve().parents[2])
        paths = [os.path.abspath(path) for path in [root, *sys.path] if path]  # noqa: PTH100 (strings)
        self._program = _PROGRAM.format(paths=paths, memory=MEMORY, seconds=math.ceil(SECONDS))
        self._idle: _Child | None = None
        self._read = 0  # bytes that the child read

    def items(self, request: Request) -> Iterator[Item]:
        """Yield the documents of a file, with a `Skipped` for each part that could not be read.

        If the child ends early, the file is parsed again without the message or attachment that was the cause.

        Raises:
            ReadError: the error of the parser; "took too long", "needs too much memory" or "crashed its reader".
        """
        broken: dict[Place, tuple[str, str]] = {}
        n_yielded = 0
        with contextlib.closing(_Watch()) as watch:
            while True:
                try:
                    for item in islice(self._answers(request, broken, watch), n_yielded, None):
                        n_yielded += 1
                        yield item
                    return
                except _ChildDied as died:
                    place = watch.place
                    if not place or place in broken or watch.is_over:
                        raise ReadError(request.path, died.reason, died.detail) from None
                    broken[place] = died.reason, died.detail

    def _answers(self, request: Request, broken: Broken, watch: _Watch) -> Iterator[Item]:
        """Yield the items of a request, without the broken parts."""
        child = self._taken(len(request.content))
        watch.place = ()
        try:
            stream = child.process.stdin, child.process.stdout
            assert stream[0] and stream[1]
            with watch.waiting(child.process):
                pickle.dump((request, broken), stream[0])
                stream[0].flush()
            while True:
                with watch.waiting(child.process):
                    tag, value = pickle.load(stream[1])
                if tag == "end":
                    break
                if tag == "items":
                    yield from value
                else:
                    watch.place = value
        except (OSError, EOFError, pickle.UnpicklingError):
            raise _ChildDied(*_failure(child.process, watch)) from None
        except BaseException:  # Ctrl-C, or the caller needs no further documents
            child.stop()
            raise
        self.close()
        self._idle = child
        if value:
            raise ReadError(request.path, *value)

    def _taken(self, size: int) -> _Child:
        """Return a running child process that has not read too much yet, and is not in use."""
        child, self._idle = self._idle, None
        self._read += size
        if child and child.process.poll() is None and self._read <= _MOST_READ:
            return child
        if child:
            child.stop()
        self._read = size
        process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", "-c", self._program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the parent alone
        )
        return _Child(process, weakref.finalize(self, _stop, process))

    def close(self) -> None:
        """End the child process, if there is an idle one."""
        if self._idle is not None:
            self._idle.stop()
            self._idle = None


class _Watch:
    """Kills a child process when its parent has waited too long. The time that the caller takes does not count.

    Attributes:
        place: the part of the file that the child parses.
        is_late: the child was killed.
    """

    def __init__(self) -> None:
        self.place: Place = ()
        self.is_late = False
        self._waited, self._deadline = 0.0, math.inf
        self._closed = threading.Event()
        threading.Thread(target=self._run, name="seewhy-watch", daemon=True).start()

    @property
    def is_over(self) -> bool:
        """True if no time is left for the file."""
        return self._waited >= FILE_SECONDS

    @contextlib.contextmanager
    def waiting(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Wait for the child process within the block."""
        started = time.monotonic()
        self._process, self.is_late = process, False
        self._deadline = started + min(SECONDS, FILE_SECONDS - self._waited)
        try:
            yield
        finally:
            self._deadline = math.inf
            self._waited += time.monotonic() - started

    def _run(self) -> None:
        left = 0.0
        while not self._closed.wait(min(left, SECONDS)):  # a wait that begins meanwhile ends later
            left = self._deadline - time.monotonic()
            if left <= 0:
                self.is_late, left = True, SECONDS
                self._process.kill()

    def close(self) -> None:
        """End the thread."""
        self._closed.set()


def _failure(process: subprocess.Popen[bytes], watch: _Watch) -> tuple[str, str]:
    """Return reason and detail for a child process that ended without an answer."""
    process.kill()
    code = process.wait()
    if watch.is_late:
        return Reason.TOO_SLOW, f"longer than {FILE_SECONDS if watch.is_over else SECONDS:g} seconds"
    if code == _NO_MEMORY:
        return Reason.OUT_OF_MEMORY, ""
    return Reason.CRASHED, f"exit code {code}"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with contextlib.suppress(OSError):  # a request that could not be sent
        process.communicate()


_own = threading.local()


def own_reader() -> Reader:
    """Return the child process that parses files for the calling thread."""
    if not hasattr(_own, "reader"):
        _own.reader = Reader()
    reader: Reader = _own.reader
    return reader


def main(memory: int, seconds: int) -> None:
    """Run the child process: answer requests until there are no more, or the parent process has died.

    Args:
        memory: limit of the address space in bytes, where the system supports one.
        seconds: limit of the processor time between two answers, likewise; the parent, which has the same limit for
            its own waiting, may have died.
    """
    # Libraries may write to standard output, which must not end up in an answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def limit(name: str, most: int) -> None:
        if sys.platform != "win32":
            import resource

            with contextlib.suppress(ValueError, OSError):  # macOS defines RLIMIT_AS but rejects it
                number = getattr(resource, name)
                resource.setrlimit(number, (most, resource.getrlimit(number)[1]))

    def send(tag: str, value: Any) -> None:
        pickle.dump((tag, value), answers)
        answers.flush()
        begin()

    def begin() -> None:
        limit("RLIMIT_CPU", int(time.process_time()) + seconds + _LATER)

    limit("RLIMIT_AS", memory)

    try:
        while True:
            request, broken = pickle.load(sys.stdin.buffer)
            begin()
            send("end", _sent(request, broken, send))
    except EOFError:
        pass
    except SHORT_OF_MEMORY:
        os._exit(_NO_MEMORY)  # there may be no memory for an answer


def _sent(request: Request, broken: Broken, send: Callable[[str, Any], None]) -> tuple[str, str] | None:
    """Send the items of a request in batches; return reason and detail of a failure."""
    batch: list[Item] = []
    size, failure = 0, None
    try:
        for item in parsed(request, FileParts(broken, partial(send, "part"))):
            batch.append(item)
            size += _OVERHEAD + (len(item.text) if isinstance(item, ParsedDocument) else 0)
            if size >= _BATCH:
                send("items", batch)
                batch, size = [], 0
    except ReadError as error:
        failure = error.reason, error.detail
    send("items", batch)
    return failure
