"""The life of a server: its messages, its end, and answers that follow the index."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path

import pytest
import uvicorn
from starlette.testclient import TestClient

from search import Encoder, Index
from search.serving import create_app, guard
from search.serving.app_state import AppState
from search.serving.guard import AT_ONCE
from search.serving.life import configured
from tests.conftest import Run
from tests.serving.conftest import server_process


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 0), ("SIGINT", 130)])
def test_a_signal_ends_the_server_with_its_exit_code(indexed: Path, number: str, code: int) -> None:
    with server_process("--index", indexed) as (url, server):
        with urllib.request.urlopen(f"{url}healthz") as answer:
            assert answer.read() == b"ok\n"
        server.send_signal(getattr(signal, number))
        assert (server.wait(20), server.stderr and server.stderr.read()) == (code, "")


SLOW = """
import time
from search import Index
query = Index.query
Index.query = lambda *args, **options: (time.sleep(%s), query(*args, **options))[1]
"""


def answer_of(url: str, path: str = "api/v1/search?q=turn+the+key") -> tuple[int, str, str]:
    """Status, Retry-After and body of an answer."""
    try:
        with urllib.request.urlopen(url + path, timeout=60) as answer:
            return answer.status, "", answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["retry-after"], error.read().decode()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
def test_a_stopping_server_finishes_running_queries_and_refuses_waiting_ones(
    indexed: Path,
) -> None:
    with (
        server_process("--index", indexed, first=SLOW % 3) as (url, server),
        ThreadPoolExecutor(AT_ONCE + 10) as pool,
    ):
        assert server.stderr and answer_of(url, "healthz")[0] == 200
        futures = [pool.submit(answer_of, url) for _ in range(AT_ONCE + 10)]
        time.sleep(1.5)
        server.send_signal(signal.SIGTERM)
        answers = [future.result() for future in futures]
        assert (server.wait(20), server.stderr.read()) == (0, "")
    assert [status for status, _, _ in answers].count(200) == AT_ONCE
    for status, retry_after, body in answers:
        if status != 200:
            assert (status, retry_after, json.loads(body)["code"]) == (503, "1", "busy")
            assert "the server is stopping. Try again in a moment." in body


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
def test_a_stopping_server_refuses_queries_and_uploads_that_take_too_long(indexed: Path) -> None:
    limit = "import search.serving.life as life; life.SECONDS_TO_FINISH = 1"
    with (
        server_process("--index", indexed, first=SLOW % 30 + limit) as (url, server),
        ThreadPoolExecutor(3) as pool,
    ):
        assert server.stderr and answer_of(url, "healthz")[0] == 200
        futures = [pool.submit(answer_of, url), pool.submit(answer_of, url, "?q=turn+the+key")]
        address = "127.0.0.1", int(url.rpartition(":")[2].strip("/"))
        with socket.create_connection(address) as client:
            client.sendall(
                b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 99\r\n\r\n{"
            )
            time.sleep(1)
            server.send_signal(signal.SIGTERM)
            answer = client.recv(1 << 16)
        for status, retry_after, body in (future.result() for future in futures):
            assert (status, retry_after) == (503, "1") and "the server is stopping" in body
        assert answer.startswith(b"HTTP/1.1 503 ")
        code, log = server.wait(20), server.stderr.read()
    assert code == 0 and "Traceback" not in log


@contextmanager
def serving(index: Index, **limits: float) -> Iterator[tuple[str, int]]:
    """A server in a thread, configured like `seewhy serve`; its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(configured(create_app(index), **limits))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        thread.join(20)


GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"


@pytest.mark.parametrize(
    "parts",
    [[], [GET], [GET + b"X: x", b"x"] * 2, [GET + b"\r\n", GET], [POST, b"1"]],
    ids=["nothing", "half", "drops", "half of the second", "body of an answered request"],
)
def test_half_a_request_is_dropped_at_the_time_limit(index: Index, parts: list[bytes]) -> None:
    with (
        serving(index, seconds_for_headers=1) as address,
        socket.create_connection(address, 10) as client,
    ):
        start, answer = time.monotonic(), b""
        for part in parts:
            client.sendall(part)
            if part.endswith(b"\r\n\r\n"):
                answer = client.recv(1 << 16)
            time.sleep(0.2)
        while block := client.recv(1 << 16):
            answer += block
        # uvicorn's own limit, between requests, is 5 seconds.
        assert 0.9 < time.monotonic() - start < 4.5
        assert answer.count(b"HTTP/1.1 ") == (len(parts) == 2 and parts[0].endswith(b"\r\n\r\n"))


