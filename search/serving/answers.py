"""Answers of the API: JSON or lines of JSON, each with a tag by which a client asks whether it is still the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from search.render import json

LINES = "application/x-ndjson"


def answer(request: Request, content: Any, lines: Sequence[Any] | None = None, link: str = "") -> Response:
    """An answer, or that it is as the client has it.

    Args:
        content: all of it, as JSON.
        lines: what of it stands on lines of its own for a client that asks for these.
        link: the address of the next part.
    """
    as_lines = lines is not None and LINES in request.headers.get("accept", "")
    written = (
        "".join(f"{line}\n" for line in map(json.compact, lines or ())) if as_lines else json.compact(content)
    )
    body = written.encode("utf-8")
    # Of what is sent, so it differs whenever anything does: the index, a file beside it, the program.
    tag = f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'
    headers = {"ETag": tag, "Vary": "Accept"}
    if link:
        headers["Link"] = f'<{link}>; rel="next"'
    if request.method == "GET" and _has(request.headers, tag):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=LINES if as_lines else "application/json")


def _has(headers: Mapping[str, str], tag: str) -> bool:
    """Whether a client says that it has the answer with a tag."""
    said = headers.get("if-none-match", "").split(",")
    return any(one.strip().removeprefix("W/") in ("*", tag) for one in said)
