"""The next part of a list: an opaque cursor that is of one query, in one generation of its index."""

from __future__ import annotations

import hashlib
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error

from search.serving.asked import Parameters
from search.serving.fields import LAST_HIT
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
