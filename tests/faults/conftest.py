"""A place to work in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import oracle


@pytest.fixture(autouse=True)
def few_are_many() -> Iterator[None]:
    with oracle.few_are_many():
        yield


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty folder, without links in its path."""
    return tmp_path.resolve()
