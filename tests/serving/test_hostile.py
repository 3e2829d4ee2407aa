"""Hostile clients, over raw sockets against a server of uvicorn: refused as they should be, and nothing leaks."""

from __future__ import annotations

import logging
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import uvicorn
from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from search.index import Index
from search.serving import session
from search.serving.app import application
from search.serving.connection import configured
from search.serving.served import Served
from search.serving.settings import Settings
from tests.conftest import REPOSITORY
from tests.serving.attacks import SEARCH, attacks, with_token
from tests.serving.hostile import SECRET, Attack, Target, request, wrong_with

TOKEN = "the-token-of-the-hostile-tests"


@pytest.fixture
def decoys(indexed: Path, tiny_model: Path, tmp_path: Path) -> dict[str, str]:
    """A file beside what is indexed, an index that is not served, a file that the index leaves out."""
    (beside := tmp_path / "decoy.txt").write_text(f"the key is {SECRET}\n", encoding="utf-8")
    (indexed / ".hidden.txt").write_text(f"the key is {SECRET}\n", encoding="utf-8")
    (other := tmp_path / "other").mkdir()
    (other / "a.md").write_text(f"the key is {SECRET}\n", encoding="utf-8")
    path = Index.build(other, model=str(tiny_model)).path
    return {"decoy": str(beside), "other": str(path), "hidden": ".hidden.txt"}


@contextmanager
def running(app: ASGIApp, settings: Settings) -> Iterator[tuple[str, int]]:
    """A server in a thread of this process; its address."""
    server = uvicorn.Server(configured(app, settings))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield listening.getsockname()
        finally:
            server.should_exit = True
            thread.join(10)


def wrong(target: Target, which: Iterable[Attack]) -> list[str]:
    """What is wrong with the answers; slow attacks are made side by side."""
    named = list(which)
    with ThreadPoolExecutor(8) as threads:
        slow = {
            attack.name: threads.submit(target.send, attack.sent, attack.seconds)
            for attack in named
            if attack.group == "slow"
        }
        answers = [
            slow[attack.name].result() if attack.group == "slow" else target.send(attack.sent, attack.seconds)
            for attack in named
        ]
    found = ((attack, wrong_with(attack, answer)) for attack, answer in zip(named, answers, strict=True))
    return [f"{attack.group}, {attack.name}: {said}" for attack, said in found if said]


def test_every_attack_is_answered_as_it_should_be(
    served: Served, decoys: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(port=0, seconds_to_send=0.5)
    with caplog.at_level(logging.WARNING), running(application(served, settings), settings) as address:
        assert wrong(Target(*address, **decoys), attacks(settings.seconds_to_send)) == []
    assert "Traceback" not in caplog.text


def test_nobody_gets_in_without_the_token(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "DELAY", 0.0)
    settings = Settings(port=0, token=TOKEN)
    with running(application(served, settings), settings) as address:
        assert wrong(Target(*address), with_token(TOKEN)) == []


def test_the_handbook_says_what_is_tried() -> None:
    page = (REPOSITORY / "corpora/handbook/65-the-safety-of-the-server.md").read_text(encoding="utf-8")
    said = re.findall(r"^\| ([\w-]+) \| (\d+) \| \2 \|$", page, re.MULTILINE)
    counted = Counter(attack.group for attack in (*attacks(), *with_token(TOKEN)))
    assert {group: int(number) for group, number in said} == counted
    assert f"{counted.total()} of {counted.total()} were answered or refused as they should be" in page


@pytest.mark.parametrize("by", ["text", "link"])
def test_no_text_comes_from_disk(client: TestClient, indexed: Path, decoys: dict[str, str], by: str) -> None:
    (file := indexed / "keys.md").unlink()
    file.write_text(
        f"# Keys\n\nThe key is {SECRET}.\n", encoding="utf-8"
    ) if by == "text" else file.symlink_to(decoys["decoy"])
    hits = client.get(SEARCH).json()["hits"]
    assert "changed" in {hit["changed"] for hit in hits}
    for hit in hits:
        asked = {"q": "key", "passage": hit["passage_id"], "document": hit["document_id"], "a": 1, "b": 2}
        for path in (
            "/",
            "/explain",
            "/contrast",
            "/why-not",
            "/similar",
            f"/documents/{hit['document_id']}",
        ):
            answer = client.get(path, params=asked, headers={"accept": "text/html"})
            assert answer.status_code == 200 and SECRET not in answer.text, path
        for name in ("explain", "similar", "why-not"):
            answer = client.post(f"/api/v1/{name}", json={"q": "key", "passage": hit["passage_id"]})
            assert SECRET not in answer.text, name


def test_connections_are_counted(served: Served) -> None:
    settings = Settings(port=0, most_connections=3)
    with running(application(served, settings), settings) as address, ExitStack() as held:
        for _ in range(3):
            held.enter_context(socket.create_connection(address)).sendall(b"GET /healthz HTTP/1.1\r\n")
        time.sleep(0.1)
        refused = Target(*address).send(request("/healthz"))
        assert refused.statuses == [503] and "retry-after: 1" in refused.head
        held.close()
        time.sleep(0.1)
        assert Target(*address).send(request("/healthz")).statuses == [200]


def test_who_does_not_take_an_answer_is_left() -> None:
    settings = Settings(seconds_to_send=0.3)
    with (
        running(Response(bytes(40_000_000)), settings) as address,
        socket.create_connection(address) as client,
    ):
        client.sendall(request())
        time.sleep(1)
        received = 0
        with suppress(ConnectionResetError):
            while block := client.recv(1 << 20):
                received += len(block)
        assert received < 40_000_000


def test_a_header_of_two_lines_is_not_sent() -> None:
    async def app(scope: object, receive: object, send: object) -> None:
        split = [(b"location", b"/\r\nset-cookie: a=b")]
        await send({"type": "http.response.start", "status": 303, "headers": split})  # type: ignore[operator]

    with running(app, Settings()) as address:
        assert b"set-cookie" not in Target(*address).send(request(), 2).received
