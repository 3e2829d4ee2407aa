"""Who may ask, and how much: by Host, Origin and what a browser says of where a request comes from; the token."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from search.errors import InputError
from search.serving import limits, session
from search.serving.app import application
from search.serving.guard import HEADERS
from search.serving.limits import read
from search.serving.problems import CODES, Problem
from search.serving.served import Served
from search.serving.settings import Settings

TOKEN = "a token of none and nobody".replace(" ", "-")
PAGE = {"accept": "text/html"}

Made = Callable[..., TestClient]


@pytest.fixture
def made(served: Served) -> Made:
    """Makes a client of a server with settings."""

    def client(base_url: str = "http://127.0.0.1:8765", **settings: Any) -> TestClient:
        return TestClient(application(served, Settings(**settings)), base_url, follow_redirects=False)

    return client


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "LocalHost:8765", "[::1]:8765", "localhost"])
def test_the_names_of_loopback_are_known(client: TestClient, host: str) -> None:
    assert client.get("/healthz", headers={"host": host}).status_code == 200


def test_an_address_of_this_machine_is_known_though_it_came_by_a_socket_for_both_versions(
    served: Served,
) -> None:
    async def status(own: str, host: str) -> int:
        seen: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request"}

        async def send(message: Any) -> None:
            seen.append(message)

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/healthz",
            "raw_path": b"/healthz",
            "query_string": b"",
        }
        scope |= {"headers": [(b"host", host.encode("ascii"))], "server": (own, 8765), "http_version": "1.1"}
        await application(served, Settings())(scope, receive, send)
        return int(seen[0]["status"])

    assert anyio.run(status, "::ffff:192.0.2.7", "192.0.2.7:8765") == 200
    assert anyio.run(status, "::ffff:192.0.2.7", "192.0.2.8:8765") == 421


def test_names_that_are_allowed_are_known_with_any_port_or_with_theirs(made: Made) -> None:
    client = made(allowed_hosts=("Notes.Example", "other.example:9000"))
    asked = {
        host: client.get("/healthz", headers={"host": host}).status_code
        for host in (
            "notes.example",
            "NOTES.example:443",
            "other.example:9000",
            "other.example",
            "x.notes.example",
        )
    }
    assert list(asked.values()) == [200, 200, 200, 421, 421]


def test_the_address_that_was_asked_is_known(made: Made) -> None:
    client = made("http://192.0.2.7:8765", host="192.0.2.7", token=TOKEN)
    assert client.get("/healthz").status_code == 200
    assert client.get("/healthz", headers={"host": "192.0.2.8:8765"}).status_code == 421


def test_every_answer_says_what_a_browser_may_do_with_it(client: TestClient) -> None:
    for path in ("/", "/static/page.css", "/api/v1/search?q=key", "/none", "/healthz"):
        headers = client.get(path, headers=PAGE).headers
        assert HEADERS.items() <= {name: headers.get(name) for name in HEADERS}.items(), path
        assert "server" not in headers
    assert client.get("/").headers["cache-control"] == "no-store"
    assert "immutable" in client.get("/static/page.css").headers["cache-control"]


def test_head_is_get_without_a_body(client: TestClient) -> None:
    assert client.head("/api/v1/search", params={"q": "key"}).status_code == 200


def test_no_other_page_may_ask_unless_it_is_named(made: Made) -> None:
    named, other = {"origin": "https://Notes.example"}, {"origin": "https://other.example"}
    client = made(origins=("https://notes.example",))
    path = "/api/v1/search?q=key"
    answer = client.get(path, headers=named | {"sec-fetch-site": "cross-site"})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (
        200,
        "https://Notes.example",
    )
    assert "Origin" in answer.headers["vary"] and "Origin" in client.get(path).headers["vary"]
    assert client.get("/", headers=named).status_code == 403  # the pages are no part of it
    refused = client.get(path, headers=other)
    assert refused.status_code == 403 and "access-control-allow-origin" not in refused.headers


def test_a_browser_may_ask_whether_it_may_ask(made: Made) -> None:
    asked = {"origin": "https://notes.example", "access-control-request-method": "POST"}
    answer = made(origins=("https://notes.example",), token=TOKEN).options("/api/v1/search", headers=asked)
    assert answer.status_code == 204
    assert "Authorization" in answer.headers["access-control-allow-headers"]
    assert made().options("/api/v1/search", headers=asked).status_code == 405


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"host": "0.0.0.0"}, "--token new"),
        ({"host": "notes.example"}, "--token new"),
        ({"token": "short"}, "16 or more"),
        ({"token": "sixteen letters and a space"}, "without spaces"),
        ({"allowed_hosts": ("https://notes.example",)}, "--allowed-host notes.example"),
        ({"origins": ("*",)}, "--origin https://notes.example"),
        ({"origins": ("https://notes.example/",)}, "--origin https://notes.example"),
    ],
)
def test_what_cannot_be_chosen_is_said(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)) as raised:
        Settings(**settings)
    assert settings.get("token", "?") not in str(raised.value)


def test_others_may_ask_who_send_the_token(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "DELAY", 0.0)
    client = made(host="0.0.0.0", token=TOKEN)
    asked = {
        sent: client.get("/api/v1/search?q=key", headers={"authorization": sent}).status_code
        for sent in (
            f"Bearer {TOKEN}",
            f"bearer {TOKEN}",
            "Bearer wrong",
            f"Basic {TOKEN}",
            TOKEN,
            f"Bearer {TOKEN}x",
        )
    }
    assert list(asked.values()) == [200, 200, 401, 401, 401, 401]
    refused = client.get(f"/api/v1/search?q=key&token={TOKEN}")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert client.get("/healthz").status_code == client.get("/static/page.css").status_code == 200


def test_people_give_the_token_once_without_any_script(made: Made) -> None:
    client = made(token=TOKEN)
    page = client.get("/?q=key&k=3", headers=PAGE)
    assert page.status_code == 401 and "keys.md" not in page.text and TOKEN not in page.text
    assert 'action="/session"' in page.text and 'name="next" value="/?q=key&amp;k=3"' in page.text
    sent = client.post(
        "/session",
        data={"token": TOKEN, "next": "/?q=key&k=3"},
        headers=PAGE | {"origin": "null", "sec-fetch-site": "same-origin"},  # as browsers send it
    )
    assert (sent.status_code, sent.headers["location"]) == (303, "/?q=key&k=3")
    cookie = sent.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; ")) and "Secure" not in cookie
    assert TOKEN not in cookie and cookie.startswith("seewhy-8765=")
    assert "keys.md" in client.get("/?q=key&k=3", headers=PAGE).text
    client.cookies.clear()
    assert client.get("/?q=key&k=3", headers=PAGE).status_code == 401


def test_a_session_behind_https_is_not_sent_without(made: Made) -> None:
    headers = {"x-forwarded-proto": "https"}
    sent = made(token=TOKEN).post("/session", data={"token": TOKEN}, headers=headers)
    assert "Secure" in sent.headers["set-cookie"]


def test_a_wrong_token_is_said_and_slow(made: Made) -> None:
    client, before = made(token=TOKEN), time.monotonic()
    page = client.post("/session", data={"token": "<b>wrong", "next": "/?q=key"}, headers=PAGE)
    assert time.monotonic() - before >= session.DELAY
    assert page.status_code == 401 and "set-cookie" not in page.headers
    assert "That is not the token" in page.text and "wrong" not in page.text


def test_many_wrong_tokens_are_sent_away(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MOST_WRONG", 0)
    client = made(token=TOKEN)
    refused = client.get("/", headers={"authorization": "Bearer wrong"})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert client.get("/", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize(
    "place", ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nb: c", "", "x"]
)
def test_the_form_leads_nowhere_else(made: Made, place: str) -> None:
    sent = made(token=TOKEN).post("/session", data={"token": TOKEN, "next": place})
    assert sent.headers["location"] == "/"


def test_a_link_from_elsewhere_can_be_followed_though_its_cookie_stays_behind(made: Made) -> None:
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    page = made(token=TOKEN).get("/?q=%3Cb%3E", headers=PAGE | link)
    assert page.status_code == 401 and '<a href="/?q=%3Cb%3E">Go on</a>' in page.text


def test_sessions_end_and_are_bounded(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MOST", 2)
    client = made(token=TOKEN)
    cookies = [client.post("/session", data={"token": TOKEN}).cookies for _ in range(3)]

    def statuses() -> list[int]:
        found = []
        for held in cookies:
            client.cookies = held
            found.append(client.get("/api/v1/search?q=key").status_code)
        return found

    assert statuses() == [401, 200, 200]
    now = time.monotonic()
    monkeypatch.setattr(session.time, "monotonic", lambda: now + session.SECONDS + 1)
    assert statuses() == [401, 401, 401]


def test_every_code_of_a_refusal_is_listed() -> None:
    folder = Path(limits.__file__).parent
    sources = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    said = set(re.findall(r'(?:refused|_refuse|Problem)\(\s*(?:\d+|hint), "([a-z-]+)"', sources))
    assert {"unknown-host", "too-slow", "busy"} <= said <= set(CODES)


def test_a_body_is_counted_while_it_comes() -> None:
    asked = 0

    async def receive() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b"x" * 1000, "more_body": True}

    with pytest.raises(Problem) as raised:
        anyio.run(read, receive, Headers({}), 5_000, 1.0)
    assert (raised.value.status, asked) == (413, 6)
