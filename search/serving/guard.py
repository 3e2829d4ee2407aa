"""Protection of the server: checks of Origin and token, limits on bodies and waiting requests, security headers.

A page of another web site can make a browser send requests to this server, even through a host name of that site that
points to this machine (DNS rebinding). But the page cannot choose the headers Host, Origin and Sec-Fetch-Site.
Starlette's TrustedHostMiddleware checks Host. With a token, any Host is allowed, because no other site knows the token.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from typing import TypeVar

import anyio
from anyio.to_thread import run_sync
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from search.errors import InputError
from search.serving.problems import API, OF_OTHERS, Problem, as_response, busy, is_for_programs, stopping

AGENTS, DOCUMENTS = "/mcp", "/api/v1/documents"
LARGEST_BODY, LARGEST_TEXTS, LARGEST_UPSERT = 2**20, 2**23, 2**25  # bytes
# For each part of a body; the time of the whole body is not limited, because a connection may be slow.
SECONDS_FOR_PART = 30
SHORTEST_TOKEN = 16
# More threads than cores compete for the interpreter: on two cores, 8 clients got a fifth more answers from 2 threads
# than from 8.
AT_ONCE, WAITING = max(2, os.cpu_count() or 2), 64
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-store",
}
_OPEN = ("/healthz", "/readyz", "/static/")  # need no token: they reveal nothing about the indexes

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Settings:
    """Address, token and allowed origins of a server.

    Attributes:
        host: host name or address to listen on.
        token: token that clients must send; "" for none, which is allowed on loopback addresses only.
        origins: web sites whose pages may use the API, such as "https://notes.example".
        writable: True if clients may change indexes of documents from memory; requires a token.

    Raises:
        InputError: the token is too short, or missing although other machines can reach `host` or clients may write.
    """

    host: str = "127.0.0.1"
    token: str = field(default="", repr=False)
    origins: tuple[str, ...] = ()
    writable: bool = False

    def __post_init__(self) -> None:
        local = _is_loopback(self.host)
        if not self.token and (self.writable or not local):
            needs = "--writable" if local else f"listening on {self.host}"
            raise InputError(f"{needs} requires a token: set SEEWHY_TOKEN, or add --token new")
        if self.token and not re.fullmatch(rf"[!-~]{{{SHORTEST_TOKEN},}}", self.token):
            raise InputError(f"a token needs at least {SHORTEST_TOKEN} ASCII characters, without spaces.")

    @property
    def allows_pins(self) -> bool:
        """True if questions can be pinned: clients may write, or all are on this machine and need no token."""
        return self.writable or not self.token

    @property
    def trusted_hosts(self) -> list[str]:
        """Host names that a request may have; any if a token is required."""
        return ["*"] if self.token else ["localhost", "127.0.0.1", "[::1]", "::1", self.host]


def _is_loopback(name: str) -> bool:
    """Return True if a host name or address can be reached from this machine only."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class RequestLimiter:
    """Runs the work of requests in worker threads, in the order of arrival.

    Args:
        ends: set when the server stops; then no more requests are accepted.
        at_once: maximum number of requests that run at the same time.
        waiting: maximum number of further requests that wait; more are refused immediately.
    """

    def __init__(self, ends: Event, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._ends, self._most_waiting = ends, waiting
        self._turns, self._threads = anyio.Semaphore(at_once), anyio.CapacityLimiter(at_once)
        self._waiting: set[anyio.CancelScope] = set()

    async def run(self, function: Callable[[], Answer]) -> Answer:
        """Run a function in a worker thread and return its result; its exceptions are raised here.

        Raises:
            Problem: too many requests are waiting, or the server stops before the function's turn.
        """
        if self._ends.is_set():
            raise stopping()
        if self._turns.value == 0 and len(self._waiting) >= self._most_waiting:
            raise busy("too many requests are waiting. Try again in a moment.")
        with anyio.CancelScope() as wait:
            self._waiting.add(wait)
            try:
                await self._turns.acquire()
            finally:
                self._waiting.remove(wait)
        if wait.cancelled_caught:
            raise stopping()
        try:
            return await run_sync(function, limiter=self._threads)
        finally:
            self._turns.release()

    def refuse_waiting(self) -> None:
        """Refuse the requests that wait for their turn; those that run continue."""
        for wait in self._waiting:
            wait.cancel()


class SecurityMiddleware:
    """ASGI middleware that passes only allowed requests on, and adds security headers to responses.

    Args:
        ends: set when the server stops; a request that is then cancelled gets status 503.
    """

    def __init__(self, app: ASGIApp, settings: Settings, ends: Event) -> None:
        self._app, self._token, self._ends = app, settings.token.encode("ascii"), ends
        self._origins, self._writable = set(settings.origins), settings.writable

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        is_started = False

        async def guarded(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                answer = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    answer.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        try:
            self._require_origin(scope, headers)
            self._require_token(scope, headers)
        except Problem as problem:
            await as_response(Request(scope), problem)(scope, receive, guarded)
        else:
            method = "GET" if scope["method"] == "HEAD" else scope["method"]
            limited = _limited(receive, self._largest_body(scope["path"]))
            try:
                await self._app({**scope, "method": method}, limited, guarded)
            except anyio.get_cancelled_exc_class():
                if not self._ends.is_set():
                    raise
                if not is_started:
                    await as_response(Request(scope), stopping())(scope, receive, guarded)

    def _largest_body(self, path: str) -> int:
        """Return the limit for the body of a request, in bytes."""
        if self._writable and path == DOCUMENTS:
            return LARGEST_UPSERT
        return LARGEST_TEXTS if path.startswith(OF_OTHERS) else LARGEST_BODY

    def _require_origin(self, scope: Scope, headers: Headers) -> None:
        """Raise Problem for a request by a page of another web site, unless it follows a link to a page."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        is_api = scope["path"].startswith(API) or scope["path"] == AGENTS
        if is_api and origin in self._origins:
            return
        is_link = (
            scope["method"] in ("GET", "HEAD")
            and not is_api
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )
        # This server's pages send no referrer, so their forms have the origin "null".
        own = _is_of(origin, headers.get("host", "")) or (origin == "null" and site == "same-origin")
        if (origin is not None and not own) or (site not in ("none", "same-origin") and not is_link):
            raise Problem(403, "foreign-origin", "pages of other websites may not call this server.")

    def _require_token(self, scope: Scope, headers: Headers) -> None:
        """Raise Problem if the token is missing or wrong; programs send it as bearer token, browsers as password."""
        if not self._token or scope["method"] == "OPTIONS" or scope["path"].startswith(_OPEN):
            return
        if not hmac.compare_digest(_token_of(headers.get("authorization", "")), self._token):
            scheme = "Bearer" if is_for_programs(Request(scope)) else 'Basic realm="seewhy"'
            detail = "the token is missing or wrong. Send it as: Authorization: Bearer TOKEN"
            raise Problem(401, "token-needed", detail, {"WWW-Authenticate": scheme})


def _token_of(authorization: str) -> bytes:
    """Return the token in an Authorization header; b"" if there is none."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip().encode()
    try:
        return b64decode(value).partition(b":")[2] if scheme.lower() == "basic" else b""
    except (Error, ValueError):
        return b""


def _limited(receive: Receive, largest: int) -> Receive:
    """Wrap `receive` to limit the body of a request: 413 if it has more than `largest` bytes, 408 if it stops."""
    size, is_read = 0, False

    async def received() -> Message:
        nonlocal size, is_read
        if is_read:
            return await receive()  # waits until the client is gone
        while True:
            try:
                with anyio.fail_after(SECONDS_FOR_PART):
                    message = await receive()
            except TimeoutError:
                detail = "the rest of the request body did not arrive in time. Send the request again."
                raise Problem(408, "request-timeout", detail, {"Connection": "close"}) from None
            size += len(message.get("body", b""))
            is_read = not message.get("more_body", False)
            if size <= largest:
                return message
            # Some clients look for an answer only when they have sent everything. So read on, but not for ever.
            if is_read or size > 2 * largest:
                detail = f"the request body is larger than {largest // 2**20} MiB. Send less, or several requests."
                raise Problem(413, "body-too-large", detail, {"Connection": "close"})

    return received


def _is_of(origin: str | None, host: str) -> bool:
    """Return True if an origin is this server, with http or https, because a proxy may add HTTPS."""
    scheme, _, rest = (origin or "").lower().partition("://")
    return scheme in ("http", "https") and rest == host.lower()
