"""The process of the server that looks into models."""

import os

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
