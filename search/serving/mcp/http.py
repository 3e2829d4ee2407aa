"""The protocol over HTTP, at /mcp of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from anyio.to_thread import run_sync
from starlette.types import Receive, Scope, Send

from search.serving.served import Served

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from search.serving.mcp.server import Run

_SECONDS = 30.0  # for the SDK to be there


class Agents:
    """An ASGI application that speaks the protocol, once the SDK is loaded, which begins with `answering`."""

    def __init__(self, served: Served, run: Run) -> None:
        self._served, self._run = served, run
        self._is_there = anyio.Event()
        self._manager: StreamableHTTPSessionManager | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with anyio.fail_after(_SECONDS):
            await self._is_there.wait()
        assert self._manager is not None
        await self._manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[None]:
        """The time in which requests are answered; the SDK is loaded beside."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._answer)
            yield
            group.cancel_scope.cancel()

    async def _answer(self) -> None:
        self._manager = await run_sync(self._load)
        async with self._manager.run():
            self._is_there.set()
            await anyio.sleep_forever()

    def _load(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from search.serving.mcp.server import server

        return StreamableHTTPSessionManager(
            server(self._served, self._run), json_response=True, stateless=True
        )
