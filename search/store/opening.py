"""Open the store of an index: from a folder on this machine, or an address on a server."""

from __future__ import annotations

from pathlib import Path

from search.errors import InputError
from search.store.layout import find_place, is_address, is_own, streamed, variable
from search.store.sqlite import Store


def opened(name: str | Path | None = None) -> Store:
    """Open an index for reading, by a name as for `find_place`, or by `milvus://HOST:PORT/NAME`.

    Raises:
        IndexNotFound: there is no such index, or its first run stored nothing.
        IndexOutdated, IndexDamaged: it cannot be read.
        InputError: the address is invalid.
    """
    named = name or variable()
    if is_address(named):
        return _on_server(str(named))
    store = Store(find_place(name))
    if not (server := store.facts.server):
        return store
    if not is_own(store.path):  # the token is never sent to a server that somebody else chose
        raise InputError(
            f"the index in '{store.path}' may come from somebody else; its passages are on "
            f"{server['address']}. If you trust that server, give this address instead."
        )
    return _on_server(server["address"], store.path)


def store_at(place: Path) -> Store:
    """Open the index in a folder; its passages may be on a server."""
    server = streamed(place)
    return _on_server(server["address"], place) if server else Store(place)


def _on_server(address: str, place: Path | None = None) -> Store:
    from search.store.milvus.client import Address
    from search.store.milvus.store import MilvusStore

    return MilvusStore(Address.parse(address), place)


def is_trusted(store: Store) -> bool:
    """Return True if the model that an index names may be loaded, because this user built the index under `home()`."""
    return store.local and is_own(store.path)
