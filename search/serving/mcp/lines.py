"""The lines of a client, as the SDK takes standard input and output; what is no message is answered here.

To such a line the SDK says nothing, and who waits for an answer to it would wait for ever.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types

from search.render.json import compact


class Lines:
    """A connection, in both directions.

    Args:
        lines: what comes.
        send: sends a text, whole, before it returns.
    """

    def __init__(self, lines: AsyncIterable[str], send: Callable[[str], Awaitable[None]]) -> None:
        self._lines, self._send = lines, send
        self._turn = anyio.Lock()

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            if not line.strip():
                continue
            try:
                types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                await self.write(refusal(line))
            else:
                yield line

    async def write(self, text: str) -> None:
        async with self._turn:
            await self._send(text)

    async def flush(self) -> None:
        """Nothing: what is written has been sent."""


def refusal(line: str) -> str:
    """The answer to a line that is no message, with its id where it has one."""
    said: Any = None
    code, why = types.INVALID_REQUEST, "that is no message of the protocol."
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        code, why = types.PARSE_ERROR, "that is no JSON on one line."
    id_ = said.get("id") if isinstance(said, dict) else None
    error = {"code": code, "message": why}
    return (
        compact({"jsonrpc": "2.0", "id": id_ if isinstance(id_, (int, str)) else None, "error": error}) + "\n"
    )
