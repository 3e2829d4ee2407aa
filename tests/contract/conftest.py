"""One folder, one index, one server and one agent for all tests of the contract."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from anyio.from_thread import start_blocking_portal

import search
from tests.conftest import REPOSITORY
from tests.contract.oracle import Oracle, write_folder

Api = Callable[..., Any]


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[Path]:
    """The user's data folder."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("SEEWHY_HOME", str(home))
        patch.setenv("SEEWHY_CONFIG", str(home / "config.toml"))
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("PYTHONPATH", str(REPOSITORY))
        yield home


@pytest.fixture(autouse=True)
def own_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One home, in place of a home for each test: all ask one index."""
    for name in ("SEEWHY_INDEX", "SEEWHY_UPDATE", "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("contract"))


@pytest.fixture(scope="session")
def index(home: Path, folder: Path, tiny_model: Path) -> search.Index:
    return search.Index.build(folder, index="contract", model=str(tiny_model))


@pytest.fixture(scope="session")
def oracle(index: search.Index) -> Oracle:
    return Oracle(index)


def command(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `seewhy ARGUMENTS` in a process of its own."""
    line = [sys.executable, "-m", "search", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, **options)


@pytest.fixture(scope="session")
def server(index: search.Index) -> Iterator[str]:
    """The address of `seewhy serve`."""
    line = [sys.executable, "-m", "search", "serve", "-i", "contract", "--port", "0"]
    with subprocess.Popen(line, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for message in process.stdout:
            if "http://127.0.0.1:" in message:
                break
        port = message.split("http://127.0.0.1:")[1].split("/")[0].strip(" .,")
        yield f"http://127.0.0.1:{port}"
        process.terminate()


@pytest.fixture(scope="session")
def api(server: str) -> Api:
    """Asks /api/v1: its answer, decoded."""

    def ask(path: str, **parameters: Any) -> Any:
        query = {k: json.dumps(v) if isinstance(v, bool) else v for k, v in parameters.items()}
        with urllib.request.urlopen(
            f"{server}/api/v1/{path}?{urlencode(query, doseq=True)}", timeout=60
        ) as response:
            return json.load(response)

    return ask


@pytest.fixture(scope="session")
def agent(index: search.Index) -> Iterator[Api]:
    """Calls a tool of `seewhy mcp`, by a real client over standard input and output."""
    from mcp import StdioServerParameters  # seconds
    from mcp.client import Client
    from mcp.client.stdio import stdio_client

    program = StdioServerParameters(
        command=sys.executable, args=["-m", "search", "mcp", "-i", "contract"], env=dict(os.environ)
    )
    with start_blocking_portal() as portal:
        client = Client(stdio_client(program, errlog=sys.__stderr__))
        with portal.wrap_async_context_manager(client) as connected:

            def call(tool: str, **arguments: Any) -> Any:
                answer = portal.call(connected.call_tool, tool, arguments)
                assert not answer.is_error, answer.content
                return answer.structured_content

            yield call


class Answers:
    """Answers of an index, apart from ids: paths, spans, lines, texts and scores; equal but for rounding."""

    def __init__(
        self, index: search.Index, queries: Sequence[str], modes: Sequence[str] = ("hybrid", "lexical")
    ) -> None:
        lists = [
            index.query(query, k=10_000, mode=mode, per_document=0, all_copies=True)
            for query in queries
            for mode in modes
        ]
        self.passages = [
            {
                (hit.path, hit.start, hit.end, hit.line_start, hit.line_end, hit.text): hit.score
                for hit in hits
            }
            for hits in lists
        ]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Answers) or len(self.passages) != len(other.passages):
            return False
        return all(
            left.keys() == right.keys() and all(abs(left[key] - right[key]) < 1e-5 for key in left)
            for left, right in zip(self.passages, other.passages, strict=True)
        )


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
