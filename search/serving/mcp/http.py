"""The protocol over HTTP, at /mcp of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from starlette.types import Receive, Scope, Send

from search.serving.served import Served

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from search.serving.mcp.server import Run


class Agents:
    """An ASGI application that speaks the protocol while it is `answering`."""

    def __init__(self, served: Served, run: Run) -> None:
        self._served, self._run = served, run
        self._manager: StreamableHTTPSessionManager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[None]:
        """The time in which requests are answered."""
        self._manager = await run_sync(self._load)
        async with self._manager.run():
            yield

    def _load(self) -> StreamableHTTPSessionManager:
        from mcp.server.transport_security import TransportSecuritySettings

        from search.serving.mcp.server import server

        made = server(self._served, self._run)
        guarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # by search.serving.guard
        made.streamable_http_app(json_response=True, stateless_http=True, transport_security=guarded)
        return made.session_manager
