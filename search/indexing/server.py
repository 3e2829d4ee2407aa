"""The server that the passages of an index are streamed to: which one, as an index is built."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from search.errors import InputError, quoted
from search.store.layout import is_index, is_own, streamed
from search.store.milvus.address import Address
from search.store.milvus.client import Client
from search.store.milvus.collections import Server

if TYPE_CHECKING:
    from search.records.options import StoreOptions


def server_for(index: Path, options: StoreOptions, *, rebuild: bool = False) -> Server | None:
    """Where the passages of an index are to go; None for this machine.

    Raises:
        InputError: it is no address, there is no such kind of index, or another index is there.
        StoreUnavailable: a server that is named for the first time does not answer.
    """
    store, kind = options.get("store"), options.get("store_index")
    kept = Server(**held) if (held := streamed(index)) else None
    if store == "none":
        return None
    if not (store or kept):
        if kind:
            raise InputError("--store-index is of a server. Name it with --store milvus://HOST:PORT/NAME")
        return None
    if kept and not store and not is_own(index):
        raise InputError(
            f"the index in '{index}' may come from somebody else. If its passages may be sent to {kept.address}, add: "
            f"--store {kept.address}"
        )
    if is_index(index) and not kept:
        raise InputError(
            f"the index in '{index}' is on this machine. Name another one for the server with --index, or delete it "
            f"first: seewhy remove {quoted(index.name if is_own(index) else index)}"
        )
    address = Address.parse(store or (kept.address if kept else ""))
    wanted = Server.new(address, kind or (kept.kind if kept else "FLAT"))
    if kept and not rebuild:
        if (wanted.address, wanted.kind) != (kept.address, kept.kind):
            raise InputError(
                f"the index in '{index}' is on {kept.address}, of the kind {kept.kind}. To stream all of it to "
                f"{wanted.address}, of the kind {wanted.kind}, add --rebuild"
            )
        return kept
    if not rebuild and Client(address).target(address.name):
        raise InputError(f"{address} holds an index already. To put this one in its place, add --rebuild")
    return wanted
