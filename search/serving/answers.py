"""Answers of the API: JSON, or lines of JSON at an address in .ndjson; tags, and cursors for the next part."""

from __future__ import annotations

import hashlib
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from search.render import json
from search.serving.fields import LAST_HIT
from search.serving.parameters import Parameters
from search.serving.problems import Problem

_PLACE = struct.Struct(">QI")  # generation, offset
_DIGEST = 12  # bytes, so that a cursor has 32 characters


def cursor(asked: Parameters, index: str, generation: int, offset: int) -> str:
    """What asks for the part behind the first `offset`.

    Args:
        asked: what the list answers; its `next` and how the index is named do not count.
        index: the name of the index that was asked.
    """
    place = _PLACE.pack(generation, offset)
    query = asked.model_dump_json(exclude={"next", "index", "generation"})
    digest = hashlib.blake2b(place + f"{index}\n{query}".encode(), digest_size=_DIGEST).digest()
    return urlsafe_b64encode(place + digest).decode("ascii")


def place_of(given: str, asked: Parameters, index: str, last: int = LAST_HIT) -> tuple[int, int]:
    """The generation and the offset, at most `last`, that a cursor means.

    Raises:
        Problem: it is not of this query.
    """
    try:
        place = _PLACE.unpack(urlsafe_b64decode(given.encode("ascii"))[: _PLACE.size])
    except (Error, ValueError, struct.error):
        place = (0, 0)
    # A cursor is no secret: whoever reads this can make one.
    if given != cursor(asked, index, *place) or place[1] > last:
        raise Problem(
            400,
            "bad-cursor",
            "this value of next is not of this query. Take it from an answer, and send it with the same parameters; "
            "or leave it out to begin with the first part.",
        )
    return place


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
