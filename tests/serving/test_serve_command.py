"""`seewhy serve`: what it needs before it listens, and what it says."""

from pathlib import Path

import pytest
import uvicorn

from search.serving.connection import Connection
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
    assert issubclass(configs[0].http, Connection) and configs[0].ws == "none"


def test_a_token_can_be_made(run: Run, indexed: Path, configs: list[uvicorn.Config]) -> None:
    code, _, said = run("serve", "--token", "new", "--port", "0", "--quiet")
    assert code == 0 and len(said.split("the token of this run: ")[1].strip()) == 32
