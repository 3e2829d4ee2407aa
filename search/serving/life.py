"""Run the server with its background threads, and shut it down."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import NoReturn

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

Background = Callable[[threading.Event], None]

SECONDS_TO_FINISH = 10  # for running requests, when the server stops
_SECONDS_FOR_THREADS = 1.5


def url_of(host: str, port: int) -> str:
    """Return the URL of a server on this machine, to display or to open in a browser.

    The host is "localhost" if the server listens on all addresses.
    """
    name = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/"


class _Protocol(H11Protocol):
    """HTTP connection that is closed if the headers of a request take too long.

    uvicorn itself limits only the time between an answer and the first byte of the next request.
    """

    seconds_for_headers = 0.0
    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit_headers()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._limit_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._end_limit()

    def _limit_headers(self) -> None:
        """Count the seconds while no request is answered."""
        if self.cycle and not self.cycle.response_complete:
            self._end_limit()
        elif not self._limit:
            self._limit = self.loop.call_later(self.seconds_for_headers, self.timeout_keep_alive_handler)

    def _end_limit(self) -> None:
        if self._limit:
            self._limit.cancel()
        self._limit = None


def configured(app: ASGIApp, *, seconds_for_headers: float = 30) -> uvicorn.Config:
    """Return uvicorn's configuration: limits on headers and connections, and a log of errors only.

    Args:
        seconds_for_headers: a connection without the complete headers of a request is closed after this time.
    """
    protocol = type("Protocol", (_Protocol,), {"seconds_for_headers": seconds_for_headers})
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        h11_max_incomplete_event_size=64 * 1024,
        limit_concurrency=256,
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
        proxy_headers=False,  # do not trust an address that a client claims
        server_header=False,
        access_log=False,
        log_level="error",  # else every malformed request adds a line
    )


class _Server(uvicorn.Server):
    """Sets an event on the first signal, so that endless responses end."""

    def __init__(self, config: uvicorn.Config, ends: threading.Event) -> None:
        super().__init__(config)
        self._ends = ends

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._ends.set()
        super().handle_exit(sig, frame)


def live(
    config: uvicorn.Config,
    listening: socket.socket,
    background: Sequence[Background] = (),
    ends: threading.Event | None = None,
) -> None:
    """Serve until SIGTERM or Ctrl-C; then refuse new requests, and finish the running ones within a time limit.

    Args:
        listening: the socket to serve on; it is closed at the end.
        background: functions to run in threads; each gets `ends`, and returns soon after it is set.
        ends: event that is set as soon as the server is told to stop.

    Raises:
        SystemExit: SIGTERM was received; the exit code is 0, because that is the normal end of a server.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    ends, before = ends or threading.Event(), set(threading.enumerate())
    for work in background:
        threading.Thread(target=work, args=(ends,)).start()
    usual = signal.signal(signal.SIGTERM, _end)
    try:
        _Server(config, ends).run([listening])
    except (SystemExit, KeyboardInterrupt) as end:
        ends.set()
        if not _ended_in_time(set(threading.enumerate()) - before):
            # Python itself would wait for the threads.
            os._exit(130 if isinstance(end, KeyboardInterrupt) else 0)
        raise
    finally:
        ends.set()
        signal.signal(signal.SIGTERM, usual)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


def _ended_in_time(threads: set[threading.Thread]) -> bool:
    """Wait for threads to end; return True if all of them end within a time limit."""
    latest = time.monotonic() + _SECONDS_FOR_THREADS
    for thread in threads:
        thread.join(max(0.0, latest - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)
