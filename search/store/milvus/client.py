"""Requests to a Milvus server: tried again where that may help, and with errors that say what to do."""

from __future__ import annotations

import functools
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from search.errors import IndexDamaged, OptionalDependency, SearchError, StoreUnavailable, first_line
from search.store.milvus.address import TOKEN, Address
from search.store.milvus.layout import MOST_AT_ONCE, MOST_HITS, WAY_OUT
from search.store.milvus.ranges import both, in_parts

if TYPE_CHECKING:
    from pymilvus import MilvusClient

Answer = TypeVar("Answer")

_TRIES, _FIRST_PAUSE, _LONGEST_PAUSE = 5, 0.1, 2.0  # seconds
_SECONDS = 60.0  # of one request
_RECONNECTING = {  # milliseconds: a server that is back is asked at once
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 500,
}
_GONE = (
    "UNAVAILABLE",
    "Fail connecting",
    "server unavailable",
    "DEADLINE_EXCEEDED",
    "Connection refused",
    "closed channel",
)
_BUSY = (
    "rate limit",
    "RateLimit",
    "not ready",
    "recovering",
    "no available",
    "RESOURCE_EXHAUSTED",
    "timetick",
    "'loading'",
)
_UNLOADED = ("not loaded", "'released'")  # as after a restart of the server
_LOST = ("does not exist", "can't find collection", "collection not found")
_DENIED = ("auth check failure", "UNAUTHENTICATED", "PERMISSION", "permission deny", "unauthenticated")


