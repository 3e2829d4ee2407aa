"""The process of the server that looks into models."""

import os

import psutil
import pytest

from search.lab.serving import IdleProcess
from search.serving.problems import Problem


def test_a_new_process_takes_over_when_the_inspector_ends() -> None:
    inspector = IdleProcess(60)
    first = inspector.run(os.getpid)
    with pytest.raises(Problem, match="Try again"):
        inspector.run(os._exit, 1)
    assert inspector.run(os.getpid) not in (first, os.getpid())
    inspector.end()


def test_the_memory_of_models_is_given_back_after_some_seconds_without_work() -> None:
    inspector = IdleProcess(2)
    process = psutil.Process(inspector.run(os.getpid))
    assert inspector.run(os.getpid) == process.pid
    _, alive = psutil.wait_procs([process], timeout=30)
    assert alive == []
    assert inspector.run(os.getpid) != process.pid
    inspector.end()
