"""Who may ask, and how much: the Origin rule, the token, the size of a body, and the headers of every answer.

A page of another site can make a browser send requests here, also under a name of its own that points to this machine
(DNS rebinding). It cannot choose their Host, Origin and Sec-Fetch-Site. Starlette's TrustedHostMiddleware looks at
Host; where a token is set any Host will do, as no other page has the token.
"""

from __future__ import annotations

import hmac
from base64 import b64decode
from binascii import Error

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from search.serving.problems import Problem, as_response, is_for_programs
from search.serving.settings import Settings

AGENTS = "/mcp"
LARGEST_BODY = 64 * 1024  # bytes
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
}
_OPEN = ("/healthz", "/readyz", "/static/")  # they say nothing of what is indexed


class Guard:
    """An ASGI application around another, which sees only requests that may be answered."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._token = app, settings.token.encode("ascii")
        self._origins = {origin.lower() for origin in settings.origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    answer.setdefault(name, value)
                answer.setdefault("Cache-Control", "private, no-cache" if "etag" in answer else "no-store")
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
        if is_api and origin and origin.lower() in self._origins:
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
            raise Problem(
                403,
                "foreign-origin",
                "pages of other servers may not ask this one. If one may: --origin ORIGIN",
            )

    def _require_token(self, scope: Scope, headers: Headers) -> None:
        """Raise Problem where the token is missing or wrong: a program sends it as bearer, a browser as password."""
        if not self._token or scope["method"] == "OPTIONS" or scope["path"].startswith(_OPEN):
            return
        if not hmac.compare_digest(_token_of(headers.get("authorization", "")), self._token):
            scheme = "Bearer" if is_for_programs(Request(scope)) else 'Basic realm="seewhy"'
            raise Problem(
                401,
                "token-needed",
                "this server asks for its token. Send it as: Authorization: Bearer TOKEN, or as a password.",
                (("WWW-Authenticate", scheme),),
            )


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
            raise HTTPException(413, f"the body may have {LARGEST_BODY:,} bytes.", {"Connection": "close"})
        return message

    return received


def _is_of(origin: str | None, host: str) -> bool:
    """Whether an origin is that of this server, which may stand behind another that speaks HTTPS."""
    scheme, _, rest = (origin or "").lower().partition("://")
    return scheme in ("http", "https") and rest == host.lower()
