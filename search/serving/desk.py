"""Where every request's work is done: so many at once, so many more that wait, and no more."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request

from search.serving.problems import Problem

Answer = TypeVar("Answer")

# More threads than cores take the interpreter from each other: with two of each, 8 clients got a fifth more answers
# than with 8 threads.
AT_ONCE, WAITING = max(2, os.cpu_count() or 2), 64
_BUSY = "the server has as much to do as it takes on. Ask again in a moment."


class Desk:
    """Runs what requests ask for in worker threads.

    What finds no thread free waits for its turn, first come, first served. A client that hangs up meanwhile gives up
    its place; work that has begun goes on to its end, and counts until then.

    Args:
        at_once: so many requests are worked at.
        waiting: so many more may wait; one beyond them is refused at once.
    """

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._turns = anyio.Semaphore(at_once)
        self._most_waiting = waiting

    async def run(
        self, request: Request | None, function: Callable[[], Answer], patience: float = math.inf
    ) -> Answer:
        """What a function returns, which runs in a worker thread.

        Args:
            request: whose work it is; None where that client's going away cannot be seen.
            function: calls the library; what it raises is raised here.
            patience: so many seconds it may wait for its turn.

        Raises:
            Problem: too many requests wait already, or this one waited too long, or its client has hung up meanwhile,
                or the server ends before it is done.
        """
        await self._turn(request, patience)
        try:
            return await anyio.to_thread.run_sync(function)
        except anyio.get_cancelled_exc_class():  # uvicorn cancels what is not done in time when it ends
            raise Problem(
                503, "ending", "the server is about to end, and has not found it by then."
            ) from None
        finally:
            self._turns.release()

    async def _turn(self, request: Request | None, patience: float) -> None:
        """Wait until there is a thread for a request."""
        try:
            return self._turns.acquire_nowait()
        except anyio.WouldBlock:
            if self._turns.statistics().tasks_waiting >= self._most_waiting:
                raise _busy() from None
        has_turn = False
        async with anyio.create_task_group() as group:
            group.cancel_scope.deadline = anyio.current_time() + patience
            if request:
                group.start_soon(_cancel_when_gone, request, group.cancel_scope)
            await self._turns.acquire()
            has_turn = True
            group.cancel_scope.cancel()
        if not has_turn:
            raise _busy()


def _busy() -> Problem:
    return Problem(503, "busy", _BUSY, (("Retry-After", "1"),))


async def _cancel_when_gone(request: Request, scope: anyio.CancelScope) -> None:
    """Wait until a client hangs up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
