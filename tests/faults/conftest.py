"""A place to work in, in memory where the system has that: the harnesses wait for disks thousands of times."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import oracle

_MEMORY = Path("/dev/shm")


@pytest.fixture(autouse=True)
def few_are_many() -> Iterator[None]:
    with oracle.few_are_many():
        yield


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder, without links in its path."""
    inside = str(_MEMORY) if _MEMORY.is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="seewhy-faults-", dir=inside)).resolve()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
