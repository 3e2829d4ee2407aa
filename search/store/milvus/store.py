"""What readers ask an index on Milvus; see `search.store.protocol`."""

from __future__ import annotations

from search.store.milvus.address import Address


class MilvusStore:
    """An index on a Milvus server that is open for reading; see `search.store.protocol.Store`."""

    def __init__(self, address: Address) -> None:
        self.address = address
