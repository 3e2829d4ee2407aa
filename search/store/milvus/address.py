"""`milvus://HOST:PORT/NAME`: which server, and which index on it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from search.errors import InputError
from search.store.layout import SCHEMES, find_place, is_address, variable

TOKEN, DATABASE = "SEEWHY_MILVUS_TOKEN", "SEEWHY_MILVUS_DATABASE"  # variables of the environment
_ADDRESS = re.compile(
    r"(milvus|milvus\+tls)://(\[[\w.:]+\]|[\w.-]+)(?::(\d{1,5}))?/([A-Za-z_]\w{0,99})/?", re.ASCII
)


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
        if "@" in text:
            raise InputError(
                f"an address holds no password, as it is shown and kept. Set the variable {TOKEN} to user:password."
            )
        match = _ADDRESS.fullmatch(text)
        if match is None:
            raise InputError(
                f"'{text}' is no address of an index. Write it as milvus://HOST:19530/NAME, with letters, digits and "
                "'_' in NAME."
            )
        scheme, host, port, name = match.groups()
        uri = f"{SCHEMES[scheme]}://{host}:{port or 19530}"
        return cls(uri, name, os.environ.get(TOKEN, ""), os.environ.get(DATABASE, ""))

    def __str__(self) -> str:
        scheme, _, rest = self.uri.partition("://")
        return f"{'milvus+tls' if scheme == 'https' else 'milvus'}://{rest}/{self.name}"


def known_as(what: str | Path | None = None) -> str:
    """What tells an index apart from any other on this machine: its path without links, or its address.

    Raises:
        IndexNotFound: there is no such index on this machine.
        InputError: an address that is none.
    """
    named = what or variable()
    if not is_address(named):
        return str(find_place(what).resolve())
    return str(Address.parse(str(named)))
