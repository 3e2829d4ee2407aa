"""Addresses of indexes on Milvus, `milvus://HOST:PORT/NAME`; requests with retries and readable errors."""

from __future__ import annotations

import logging
import os
import random
import re
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from search.errors import IndexDamaged, InputError, OptionalDependency, SearchError, StoreUnavailable
from search.store.layout import SCHEMES

if TYPE_CHECKING:
    from pymilvus import MilvusClient


TOKEN, DATABASE = "SEEWHY_MILVUS_TOKEN", "SEEWHY_MILVUS_DATABASE"  # variables of the environment
_ADDRESS = re.compile(
    r"(milvus|milvus\+tls)://(\[[\w.:]+\]|[\w.-]+)(?::(\d{1,5}))?/([A-Za-z_]\w{0,99})/?", re.ASCII
)


@dataclass(frozen=True)
class Address:
    """Address of an index on a server.

    Attributes:
        uri: URI of the server, for pymilvus.
        name: name of the index.
        token: "user:password" or an API key, from the environment; "" for none. It is never shown.
        database: name of the database on the server, from the environment; "" for the default one.
    """

    uri: str
    name: str
    token: str = field(default="", repr=False)
    database: str = ""

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse an address.

        Raises:
            InputError: it is invalid, or contains a password.
        """
        if "@" in text:
            raise InputError(
                "the address must not contain a password, because it is displayed and stored. "
                f"Set the environment variable {TOKEN} to user:password."
            )
        match = _ADDRESS.fullmatch(text)
        if match is None:
            raise InputError(
                f"'{text}' is not a valid address. Write milvus://HOST:19530/NAME; NAME takes "
                "letters, digits and '_'."
            )
        scheme, host, port, name = match.groups()
        uri = f"{SCHEMES[scheme]}://{host}:{port or 19530}"
        return cls(uri, name, os.environ.get(TOKEN, ""), os.environ.get(DATABASE, ""))

    def __str__(self) -> str:
        scheme, _, rest = self.uri.partition("://")
        return f"{'milvus+tls' if scheme == 'https' else 'milvus'}://{rest}/{self.name}"


MOST_ROWS = 16_384  # of one answer: https://milvus.io/docs/limitations.md
_BATCH_ROWS = 500  # of one write request, whose limit is 64 MB

_TRIES, _FIRST_PAUSE, _LONGEST_PAUSE = 5, 0.1, 2.0  # seconds
_SECONDS = 60.0  # of one request
# Milliseconds between attempts to reconnect; short, so that a restarted server is used at once.
_RECONNECTING = {f"grpc.{name}_reconnect_backoff_ms": 200 for name in ("initial", "min", "max")}
_GONE = re.compile(
    "UNAVAILABLE|Fail connecting|server unavailable|DEADLINE_EXCEEDED|Connection refused|closed channel"
)
_BUSY = re.compile(
    "rate limit|RateLimit|not ready|recovering|no available|RESOURCE_EXHAUSTED|timetick|'loading'"
)
_UNLOADED = re.compile("not loaded|'released'")  # as after a restart of the server
_LOST = re.compile("does not exist|can't find collection|collection not found")
_DENIED = re.compile("auth check failure|PERMISSION|permission deny|(?i:unauthenticated)")


class Client:
    """A client of a Milvus server; it connects at the first request. Thread-safe."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._client: MilvusClient | None = None

    def search(
        self, collection: str, field: str, vector: Any, limit: int, where: str, fields: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Return at most `limit` rows of passages, best first.

        Args:
            field: name of the column to search.
            vector: a (d,) vector for the column of embeddings; a text for the column that BM25 ranks.
            where: Milvus expression that limits the rows; "" for all.
            fields: names of the columns to return.
        """
        rows = self.call(
            "search", collection, data=[vector], anns_field=field, limit=limit, filter=where,
            output_fields=list(fields), consistency_level="Strong",
            search_params={"metric_type": "BM25" if isinstance(vector, str) else "IP"},
        )  # fmt: skip
        return [{**row["entity"], "passage": row["passage"]} for row in rows[0]]

    def query(self, collection: str, where: str, fields: Sequence[str]) -> list[dict[str, Any]]:
        """Return at most MOST_ROWS rows that pass an expression, in any order."""
        rows = self.call(
            "query", collection, filter=where, output_fields=list(fields), limit=MOST_ROWS,
            consistency_level="Strong",
        )  # fmt: skip
        return [dict(row) for row in rows]

    def put(self, collection: str, rows: Sequence[dict[str, Any]]) -> None:
        """Insert or replace rows by their keys; writing them twice has the same effect as once."""
        for start in range(0, len(rows), _BATCH_ROWS):
            self.call("upsert", collection, list(rows[start : start + _BATCH_ROWS]))

    def target(self, alias: str) -> str | None:
        """Return the collection that an alias points to; None if there is no such alias."""
        with suppress(IndexDamaged):
            return str(self.call("describe_alias", alias)["collection_name"])
        return None

    def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of `pymilvus.MilvusClient`; retry with increasing pauses while the server is away or busy.

        Repeating a call is harmless, because rows are written by their keys.
        """
        refused = (_pymilvus().MilvusException, OSError, ValueError)
        pause = _FIRST_PAUSE
        for left in reversed(range(_TRIES)):
            try:
                return getattr(self._connected(), method)(*args, timeout=_SECONDS, **options)
            except refused as error:
                message = str(error)
                if gone := bool(_GONE.search(message)):
                    self._disconnect()
                if method in ("search", "query") and _UNLOADED.search(message):
                    self.call("load_collection", args[0])
                elif not left or not (gone or _BUSY.search(message)):
                    raise self._as_search_error(message, gone) from error
            time.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, _LONGEST_PAUSE)
        raise self._as_search_error("the collection was unloaded again and again", False)

    def _connected(self) -> MilvusClient:
        with self._lock:
            if self._client is None:
                self._client = _pymilvus().MilvusClient(
                    uri=self.address.uri, token=self.address.token, db_name=self.address.database, timeout=10,
                    grpc_options=_RECONNECTING,
                )  # fmt: skip
            return self._client

    def _disconnect(self) -> None:
        """Close the connection; the next call connects again."""
        with self._lock, suppress(Exception):
            if self._client is not None:
                self._client.close()
            self._client = None

    def _as_search_error(self, message: str, gone: bool) -> SearchError:
        server = f"the Milvus server at {self.address.uri}"
        if gone:
            return StoreUnavailable(f"{server} does not respond. Start it, or give another address.")
        if _DENIED.search(message):
            return SearchError(
                f"{server} denied access. Set the environment variable {TOKEN} to a valid user:password."
            )
        if _LOST.search(message):
            return IndexDamaged(
                f"{self.address} is no longer on the server. Upload it again with: seewhy index "
                f"FOLDER --store {self.address} --rebuild"
            )
        return SearchError(f"{server} says: {message.strip().partition(chr(10))[0]}")


def _pymilvus() -> ModuleType:
    try:
        import pymilvus
    except ImportError as error:
        raise OptionalDependency("pymilvus", "milvus", "an index on Milvus") from error
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)  # seewhy reports errors itself
    return pymilvus
