"""Access control: by Host, Origin and what a browser says of a request; the token; sizes and floods."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from search import Index, InputError
from search.serving import create_app
from search.store.pins import pins
from tests.serving.conftest import ADDRESS, server_process

TOKEN = "a-token-of-none-and-nobody"
PAGE = {"accept": "text/html"}
SEARCH = "/api/v1/search?q=key"
ACCEPT = {"Accept": "application/json, text/event-stream"}
LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}

MakeClient = Callable[..., TestClient]


@pytest.fixture
def make_client(index: Index) -> MakeClient:
    """Return a function that makes a client of a server with settings."""

    def client(base_url: str = ADDRESS, **settings: Any) -> TestClient:
        return TestClient(create_app(index, **settings), base_url, follow_redirects=False)

    return client


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8765", 200), ("[::1]:8765", 200), ("localhost", 200),
        ("evil.example", 400), ("127.0.0.1.evil.example", 400), ("localhost.", 400),
        ("evil.example@localhost", 400), ("localhost, evil.example", 400), ("<b>evil", 400), ("", 400),
        ("192.0.2.8", 400),
    ],
)  # fmt: skip
def test_only_known_host_names_are_answered(client: TestClient, host: str, status: int) -> None:
    for path in ("/healthz", SEARCH, "/"):
        answer = client.get(path, headers={"host": host})
        assert answer.status_code == status
        assert status == 200 or "evil" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "https://127.0.0.1"}, {"origin": ""},
        {"origin": "http://127.0.0.1:9000"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
        {"origin": "http://127.0.0.1:8765", "sec-fetch-site": "cross-site"}, LINK,
    ],
    ids=str,
)  # fmt: skip
def test_requests_of_foreign_pages_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    for method, path in (("GET", SEARCH), ("GET", "/mcp"), ("POST", "/mcp")):
        answer = client.request(method, path, headers=headers)
        assert answer.status_code == 403, path
        assert "access-control-allow-origin" not in answer.headers


def test_a_foreign_link_may_open_a_page_but_load_nothing_else(client: TestClient) -> None:
    assert client.get("/?q=key", headers=LINK).status_code == 200
    for kind in ("image", "iframe", "script"):
        assert client.get("/?q=key", headers={**LINK, "sec-fetch-dest": kind}).status_code == 403
    own = {"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-origin"}
    assert client.get(SEARCH, headers=own).status_code == 200


def test_foreign_pages_pin_nothing_and_neither_do_clients_of_a_shared_server_that_only_reads(
    make_client: MakeClient, index: Index
) -> None:
    fields, token = {"q": "where is the key?"}, {"authorization": f"Bearer {TOKEN}"}
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}, LINK):
        assert make_client().post("/pins", data=fields, headers=headers).status_code == 403
    shared = make_client(host="0.0.0.0", token=TOKEN)
    assert shared.post("/pins", data=fields).status_code == 401
    answer = shared.post("/pins", data=fields, headers=token)
    assert (answer.status_code, answer.json()["code"]) == (403, "read-only")
    assert "/pins" not in shared.get("/", headers=token).text
    assert pins(index.path) == ()
    writable = make_client(host="0.0.0.0", token=TOKEN, writable=True)
    assert writable.post("/pins", data=fields, headers=token).status_code == 303
    assert pins(index.path) == ("where is the key?",)


def test_requests_of_foreign_pages_are_refused_even_with_the_token(make_client: MakeClient) -> None:
    other = {"origin": "https://notes.example", "sec-fetch-site": "cross-site"}
    token = {"authorization": f"Bearer {TOKEN}"}
    assert make_client(token=TOKEN).get(SEARCH, headers=other | token).status_code == 403
    asks = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    assert make_client().options("/api/v1/search", headers=other | asks).status_code == 403


def test_pages_of_allowed_origins_may_use_the_api_with_the_token(make_client: MakeClient) -> None:
    client = make_client(origins=("https://notes.example",), token=TOKEN)
    headers = {"origin": "https://notes.example", "sec-fetch-site": "cross-site"}
    token = {"authorization": f"Bearer {TOKEN}"}
    answer = client.get(SEARCH, headers=headers | token)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, headers["origin"])
    assert client.get(SEARCH, headers=headers).status_code == 401
    assert client.get("/", headers=headers | token).status_code == 403  # the pages are no part of it
    assert client.get(SEARCH, headers=token | {"origin": "https://other.example"}).status_code == 403
    asks = {"access-control-request-method": "GET", "access-control-request-headers": "authorization"}
    preflight = client.options("/api/v1/search", headers=headers | asks)
    assert (
        preflight.status_code == 200
        and "authorization" in preflight.headers["access-control-allow-headers"]
    )


@pytest.mark.parametrize(
    "path", ["/", SEARCH, "/mcp", "/openapi.json", "/documents/1", "/what-if?q=key", "/none"]
)
def test_without_the_token_every_path_answers_401(make_client: MakeClient, path: str) -> None:
    client = make_client(host="0.0.0.0", token=TOKEN)
    basic = b64encode(f"me:{TOKEN}".encode()).decode()
    wrong = (
        "",
        "Bearer",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        TOKEN,
        f"Basic {TOKEN}",
        "Basic é",
        f"Digest {basic}",
    )
    for authorization in wrong:
        answer = client.get(path, headers={"authorization": authorization.encode()})
        assert answer.status_code == 401
        assert "key" not in answer.text and TOKEN not in answer.text
    assert client.get(path, params={"token": TOKEN}).status_code == 401
    for authorization in (f"Bearer {TOKEN}", f"bearer {TOKEN}", f"Basic {basic}"):
        assert client.get(path, headers={"authorization": authorization}).status_code != 401


def test_pages_ask_for_the_token_by_basic_and_the_api_by_bearer(make_client: MakeClient) -> None:
    client = make_client(token=TOKEN)
    assert client.get("/", headers=PAGE).headers["www-authenticate"].startswith("Basic ")
    assert client.get(SEARCH, headers=PAGE).headers["www-authenticate"] == "Bearer"
    assert client.get("/healthz").status_code == client.get("/static/0/seewhy.css").status_code == 200


def test_every_answer_says_what_a_browser_may_do_with_it(client: TestClient) -> None:
    for path in ("/", "/static/0/seewhy.css", SEARCH, "/none", "/healthz"):
        headers = client.get(path, headers=PAGE).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
        assert "server" not in headers
    assert client.get("/").headers["cache-control"] == "no-store"
    assert "immutable" in client.get("/static/0/seewhy.css").headers["cache-control"]
    assert client.head(SEARCH).status_code == 200


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"host": "0.0.0.0"}, "--token new"),
        ({"host": "notes.example"}, "--token new"),
        ({"writable": True}, "--writable requires a token"),
        ({"token": "short"}, "at least 16"),
        ({"token": "sixteen letters and a space"}, "without spaces"),
    ],
)
def test_unsafe_settings_are_refused_with_the_remedy(
    make_client: MakeClient, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as error:
        make_client(**settings)
    assert settings.get("token", "?") not in str(error.value)


@pytest.fixture
def address(indexed: Path) -> Iterator[tuple[str, int]]:
    """Host and port of `seewhy serve`."""
    with server_process("--index", indexed) as (url, _):
        yield "127.0.0.1", int(url.rpartition(":")[2].strip("/"))


@pytest.fixture(scope="module")
def writable_address(
    tiny_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, int]]:
    """Host and port of `seewhy serve --writable`, of one process for all requests that it refuses."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEEWHY_HOME", str(home))
        Index.create("few", model=str(tiny_model)).upsert([{"id": "a", "text": "Turn the key."}])
        with server_process("--index", "few", "--writable", "--token", TOKEN) as (url, _):
            yield "127.0.0.1", int(url.rpartition(":")[2].strip("/"))