class Client:
    """A server, connected to when it is first asked. Safe between threads."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._client: MilvusClient | None = None

    def search(
        self, collection: str, field: str, vector: Any, limit: int, **options: Any
    ) -> list[dict[str, Any]]:
        """At most `limit` rows with the highest inner product, best first: each {"id", "distance", "entity"}.

        Args:
            vector: (d,) or {dimension: value}.
            limit: at most MOST_HITS.
            filter, output_fields: as pymilvus takes them.
        """
        parameters = {"metric_type": "IP", "params": options.pop("params", {})}
        found = self._tried(
            lambda client: client.search(
                collection, data=[vector], anns_field=field, limit=limit, search_params=parameters,
                consistency_level="Strong", timeout=_SECONDS, **options,
            ),
            collection,
        )  # fmt: skip
        return list(found[0])

    def query(
        self, collection: str, where: str, fields: Sequence[str], limit: int = MOST_HITS
    ) -> list[dict[str, Any]]:
        """At most `limit` rows that pass an expression, in no order."""
        found = self._tried(
            lambda client: client.query(
                collection, filter=where, output_fields=list(fields), limit=limit, consistency_level="Strong",
                timeout=_SECONDS,
            ),
            collection,
        )  # fmt: skip
        return [dict(row) for row in found]

    def each(
        self, collection: str, where: str, fields: Sequence[str], key: str, most: int = MOST_HITS
    ) -> Iterator[dict[str, Any]]:
        """All rows that pass an expression, by an increasing field of whole numbers that rows share seldom.

        Args:
            key: that field, one of `fields`.
            most: rows of one request: fewer where they are long.
        """

        def ask(part: str) -> list[dict[str, Any]]:
            return self.query(collection, both(where, part), fields, most)

        for rows in in_parts(ask, key, lambda rows: len(rows) >= most):
            yield from sorted(rows, key=lambda row: int(row[key]))

    def count(self, collection: str, where: str) -> int:
        """How many rows pass an expression."""
        found = self._tried(
            lambda client: client.query(
                collection,
                filter=where,
                output_fields=["count(*)"],
                consistency_level="Strong",
                timeout=_SECONDS,
            ),
            collection,
        )
        return int(found[0]["count(*)"])

    def put(self, collection: str, rows: Sequence[Mapping[str, Any]], *, partial: bool = False) -> None:
        """Write rows by their keys; again is the same.

        Args:
            partial: only the fields that are given, of rows that are there.
        """
        for start in range(0, len(rows), MOST_AT_ONCE):
            chunk = [dict(row) for row in rows[start : start + MOST_AT_ONCE]]
            options = {"partial_update": partial, "timeout": _SECONDS}
            self._tried(functools.partial(_upsert, collection=collection, rows=chunk, options=options))

    def delete(self, collection: str, where: str) -> None:
        """Delete the rows that pass an expression."""
        self._tried(lambda client: client.delete(collection, filter=where, timeout=_SECONDS))

    def has(self, collection: str) -> bool:
        return bool(self._tried(lambda client: client.has_collection(collection, timeout=_SECONDS)))

    def collections(self) -> list[str]:
        return list(self._tried(lambda client: client.list_collections(timeout=_SECONDS)))

    def drop(self, collection: str) -> None:
        """Drop a collection, whether or not it is there."""
        self._tried(lambda client: client.drop_collection(collection, timeout=_SECONDS))

    def create(self, collection: str, fields: Callable[[Any], None], indexes: Callable[[Any], None]) -> None:
        """Make a collection, if it is not there, and have it answer.

        Args:
            fields, indexes: are given pymilvus' CollectionSchema and IndexParams, to be filled.
        """

        def make(client: MilvusClient) -> None:
            if client.has_collection(collection):
                return
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
            fields(schema)
            params = client.prepare_index_params()
            indexes(params)
            client.create_collection(
                collection, schema=schema, index_params=params, consistency_level="Strong", timeout=_SECONDS
            )

        self._tried(make)

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock, suppress(Exception):
            if self._client is not None:
                self._client.close()
            self._client = None

    def _connected(self) -> MilvusClient:
        with self._lock:
            if self._client is None:
                self._client = _pymilvus().MilvusClient(
                    uri=self.address.uri,
                    token=self.address.token,
                    db_name=self.address.database,
                    timeout=10,
                    grpc_options=_RECONNECTING,
                )
            return self._client

    def _tried(self, ask: Callable[[MilvusClient], Answer], collection: str = "") -> Answer:
        """What a request gives; it is made again, after longer and longer pauses, where the server was away or busy.

        All requests may be made twice: rows are written by their keys.

        Args:
            collection: that it asks, which has to be loaded.
        """
        refused = (_pymilvus().MilvusException, OSError, ValueError)
        pause = _FIRST_PAUSE
        for left in reversed(range(_TRIES)):
            try:
                return ask(self._connected())
            except refused as error:
                said = str(error)
                gone = any(word in said for word in _GONE)
                if gone:
                    self.close()  # the next try connects anew
                if collection and any(word in said for word in _UNLOADED):
                    self._tried(lambda client: client.load_collection(collection, timeout=_SECONDS))
                    return self._tried(ask)
                if not left or not (gone or any(word in said for word in _BUSY)):
                    raise self._in_words(error, gone) from error
            time.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, _LONGEST_PAUSE)
        raise AssertionError

    def _in_words(self, error: Exception, gone: bool) -> SearchError:
        server, said = self.address.uri, str(error)
        if gone:
            return StoreUnavailable(
                f"the Milvus server at {server} does not answer. Start it, or name another."
            )
        if any(word in said for word in _DENIED):
            return SearchError(
                f"the Milvus server at {server} lets nobody in with this token. Set the variable {TOKEN}."
            )
        if any(word in said for word in _LOST):
            return IndexDamaged(f"a part of {self.address} is not on the server any more. {WAY_OUT}")
        return SearchError(f"the Milvus server at {server} says: {first_line(error)}")


def _pymilvus() -> ModuleType:
    try:
        import pymilvus
    except ImportError as error:
        raise OptionalDependency("pymilvus", "milvus", "an index on Milvus") from error
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)  # errors are said once, in words
    return pymilvus


def _upsert(
    client: MilvusClient, collection: str, rows: list[dict[str, Any]], options: dict[str, Any]
) -> None:
    client.upsert(collection, rows, **options)
