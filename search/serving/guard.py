"""Who may ask, and how much: the Origin rule, the token, the size of a body, the queue, the headers of every answer.

A page of another site can make a browser send requests here, also under a name of its own that points to this machine
(DNS rebinding). It cannot choose their Host, Origin and Sec-Fetch-Site. Starlette's TrustedHostMiddleware looks at
Host; where a token is set any Host will do, as no other page has the token.
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
from typing import TypeVar

import anyio
from anyio.to_thread import run_sync
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from search.errors import InputError
from search.serving.problems import Problem, as_response, busy, is_for_programs

AGENTS = "/mcp"
LARGEST_BODY = 64 * 1024  # bytes
SHORTEST_TOKEN = 16
# More threads than cores take the interpreter from each other: with two of each, 8 clients got a fifth more answers
# than with 8 threads.
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
_OPEN = ("/healthz", "/readyz", "/static/")  # they say nothing of what is indexed

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Settings:
    """Address of a server, and who may ask it.

    Attributes:
        host: what it listens on.
        token: what a client has to send; "" for none, which is only for loopback.
        origins: sites whose pages may ask the API, "https://notes.example" for one.

    Raises:
        InputError: others could ask without a token, or the token is too short.
    """

    host: str = "127.0.0.1"
    token: str = field(default="", repr=False)
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.token and not _is_loopback(self.host):
            raise InputError(
                f"listening on {self.host} requires a token: set SEEWHY_TOKEN, or add --token new"
            )
        if self.token and not re.fullmatch(rf"[!-~]{{{SHORTEST_TOKEN},}}", self.token):
            raise InputError(f"a token needs at least {SHORTEST_TOKEN} ASCII characters, without spaces.")

    @property
    def trusted_hosts(self) -> list[str]:
        """Names that a request's Host may have; any where a token is needed."""
        return ["*"] if self.token else ["localhost", "127.0.0.1", "[::1]", "::1", self.host]


def _is_loopback(name: str) -> bool:
    """True if a name or address can only mean this machine itself."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class RequestLimiter:
    """Runs what requests ask for in worker threads, first come, first served.

    Args:
        at_once: so many requests are worked at.
        waiting: so many more may wait; one beyond them is refused at once.
    """

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._limiter, self._most_waiting = anyio.CapacityLimiter(at_once), waiting

    async def run(self, function: Callable[[], Answer], *, wait: bool = True) -> Answer:
        """Run a function in a worker thread and return its result; its exceptions are raised here.

        Raises:
            Problem: too many requests wait already; or all threads work and `wait` is False.
        """
        state = self._limiter.statistics()
        is_free = state.borrowed_tokens < state.total_tokens
        if not is_free and (not wait or state.tasks_waiting >= self._most_waiting):
            raise busy("too many requests are waiting. Try again in a moment.")
        return await run_sync(function, limiter=self._limiter)


class SecurityMiddleware:
    """An ASGI application around another, which sees only requests that may be answered."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._token = app, settings.token.encode("ascii")
        self._origins = set(settings.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
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
            await self._app({**scope, "method": method}, _counted(receive), guarded)

    def _require_origin(self, scope: Scope, headers: Headers) -> None:
        """Raise Problem for a page of somebody else; but a link from anywhere may open a page."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        is_api = scope["path"].startswith("/api/") or scope["path"] == AGENTS
        if is_api and origin in self._origins:
            return
        is_link = (
            scope["method"] in ("GET", "HEAD")
            and not is_api
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )
        # A form of a page that sends no referrer has the origin "null", though it is of the same.
        own = _is_of(origin, headers.get("host", "")) or (origin == "null" and site == "same-origin")
        if (origin is not None and not own) or (site not in ("none", "same-origin") and not is_link):
            raise Problem(403, "foreign-origin", "pages of other websites may not call this server.")

    def _require_token(self, scope: Scope, headers: Headers) -> None:
        """Raise Problem where the token is missing or wrong: a program sends it as bearer, a browser as password."""
        if not self._token or scope["method"] == "OPTIONS" or scope["path"].startswith(_OPEN):
            return
        if not hmac.compare_digest(_token_of(headers.get("authorization", "")), self._token):
            scheme = "Bearer" if is_for_programs(Request(scope)) else 'Basic realm="seewhy"'
            detail = "the token is missing or wrong. Send it as: Authorization: Bearer TOKEN"
            raise Problem(401, "token-needed", detail, (("WWW-Authenticate", scheme),))


def _token_of(authorization: str) -> bytes:
    """The token of a header; empty for none."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip().encode()
    try:
        return b64decode(value).partition(b":")[2] if scheme.lower() == "basic" else b""
    except (Error, ValueError):
        return b""


def _counted(receive: Receive) -> Receive:
    """A body that is counted while it comes: 413 for one that is too large."""
    size = 0

    async def received() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST_BODY:
            detail = f"the request body may have at most {LARGEST_BODY:,} bytes."
            raise Problem(413, "body-too-large", detail, (("Connection", "close"),))
        return message

    return received


def _is_of(origin: str | None, host: str) -> bool:
    """True if an origin is that of this server, which may be behind another that speaks HTTPS."""
    scheme, _, rest = (origin or "").lower().partition("://")
    return scheme in ("http", "https") and rest == host.lower()
