"""Open the store of an index: from a folder on this machine, or an address on a server."""

from __future__ import annotations

from pathlib import Path

from search.store.home import is_own, require_own_server
from search.store.layout import find_index_path, is_address, streamed, variable
from search.store.snapshot import Store


def opened(name: str | Path | None = None) -> Store:
    """Open an index for reading.

    Args:
        name: a name, path or None as for `find_index_path`, or an address such as `milvus://HOST:PORT/NAME`.

    Raises:
        IndexNotFound: there is no such index, or its first run stored nothing.
        IndexOutdated, IndexDamaged: the index cannot be read.
        InputError: the address is invalid, or the passages of an index that another user may have
            created are on a server.
    """
    chosen = name or variable()
    if is_address(chosen):
        return _on_server(str(chosen))
    store = Store(find_index_path(name))
    if not (server := store.facts.server):
        return store
    require_own_server(store.path, f"name its address instead of the folder: {server['address']}")
    return _on_server(server["address"], store.path)


def store_at(index: Path) -> Store:
    """Open the index in a folder; its passages may be on a server."""
    server = streamed(index)
    return _on_server(server["address"], index) if server else Store(index)


def _on_server(address: str, index: Path | None = None) -> Store:
    from search.store.milvus.client import Address
    from search.store.milvus.store import MilvusStore

    return MilvusStore(Address.parse(address), index)


def is_trusted(store: Store) -> bool:
    """Return True if this user built the index, so that the model named in it may be loaded."""
    return store.local and is_own(store.path)
