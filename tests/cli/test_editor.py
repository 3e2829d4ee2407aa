"""From a hit to the editor: the lines that editors go to, links."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from search.cli.editor import open_at
from search.errors import InputError

KEY = "find the key"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What editors are called with; none is started."""
    called: list[list[str]] = []
    monkeypatch.setattr("search.cli.editor.subprocess.run", lambda argv, check: called.append(argv))
    return called


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("'/opt/my apps/code' --wait", ["/opt/my apps/code", "--wait", "--goto", "/a b/c.md:9"]),
        ("pycharm64.exe", ["pycharm64.exe", "--line", "9", "/a b/c.md"]),
        ("my-editor --x '$(rm)' ; ls", ["my-editor", "--x", "$(rm)", ";", "ls", "/a b/c.md"]),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows splits commands otherwise")
def test_each_editor_is_told_the_line_as_it_takes_it(
    opened: list[list[str]], monkeypatch: pytest.MonkeyPatch, command: str, argv: list[str]
) -> None:
    monkeypatch.setenv("EDITOR", "other")
    monkeypatch.setenv("VISUAL", command)
    open_at("/a b/c.md", 9)
    assert opened == [argv]


@pytest.mark.parametrize(
    ("command", "said"),
    [("", "no editor is set"), ("vim '", r"\$VISUAL is not a valid command: No closing quotation")],
)
def test_an_editor_that_is_none(monkeypatch: pytest.MonkeyPatch, command: str, said: str) -> None:
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.setenv("VISUAL", command)
    with pytest.raises(InputError, match=said):
        open_at("/a", 1)


def test_an_editor_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "/nowhere/editor")
    with pytest.raises(InputError, match="'/nowhere/editor' cannot be started: No such file"):
        open_at("/a", 1)


@pytest.mark.parametrize("path", ["+:/^/!touch x;/a.md", "-c:!touch x/a.md"])
def test_no_path_is_an_option_of_an_editor(
    opened: list[list[str]], monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("VISUAL", "vim")
    open_at(path, 1)
    assert Path(opened[0][-1]).is_absolute() and opened[0][-1].endswith("a.md")
