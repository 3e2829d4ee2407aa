"""The desk: so many requests at once, so many that wait, no more; and who hangs up gives up a place."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.requests import Request

from search.serving.desk import Desk
from search.serving.problems import Problem


class Client:
    """A request whose client can hang up."""

    def __init__(self) -> None:
        self._gone = asyncio.Event()
        self._asked = False
        self.request = Request({"type": "http", "method": "GET", "headers": []}, self._receive)

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    def hang_up(self) -> None:
        self._gone.set()


class Work:
    """Work that goes on until it may end."""

    def __init__(self) -> None:
        self._may_end, self.begun = threading.Event(), 0

    def __call__(self) -> int:
        self.begun += 1
        assert self._may_end.wait(10)
        return self.begun

    def end(self) -> None:
        self._may_end.set()

    async def has_begun(self, times: int) -> None:
        while self.begun < times:
            await asyncio.sleep(0.001)


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(scenario(), 10)

    asyncio.run(bounded())


async def soon() -> None:
    """Let all others go as far as they come."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_as_many_as_there_is_room_for_and_the_next_is_refused_at_once() -> None:
    async def scenario() -> None:
        desk, work = Desk(at_once=2, waiting=1), Work()
        asked = [asyncio.ensure_future(desk.run(Client().request, work)) for _ in range(3)]
        await work.has_begun(2)
        await soon()
        with pytest.raises(Problem) as refused:
            await desk.run(Client().request, work)
        assert (refused.value.status, refused.value.code) == (503, "busy")
        assert (
            dict(refused.value.headers)["Retry-After"] == "1"
        )  # nothing is known yet of how long work takes
        assert work.begun == 2
        work.end()
        await asyncio.gather(*asked)
        assert work.begun == 3
        assert await desk.run(Client().request, work) == 4

    run(scenario)


def test_a_refusal_says_when_the_queue_will_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four requests of 3 s each, two at once, wait: 3 turns of 3 s, and up to half of that as jitter."""

    async def scenario() -> None:
        clock = iter([0.0, 3.0])
        desk, work = Desk(at_once=2, waiting=4), Work()
        with monkeypatch.context() as patch:
            patch.setattr("search.serving.desk.time.perf_counter", lambda: next(clock))
            await desk.run(Client().request, lambda: None)
        asked = [asyncio.ensure_future(desk.run(Client().request, work)) for _ in range(6)]
        await work.has_begun(2)
        await soon()
        waits = set()
        for _ in range(20):
            with pytest.raises(Problem) as refused:
                await desk.run(Client().request, work)
            waits.add(int(dict(refused.value.headers)["Retry-After"]))
        assert waits <= set(range(9, 15)) and len(waits) > 1
        work.end()
        await asyncio.gather(*asked)

    run(scenario)


def test_a_client_that_hangs_up_frees_the_place_it_waited_in() -> None:
    async def scenario() -> None:
        desk, work, leaves = Desk(at_once=1, waiting=1), Work(), Client()
        first = asyncio.ensure_future(desk.run(Client().request, work))
        await work.has_begun(1)
        left = asyncio.ensure_future(desk.run(leaves.request, work))
        await soon()
        leaves.hang_up()
        with pytest.raises(Problem):
            await left
        next_one = asyncio.ensure_future(desk.run(Client().request, work))
        await soon()
        assert not next_one.done()
        work.end()
        await asyncio.gather(first, next_one)
        assert work.begun == 2

    run(scenario)


def test_work_that_has_begun_counts_to_its_end_though_its_client_has_left() -> None:
    async def scenario() -> None:
        desk, work, leaves = Desk(at_once=1, waiting=0), Work(), Client()
        first = asyncio.ensure_future(desk.run(leaves.request, work))
        await work.has_begun(1)
        leaves.hang_up()
        await soon()
        with pytest.raises(Problem):
            await desk.run(Client().request, work)
        work.end()
        assert await first == 1
        assert await desk.run(Client().request, work) == 2

    run(scenario)


def test_what_fails_is_raised_and_frees_its_place() -> None:
    async def scenario() -> None:
        desk = Desk(at_once=1, waiting=0)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await desk.run(Client().request, lambda: 1 // 0)

    run(scenario)


def test_who_has_no_patience_is_refused_soon() -> None:
    async def scenario() -> None:
        desk, work = Desk(at_once=1), Work()
        first = asyncio.ensure_future(desk.run(Client().request, work))
        await work.has_begun(1)
        with pytest.raises(Problem) as refused:
            await desk.run(Client().request, work, patience=0.01)
        assert refused.value.code == "busy"
        work.end()
        assert await first == 1
        assert await desk.run(Client().request, work, patience=0.01) == 2

    run(scenario)
