"""The life of a server: it drains when it is to end, and keeps indexes up to date beside."""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from search import Index, Report
from search.cli.serve import _listening
from search.serving.life import watching
from search.serving.nearby import sockets
from search.serving.served import Served
from search.store.layout import find_index
from tests.conftest import REPOSITORY, Run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")

# A server whose work takes as long as its path says; it has a second to end.
SLOW = """
import socket, sys, time
from fastapi import FastAPI, Request
from search.serving.desk import Desk
from search.serving.life import configured, live
from search.serving.nearby import found_here
from search.serving.problems import install

app, desk = FastAPI(), Desk()
install(app)

@app.get("/{seconds}")
async def slow(request: Request, seconds: float):
    print("begun", flush=True)
    await desk.run(lambda: time.sleep(seconds))
    return "done"

listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
config = configured(app)
config.timeout_graceful_shutdown = 1
live(config, listening, nearby=found_here())
"""


@pytest.fixture
def slow() -> Iterator[subprocess.Popen[str]]:
    server = subprocess.Popen(
        [sys.executable, "-c", SLOW],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        encoding="utf-8",
    )
    yield server
    server.kill()
    server.communicate()


def ask(server: subprocess.Popen[str], seconds: float, number: signal.Signals) -> tuple[int, bytes, int, str]:
    """The answer to a request that is worked at when the signal comes; the exit code, and what stands on stderr."""
    assert server.stdout
    address = f"http://127.0.0.1:{server.stdout.readline().strip()}/{seconds}"

    def answer() -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(address) as got:
                return got.status, got.read()
        except (OSError, http.client.HTTPException):
            return 0, b""

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(answer)
        assert server.stdout.readline() == "begun\n"
        server.send_signal(number)
        _, said = server.communicate(timeout=10)
        return *asked.result(), server.returncode, said


def test_sigterm_lets_what_is_worked_at_come_to_its_end(slow: subprocess.Popen[str]) -> None:
    assert ask(slow, 0.4, signal.SIGTERM) == (200, b'"done"', 0, "")


def test_what_takes_too_long_is_told_so_and_the_server_ends(slow: subprocess.Popen[str]) -> None:
    began = time.monotonic()
    *_, code, _ = ask(slow, 30, signal.SIGTERM)
    assert code == 0
    assert time.monotonic() - began < 10
    assert not sockets()


