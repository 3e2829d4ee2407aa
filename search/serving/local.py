"""Answers of a running server to `seewhy query` of the same user; they have everything that the command prints."""

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
from search.serving.app_state import AppState
from search.serving.guard import RequestLimiter
from search.serving.problems import Problem
from search.store.milvus.client import unique_name


class Local:
    """ASGI middleware that answers requests from the socket of `nearby`, and passes all others on.

    Only the user can connect to that socket, so there are no further checks. A query is refused if the answer could
    differ from the command's own; then the command runs the query itself.
    """

    def __init__(self, app: ASGIApp, served: AppState, limiter: RequestLimiter) -> None:
        self._app, self._served, self._limiter = app, served, limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        server = scope.get("server")
        if scope["type"] != "http" or server is None or server[1] is not None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            query = json.loads(await request.body())
            answer = Response(await self._limiter.run(lambda: self._answer(query), wait=False))
        except (ClientDisconnect, Problem, SearchError, MemoryError, LookupError, TypeError, ValueError):
            answer = Response(status_code=409)
        await answer(scope, receive, send)

    def _answer(self, query: Mapping[str, Any]) -> bytes:
        """Return the hits of a query as JSON, with highlights of its words and the lines around each passage.

        Raises:
            LookupError: the command has another version, models are still being loaded, the server does not have the
                index, or the index has notes.
        """
        named = {unique_name(index.name): index for index in self._served.indexes.values()}
        if query["version"] != search.__version__ or not self._served.ready.is_set():
            raise LookupError
        index: Index = named[query["index"]]
        hits, lines = index.query(query["text"], **query["options"]), query["lines"]
        content = {
            "hits": hits,
            "marks": index.highlights(query["text"], hits) if query["marks"] else (),
            "around": [index.surroundings(hit, lines=lines) for hit in hits if lines is not None],
        }
        if index.notes:
            raise LookupError
        return json.dumps(content, default=_plain).encode("ascii")


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else vars(value)
