"""Client of a running server of the same user, which has already loaded index and model.

The answer is rendered here, byte for byte as if this process had searched the index, but without loading the library
or the model. A query that the server cannot answer at once, or not in the same way, is searched without it.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from search import __version__
from search.records.contents import StoredFile
from search.records.explanations import Highlight
from search.records.hits import Hit, Hits, Surroundings, Verdict
from search.records.options import Ranking

if TYPE_CHECKING:
    from search.ranking.question import Query

T = TypeVar("T")

_SECONDS = 2.0  # to wait for an answer; searching without the server takes little longer


@dataclass(frozen=True)
class ServerAnswer:
    """Answer of a server, used instead of the index.

    Attributes:
        name: path or address of the index.
        hits: with their highlights and the lines around them, if requested.
        notes: empty, as a server that has notes does not answer.
    """

    name: str
    hits: Hits
    _marks: list[tuple[Highlight, ...]]
    _around: list[Surroundings]
    notes: tuple[str, ...] = ()

    def query(self, text: Query, **options: Any) -> Hits:
        """The hits of the query that the server answered."""
        return self.hits

    def highlights(self, query: Query, hits: Sequence[Hit]) -> list[tuple[Highlight, ...]]:
        return self._marks

    def surroundings(self, hit: Hit, *, lines: int) -> Surroundings:
        return self._around[self.hits.index(hit)]


def ask(
    named: Sequence[str] | None, text: str, options: dict[str, Any], marks: bool, lines: int | None
) -> ServerAnswer | None:
    """Ask a running server; None if no server answers, and the index itself must be searched.

    Args:
        named: the index as typed, if any.
        options: of `Index.query`.
        marks: whether highlights are needed.
        lines: number of lines around each hit to read from its file, or None.
    """
    from search.serving.nearby import place

    if not place().exists():
        return None
    from search.errors import SearchError
    from search.store.milvus.client import unique_name

    with suppress(SearchError, OSError, ValueError, LookupError, TypeError, RecursionError):
        name = unique_name(named[0] if named else None)
        request = {
            "version": __version__,
            "index": name,
            "text": text,
            "options": options,
            "marks": marks,
            "lines": lines,
        }
        reply = _reply(place(), json.dumps(request).encode("ascii"))
        return ServerAnswer(
            name,
            Hits(map(_hit, reply["hits"])),
            [tuple(Highlight(**mark) for mark in of_hit) for of_hit in reply["marks"]],
            [_record(Surroundings, values) for values in reply["around"]],
        )
    return None


def _reply(server: Path, content: bytes) -> Any:
    """Send a request, and return the answer; OSError or ValueError if none comes in time."""
    about = f"Host: localhost\r\nConnection: close\r\nContent-Length: {len(content)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_SECONDS)
        connection.connect(str(server))
        connection.sendall(f"POST / HTTP/1.1\r\n{about}\r\n\r\n".encode("ascii") + content)
        received = b"".join(iter(partial(connection.recv, 1 << 16), b""))
    first, _, body = received.partition(b"\r\n\r\n")
    if not first.startswith(b"HTTP/1.1 200 "):
        raise ValueError("not answered")
    return json.loads(body)


def _hit(values: dict[str, Any]) -> Hit:
    records = {
        "ranking": Ranking(**values["ranking"]),
        "file": StoredFile(**values["file"]),
        "verdict": values["verdict"] and Verdict(**values["verdict"]),
    }
    return _record(Hit, values | records)


def _record(kind: type[T], values: dict[str, Any]) -> T:
    """Return a record from its JSON values; a list of pairs becomes a tuple of tuples."""
    lists = {name: tuple(map(tuple, value)) for name, value in values.items() if isinstance(value, list)}
    return kind(**values | lists)
