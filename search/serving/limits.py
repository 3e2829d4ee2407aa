"""How much a request may be, and its body, counted while it comes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import anyio
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

from search.serving.problems import Problem
from search.serving.settings import Settings

METHODS = ("GET", "HEAD", "POST")

_ONCE = (
    "host",
    "origin",
    "authorization",
    "content-length",
    "content-type",
    "sec-fetch-site",
    "sec-fetch-mode",
)
_CLIMBS = re.compile(r"[\x00-\x1f\x7f\\]|//|/\.\.?(/|$)")


def refused(status: int, code: str, detail: str, **headers: str) -> Problem:
    """The problem that a request is refused with."""
    return Problem(status, code, detail, tuple(headers.items()))


def require_form(scope: Scope, headers: Headers, most: Settings, methods: Sequence[str]) -> None:
    """That a request has a form that is known here, and is not too large.

    Args:
        methods: with which the address is asked.

    Raises:
        Problem: 400, 404, 405, 414, 431 or 505.
    """
    if scope["method"] not in methods:
        raise refused(
            405, "method-not-allowed", f"use {' or '.join(methods)} here.", Allow=", ".join(methods)
        )
    if scope["http_version"] not in ("1.0", "1.1", "2"):
        raise refused(505, "bad-request", "use HTTP/1.1.")
    raw = scope.get("raw_path") or scope["path"].encode()
    if len(raw) + len(scope["query_string"]) > most.longest_target:
        raise refused(414, "address-too-long", "the address is too long; send a POST with a body of JSON.")
    sizes = [len(name) + len(value) for name, value in scope["headers"]]
    if len(sizes) > most.most_headers or sum(sizes) > most.largest_head:
        raise refused(431, "headers-too-large", "the headers are too many or too long.")
    if twice := [name for name in _ONCE if len(headers.getlist(name)) > 1]:
        raise refused(400, "bad-request", f"the header {twice[0]} is there twice.")
    if not raw.startswith(b"/"):
        raise refused(400, "bad-request", "the target of a request begins with a slash.")
    if _CLIMBS.search(scope["path"]):
        raise refused(404, "not-found", "there is nothing at that address.")


async def body_of(scope: Scope, headers: Headers, receive: Receive, most: Settings) -> bytes:
    """The body of a request; only a POST has one, of JSON.

    Raises:
        Problem: 400, 408, 413 or 415.
    """
    if scope["method"] != "POST":
        if headers.get("content-length", "0").strip("0") or "transfer-encoding" in headers:
            raise refused(400, "bad-request", "only a POST has a body.")
        return b""
    if "content-length" in headers and "transfer-encoding" in headers:
        raise refused(400, "bad-request", "a body has a length, or comes in chunks.")
    if media_type(headers) != "application/json":
        raise refused(415, "not-json", "send JSON, with Content-Type: application/json")
    return await read(receive, headers, most.largest_body, most.seconds_to_send)


def media_type(headers: Headers) -> str:
    """What a body is said to be."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


async def read(receive: Receive, headers: Headers, most: int, seconds: float) -> bytes:
    """A body, whole.

    Raises:
        Problem: 413, it is larger than `most` bytes, or says so; 408, it takes too long, or the client is gone.
    """
    too_large = refused(413, "body-too-large", f"the body may have {most:,} bytes.")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > most:
        raise too_large
    body = b""
    with anyio.move_on_after(seconds):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                break
            body += message.get("body", b"")
            if len(body) > most:
                raise too_large
            if not message.get("more_body"):
                return body
    raise refused(408, "too-slow", f"the body did not come within {seconds:g} seconds.")


def again(body: bytes, receive: Receive) -> Receive:
    """Gives a body that was read already, then what else is received."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return pending.pop() if pending else await receive()

    return received
