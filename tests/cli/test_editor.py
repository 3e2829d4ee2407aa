"""From a hit to the editor: the lines that editors go to, links."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from search.cli.editor import open_at
from search.errors import InputError

KEY = "find the key"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands of the editors that would be started; none is."""
    argvs: list[list[str]] = []
    monkeypatch.setattr("search.cli.editor.subprocess.run", lambda argv, check: argvs.append(argv))
    return argvs


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("'/opt/my apps/code' --wait", ["/opt/my apps/code", "--wait", "--goto", "/a b/c.md:9"]),
        ("pycharm64.exe", ["pycharm64.exe", "--line", "9", "/a b/c.md"]),
        ("my-editor --x '$(rm)' ; ls", ["my-editor", "--x", "$(rm)", ";", "ls", "/a b/c.md"]),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows splits commands otherwise")
def test_each_editor_gets_the_line_in_its_own_syntax(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, command: str, argv: list[str]
) -> None:
    monkeypatch.setenv("EDITOR", "other")
    monkeypatch.setenv("VISUAL", command)
    open_at("/a b/c.md", 9)
    assert commands == [argv]


@pytest.mark.parametrize(
    ("command", "message"),
    [("", "no editor is set"), ("vim '", r"\$VISUAL is not a valid command: No closing quotation")],
)
def test_a_missing_or_invalid_editor_is_reported(
    monkeypatch: pytest.MonkeyPatch, command: str, message: str
) -> None:
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.setenv("VISUAL", command)
    with pytest.raises(InputError, match=message):
        open_at("/a", 1)


def test_an_editor_that_cannot_be_started_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "/nowhere/editor")
    with pytest.raises(InputError, match="'/nowhere/editor' cannot be started: No such file"):
        open_at("/a", 1)


@pytest.mark.parametrize("path", ["+:/^/!touch x;/a.md", "-c:!touch x/a.md"])
def test_no_path_is_an_option_of_an_editor(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("VISUAL", "vim")
    open_at(path, 1)
    assert Path(commands[0][-1]).is_absolute() and commands[0][-1].endswith("a.md")
