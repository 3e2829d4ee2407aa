"""seewhy mcp"""

from __future__ import annotations

import sys
import threading
from importlib.util import find_spec

from search.cli.options import EngineOptions, ServedIndexes
from search.cli.output import note
from search.errors import OptionalDependency


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
    from search.serving.served import Served

    if sys.stdin.isatty():
        note("Agents speak here, by the Model Context Protocol; Ctrl-D ends it.")
    # Without a name only the user's own: any other may have come with somebody's files.
    served, ends = Served.open(index or (), own=True, **vars(engine)), threading.Event()
    for said in served.notes:
        note(f"note: {said}")
    threading.Thread(target=served.warm, args=(ends, note), daemon=True).start()
    try:
        answer(served)
    finally:
        ends.set()
