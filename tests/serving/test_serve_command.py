"""`seewhy serve`: what it needs before it listens, and what it says."""

import threading
import urllib.request
from pathlib import Path

import pytest
import uvicorn

from search.cli.serve import _listening
from search.errors import InputError
from search.serving.app import application
from search.serving.life import configured
from search.serving.served import Served
from search.serving.settings import Settings, url_of
from tests.conftest import Run


@pytest.fixture
def configs(monkeypatch: pytest.MonkeyPatch) -> list[uvicorn.Config]:
    """What servers were to be run with."""
    seen: list[uvicorn.Config] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, _: seen.append(server.config))
    return seen


def test_others_may_not_ask_without_a_token(
    run: Run, indexed: Path, configs: list[uvicorn.Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, said = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert code == 1 and "SEEWHY_TOKEN" in said and "--token new" in said
    assert not configs
    monkeypatch.setenv("SEEWHY_TOKEN", "sixteen-or-more-letters")
    code, out, said = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert code == 0 and "sixteen" not in out + said
    assert len(configs) == 1


def test_a_token_can_be_made(run: Run, indexed: Path, configs: list[uvicorn.Config]) -> None:
    code, _, said = run("serve", "--token", "new", "--port", "0", "--quiet")
    assert code == 0 and len(said.split("the token of this run: ")[1].strip()) == 32


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "127.0.0.1", "::1"])
def test_the_address_that_is_said_is_answered(host: str, served: Served) -> None:
    try:
        listening = _listening(host, 0)
    except InputError:
        pytest.skip(f"there is no {host} here")
    settings = Settings(host, token="some-token-that-is-long-enough")
    server = uvicorn.Server(configured(application(served, settings)))
    port = listening.getsockname()[1]
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        said = url_of(*listening.getsockname()[:2])
        addresses = [said, f"http://127.0.0.1:{port}/"] if host == "::" else [said]
        for address in addresses:
            with urllib.request.urlopen(f"{address}healthz") as answer:
                assert answer.read() == b"ok\n"
    finally:
        server.should_exit = True
        thread.join(10)
    assert ("localhost" in said) == (host in ("0.0.0.0", "::"))
