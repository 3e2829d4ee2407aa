"""What the command asks a running server of the same user, beside the API: a query, with all that it prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

import search
from search.errors import SearchError
from search.index import Index
from search.serving.desk import Desk
from search.serving.nearby import local_time
from search.serving.problems import Problem
from search.serving.served import Served
from search.store.milvus.client import known_as


class Local:
    """An ASGI application around another, of what comes by a socket of `nearby`.

    Whoever asks there is the user, so no guard stands before it. What cannot be answered just as the command would
    answer it by itself is refused, and then it does.
    """

    def __init__(self, app: ASGIApp, served: Served, desk: Desk) -> None:
        self._app, self._served, self._desk = app, served, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        server = scope.get("server")
        if scope["type"] != "http" or server is None or server[1] is not None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            query = json.loads(await request.body())
            index = self._index(query)
            answer = Response(await self._desk.run(lambda: _answer(index, query), wait=False))
        except (ClientDisconnect, Problem, SearchError, MemoryError, LookupError, TypeError, ValueError):
            answer = Response(status_code=409)
        await answer(scope, receive, send)

    def _index(self, asked: Mapping[str, Any]) -> Index:
        """The index that is asked.

        Raises:
            LookupError: there is no such index here, it failed, what the first query needs is still being loaded, or
                the command is of another version or in another time zone.
        """
        if (asked["version"], asked["zone"]) != (search.__version__, local_time()):
            raise LookupError
        for name, index in self._served.indexes.items():
            works = self._served.ready.is_set() and name not in self._served.failed
            if works and known_as(index.name) == asked["index"]:
                return index
        raise LookupError


def _answer(index: Index, asked: Mapping[str, Any]) -> bytes:
    """The hits of a query, with what counts in their texts and what stands around them.

    Raises:
        LookupError: the index has something to say of itself.
    """
    hits = index.query(asked["text"], **asked["options"])
    found = {
        "hits": hits,
        "marks": index.highlights(asked["text"], hits) if asked["marks"] else None,
        "around": (
            None
            if asked["lines"] is None
            else [index.surroundings(hit, lines=asked["lines"]) for hit in hits]
        ),
    }
    if index.notes:
        raise LookupError
    return json.dumps(found, default=_plain).encode("ascii")


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else vars(value)
