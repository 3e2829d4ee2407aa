"""A query that a running server of the same user answers, which has loaded all that it takes.

What comes back is drawn here as if the index had been asked, to the same bytes; so neither the library nor the model
is loaded. Whatever a server does not answer at once, or would answer otherwise, is asked in the usual way.
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

_SECONDS = 2.0  # a query without a server does not take much longer


@dataclass(frozen=True)
class Answered:
    """What a server found, in place of the index that it found it in.

    Attributes:
        name: what opens the index, a path or an address.
        hits: with what counts in the text of each, and what stands around it, where that was asked for.
        notes: none, as a server that has some does not answer.
    """

    name: str
    hits: Hits
    _marks: list[tuple[Highlight, ...]]
    _around: list[Surroundings]
    notes: tuple[str, ...] = ()

    def query(self, text: Query, **options: Any) -> Hits:
        """The hits of the query that the server was asked."""
        return self.hits

    def highlights(self, query: Query, hits: Sequence[Hit]) -> list[tuple[Highlight, ...]]:
        return self._marks

    def surroundings(self, hit: Hit, *, lines: int) -> Surroundings:
        return self._around[self.hits.index(hit)]


def ask(
    named: Sequence[str] | None, text: str, options: dict[str, Any], marks: bool, lines: int | None
) -> Answered | None:
    """What a running server finds; None where none answers, as then the index itself is to be asked.

    Args:
        named: the index as it was typed, if it was.
        options: of `Index.query`.
        marks: whether what counts in the texts is needed.
        lines: of the files to show around the hits; None for none.
    """
    from search.serving.nearby import place

    if not place().exists():
        return None
    from search.errors import SearchError
    from search.store.milvus.client import known_as

    with suppress(SearchError, OSError, ValueError, LookupError, TypeError, RecursionError):
        name = known_as(named[0] if named else None)
        asked = {
            "version": __version__,
            "index": name,
            "text": text,
            "options": options,
            "marks": marks,
            "lines": lines,
        }
        found = _reply(place(), json.dumps(asked).encode("ascii"))
        return Answered(
            name,
            Hits(map(_hit, found["hits"])),
            [tuple(Highlight(**one) for one in of_hit) for of_hit in found["marks"]],
            [_record(Surroundings, values) for values in found["around"]],
        )
    return None


def _reply(server: Path, content: bytes) -> Any:
    """The content of an answer; OSError or ValueError where there is none in time."""
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
    made = {
        "ranking": Ranking(**values["ranking"]),
        "file": StoredFile(**values["file"]),
        "verdict": values["verdict"] and Verdict(**values["verdict"]),
    }
    return _record(Hit, values | made)


def _record(kind: type[T], values: dict[str, Any]) -> T:
    """A record of what JSON has of it; lists among its values are of pairs."""
    lists = {name: tuple(map(tuple, value)) for name, value in values.items() if isinstance(value, list)}
    return kind(**values | lists)
