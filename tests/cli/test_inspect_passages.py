"""seewhy lab inspect FILE --passages: what becomes of a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run

SOURCE = "# Keys\n\nTurn the **lock** with [the key](https://example.org/k).\n\n```\nopen()\n```\n"


def test_each_passage_as_it_is_and_as_it_is_encoded(tmp_path: Path, tiny_model: Path, run: Run) -> None:
    (tmp_path / "a.md").write_text(SOURCE, encoding="utf-8")
    code, out, _ = run("lab", "inspect", tmp_path / "a.md", "--passages", "--model", tiny_model)
    assert code == 0
    assert "a.md: 1 passages" in out
    assert "Turn the **lock** with [the key](https://example.org/k)." in out
    assert "Turn the lock with the key." in out
    code, out, _ = run("lab", "inspect", tmp_path / "a.md", "--passages", "--model", tiny_model, "--json")
    ((document,), code) = json.loads(out), code
    (passage,) = document["passages"]
    start, end = passage["start"], passage["end"]
    assert (code, document["document"], SOURCE[start:end]) == (0, "a.md", passage["text"])
    assert " ".join(passage["encoded"].split()) == "Keys Turn the lock with the key. open()"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--attention"], "--attention and --passages exclude each other"),
        (["another text"], "--passages goes with one file"),
        (["--values", "3"], "--values goes with a text or --parameters or --token alone"),
        (["--png", "a.png"], "tables have no picture"),
        ([], "there is no file"),
    ],
)
def test_what_has_no_passages(
    tmp_path: Path, tiny_model: Path, run: Run, options: list[str], message: str
) -> None:
    code, _, err = run("lab", "inspect", tmp_path / "none.md", "--passages", "--model", tiny_model, *options)
    assert code in (1, 2)
    assert message in " ".join(err.split())
