"""What the pages on agents show is what runs: their programs as they are written, and what is there for registries."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import search
from search import Encoder
from tests.conftest import HAS_ALL, REPOSITORY

HANDBOOK = REPOSITORY / "corpora" / "handbook"
PAGES = (
    "70-agents-by-mcp.md", "71-langchain.md", "72-llamaindex.md", "73-haystack.md", "75-other-frameworks.md",
)  # fmt: skip
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and content of the fences of a page, in order."""
    return [
        (found[1], found[2]) for found in _BLOCK.finditer((HANDBOOK / page).read_text(encoding="utf-8"))
    ]


@pytest.fixture(scope="module")
def home(real: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's data folder with an index of some pages."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEEWHY_HOME", str(home))
        search.Index.build(HANDBOOK, index="handbook", include=["0[789]*.md"], offline=True)
    return home


@pytest.fixture
def environment(home: Path, tmp_path: Path) -> dict[str, str]:
    """That of a user with the command, and an index of their own of some pages."""
    shutil.copytree(home, os.environ["SEEWHY_HOME"], dirs_exist_ok=True)
    kept = {name: os.environ[name] for name in ("SEEWHY_HOME", "SEEWHY_CACHE")} | {
        "PYTHONPATH": str(REPOSITORY),
        "HAYSTACK_TELEMETRY_ENABLED": "false",
    }
    command = tmp_path / "bin" / "seewhy"
    command.parent.mkdir()
    told = " ".join(f"{name}={shlex.quote(value)}" for name, value in kept.items())
    command.write_text(
        f'#!/bin/sh\n{told} exec {shlex.quote(sys.executable)} -m search "$@"\n', encoding="utf-8"
    )
    command.chmod(0o755)
    return {**kept, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}


def without_digits(text: str) -> str:
    return re.sub(r"\d+", "0", text.strip())


@pytest.mark.skipif(os.name == "nt", reason="the page's command is a script of a shell here")
@pytest.mark.parametrize("page", [page for page in PAGES if HAS_ALL or "haystack" not in page])
def test_programs_of_pages_print_what_the_page_says(
    page: str,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = blocks(page)
    for at, (language, program) in enumerate(found):
        if language == "python":
            exec(compile(program, page, "exec"), {"__name__": "__main__"})
            printed = capfd.readouterr().out
            shown = found[at + 1][1] if found[at + 1 :] and printed else ""
            assert without_digits(printed) == without_digits(shown)


def test_the_registry_is_told_what_is_true() -> None:
    """By the rules of the registry: the schema of 2025-12-11, and what its documentation adds."""
    told = json.loads((REPOSITORY / "server.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", told["name"]) and len(told["name"]) <= 200
    assert 1 <= len(told["description"]) <= 100
    (package,) = told["packages"]
    assert told["version"] == package["version"] == search.__version__
    assert package["identifier"] == "seewhy" and package["transport"] == {"type": "stdio"}
    assert f"<!-- mcp-name: {told['name']} -->" in (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_the_skill_has_the_form_of_one() -> None:
    skill = REPOSITORY / "skills" / "seewhy" / "SKILL.md"
    _, head, body = skill.read_text(encoding="utf-8").split("---\n", 2)
    told = yaml.safe_load(head)
    assert told["name"] == skill.parent.name
    assert 1 <= len(told["description"]) <= 1024
    assert len(told["compatibility"]) <= 500
    assert len(body.splitlines()) < 100
    assert "`fetch` with the same id and `lines`" in body


def test_a_client_may_leave_at_any_time(environment: dict[str, str]) -> None:
    """Also while the model is loaded, in native code: the command ends without a crash."""
    asks = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    }
    initialize = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asks})
    ends = []
    for tenths in range(10):
        with subprocess.Popen(
            [sys.executable, "-m", "search", "mcp", "--offline"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | environment,
            encoding="utf-8",
        ) as server:
            assert server.stdin and server.stdout
            server.stdin.write(f"{initialize}\n")
            server.stdin.flush()
            assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "seewhy"
            time.sleep(tenths / 10)
            _, said = server.communicate(timeout=60)
        ends.append((server.returncode, said))
    assert ends == [(0, "")] * 10
