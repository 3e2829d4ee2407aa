"""Pages on agents: their programs print what the page shows; the files for registries are valid."""

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
        (match[1], match[2]) for match in _BLOCK.finditer((HANDBOOK / page).read_text(encoding="utf-8"))
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
    """Environment of a user with the command, and an index of their own of some pages."""
    shutil.copytree(home, os.environ["SEEWHY_HOME"], dirs_exist_ok=True)
    variables = {name: os.environ[name] for name in ("SEEWHY_HOME", "SEEWHY_CACHE")} | {
        "PYTHONPATH": str(REPOSITORY),
        "HAYSTACK_TELEMETRY_ENABLED": "false",
    }
    command = tmp_path / "bin" / "seewhy"
    command.parent.mkdir()
    assignments = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    command.write_text(
        f'#!/bin/sh\n{assignments} exec {shlex.quote(sys.executable)} -m search "$@"\n', encoding="utf-8"
    )
    command.chmod(0o755)
    return {**variables, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}


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
    fences = blocks(page)
    for number, (language, program) in enumerate(fences):
        if language == "python":
            exec(compile(program, page, "exec"), {"__name__": "__main__"})
            output = capfd.readouterr().out
            expected = fences[number + 1][1] if fences[number + 1 :] and output else ""
            assert without_digits(output) == without_digits(expected)


def test_server_json_follows_the_rules_of_the_registry() -> None:
    """By the rules of the registry: the schema of 2025-12-11, and what its documentation adds."""
    server = json.loads((REPOSITORY / "server.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"]) and len(server["name"]) <= 200
    assert 1 <= len(server["description"]) <= 100
    (package,) = server["packages"]
    assert server["version"] == package["version"] == search.__version__
    assert package["identifier"] == "seewhy" and package["transport"] == {"type": "stdio"}
    assert f"<!-- mcp-name: {server['name']} -->" in (REPOSITORY / "README.md").read_text(
        encoding="utf-8"
    )


def test_the_skill_has_a_valid_header_and_is_short() -> None:
    skill = REPOSITORY / "skills" / "seewhy" / "SKILL.md"
    _, head, body = skill.read_text(encoding="utf-8").split("---\n", 2)
    header = yaml.safe_load(head)
    assert header["name"] == skill.parent.name
    assert 1 <= len(header["description"]) <= 1024
    assert len(header["compatibility"]) <= 500
    assert len(body.splitlines()) < 100
    assert "`fetch` with the same id and `lines`" in body


def test_the_command_ends_cleanly_whenever_a_client_leaves(environment: dict[str, str]) -> None:
    """Also while the model is loaded, in native code: the command ends without a crash."""
    parameters = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    }
    initialize = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters})
    ends = []
    for tenths in (0, 3, 7):
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
            _, err = server.communicate(timeout=60)
        ends.append((server.returncode, err))
    assert ends == [(0, "")] * 3
