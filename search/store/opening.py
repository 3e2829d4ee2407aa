"""Which store is meant by what names an index: a folder on this machine, or an address on a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from search.store.database import read_meta
from search.store.files import remove_index
from search.store.layout import DATABASE, find_index, is_address, is_own, variable
from search.store.sqlite import SQLiteStore

if TYPE_CHECKING:
    from search.store.protocol import Store


def opened(what: str | Path | None = None) -> Store:
    """The store of an index, for reading; what names it is as for `find_index`, or `milvus://HOST:PORT/NAME`.

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
    place = find_index(what)
    read_meta(place / DATABASE)
    return SQLiteStore(place)


def remove_store(store: Store) -> None:
    """Delete an index; of one on a server the copy there."""
    if isinstance(store, SQLiteStore):
        remove_index(store.path)
        return
    from search.store.milvus.address import Address
    from search.store.milvus.publishing import unpublish

    unpublish(Address.parse(store.name))


def is_trusted(store: Store) -> bool:
    """Whether what an index says of its model may be followed: it was made by this user, in the usual place."""
    return isinstance(store, SQLiteStore) and is_own(store.path)
