"""The queue of the server: so many requests are worked at, so many more wait, and no more."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio.to_thread import run_sync

from search.serving.problems import Problem

Answer = TypeVar("Answer")

# More threads than cores take the interpreter from each other: with two of each, 8 clients got a fifth more answers
# than with 8 threads.
AT_ONCE, WAITING = max(2, os.cpu_count() or 2), 64


class Desk:
    """Runs what requests ask for in worker threads, first come, first served.

    Args:
        at_once: so many requests are worked at.
        waiting: so many more may wait; one beyond them is refused at once.
    """

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._limiter, self._most_waiting = anyio.CapacityLimiter(at_once), waiting

    async def run(self, function: Callable[[], Answer], *, wait: bool = True) -> Answer:
        """What a function returns, which runs in a worker thread; what it raises is raised here.

        Raises:
            Problem: too many requests wait already; or all threads work and `wait` is False.
        """
        state = self._limiter.statistics()
        is_free = state.borrowed_tokens < state.total_tokens
        if not is_free and (not wait or state.tasks_waiting >= self._most_waiting):
            detail = "the server has as much to do as it takes on. Ask again in a moment."
            raise Problem(503, "busy", detail, (("Retry-After", "1"),))
        return await run_sync(function, limiter=self._limiter)
