"""Connections that are bounded in number and time, before there is a request; uvicorn bounds neither by itself."""

from __future__ import annotations

import asyncio
import logging
import sys
from http import HTTPStatus

import h11
import uvicorn
from starlette.requests import Request
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from search.serving.guard import HEADERS
from search.serving.problems import Problem, as_response
from search.serving.settings import Settings

_UNREAD = Request({"type": "http", "path": "", "headers": []})  # so a problem of it is JSON


def configured(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """How uvicorn runs an application that is its own guard."""
    logging.getLogger("uvicorn.error").addFilter(_is_for_the_log)
    return uvicorn.Config(
        app,
        http=type("Bounded", (Connection,), {"settings": settings}),
        ws="none",
        h11_max_incomplete_event_size=settings.largest_head,
        proxy_headers=False,  # who asks is known by the token, not by an address that somebody says
        server_header=False,
        access_log=False,
        log_level="error",  # else every request that cannot be read is a line
        timeout_graceful_shutdown=int(settings.seconds_to_drain),
    )


def _is_for_the_log(record: logging.LogRecord) -> bool:
    """Whether a line is of something that went wrong; who is not answered when the server ends is told so."""
    return not record.getMessage().startswith("Cancel ")


class Connection(H11Protocol):
    """A connection whose client has to send the head of a request in time, and to take what it is sent."""

    settings: Settings
    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.settings.most_connections:
            self._refuse(503, "busy", "too many connections are open; try again later.", ("Retry-After", "1"))
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop()
        self._clock = self.loop.call_later(self.settings.seconds_to_send, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        error = sys.exc_info()[1]
        hint = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        self._refuse(hint, "bad-request", "that is no request of HTTP that this server can read.")

    def _watch(self) -> None:
        """Let the clock run while the head of a request is awaited."""
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._stop()
        elif self._clock is None:
            self._clock = self.loop.call_later(self.settings.seconds_to_send, self._too_slow)

    def _stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _too_slow(self) -> None:
        if self.conn.trailing_data[0]:
            seconds = self.settings.seconds_to_send
            self._refuse(408, "too-slow", f"the request did not come within {seconds:g} seconds.")
        else:
            self.transport.close()

    def _refuse(self, status: int, code: str, detail: str, *headers: tuple[str, str]) -> None:
        """Answer what is no request, and end the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            answer = as_response(_UNREAD, Problem(status, code, detail, headers))
            answer.headers.update({**HEADERS, "Cache-Control": "no-store", "Connection": "close"})
            reason = HTTPStatus(status).phrase.encode("ascii")
            head = h11.Response(status_code=status, headers=answer.raw_headers, reason=reason)
            for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            if self.cycle is not None:  # what works on the request learns that nobody waits
                self.cycle.disconnected = True
                self.cycle.message_event.set()
        self.transport.close()
