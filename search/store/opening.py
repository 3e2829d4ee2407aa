"""Which store is meant by what names an index: a folder on this machine, or an address on a server."""

from __future__ import annotations

from pathlib import Path

from search.errors import InputError
from search.store.layout import find_place, is_address, is_own, streamed, variable
from search.store.milvus.address import Address
from search.store.sqlite import Store


def opened(what: str | Path | None = None) -> Store:
    """The store of an index, for reading; what names it is as for `find_place`, or `milvus://HOST:PORT/NAME`.

    Raises:
        IndexNotFound: there is no such index, or it was begun and never filled.
        IndexOutdated, IndexDamaged: it cannot be read.
        InputError: an address that is none.
    """
    named = what or variable()
    if is_address(named):
        from search.store.milvus.store import MilvusStore

        return MilvusStore(Address.parse(str(named)))
    place = find_place(what)
    store = Store(place)
    if not (server := store.facts.server):
        return store
    if not is_own(place):
        raise InputError(
            f"the index in '{place}' is on {server['address']}, and may come from somebody else. Name the address."
        )
    return store_at(place)


def store_at(place: Path) -> Store:
    """The store of the index in a folder, which streams its passages to a server or keeps them."""
    if not (server := streamed(place)):
        return Store(place)
    from search.store.milvus.store import MilvusStore

    return MilvusStore(Address.parse(server["address"]), place)


def is_trusted(store: Store) -> bool:
    """Whether what an index says of its model may be followed: it was made by this user, in the usual place."""
    return store.local and is_own(store.path)
