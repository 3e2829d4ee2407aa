"""From a file to its documents: load the bytes, decode them, call the parser for the file's kind.

Formats that may take much time or memory are parsed in a child process with limits on both. Each thread has its own
child, started on demand and reused for further files. A request is a pickled (kind, path, content); the answer is the
pickled documents or the reason for a failure. The child is a plain `python -c`: multiprocessing would run the main
script of the calling program, which may lack `if __name__ == "__main__"`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from search.corpus import calendars, table
from search.corpus.cut import without_markup
from search.corpus.dates import dated
from search.corpus.sources import (
    DOCUMENT_KINDS,
    Contents,
    Reason,
    Skipped,
    SourceFile,
    file_name,
    generated_text,
    kind_of,
    readable,
    refusal,
    regular_bytes,
    unreadable,
)
from search.corpus.text import decode, file_document, unpacked
from search.errors import ReadError
from search.records.documents import Document, Section

MARKUP_KINDS = ("markdown", "rst", "html", "org", "asciidoc", "tex", "man", "subtitles")
Items: TypeAlias = "list[Document | Skipped]"

# Characters of HTML, Markdown or reStructuredText that are parsed in this process. At this length, 110 adversarial
# texts took at most 16 seconds on a busy machine, most of them less than 5, and at most 150 MB. A child process takes
# 0.2 seconds to start, and some milliseconds per file.
_LARGEST_HERE = 2**16

# Skipped records of one file that are listed; further ones are counted.
_MOST_NAMED = 1_000

SECONDS = 100.0  # for one file
MEMORY = 2**30  # bytes of address space, where the system can limit that
_MOST_READ = 2**26  # bytes of files after which a child is replaced

# Isolated, so that neither the current folder nor the user's environment adds modules; what the parent can
# import comes last.
_PROGRAM = """
import sys
sys.path += [path for path in {paths!r} if path not in sys.path]
from search.corpus.reader import main
main({memory})
"""

_NO_MEMORY = 112  # exit code of a child that ran out of memory
# A constant, because an except clause may have no memory for a tuple. Python raises either error.
_SHORT_OF_MEMORY = (MemoryError, SystemError)
_LONGEST_DETAIL = 200


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
) -> Iterator[Document | Skipped]:
    """Yield the documents of a loaded file: one, or one per record of a table.

    Args:
        file: source of the contents; its name decides how they are parsed.
        contents: from `load`.
        text_field: CSV column or JSONL key that is searched. By default a well-known name ("text", "body", "abstract",
            ...), else the one with the most characters.
        title_field: CSV column or JSONL key of the title; by default a well-known name, if there is one.

    Yields:
        Documents, and a `Skipped` named `path#record` for each record without one ("empty" or "damaged"). If some pages
        of a PDF give no text, or markup is read as plain text, also a `Skipped` named `path`.

    Raises:
        ReadError: "binary", "secret", "generated", "empty", "undecodable", "damaged", "no text" or "no such column";
            for PDF, Office files and EPUB, the errors of `Reader.parse`. Raised during iteration; "no text" after the
            last record.
    """
    path, kind = file.path, kind_of(file.path)
    if kind == "mail" and contents.raw.strip():
        from search.corpus import mail

        yield from _some(path, mail.documents(path, unpacked(path, contents.raw), _attachment))
        return
    if kind in DOCUMENT_KINDS:
        if not contents.raw:
            raise ReadError(path, Reason.EMPTY)
        items = own_reader().parse(kind, path, unpacked(path, contents.raw))
    else:
        text = decode(path, contents.raw)
        if not file.is_named and (detail := generated_text(kind, text)):
            raise ReadError(path, Reason.GENERATED, detail)
        if kind in ("csv", "jsonl"):
            yield from _some(path, table.documents(path, kind, text, text_field, title_field))
            return
        if kind in ("ics", "vcf"):
            yield from _some(path, calendars.documents(path, kind, text))
            return
        items = _text_items(path, kind, text)
    for item in items:
        if isinstance(item, Document):
            _require_text(item)
            item = dated(item)
        yield item


def _attachment(name: str, raw: bytes) -> Items:
    """Return the documents of a file in a message, or the reason for leaving it out, as in a folder."""
    left_out = unreadable(name, readable())
    try:
        file = SourceFile(name, "", len(raw), 0, 0)
        return [Skipped(name, *left_out)] if left_out else list(documents(file, Contents(raw, "")))
    except ReadError as error:
        return [Skipped(name, error.reason, error.detail)]


def _require_text(document: Document) -> None:
    """Raise ReadError "no text" for a document without any passage."""
    read, _ = without_markup(document)
    if not any(read.text[part.start : part.end].strip() for part in read.sections):
        detail = "nothing after the header" if document.text.strip() else ""
        raise ReadError(document.path, Reason.NO_TEXT, detail)


def _text_items(path: str, kind: str, text: str) -> Items:
    """Parse the text of a file; if its markup cannot be parsed, return it as plain text with a `Skipped` that gives the
    reason.
    """
    plain = file_document(path, kind, text, file_name(path), sections=(Section(0, len(text)),))
    if kind not in MARKUP_KINDS:
        return [plain]
    parser = own_reader().parse if len(text) > _LARGEST_HERE else parse
    try:
        return parser(kind, path, text)
    except ReadError as error:
        if error.reason == Reason.NO_TEXT:
            raise
        problem = f"its markup {error.reason}" + (f": {error.detail}" if error.detail else "")
    return [plain, Skipped(path, Reason.AS_PLAIN, problem)]


def _some(path: str, items: Iterator[Document | Skipped]) -> Iterator[Document | Skipped]:
    """Yield the items, and raise ReadError if none of them is a document.

    Only the first skipped records are yielded, the others are counted, because a file may have millions.
    """
    n_documents, n_skipped = 0, 0
    for item in items:
        if isinstance(item, Document):
            n_documents += 1
            item = dated(item)
        else:
            n_skipped += 1
        if isinstance(item, Document) or n_skipped <= _MOST_NAMED:
            yield item
    if n_documents == 0:
        raise ReadError(path, Reason.NO_TEXT, f"none of the {n_skipped} records contains text")
    if n_skipped > _MOST_NAMED:
        yield Skipped(path, Reason.DAMAGED, f"{n_skipped - _MOST_NAMED:,} more empty or damaged records")


class Reader:
    """A child process that parses files for one thread."""

    def __init__(self) -> None:
        root = str(Path(__file__).resolve().parents[2])
        paths = [os.path.abspath(path) for path in [root, *sys.path] if path]  # noqa: PTH100 (strings)
        self._program = _PROGRAM.format(paths=paths, memory=MEMORY)
        self._child: subprocess.Popen[bytes] | None = None
        self._read = 0  # bytes that the child read

    def parse(self, kind: str, path: str, content: bytes | str) -> Items:
        """Return the documents of a file, with a `Skipped` for each part that could not be read.

        Raises:
            ReadError: the error of the parser; "took too long", "needs too much memory" or "crashed its reader".
        """
        child = self._running(len(content))
        deadline = time.monotonic() + SECONDS
        timer = threading.Timer(SECONDS, child.kill)
        timer.daemon = True
        timer.start()
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            pickle.dump((kind, path, content), child.stdin)
            child.stdin.flush()
            answer: Items | tuple[str, str] = pickle.load(child.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            raise _failure(path, child, time.monotonic() >= deadline) from None
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()
        if isinstance(answer, tuple):
            raise ReadError(path, *answer)
        return answer

    def _running(self, size: int) -> subprocess.Popen[bytes]:
        """Return a running child process that has not read too much yet."""
        self._read += size
        if self._child is None or self._child.poll() is not None or self._read > _MOST_READ:
            self.close()
            self._read = size
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", "-c", self._program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the parent alone
            )
            # Stops the child also when its thread or the whole process ends.
            self._stop = weakref.finalize(self, _stop, self._child)
        return self._child

    def close(self) -> None:
        """End the child process, if there is one."""
        if self._child is not None:
            self._stop()
            self._child = None


def _failure(path: str, child: subprocess.Popen[bytes], is_late: bool) -> ReadError:
    """Return the error for a child process that ended without an answer."""
    child.kill()
    code = child.wait()
    if is_late:
        return ReadError(path, Reason.TOO_SLOW, f"longer than {SECONDS:g} seconds")
    if code == _NO_MEMORY:
        return ReadError(path, Reason.OUT_OF_MEMORY)
    return ReadError(path, Reason.CRASHED, f"exit code {code}")


def _stop(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    with contextlib.suppress(OSError):  # a request that could not be sent
        child.communicate()


_own = threading.local()


def own_reader() -> Reader:
    """Return the child process that parses files for the calling thread."""
    if not hasattr(_own, "reader"):
        _own.reader = Reader()
    reader: Reader = _own.reader
    return reader


def parse(kind: str, path: str, content: bytes | str) -> Items:
    """Parse the documents of a file in this process.

    Args:
        content: the text of HTML, Markdown and reStructuredText; the bytes of other formats.

    Raises:
        ReadError: the file cannot be parsed; also for unexpected errors of a parser.
    """
    try:
        return _parsed(kind, path, content)
    except (ReadError, *_SHORT_OF_MEMORY):
        raise
    except RecursionError:
        raise ReadError(path, Reason.DAMAGED, "nested too deeply") from None
    except Exception as error:  # libraries raise errors of any class
        detail = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_DETAIL]
        raise ReadError(path, Reason.DAMAGED, detail) from error


def _parsed(kind: str, path: str, content: Any) -> Items:
    if kind in MARKUP_KINDS:
        from search.corpus import html, light, man, markdown, rst, subtitles

        parsers = {"markdown": markdown.document, "rst": rst.document, "html": html.document}
        parsers |= {"man": man.document, "subtitles": subtitles.document}
        parsers |= dict.fromkeys(light.FORMATS, partial(light.document, kind=kind))
        return [parsers[kind](path, content)]
    from search.corpus import markdown, office, opendocument, pdf

    extractors = {"pdf": pdf.extract, "notebook": markdown.notebook, "docx": office.docx}
    extractors |= {"pptx": office.pptx, "xlsx": office.xlsx, "epub": office.epub, "rtf": office.rtf}
    extractors |= dict.fromkeys(("odt", "ods", "odp"), partial(opendocument.document, kind=kind))
    return extractors[kind](path, content)


def main(memory: int) -> None:
    """Run the child process: answer requests until there are no more, or the parent process has died.

    Args:
        memory: limit of the address space in bytes, where the system supports one.
    """
    # Libraries may write to standard output, which must not end up in an answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if sys.platform != "win32":
        import resource

        with contextlib.suppress(ValueError, OSError):  # macOS defines this limit but rejects it
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        while True:
            pickle.dump(_answer(*pickle.load(sys.stdin.buffer)), answers)
            answers.flush()
    except EOFError:
        pass
    except _SHORT_OF_MEMORY:
        os._exit(_NO_MEMORY)  # there may be no memory for an answer


def _answer(kind: str, path: str, content: bytes | str) -> Items | tuple[str, str]:
    try:
        return parse(kind, path, content)
    except ReadError as error:
        return error.reason, error.detail
