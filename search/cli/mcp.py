"""seewhy mcp"""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from search.cli.options import EngineOptions, ServedIndexes
from search.cli.output import note
from search.errors import OptionalDependency, SearchError

if TYPE_CHECKING:
    from search.serving.served import Served


def mcp(
    engine: EngineOptions,
    index: ServedIndexes = None,
) -> None:
    """Let agents search, by the Model Context Protocol.

    The agent's program starts it and speaks over standard input and output. Nothing can be changed by asking.
    """
    if find_spec("mcp") is None:
        raise OptionalDependency("mcp", "mcp", "answering agents")
    from search.serving.mcp.stdio import answered, forwarded, own_output

    if sys.stdin.isatty():
        note("Agents speak here, by the Model Context Protocol; Ctrl-D ends it.")
    output, named, ends = own_output(), index or [], threading.Event()
    if engine.engine == "auto" and forwarded(_places(named), output, every=not named):
        return
    with ThreadPoolExecutor(1) as beside:
        opening = beside.submit(_offered, named, engine)
        beside.submit(lambda: opening.result().warm(ends, say=note))
        try:
            answered(opening, output)
        finally:
            ends.set()


def _places(named: list[str]) -> list[Path]:
    """Where the indexes are that are offered, the first first; none where that cannot be told."""
    from search.store.layout import all_indexes, find_place, is_own

    try:
        if named:
            return [find_place(one) for one in named]
        own = all_indexes()
    except SearchError:
        return []
    with suppress(SearchError):
        own.insert(0, find_place())
    return list(dict.fromkeys(place.resolve() for place in own if is_own(place)))


def _offered(named: list[str], engine: EngineOptions) -> Served:
    """The indexes: those that are named; else the user's own, as any other may have come with somebody's files."""
    from search.serving.served import Served
    from search.store.layout import is_own

    served = Served.open(named, **vars(engine))
    for said in served.notes:
        note(f"note: {said}")
    if named:
        return served
    return served.only([name for name, index in served.indexes.items() if is_own(index.path)], every=True)
