"""The life of a server: what it loads first, what it does beside, how it ends."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import NoReturn

import uvicorn
from starlette.types import ASGIApp

Beside = Callable[[threading.Event], None]

_SECONDS_FOR_THREADS = 1.5


def url_of(host: str, port: int) -> str:
    """The address of a server on this machine, for a person and a browser.

    A server that listens on every address is reached by "localhost".
    """
    name = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/"


def configured(app: ASGIApp) -> uvicorn.Config:
    """Configuration of uvicorn: bounded heads and connections, and nothing logged but errors."""
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        h11_max_incomplete_event_size=64 * 1024,
        limit_concurrency=256,
        timeout_graceful_shutdown=10,
        proxy_headers=False,  # who asks is known by the token, not by an address that somebody says
        server_header=False,
        access_log=False,
        log_level="error",  # else every request that cannot be read is a line
    )


def live(
    config: uvicorn.Config,
    listening: socket.socket,
    beside: Sequence[Beside] = (),
    nearby: AbstractContextManager[list[socket.socket]] | None = None,
) -> None:
    """Serve until SIGTERM or Ctrl-C; then take nothing new, and go on for a while with what has been asked for.

    Args:
        listening: a socket; it is closed at the end.
        beside: each runs in a thread of its own, until the event that it gets is set.
        nearby: gives further sockets; it is left before the process ends, whatever is still worked at.

    Raises:
        SystemExit: SIGTERM came, which is how a server is ended, so its exit code is 0.
        KeyboardInterrupt: Ctrl-C.
    """
    ends, before = threading.Event(), set(threading.enumerate())
    for work in beside:
        threading.Thread(target=work, args=(ends,)).start()
    usual = signal.signal(signal.SIGTERM, _end)
    try:
        with nearby or nullcontext(list[socket.socket]()) as further:
            uvicorn.Server(config).run([listening, *further])
    except (SystemExit, KeyboardInterrupt) as end:
        ends.set()
        if not _come_to_their_end(set(threading.enumerate()) - before):
            os._exit(130 if isinstance(end, KeyboardInterrupt) else 0)  # Python would wait for them
        raise
    finally:
        ends.set()
        signal.signal(signal.SIGTERM, usual)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


def _come_to_their_end(threads: set[threading.Thread]) -> bool:
    """True if all threads end soon."""
    latest = time.monotonic() + _SECONDS_FOR_THREADS
    for thread in threads:
        thread.join(max(0.0, latest - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)
