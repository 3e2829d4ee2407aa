"""The queue: so many requests at once, so many that wait, no more."""

import threading

import anyio
import pytest

from search.serving.desk import Desk
from search.serving.problems import Problem


def test_so_many_work_so_many_wait_and_more_are_refused() -> None:
    goes_on, running, most = threading.Event(), 0, 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        assert goes_on.wait(10)
        with lock:
            running -= 1

    async def asked() -> None:
        desk = Desk(at_once=2, waiting=1)
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(desk.run, work)
            await anyio.sleep(0.1)
            with pytest.raises(Problem) as raised:
                await desk.run(work)
            assert (raised.value.status, raised.value.code) == (503, "busy")
            assert dict(raised.value.headers) == {"Retry-After": "1"}
            with pytest.raises(Problem):
                await desk.run(work, wait=False)
            goes_on.set()
        assert await desk.run(lambda: 7, wait=False) == 7
        with pytest.raises(ZeroDivisionError):
            await desk.run(lambda: 1 // 0)

    anyio.run(asked)
    assert most == 2
