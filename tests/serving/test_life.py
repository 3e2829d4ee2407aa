"""The life of a server: what it says, how it ends, and that it answers from the index as it is."""

from __future__ import annotations

import json
import signal
import socket
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
from tests.serving.conftest import started


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 0), ("SIGINT", 130)])
def test_a_signal_ends_it(indexed: Path, number: str, code: int) -> None:
    with started("--index", indexed) as (url, server):
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
def test_when_it_ends_running_queries_are_finished_and_waiting_ones_are_told_to_try_again(
    indexed: Path,
) -> None:
    with (
        started("--index", indexed, first=SLOW % 3) as (url, server),
        ThreadPoolExecutor(AT_ONCE + 10) as pool,
    ):
        assert server.stderr and answer_of(url, "healthz")[0] == 200
        asked = [pool.submit(answer_of, url) for _ in range(AT_ONCE + 10)]
        time.sleep(1.5)
        server.send_signal(signal.SIGTERM)
        answers = [each.result() for each in asked]
        assert (server.wait(20), server.stderr.read()) == (0, "")
    assert [status for status, _, _ in answers].count(200) == AT_ONCE
    for status, again, body in answers:
        if status != 200:
            assert (status, again, json.loads(body)["code"]) == (503, "1", "busy")
            assert "the server is stopping. Try again in a moment." in body


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
def test_when_it_ends_what_takes_too_long_is_told_to_try_again(indexed: Path) -> None:
    limit = "import search.serving.life as life; life.SECONDS_TO_FINISH = 1"
    with (
        started("--index", indexed, first=SLOW % 30 + limit) as (url, server),
        ThreadPoolExecutor(3) as pool,
    ):
        assert server.stderr and answer_of(url, "healthz")[0] == 200
        asked = [pool.submit(answer_of, url), pool.submit(answer_of, url, "?q=turn+the+key")]
        address = "127.0.0.1", int(url.rpartition(":")[2].strip("/"))
        with socket.create_connection(address) as client:
            client.sendall(
                b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 99\r\n\r\n{"
            )
            time.sleep(1)
            server.send_signal(signal.SIGTERM)
            begun = client.recv(1 << 16)
        for status, again, body in (each.result() for each in asked):
            assert (status, again) == (503, "1") and "the server is stopping" in body
        assert begun.startswith(b"HTTP/1.1 503 ")
        code, said = server.wait(20), server.stderr.read()
    assert code == 0 and "Traceback" not in said


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
    "sent",
    [[], [GET], [GET + b"X: x", b"x"] * 2, [GET + b"\r\n", GET], [POST, b"1"]],
    ids=["nothing", "half", "drops", "half of the second", "body of an answered request"],
)
def test_half_a_request_is_not_held(index: Index, sent: list[bytes]) -> None:
    with (
        serving(index, seconds_for_headers=1) as address,
        socket.create_connection(address, 10) as client,
    ):
        begun, received = time.monotonic(), b""
        for part in sent:
            client.sendall(part)
            if part.endswith(b"\r\n\r\n"):
                received = client.recv(1 << 16)
            time.sleep(0.2)
        while block := client.recv(1 << 16):
            received += block
        # uvicorn's own limit, between requests, is 5 seconds.
        assert 0.9 < time.monotonic() - begun < 4.5
        assert received.count(b"HTTP/1.1 ") == (len(sent) == 2 and sent[0].endswith(b"\r\n\r\n"))


def test_a_request_that_is_complete_may_take_longer_than_its_headers(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = Index.query
    monkeypatch.setattr(Index, "query", lambda *args, **how: (time.sleep(1.5), query(*args, **how))[1])
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
def served(monkeypatch: pytest.MonkeyPatch) -> list[uvicorn.Config]:
    """What servers were to be run with, which are not."""
    seen: list[uvicorn.Config] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, _: seen.append(server.config))
    return seen


def test_others_may_not_ask_without_a_token(
    run: Run, indexed: Path, served: list[uvicorn.Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, said = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert code == 1 and "SEEWHY_TOKEN" in said and "--token new" in said and not served
    code, _, said = run("serve", "--token", "new", "--port", "0", "--quiet")
    assert code == 0 and len(said.split("token for this run: ")[1].strip()) == 32
    monkeypatch.setenv("SEEWHY_TOKEN", "sixteen-or-more-letters")
    code, out, said = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert code == 0 and "http://localhost:" in said and "sixteen" not in out + said
    assert len(served) == 2


def test_no_index_and_no_package_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, said = run("serve")
    assert code == 1 and "seewhy index FOLDER" in said


@pytest.mark.parametrize("asked", [True, False])
def test_the_browser_is_opened_where_that_was_asked_for(
    asked: bool, run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, is_open = list[str](), threading.Event()
    monkeypatch.setattr(webbrowser, "open", lambda url: (opened.append(url), is_open.set()))
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_: is_open.wait(20) if asked else None)
    code, _, said = run("serve", "--port", "0", *(["--open"] if asked else []))
    assert code == 0
    assert opened == ([said.split()[1]] if asked else [])


def found(client: TestClient, query: str) -> list[str]:
    answer = client.get("/api/v1/search", params={"q": query, "k": 1})
    assert answer.status_code == 200
    return [hit["document"] for hit in answer.json()["hits"]]


def test_what_is_done_to_an_index_is_seen_by_the_next_query(
    indexed: Path, client: TestClient, index: Index, other_model: Path
) -> None:
    assert found(client, "turn the key") == ["keys.md"]
    (indexed / "new.md").write_text("# Sun\n\nThe sun is over the water.\n", encoding="utf-8")
    beside = Index.open(indexed)
    beside.update()
    assert found(client, "the sun over the water") == ["new.md"]
    before = index.encoder
    Index.build(indexed, model=str(other_model), rebuild=True)
    assert found(client, "the sun over the water") == ["new.md"]
    assert index.encoder is not before
    beside.check(repair=True)
    assert found(client, "the sun over the water") == ["new.md"]
    beside.remove()
    gone = client.get("/api/v1/search", params={"q": "turn the key"})
    assert (gone.status_code, gone.json()["code"]) == (404, "index-not-found")
    assert "Create one with: seewhy index FOLDER" in gone.json()["detail"]


def test_indexes_made_alike_share_an_encoder(index: Index, tmp_path: Path, tiny_model: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.md").write_text("# Water\n\nThe water is cold.\n", encoding="utf-8")
    more = Index.build(tmp_path / "more", model=str(tiny_model))
    other = Index.build(tmp_path / "more", index="other", model=str(tiny_model), pooling="max")
    opened = [Index.open(one.path) for one in (index, more, other)]
    create_app(*opened)
    first, second, third = (one.encoder for one in opened)
    assert isinstance(first, Encoder) and first is second and third is not first


def test_an_index_that_cannot_be_searched_is_said_and_the_server_answers_when_it_can(
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
