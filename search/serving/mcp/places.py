"""What answers name, so that it can be asked for again: passages, the rest of a list, documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from search.errors import InputError, quoted

SCHEME = "seewhy"

_ID = re.compile(r"(?P<index>.+)@(?P<generation>[0-9]{1,16})/p(?P<passage>[0-9]{1,16})", re.DOTALL)
_NEXT = re.compile(r"([0-9]{1,16})-([0-9]{1,5})")


@dataclass(frozen=True)
class PassageId:
    """A passage, the index that it is of, and the generation in which it was found. No id is given twice."""

    index: str
    generation: int
    passage: int

    def __str__(self) -> str:
        return f"{self.index}@{self.generation}/p{self.passage}"

    @classmethod
    def of(cls, said: str) -> PassageId:
        """
        Raises:
            InputError: it is no id.
        """
        found = _ID.fullmatch(said)
        if found is None:
            raise InputError(f"{quoted(said[:80])} is no id of a passage. Take it as search gave it, whole.")
        return cls(found["index"], int(found["generation"]), int(found["passage"]))


def as_next(generation: int, offset: int) -> str:
    """What asks for the hits behind the first `offset`."""
    return f"{generation}-{offset}"


def of_next(said: str) -> tuple[int, int]:
    """The generation and the offset.

    Raises:
        InputError: it is nothing that `search` gave.
    """
    found = _NEXT.fullmatch(said)
    if found is None:
        raise InputError(
            f"{quoted(said[:80])} is no value of next. Take it from an answer to the same query, or leave it out."
        )
    return int(found[1]), int(found[2])


def uri_of(index: str, document: str) -> str:
    """The address of a document, by its name."""
    return f"{SCHEME}://{quote(index, safe='')}/{quote(document)}"


def of_uri(uri: str) -> tuple[str, str]:
    """The index and the document that an address means.

    Raises:
        InputError: it is none.
    """
    scheme, _, rest = uri.partition("://")
    index, _, document = rest.partition("/")
    if scheme != SCHEME or not index or not document:
        raise InputError(f"{quoted(uri[:80])} is no address of a document. It begins with: {SCHEME}://INDEX/")
    return unquote(index), unquote(document)
