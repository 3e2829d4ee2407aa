"""How an index is asked where nothing else is said: what `seewhy eval --tune --save` wrote into its settings."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from search.errors import SearchError
from search.store.database import one_meta, read_meta, reading
from search.store.layout import DATABASE

_KEY = "ranking"


def put_choice(index: Path, options: Mapping[str, Any]) -> None:
    """Let an index be asked with this weight and rerank.

    Raises:
        IndexLocked: another process is writing to it.
    """
    from search.store.files import writer_lock
    from search.store.writer import writing

    read_meta(index / DATABASE)
    with writer_lock(index), writing(index / DATABASE) as writer:
        writer.put_meta(**{_KEY: {"weight": options["weight"], "rerank": options.get("rerank")}})


def choice_of(connection: sqlite3.Connection) -> dict[str, Any]:
    """The weight and rerank that were chosen; nothing where none was."""
    return dict(one_meta(connection, _KEY, {}))


def kept_choice(index: Path) -> dict[str, Any]:
    """The setting that a rebuild takes over from an index; nothing where there is none that can be read."""
    try:
        with reading(index / DATABASE) as connection:
            choice = choice_of(connection)
    except (SearchError, sqlite3.DatabaseError):
        return {}
    return {_KEY: choice} if choice else {}