def status(address: tuple[str, int], request: bytes) -> int:
    """The status of the one answer to a request; 0 where the connection was cut while it was sent."""
    with socket.create_connection(address, 10) as client:
        answer = b""
        try:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            while block := client.recv(1 << 16):
                answer += block
        except OSError:
            pass
    assert answer.count(b"HTTP/1.1 ") <= 1 and b"Traceback" not in answer
    return int(answer.split()[1]) if answer else 0


HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def test_malformed_oversized_and_excess_requests_are_refused(address: tuple[str, int]) -> None:
    get = b"GET %b HTTP/1.1\r\nHost: localhost\r\n%b\r\n"
    requests = {
        "two lengths": (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", 400),
        "two hosts": (get % (b"/", b"Host: evil.example\r\n"), 400),
        "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
        "a long address": (get % (b"/?q=" + b"k" * 300_000, b""), 400),
        "a long header": (get % (b"/", b"X: " + b"x" * 80_000 + b"\r\n"), 400),
        "a long query": (get % (b"/api/v1/search?q=" + b"k" * 3_000, b""), 422),
        "no request": (b"\x16\x03\x01\x00\xa5\r\n\r\n", 400),
    }
    statuses = {name: status(address, bytes_) for name, (bytes_, _) in requests.items()}
    wrong = {name: actual for name, actual in statuses.items() if actual not in (requests[name][1], 0)}
    assert wrong == {} and list(statuses.values()).count(0) <= 2
    health = get % (b"/healthz", b"Connection: close\r\n")
    assert status(address, health) == 200
    connections = [socket.create_connection(address) for _ in range(256)]
    time.sleep(0.3)
    assert status(address, health) == 503
    for connection in connections:
        connection.close()
    time.sleep(0.3)
    assert status(address, health) == 200


@pytest.mark.parametrize("is_chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize(
    ("path", "mebibytes"),
    [("/api/v1/search", 1), ("/v1/embeddings", 8), ("/mcp", 1), ("/api/v1/documents", 32)],
)
def test_every_route_refuses_a_body_that_is_too_large_and_names_the_limit(
    writable_address: tuple[str, int], path: str, mebibytes: int, is_chunked: bool
) -> None:
    size = mebibytes * 2**20
    for body, status in ((b'["' + b" " * (size + size // 2), 413), (b"x" * (size - 1), 400)):
        blocks = (body[start : start + 2**16] for start in range(0, len(body), 2**16))
        connection = http.client.HTTPConnection(*writable_address, timeout=20)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}", **ACCEPT}
        connection.request("POST", path, blocks if is_chunked else body, headers)
        answer = connection.getresponse()
        problem = json.load(answer)
        connection.close()
        if status == 413:
            assert (answer.status, problem["code"]) == (413, "body-too-large")
            expected = f"the request body is larger than {mebibytes} MiB. Send less, or several requests."
            assert problem["detail"] == expected
        else:
            assert answer.status in (400, 422), problem


def test_more_requests_than_may_wait_are_refused(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def query(*args: Any, **options: Any) -> Any:
        assert release.wait(20)
        raise InputError("enough")

    monkeypatch.setattr(Index, "query", query)
    with TestClient(create_app(index), ADDRESS) as client, ThreadPoolExecutor(300) as pool:
        futures = [pool.submit(client.get, SEARCH) for _ in range(200)]
        done, _ = wait(futures, return_when=FIRST_COMPLETED)
        answer = done.pop().result()
        assert (answer.status_code, answer.json()["code"]) == (503, "busy")
        assert answer.headers["retry-after"] == "1" and client.get("/healthz").status_code == 200
        release.set()
        statuses = [future.result().status_code for future in futures]
    assert set(statuses) == {400, 503}


@pytest.mark.parametrize(
    "path", ["/../keys.md", "/static/..%2f..%2fkeys.md", "/static/%2e%2e/seewhy.css", "/keys.md"]
)
def test_no_file_of_the_folder_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_only_the_exact_token_is_accepted(make_client: MakeClient) -> None:
    client = make_client("http://192.0.2.7:8765", host="192.0.2.7", token=TOKEN)
    statuses = {
        authorization: client.get(SEARCH, headers={"authorization": authorization}).status_code
        for authorization in (
            f"Bearer {TOKEN}",
            f"bearer {TOKEN}",
            "Bearer wrong",
            TOKEN,
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
        )
    }
    assert list(statuses.values()) == [200, 200, 401, 401, 401, 401], statuses
    assert client.get(f"{SEARCH}&token={TOKEN}").status_code in (401, 422)