def test_ctrl_c_ends_it_as_any_command(indexed: Path) -> None:
    # A process that was started in the background may have been told to take no notice of Ctrl-C.
    heeded = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    run = f"{heeded}; from search.__main__ import main; main()"
    command = [sys.executable, "-c", run, "serve", "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY, encoding="utf-8")
    assert server.stderr
    address = server.stderr.readline().split()[1]
    with urllib.request.urlopen(f"{address}healthz") as answer:
        assert answer.read() == b"ok\n"
    server.send_signal(signal.SIGINT)
    _, said = server.communicate(timeout=10)
    assert (server.returncode, said) == (130, "")


def test_an_answer_is_sent_at_once() -> None:
    async def accepted() -> int:
        found = asyncio.get_running_loop().create_future()
        with closing(_listening("127.0.0.1", 0)) as listening:
            server = await asyncio.get_running_loop().create_server(lambda: Seen(found), sock=listening)
            socket.create_connection(listening.getsockname()).close()
            sent: socket.socket = await found
            server.close()
            return sent.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    class Seen(asyncio.Protocol):
        def __init__(self, found: asyncio.Future[socket.socket]) -> None:
            self._found = found

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self._found.set_result(transport.get_extra_info("socket"))

    assert asyncio.run(accepted())


@pytest.mark.parametrize("asked", [True, False])
def test_the_browser_is_opened_where_that_was_asked_for(
    asked: bool, run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_: until(lambda: bool(opened)) if asked else None)
    code, _, said = run("serve", "--port", "0", *(["--open"] if asked else []))
    assert code == 0
    assert opened == ([said.split()[1]] if asked else [])


def until(holds: Callable[[], bool]) -> None:
    latest = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < latest
        time.sleep(0.02)


def test_an_index_is_kept_up_to_date_beside(indexed: Path) -> None:
    served = Served.open([str(indexed)])
    said: list[str] = []
    ends = threading.Event()
    (watch,) = watching(served, said.append)
    thread = threading.Thread(target=watch, args=(ends,))
    thread.start()
    try:
        (indexed / "new.md").write_text("# Sun\n\nThe sun is over the water.\n", encoding="utf-8")
        until(lambda: len(said) > 0)
        assert "notes: 1 file added" in said[0]
        assert served.index().query("the sun over the water", k=1)[0].document == "new.md"
    finally:
        ends.set()
        thread.join(10)
    assert not thread.is_alive()


def test_what_cannot_be_watched_is_said_and_watched_again(
    indexed: Path, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.serving.life._SECONDS_BETWEEN_TRIES", 0.05)
    update, errors = Index.update, [OSError("the disk is full"), RuntimeError("a bug")]

    def fails(index: Index, **options: Any) -> Report:
        if errors:
            raise errors.pop(0)
        return update(index, **options)

    monkeypatch.setattr(Index, "update", fails)
    said: list[str] = []
    ends = threading.Event()
    (watch,) = watching(served, said.append)
    thread = threading.Thread(target=watch, args=(ends,))
    thread.start()

    def changed(name: str, *expected: str) -> None:
        said.clear()
        (indexed / name).write_text("The sun is over the water.\n", encoding="utf-8")
        until(lambda: all(any(words in line for line in said) for words in expected))

    try:
        until(lambda: any("the disk is full" in line for line in said))
        changed("first.md", "not watched until this is mended: a bug", "notes: 1 file added")
        place = find_index(indexed)
        place.rename(tmp_path / "away")
        changed("second.md", "not watched until this is mended: there is no index")
        (tmp_path / "away").rename(place)
        until(lambda: any("notes: 1 file added" in line for line in said))
    finally:
        ends.set()
        thread.join(10)
    assert not thread.is_alive()


def test_an_index_that_fails_at_first_is_tried_again(
    client: TestClient, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.serving.served._SECONDS_BETWEEN_TRIES", 0.05)
    query, broken, said, ends = Index.query, threading.Event(), list[str](), threading.Event()
    broken.set()

    def fails(index: Index, *args: Any, **options: Any) -> Any:
        if broken.is_set():
            raise RuntimeError("what nobody foresaw")
        return query(index, *args, **options)

    monkeypatch.setattr(Index, "query", fails)
    thread = threading.Thread(target=served.warm, args=(ends, said.append))
    thread.start()
    try:
        assert served.ready.wait(10)
        assert said == ["note: the index 'notes' cannot be asked: what nobody foresaw"]
        asked = client.get("/readyz")
        assert (asked.status_code, asked.json()["code"]) == (503, "not-ready")
        assert "cannot be asked (failed)" in asked.json()["detail"]
        broken.clear()
        until(lambda: client.get("/readyz").status_code == 200)
    finally:
        ends.set()
        thread.join(10)
    assert not thread.is_alive()


def found(client: TestClient, query: str) -> list[str]:
    answer = client.get("/api/v1/search", params={"q": query, "k": 1})
    assert answer.status_code == 200
    return [hit["document"] for hit in answer.json()["hits"]]


def test_what_is_done_to_an_index_is_seen_by_the_next_query(
    indexed: Path, client: TestClient, served: Served, tiny_model: Path, other_model: Path, tmp_path: Path
) -> None:
    assert found(client, "turn the key") == ["keys.md"]
    (indexed / "new.md").write_text("# Sun\n\nThe sun is over the water.\n", encoding="utf-8")
    beside = Index.open(indexed)
    beside.update()
    assert found(client, "the sun over the water") == ["new.md"]
    first = served.index().encoder
    Index.build(indexed, model=str(other_model), rebuild=True)
    assert found(client, "the sun over the water") == ["new.md"]
    assert served.index().encoder is not first
    beside.check(repair=True)
    assert found(client, "the sun over the water") == ["new.md"]
    there = tmp_path / "moved"
    indexed.rename(there)
    Index.open(find_index("notes")).move(there)
    gone = client.get("/api/v1/search", params={"q": "turn the key"})
    assert (gone.status_code, gone.json()["code"]) == (404, "index-not-found")
    assert "Make one with: seewhy index FOLDER" in gone.json()["detail"]
    find_index(there).rename(served.index().path)
    assert found(client, "turn the key") == ["keys.md"]
