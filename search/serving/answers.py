"""Answers of the API: JSON, or lines of JSON at an address in .ndjson; each with a tag to ask whether it changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from search.render import json

LINES = ".ndjson"  # end of an address


class Lines(Response):
    """Lines of JSON."""

    media_type = "application/x-ndjson"


def answer(request: Request, content: Any, lines: Sequence[Any] | None = None, link: str = "") -> Response:
    """An answer, or that it is as the client has it.

    Args:
        content: all of it, as JSON.
        lines: its records, for an address that answers with lines.
        link: the address of the next part.
    """
    as_lines = request.scope["path"].endswith(LINES)
    body = "".join(f"{json.compact(line)}\n" for line in lines or ()) if as_lines else json.compact(content)
    # Of what is sent, so it differs whenever anything does: the index, a file beside it, the program. Weak, as the
    # answer may be compressed.
    tag = f'W/"{hashlib.blake2b(body.encode("utf-8"), digest_size=16).hexdigest()}"'
    headers = {"ETag": tag}
    if link:
        headers["Link"] = f'<{link}>; rel="next"'
    if request.method == "GET" and _has(request.headers, tag):
        return Response(status_code=304, headers=headers)
    return Lines(body, headers=headers) if as_lines else Response(body, 200, headers, "application/json")


def _has(headers: Mapping[str, str], tag: str) -> bool:
    """Whether a client says that it has the answer with a tag."""
    said = headers.get("if-none-match", "").split(",")
    return any(one.strip() in ("*", tag, tag.removeprefix("W/")) for one in said)
