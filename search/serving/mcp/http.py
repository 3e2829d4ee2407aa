"""A client that asks `seewhy serve`: at /mcp (streamable HTTP), or by a socket to which `seewhy mcp` hands on.

At /mcp each request stands for itself, in every version of the protocol, and is answered with one JSON document: there
are no sessions to keep. Who may ask there was decided by the guard before.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from socket import socket
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup
from anyio.to_thread import run_sync
from starlette.types import Receive, Scope, Send

from search import __version__
from search.serving.nearby import SESSIONS, found_here, local_time
from search.serving.served import Served

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from search.serving.mcp.server import Run

_LONGEST_LINE = 1 << 20  # bytes of a message
_log = logging.getLogger(__name__)

_BETWEEN_LOOKS = 0.05  # seconds
_SECONDS_TOLD = 60.0  # for which clients are told the same of the indexes
_SECONDS = 30.0  # for the first line of a session, and for the SDK to be there


class Agents:
    """An ASGI application that speaks the protocol, once the SDK is loaded, which begins with `answering`."""

    def __init__(self, served: Served, run: Run) -> None:
        self._served, self._run = served, run
        self._is_there = anyio.Event()
        self._manager: StreamableHTTPSessionManager | None = None
        self._told = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with anyio.fail_after(_SECONDS):
            await self._is_there.wait()
        assert self._manager is not None
        if time.monotonic() - self._told > _SECONDS_TOLD:
            await self._tell(self._manager)
        await self._manager.handle_request(scope, receive, send)

    async def _tell(self, manager: StreamableHTTPSessionManager) -> None:
        """Let clients be told of the indexes as they are now."""
        from search.serving.mcp.server import instructions_of

        self._told = time.monotonic()
        manager.app.instructions = await run_sync(instructions_of, self._served)

    @asynccontextmanager
    async def answering(self, nearby: bool) -> AsyncIterator[None]:
        """The time in which requests are answered; the SDK is loaded beside.

        Args:
            nearby: take sessions by a socket, too; and begin only when the indexes are ready, so that the first query
                does not wait for the SDK.
        """
        async with anyio.create_task_group() as group:
            group.start_soon(self._answer, nearby, group)
            yield
            group.cancel_scope.cancel()

    async def _answer(self, nearby: bool, group: TaskGroup) -> None:
        async def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            group.start_soon(self._session, reader, writer)

        while nearby and not self._served.ready.is_set():
            await anyio.sleep(_BETWEEN_LOOKS)
        self._manager, self._told = await run_sync(self._load), time.monotonic()
        async with self._manager.run():
            self._is_there.set()
            with found_here(SESSIONS) if nearby else nullcontext(list[socket]()) as listening:
                for one in listening:
                    await asyncio.start_unix_server(begin, sock=one, limit=_LONGEST_LINE)
                await anyio.sleep_forever()

    def _load(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        return StreamableHTTPSessionManager(self._server(self._served), json_response=True, stateless=True)

    def _server(self, served: Served) -> Server[Any]:
        from search.serving.mcp.server import server

        return server(served, self._run)

    async def _session(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A whole conversation; none with a client that would be answered otherwise by itself."""
        from mcp.server.stdio import stdio_server

        from search.serving.mcp.lines import Lines

        try:
            with anyio.fail_after(_SECONDS):
                served = self._wanted(json.loads(await reader.readline()))
            made = await run_sync(self._server, served)
            writer.write(b"\n")
            lines = Lines(_coming(reader), partial(_send, writer))
            async with stdio_server(lines, lines) as (incoming, outgoing):  # type: ignore[arg-type]
                await made.run(incoming, outgoing, made.create_initialization_options())
        except Exception:  # one session ends, and no other
            _log.debug("a session of an agent ended", exc_info=True)
        finally:
            writer.close()

    def _wanted(self, asked: Mapping[str, Any]) -> Served:
        """The indexes that a client is to be offered.

        Raises:
            LookupError: one of them is not here, or the client is of another version or in another time zone.
        """
        if (asked["version"], asked["zone"]) != (__version__, local_time()):
            raise LookupError
        self._served.renew()
        names = {str(index.path.resolve()): name for name, index in self._served.indexes.items()}
        return self._served.only([names[place] for place in asked["indexes"]], asked["every"])


async def _coming(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    with suppress(ValueError, OSError):  # a line is too long, or the client is gone
        async for line in reader:
            yield line.decode("utf-8", "replace")


async def _send(writer: asyncio.StreamWriter, text: str) -> None:
    writer.write(text.encode("utf-8"))
    with suppress(OSError):
        await writer.drain()
