"""seewhy why-not: every cause, from a folder on disk to the answer of the real command."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run

QUERY = "turn the key in the lock"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten short documents, one long one, and one file for each reason to leave it out."""
    folder = tmp_path / "things"
    for name in ("deep", "drafts", "venv"):
        (folder / name).mkdir(parents=True)
    for i in range(10):
        (folder / "deep" / f"{i}.txt").write_text(
            f"To turn the key number {i} in the lock.\n", encoding="utf-8"
        )
    (folder / "far.md").write_text(
        "Many people say that time is water and that no day is so long as this.\n", encoding="utf-8"
    )
    (folder / "long.md").write_text(
        "".join(f"# Part {i}\n\nTurn the key {i} in the lock, then turn the key.\n\n" for i in range(6)),
        encoding="utf-8",
    )
    (folder / "table.csv").write_text(
        "id,name,text\n1,first,the key\n2,,\n3,third,the lock\n", encoding="utf-8"
    )
    (folder / ".gitignore").write_text("ignored.md\ndrafts/\n", encoding="utf-8")
    (folder / "ignored.md").write_text("The key.", encoding="utf-8")
    (folder / "drafts" / "a.md").write_text("The key.", encoding="utf-8")
    (folder / "venv" / "a.md").write_text("The key.", encoding="utf-8")
    (folder / ".hidden.md").write_text("The key.", encoding="utf-8")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / "bytes.txt").write_bytes(bytes(range(256)) * 4)
    (folder / "empty.md").write_text("", encoding="utf-8")
    (folder / "header.rst").write_text("PEP: 210\nTitle: The key\n\n.. rejected::\n", encoding="utf-8")
    (folder / "excluded.md").write_text("The key.", encoding="utf-8")
    (folder / "id_rsa").write_text("The key.", encoding="utf-8")
    with (folder / "large.txt").open("wb") as stream:
        stream.truncate(64 * 2**20 + 1)
    (tmp_path / "outside.md").write_text("The key.", encoding="utf-8")
    return folder


@pytest.fixture
def indexed(run: Run, folder: Path, tiny_model: Path) -> Path:
    assert run("index", folder, "--model", tiny_model, "--exclude", "excluded.md", "-q")[0] == 0
    return folder


def why_not(run: Run, target: Any, *more: Any) -> tuple[dict[str, Any], str]:
    """The answer as JSON, and its output for a terminal, in one line."""
    code, out, err = run("why-not", QUERY, target, *more, "--json")
    assert (code, err) == (0, "")
    code, output, err = run("why-not", QUERY, target, *more)
    assert (code, err) == (0, "")
    assert "Traceback" not in output
    return json.loads(out), " ".join(output.split())


@pytest.mark.parametrize(
    ("path", "reason", "advice"),
    [
        ("ignored.md", "ignored", "To index it, add '!NAME'"),
        (".hidden.md", "hidden", "begins with a dot"),
        ("empty.md", "empty", "nothing to search"),
        ("excluded.md", "excluded", "--include or --exclude"),
        ("table.csv#9", "not there", "the file has 2 records with text"),
        ("no-such.md", "not there", "Check the spelling"),
    ],
)
def test_a_file_that_is_not_indexed_has_a_reason_and_a_remedy(
    run: Run, indexed: Path, path: str, reason: str, advice: str
) -> None:
    answer, output = why_not(run, indexed / path)
    assert (answer["cause"], answer["reason"]) == ("not indexed", reason)
    assert (answer["hit"], answer["contrast"]) == (None, None)
    assert f"not in the index: {reason}" in output
    assert advice in output


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_is_not_followed(run: Run, indexed: Path) -> None:
    (indexed / "link.md").symlink_to(indexed / "far.md")
    answer, _ = why_not(run, indexed / "link.md")
    assert (answer["cause"], answer["reason"]) == ("not indexed", "symbolic link")


def test_a_new_file_is_not_indexed_yet(run: Run, indexed: Path) -> None:
    (indexed / "new.md").write_text("Turn the key in the lock.", encoding="utf-8")
    answer, output = why_not(run, indexed / "new.md")
    assert (answer["cause"], answer["reason"]) == ("not indexed", "new")
    assert "seewhy index FOLDER" in output
    assert run("index", indexed, "-q")[0] == 0
    assert why_not(run, indexed / "new.md")[0]["cause"] == "found"
