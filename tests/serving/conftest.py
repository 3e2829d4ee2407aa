"""A server over the folder of `notes`, asked in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from search.index import Index
from search.serving.app import application
from search.serving.served import Served
from search.serving.settings import Settings


@pytest.fixture
def served(indexed: Path) -> Served:
    """The indexes of a server: the one of `notes`."""
    return Served.open([str(indexed)])


@pytest.fixture
def index(served: Served) -> Index:
    """The index of `notes`, as the server has it open."""
    return served.index()


@pytest.fixture
def client(served: Served) -> Iterator[TestClient]:
    """What asks the server, as from this machine."""
    app = application(served, Settings())
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        yield client
