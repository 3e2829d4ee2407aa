"""A server over the folder of `notes`, asked in this process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from search import Index
from search.serving import create_app

ADDRESS = "http://127.0.0.1:8765"


@pytest.fixture
def index(indexed: Path) -> Index:
    """The index of `notes`, as the server has it open."""
    return Index.open(indexed)


@pytest.fixture(scope="session", autouse=True)
def _one_inspector(one_inspector: None) -> None:
    """All servers of these tests share the process that looks into models."""


@pytest.fixture
def client(index: Index) -> Iterator[TestClient]:
    """A client of the server that asks as from this machine."""
    with TestClient(create_app(index), base_url=ADDRESS) as client:
        yield client


@contextmanager
def server_process(*arguments: Any, first: str = "") -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `seewhy serve ARGUMENTS` in a process of its own; its address and the process, killed at the end.

    Args:
        first: statements that the process runs before the command.
    """
    program = f"{first}\nfrom search.cli.app import main\nmain()"
    command = [sys.executable, "-c", program, "serve", "--port", "0", *map(str, arguments)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as server:
        try:
            assert server.stderr
            for line in server.stderr:
                if "http://" in line:
                    yield f"http://{line.split('http://')[1].split()[0]}", server
                    break
        finally:
            server.kill()
