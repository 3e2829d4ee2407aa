"""Which store is meant by what names an index: a folder on this machine, or an address on a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from search.errors import InputError
from search.store.database import read_meta
from search.store.layout import DATABASE, find_place, is_address, is_own, streamed, variable
from search.store.sqlite import SQLiteStore

if TYPE_CHECKING:
    from search.store.protocol import Store


def opened(what: str | Path | None = None) -> Store:
    """The store of an index, for reading; what names it is as for `find_place`, or `milvus://HOST:PORT/NAME`.

    Raises:
        IndexNotFound: there is no such index, or it was begun and never filled.
        IndexOutdated, IndexDamaged: it cannot be read.
        InputError: an address that is none.
    """
    named = what or variable()
    if is_address(named):
        from search.store.milvus.address import Address
        from search.store.milvus.store import MilvusStore

        return MilvusStore(Address.parse(str(named)))
    place = find_place(what)
    read_meta(place / DATABASE)
    if (server := streamed(place)) and not is_own(place):
        raise InputError(
            f"the index in '{place}' is on {server['address']}, and may come from somebody else. Name the address."
        )
    return store_at(place)


def store_at(place: Path) -> Store:
    """The store of the index in a folder, which streams its passages to a server or keeps them."""
    if not (server := streamed(place)):
        return SQLiteStore(place)
    from search.store.milvus.address import Address
    from search.store.milvus.store import MilvusStore

    return MilvusStore(Address.parse(server["address"]), place)


def is_trusted(store: Store) -> bool:
    """Whether what an index says of its model may be followed: it was made by this user, in the usual place."""
    return isinstance(store, SQLiteStore) and is_own(store.path)
