"""What has become of the files of hits since they were indexed: hits as they stand now.

One look at the size, time stamp and inode of each file, as indexing takes it; only a file that differs is read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from search.errors import SearchError
from search.files import read_file
from search.records.contents import StoredFile
from search.records.documents import PLAIN_KINDS

if TYPE_CHECKING:
    from search.records.documents import Document
    from search.records.hits import Hit
    from search.store.settings import Source

RECORDS = ("csv", "jsonl")  # every span of a record stands where the record does
_LARGEST = 8 << 20  # bytes of a changed file in which a text is looked for


def as_of_now(hits: Sequence[Hit], source: Source) -> list[Hit]:
    """The hits, each with what has become of its file; where its text stands elsewhere now, with its new lines.

    Args:
        source: how records are read.
    """
    seen: dict[str, Since] = {}
    files: dict[str, _File] = {}
    now = list(hits)
    for place, hit in enumerate(hits):
        since = seen.get(hit.path) or seen.setdefault(hit.path, since_indexed(hit.path, hit.file))
        if since.changed == "gone":
            now[place] = replace(hit, changed="gone")
        elif since.changed:
            file = files.setdefault(hit.path, _File(hit, source, since))
            now[place] = file.told(hit)
    return now


@dataclass(frozen=True)
class Since:
    """What has become of a file since it was indexed.

    Attributes:
        changed: "" where its content is what was indexed.
        detail: why it cannot be read, if it cannot.
        raw: its content, if that changed and is not too large to look for something in it.
    """

    changed: Literal["", "changed", "gone"]
    detail: str = ""
    raw: bytes = b""


def since_indexed(path: str | Path, stored: StoredFile) -> Since:
    """Look at a file."""
    try:
        now = os.lstat(path)
        if (now.st_size, now.st_mtime_ns, now.st_ino) == (stored.size, stored.mtime_ns, stored.inode):
            return Since("")
        if now.st_size > _LARGEST and now.st_size != stored.size:
            return Since("changed")
        raw = read_file(Path(path), now.st_size, links=False)
    except (FileNotFoundError, NotADirectoryError):
        return Since("gone")
    except (OSError, ValueError) as error:
        return Since("changed", f"it cannot be read now: {getattr(error, 'strerror', None) or error}")
    if hashlib.sha256(raw).hexdigest() == stored.sha256:
        return Since("")
    return Since("changed", raw=raw if len(raw) <= _LARGEST else b"")


class _File:
    """A file of some hits that has changed, as it is now."""

    def __init__(self, hit: Hit, source: Source, since: Since) -> None:
        self._name = hit.document.rpartition("#")[0] if hit.file.kind in RECORDS else hit.document
        self._kind, self._source, self._since = hit.file.kind, source, since

    def told(self, hit: Hit) -> Hit:
        """A hit of it, as it stands now."""
        try:
            lines = self._lines(hit)
        except (SearchError, OSError, ValueError, RecursionError, MemoryError):
            lines = None  # what is there now is no such document
        if lines is None:
            return replace(hit, changed="changed")
        return replace(hit, changed="moved", line_start=lines[0], line_end=lines[1])

    def _lines(self, hit: Hit) -> tuple[int, int] | None:
        """Where the text of a hit stands now, nearest to where it stood; None for nowhere."""
        if not self._since.raw or not hit.text.strip():
            return None
        if self._kind in RECORDS:
            spans = [
                (item.lines.lines[0], item.lines.lines[-1]) for item in self._records if hit.text in item.text
            ]
            return min(spans, key=lambda span: abs(span[0] - hit.line_start), default=None)
        if self._kind not in PLAIN_KINDS:
            return None
        text, length = self._text, len(hit.text.rstrip("\r\n"))
        places = text.rfind(hit.text, 0, hit.end), text.find(hit.text, hit.start)
        found = [(_line(text, place), _line(text, place + length)) for place in places if place >= 0]
        return min(found, key=lambda span: abs(span[0] - hit.line_start), default=None)

    @cached_property
    def _text(self) -> str:
        from search.corpus.text import decode

        return decode(self._name, self._since.raw).text

    @cached_property
    def _records(self) -> list[Document]:
        from search.corpus.table import documents
        from search.corpus.text import decode
        from search.records.documents import Document

        decoded, source = decode(self._name, self._since.raw), self._source
        items = documents(self._name, self._kind, decoded, source.text_field, source.title_field)
        return [item for item in items if isinstance(item, Document)]


def _line(text: str, place: int) -> int:
    """The line on which a character stands, from 1."""
    ends = text.count("\n", 0, place) + text.count("\r", 0, place) - text.count("\r\n", 0, place)
    return ends + 1
