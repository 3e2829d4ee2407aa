"""The next part of a list: an opaque cursor that is of one query, in one generation of its index."""

from __future__ import annotations

import hashlib
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Callable
from typing import TypeVar

from search.index import Index
from search.serving.asked import LAST_HIT, Parameters
from search.serving.problems import Problem

Found = TypeVar("Found")

_PLACE = struct.Struct(">QI")  # generation, offset
_DIGEST = 12  # bytes, so that a cursor has 32 characters
_TRIES = 5  # of an index that is written to all the time


def cursor(asked: Parameters, index: str, generation: int, offset: int) -> str:
    """What asks for the hits behind the first `offset`.

    Args:
        asked: what the list answers; its `next` and how the index is named do not count.
        index: the name of the index that was asked.
    """
    place = _PLACE.pack(generation, offset)
    query = asked.model_dump_json(exclude={"next", "index", "generation"})
    digest = hashlib.blake2b(place + f"{index}\n{query}".encode(), digest_size=_DIGEST).digest()
    return urlsafe_b64encode(place + digest).decode("ascii")


def place_of(given: str, asked: Parameters, index: str) -> tuple[int, int]:
    """The generation and the offset that a cursor means.

    Raises:
        Problem: it is not of this query.
    """
    try:
        place = _PLACE.unpack(urlsafe_b64decode(given.encode("ascii"))[: _PLACE.size])
    except (Error, ValueError, struct.error):
        place = (0, 0)
    # A cursor is no secret: whoever reads this can make one.
    if given != cursor(asked, index, *place) or place[1] > LAST_HIT:
        raise Problem(
            400,
            "bad-cursor",
            "this value of next is not of this query. Take it from an answer, and send it with the same parameters; "
            "or leave it out to begin with the best hit.",
        )
    return place


def in_one_generation(index: Index, wanted: int | None, work: Callable[[], Found]) -> tuple[int, Found]:
    """What is found in one generation of an index, and its number; asked anew where the index changes meanwhile.

    Raises:
        Problem: another generation is wanted, or there was none that lasted.
    """
    generation = index.generation
    for _ in range(_TRIES):
        if wanted not in (None, generation):
            raise Problem(
                410,
                "generation-gone",
                f"the index has changed: it is not the one of generation {wanted} any more, but of {generation}. "
                "Ask anew, without generation and next.",
            )
        found, before = work(), generation
        generation = index.generation
        if generation == before:
            return generation, found
    raise Problem(
        503, "busy", "the index is being written to. Ask again in a moment.", (("Retry-After", "1"),)
    )
