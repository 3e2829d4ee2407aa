"""Where every request's work is done: so many at once, so many more that wait, and no more."""

from __future__ import annotations

import math
import os
import random
import time
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
_RECENT = 20  # requests that the mean time is of


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
        self._at_once, self._done, self._mean = at_once, 0, 0.0  # mean seconds of the requests of late

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
        begun = time.perf_counter()
        try:
            return await anyio.to_thread.run_sync(function)
        except anyio.get_cancelled_exc_class():  # uvicorn cancels what is not done in time when it ends
            raise Problem(
                503, "ending", "the server is about to end, and has not found it by then."
            ) from None
        finally:
            self._turns.release()
            self._done = min(self._done + 1, _RECENT)
            self._mean += (time.perf_counter() - begun - self._mean) / self._done

    async def _turn(self, request: Request | None, patience: float) -> None:
        """Wait until there is a thread for a request."""
        try:
            return self._turns.acquire_nowait()
        except anyio.WouldBlock:
            if self._turns.statistics().tasks_waiting >= self._most_waiting:
                raise self._busy() from None
        has_turn = False
        async with anyio.create_task_group() as group:
            group.cancel_scope.deadline = anyio.current_time() + patience
            if request:
                group.start_soon(_cancel_when_gone, request, group.cancel_scope)
            await self._turns.acquire()
            has_turn = True
            group.cancel_scope.cancel()
        if not has_turn:
            raise self._busy()

    def _busy(self) -> Problem:
        """A refusal that says when the queue will be done, with jitter: else all who are refused come back together."""
        turns = 1 + self._turns.statistics().tasks_waiting / max(1, self._at_once)
        seconds = math.ceil(turns * self._mean * random.uniform(1, 1.5))
        return Problem(503, "busy", _BUSY, (("Retry-After", str(max(1, seconds))),))


async def _cancel_when_gone(request: Request, scope: anyio.CancelScope) -> None:
    """Wait until a client hangs up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
