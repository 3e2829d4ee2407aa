"""`milvus://HOST:PORT/NAME`: which server, and which index on it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from search.errors import InputError
from search.store.layout import SCHEMES

TOKEN, DATABASE = "SEEWHY_MILVUS_TOKEN", "SEEWHY_MILVUS_DATABASE"  # variables of the environment
_NAME = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]{0,99}"
)  # with what is put before and behind it a collection's name
_HOST = re.compile(r"[\w.:-]+")
_PORT = 19530


@dataclass(frozen=True)
class Address:
    """Where an index is on a server.

    Attributes:
        uri: of the server, as its client wants it.
        name: of the index.
        token: "user:password" or a key, of the environment; "" for none. It is never shown.
        database: of the server, of the environment; "" for the server's default.
    """

    uri: str
    name: str
    token: str = field(default="", repr=False)
    database: str = ""

    @classmethod
    def parse(cls, text: str) -> Address:
        """
        Raises:
            InputError: it is no address, or has a password in it.
        """
        from urllib.parse import urlsplit  # which a query of an index in a folder does not need

        try:
            parts = urlsplit(text)
            host, port = parts.hostname or "", _PORT if parts.port is None else parts.port
        except ValueError:
            parts, host, port = urlsplit(""), "", _PORT
        name = parts.path.strip("/")
        if "@" in text:
            raise InputError(
                "an address shall hold no password, as it is shown and kept. Set the variable "
                f"{TOKEN} to user:password instead."
            )
        if (
            parts.scheme.lower() not in SCHEMES
            or not _HOST.fullmatch(host)
            or not port
            or parts.query
            or parts.fragment
        ):
            raise InputError(f"'{text}' is no address of an index. Write it as milvus://HOST:{_PORT}/NAME")
        if not _NAME.fullmatch(name):
            raise InputError(
                f"'{name}' in '{text}' cannot be the name of an index on Milvus: use letters, digits and '_', and "
                f"begin with a letter. For example milvus://{host}:{port}/notes"
            )
        shown = f"[{host}]" if ":" in host else host
        uri = f"{SCHEMES[parts.scheme.lower()]}://{shown}:{port}"
        return cls(uri, name, os.environ.get(TOKEN, ""), os.environ.get(DATABASE, ""))

    def __str__(self) -> str:
        scheme, _, rest = self.uri.partition("://")
        return f"{'milvus+tls' if scheme == 'https' else 'milvus'}://{rest}/{self.name}"