def test_a_request_that_is_complete_may_take_longer_than_its_headers(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = Index.query
    monkeypatch.setattr(
        Index, "query", lambda *args, **options: (time.sleep(1.5), query(*args, **options))[1]
    )
    with serving(index, seconds_for_headers=1) as (host, port):
        assert answer_of(f"http://{host}:{port}/")[0] == 200


def test_a_body_that_stops_gets_408(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "SECONDS_FOR_PART", 1)
    head = POST.replace(b"/none", b"/api/v1/search")
    with serving(index) as address, socket.create_connection(address, 10) as client:
        client.sendall(head + b"{")
        answer = HTTPResponse(client)
        answer.begin()
        assert (answer.status, json.load(answer)["code"]) == (408, "request-timeout")


@pytest.fixture
def configs(monkeypatch: pytest.MonkeyPatch) -> list[uvicorn.Config]:
    """Settings of the servers that the command would run; none is started."""
    configs: list[uvicorn.Config] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, _: configs.append(server.config))
    return configs


def test_serving_other_machines_requires_a_token(
    run: Run, indexed: Path, configs: list[uvicorn.Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert code == 1 and "SEEWHY_TOKEN" in err and "--token new" in err and not configs
    code, _, err = run("serve", "--token", "new", "--port", "0", "--quiet")
    assert code == 0 and len(err.split("token for this run: ")[1].strip()) == 32
    monkeypatch.setenv("SEEWHY_TOKEN", "sixteen-or-more-letters")
    code, out, err = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert code == 0 and "http://localhost:" in err and "sixteen" not in out + err
    assert len(configs) == 2


def test_serving_without_an_index_names_the_command_that_makes_one(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = run("serve")
    assert code == 1 and "seewhy index FOLDER" in err


@pytest.mark.parametrize("with_option", [True, False])
def test_the_browser_is_opened_only_with_the_option(
    with_option: bool, run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls, is_open = list[str](), threading.Event()
    monkeypatch.setattr(webbrowser, "open", lambda url: (urls.append(url), is_open.set()))
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_: is_open.wait(20) if with_option else None)
    code, _, err = run("serve", "--port", "0", *(["--open"] if with_option else []))
    assert code == 0
    assert urls == ([err.split()[1]] if with_option else [])


def best_documents(client: TestClient, query: str) -> list[str]:
    answer = client.get("/api/v1/search", params={"q": query, "k": 1})
    assert answer.status_code == 200
    return [hit["document"] for hit in answer.json()["hits"]]


def test_the_next_query_follows_every_change_of_the_index(
    indexed: Path, client: TestClient, index: Index, other_model: Path
) -> None:
    assert best_documents(client, "turn the key") == ["keys.md"]
    (indexed / "new.md").write_text("# Sun\n\nThe sun is over the water.\n", encoding="utf-8")
    other = Index.open(indexed)
    other.update()
    assert best_documents(client, "the sun over the water") == ["new.md"]
    before = index.encoder
    Index.build(indexed, model=str(other_model), rebuild=True)
    assert best_documents(client, "the sun over the water") == ["new.md"]
    assert index.encoder is not before
    other.check(repair=True)
    assert best_documents(client, "the sun over the water") == ["new.md"]
    other.remove()
    answer = client.get("/api/v1/search", params={"q": "turn the key"})
    assert (answer.status_code, answer.json()["code"]) == (404, "index-not-found")
    assert "Create one with: seewhy index FOLDER" in answer.json()["detail"]


def test_indexes_with_equal_settings_share_an_encoder(
    index: Index, tmp_path: Path, tiny_model: Path
) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.md").write_text("# Water\n\nThe water is cold.\n", encoding="utf-8")
    more = Index.build(tmp_path / "more", model=str(tiny_model))
    other = Index.build(tmp_path / "more", index="other", model=str(tiny_model), pooling="max")
    indexes = [Index.open(entry.path) for entry in (index, more, other)]
    create_app(*indexes)
    first, second, third = (entry.encoder for entry in indexes)
    assert isinstance(first, Encoder) and first is second and third is not first


def test_an_index_that_fails_is_noted_and_answers_once_it_works(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, broken = Index.query, threading.Event()
    broken.set()

    def fails(self: Index, *arguments: object, **options: object) -> object:
        if broken.is_set():
            raise RuntimeError("what nobody foresaw")
        return query(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Index, "query", fails)
    notes: list[str] = []
    state = AppState.open([index])
    state.warm(threading.Event(), notes.append)
    assert notes == ["note: the index 'notes' cannot be searched: what nobody foresaw"]
    assert state.ready.is_set()
    broken.clear()
    assert state.index("notes").query("turn the key")


@pytest.mark.parametrize(("command", "threads"), [("serve", "1"), ("mcp", "1"), ("query", "None")])
def test_servers_multiply_matrices_in_one_thread(command: str, threads: str) -> None:
    program = (
        "import os, sys\n"
        f"sys.argv = ['seewhy', '{command}', '--help']\n"
        "from search.__main__ import main\n"
        "try:\n    main()\n"
        "finally:\n    print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    surroundings = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    process = subprocess.run(
        [sys.executable, "-c", program],
        env=surroundings,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert process.stdout.split()[-1] == threads
