"""A client that starts a process and speaks with it by its standard input and output.

Where `seewhy serve` of the same user runs and has the same indexes open, what comes is handed on to it, line by line
and unread, so that no model is loaded and the SDK isn't either. Else the indexes are opened here, while the SDK is
imported; the model is loaded beside, and the client is answered meanwhile.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from search import __version__
from search.serving.nearby import SESSIONS, connected, local_time, sockets

if TYPE_CHECKING:
    from concurrent.futures import Future

    from search.serving.served import Served

_SECONDS_TO_BE_TAKEN = 0.3
_LARGEST = 1 << 16


def own_output() -> BinaryIO:
    """Standard output, for the protocol alone: what anything else prints there goes to standard error from now on."""
    sys.stdout.flush()
    wire = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(wire, "wb")


def own_input() -> BinaryIO:
    """Standard input, for the protocol alone: nothing else finds anything there from now on."""
    wire = os.dup(sys.stdin.fileno())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    return os.fdopen(wire, "rb")


def forwarded(places: Sequence[Path], output: BinaryIO, *, every: bool) -> bool:
    """Whether a running server took the whole conversation.

    Args:
        places: the indexes that it has to offer, the first first.
        every: also those of the user that are made later.
    """
    asked = {
        "version": __version__,
        "zone": local_time(),
        "indexes": [str(one.resolve()) for one in places],
        "every": every,
    }
    for server in sockets(SESSIONS):
        with suppress(OSError):
            connection = connected(server, _SECONDS_TO_BE_TAKEN)
            connection.sendall(json.dumps(asked).encode("ascii") + b"\n")
            if connection.recv(1) == b"\n":
                connection.settimeout(None)
                _hand_on(connection, output)
                return True
            connection.close()
    return False


def _hand_on(connection: socket.socket, output: BinaryIO) -> None:
    """Hand everything on, both ways, until one side has said all."""

    def send() -> None:
        with suppress(OSError):
            while part := os.read(0, _LARGEST):
                connection.sendall(part)
            connection.shutdown(socket.SHUT_WR)

    threading.Thread(target=send, daemon=True).start()
    while part := connection.recv(_LARGEST):
        output.write(part)
        output.flush()


def _write(output: BinaryIO, text: str) -> None:
    output.write(text.encode("utf-8"))
    output.flush()


def answered(opening: Future[Served], output: BinaryIO) -> None:
    """Answer by oneself, until standard input ends.

    Args:
        opening: the indexes, which are opened while the SDK is loaded.
    """
    from io import TextIOWrapper

    import anyio
    from anyio.to_thread import run_sync
    from mcp.server.stdio import stdio_server

    from search.serving.mcp.lines import Lines
    from search.serving.mcp.server import Work, server

    served = opening.result()

    async def conversation() -> None:
        limiter = anyio.CapacityLimiter(max(2, os.cpu_count() or 2))

        async def run(work: Work[Any]) -> Any:
            return await run_sync(work, limiter=limiter)

        async def send(text: str) -> None:
            await run_sync(_write, output, text)

        made = server(served, run)
        coming = anyio.wrap_file(TextIOWrapper(own_input(), encoding="utf-8", errors="replace"))
        lines = Lines(coming, send)
        async with stdio_server(lines, lines) as (incoming, outgoing):  # type: ignore[arg-type]
            await made.run(incoming, outgoing, made.create_initialization_options())

    gc.freeze()
    gc.enable()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the SDK would wait for a line that it has begun to read
    anyio.run(conversation)
