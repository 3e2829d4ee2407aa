"""Before any routing: who may ask, and how much.

A page of another site can make a browser send requests here, also under a name of its own that it lets point to this
machine (DNS rebinding). It cannot choose their Host, Origin and Sec-Fetch-Site, so these decide who may ask; then the
token, if one is set. What is refused is never read to its end: the connection is closed.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from search.serving.limits import METHODS, again, body_of, refused, require_form
from search.serving.problems import Problem, as_response, methods_of
from search.serving.session import Door
from search.serving.settings import Settings, address, host_and_port, is_loopback

AGENTS = "/mcp"
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


class Guard:
    """An ASGI application around another, which sees only requests that may be answered."""

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._door = Door(settings) if settings.token else None
        self._hosts = {host_and_port(name) for name in settings.allowed_hosts}
        self._origins = {origin.lower() for origin in settings.origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._complete(MutableHeaders(scope=message), scope, headers)
            await send(message)

        try:
            require_form(scope, headers, self._settings, self._methods(scope))
            self._require_host(scope, headers)
            self._require_origin(scope, headers)
            answer = await self._answer(scope, headers, receive)
            if answer is None:
                body = await body_of(scope, headers, receive, self._settings)
        except Problem as problem:
            answer = as_response(Request(scope), problem)
            answer.headers["Connection"] = "close"
        if answer is not None:
            await answer(scope, receive, guarded)
        else:
            seen = {**scope, "method": "GET" if scope["method"] == "HEAD" else scope["method"]}
            await self._app(seen, again(body, receive), guarded)

    def _methods(self, scope: Scope) -> Sequence[str]:
        """The methods that an address is asked with; where there is none such, those that others are."""
        if scope["method"] in ("GET", "HEAD"):
            return METHODS
        methods = methods_of(self._app, scope) or METHODS
        return (*methods, "OPTIONS") if self._origins else methods

    def _require_host(self, scope: Scope, headers: Headers) -> None:
        """That it was sent to this server under a name that is known to be its own."""
        said = headers.get("host", "")
        host = host_and_port(said)
        if host is None:
            raise refused(
                400, "bad-host", "the Host of a request is the name of the server, maybe with its port."
            )
        if host in self._hosts or (host[0], None) in self._hosts:
            return
        own, port = scope["server"]
        here = address(own)
        here = getattr(here, "ipv4_mapped", None) or here  # a socket for both versions says it so
        is_own = is_loopback(host[0]) or (here is not None and address(host[0]) == here)
        if not is_own or host[1] not in (None, port):
            raise refused(
                421, "unknown-host", f"this server is not known as {said}. If it is: --allowed-host {said}"
            )

    def _require_origin(self, scope: Scope, headers: Headers) -> None:
        """That no page of somebody else sent it; but a link from anywhere may open a page."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        is_api = is_for_programs_alone(scope["path"])
        if is_api and origin and origin.lower() in self._origins:
            return
        is_link = (
            scope["method"] in ("GET", "HEAD")
            and not is_api
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )
        # A form of a page that sends no referrer has the origin "null", though it is of the same.
        own = _is_of(origin, headers["host"]) or (origin == "null" and site == "same-origin")
        if (origin is not None and not own) or (site not in ("none", "same-origin") and not is_link):
            raise refused(
                403,
                "foreign-origin",
                "pages of other servers may not ask this one. If one may: --origin ORIGIN",
            )

    async def _answer(self, scope: Scope, headers: Headers, receive: Receive) -> Response | None:
        """What is answered here: a browser that asks whether it may ask, and who has not shown the token."""
        if scope["method"] == "OPTIONS":
            return Response(status_code=204, headers=_PREFLIGHT)
        return await self._door.answer(Request(scope, receive)) if self._door else None

    def _complete(self, answer: MutableHeaders, scope: Scope, asked: Headers) -> None:
        """The headers that every answer has."""
        for name, value in HEADERS.items():
            answer.setdefault(name, value)
        answer.setdefault("Cache-Control", "private, no-cache" if "etag" in answer else "no-store")
        if self._origins and is_for_programs_alone(scope["path"]):
            answer.add_vary_header("Origin")
            if asked.get("origin", "").lower() in self._origins:
                answer["Access-Control-Allow-Origin"] = asked["origin"]
                answer["Access-Control-Expose-Headers"] = "ETag, Link, Retry-After"


_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, If-None-Match, "
    "Mcp-Protocol-Version, Mcp-Method, Mcp-Name",
    "Access-Control-Max-Age": "600",
}


def is_for_programs_alone(path: str) -> bool:
    """Whether an address is no page."""
    return path.startswith("/api/") or path == AGENTS


def _is_of(origin: str | None, host: str) -> bool:
    """Whether an origin is that of this server, which may stand behind another that speaks HTTPS."""
    scheme, _, rest = (origin or "").lower().partition("://")
    return scheme in ("http", "https") and rest == host.lower()
