"""The command through a running server: the same bytes, or the usual way."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from search import Index
from tests.conftest import REPOSITORY, Run
from tests.serving.conftest import started

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no such sockets")

QUERY = ("query", "turn the key")
ALONE = ("--engine", "openvino")  # no server is asked


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[tuple[Path, Path]]:
    """A folder with an index that a server answers from, and the home of both."""
    folder, home = tmp_path_factory.mktemp("notes"), tmp_path_factory.mktemp("home")
    (folder / "keys.md").write_text("# Keys\n\nTurn the key, open the lock.\n", encoding="utf-8")
    (folder / "time.txt").write_text("Many people say that time is long.\nIt is not.\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEEWHY_HOME", str(home))
        Index.build(folder, model=str(tiny_model))
        with started("--index", folder) as (url, _):
            end = time.monotonic() + 60
            while not is_ready(url):
                assert time.monotonic() < end
                time.sleep(0.05)
            yield folder, home


def is_ready(url: str) -> bool:
    try:
        return urllib.request.urlopen(f"{url}readyz").status == 200
    except urllib.error.HTTPError:
        return False


@pytest.fixture
def alone(place: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that this process answered by itself."""
    folder, home = place
    monkeypatch.setenv("SEEWHY_HOME", str(home))
    monkeypatch.chdir(folder)
    really, asked = Index.query, list[str]()

    def query(self: Index, text: Any, *args: Any, **options: Any) -> Any:
        asked.append(str(text))
        return really(self, text, *args, **options)

    monkeypatch.setattr(Index, "query", query)
    return asked


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--json",),
        ("--context", "1"),
        ("--context", "1", "--jsonl", "-k", "2"),
        ("--color", "always"),
        ("--mode", "lexical", "--json"),
        ("--weight", "0.3", "--offset", "1", "--group"),
        ("--where", "path:*.md", "--since", "7d"),
        ("--where", "path:nowhere/**"),
        ("--rerank", "late", "--json"),
    ],
    ids=" ".join,
)
def test_the_bytes_are_the_same(options: tuple[str, ...], alone: list[str], run: Run) -> None:
    through = run(*QUERY, *options)
    assert alone == []
    assert through == run(*QUERY, *options, *ALONE)


def test_neither_the_library_nor_numpy_is_loaded(alone: list[str], place: tuple[Path, Path]) -> None:
    code = """
import sys
from search.cli.app import main
sys.argv = ["seewhy", "query", "turn the key"]
try:
    main()
finally:
    print(sorted({"numpy", "search.index", "http.client", "ssl", "asyncio"} & sys.modules.keys()), file=sys.stderr)
"""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "options",
    [("--engine", "openvino"), ("--where", "path:")],
    ids=" ".join,
)
def test_the_rest_goes_the_usual_way(options: tuple[str, ...], alone: list[str], run: Run) -> None:
    first = run(*QUERY, *options)
    assert len(alone) == 1
    assert first == run(*QUERY, *options, *ALONE)


def test_what_changed_is_seen_and_said_the_same(
    alone: list[str], run: Run, place: tuple[Path, Path]
) -> None:
    folder, _ = place
    (folder / "k\u202eey.md").write_text(
        "# Über\x1b[31m\n\nA \U0001f511 and \u2028 sun.\n", encoding="utf-8"
    )
    Index.open(folder).update()
    (folder / "time.txt").unlink()
    for options in ((), ("--json",)):
        through = run("query", "time 🔑", *options)
        assert "ey.md" in through[1] and "time.txt" in through[1]
        assert alone == []
        assert through == run("query", "time 🔑", *options, *ALONE)
        alone.clear()


@pytest.mark.parametrize(
    "answer", [None, b"HTTP/1.1 409 Conflict\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n{}", b""]
)
def test_a_socket_that_gives_no_answer_is_passed_over(
    answer: bytes | None, indexed: Path, run: Run, own_home: Path
) -> None:
    """Where nobody listens any more, or another version of a server does."""
    usual = run(*QUERY, "--json", *ALONE)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(own_home / "server.socket"))
        if answer is not None:
            listening.listen()
            thread = threading.Thread(target=answered, args=(listening, answer))
            thread.start()
        assert run(*QUERY, "--json") == usual
    if answer is not None:
        thread.join(10)


def answered(listening: socket.socket, answer: bytes) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(1 << 16)
        connection.sendall(answer)
