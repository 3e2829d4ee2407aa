"""Where every request's work is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread
from starlette.requests import Request

Answer = TypeVar("Answer")


class Desk:
    """Runs what requests ask for in worker threads."""

    async def run(self, request: Request, function: Callable[[], Answer]) -> Answer:
        """What a function returns, which runs in a worker thread.

        Args:
            request: whose work it is.
            function: calls the library; what it raises is raised here.
        """
        return await anyio.to_thread.run_sync(function)
