"""A client that starts a process and speaks with it by its standard input and output."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import anyio
from anyio.to_thread import run_sync
from mcp.server.stdio import stdio_server

from search.serving.mcp.server import Work, server
from search.serving.served import Served


def answer(served: Served) -> None:
    """Answer until standard input ends; what anything else prints goes to standard error."""

    async def conversation() -> None:
        limiter = anyio.CapacityLimiter(max(2, os.cpu_count() or 2))

        async def run(work: Work[Any]) -> Any:
            return await run_sync(work, limiter=limiter)

        made = server(served, run)
        async with stdio_server() as (incoming, outgoing):
            sys.stdout = sys.stderr
            await made.run(incoming, outgoing, made.create_initialization_options())

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the SDK would wait for a line that it has begun to read
    anyio.run(conversation)
