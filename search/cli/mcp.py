"""seewhy mcp"""

from __future__ import annotations

import sys
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING

from search.cli.options import EngineOptions, ServedIndexes
from search.cli.output import note
from search.errors import OptionalDependency

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
    from search.serving.mcp.server import answer

    if sys.stdin.isatty():
        note("Agents speak here, by the Model Context Protocol; Ctrl-D ends it.")
    served, ends = _offered(index or [], engine), threading.Event()
    threading.Thread(target=served.warm, args=(ends, note), daemon=True).start()
    try:
        answer(served)
    finally:
        ends.set()


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
