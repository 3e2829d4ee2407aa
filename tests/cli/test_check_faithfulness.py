"""seewhy explain --check, as a person and a program see it."""

import json
from pathlib import Path

import pytest

from tests.conftest import Run

QUERY = "find the key, turn the lock"


def test_the_command(run: Run, indexed: Path, tmp_path: Path) -> None:
    code, plain, err = run("explain", QUERY, 1)
    assert (code, err, "cut out" in plain) == (0, "", False)
    code, out, err = run("explain", QUERY, 1, "--check")
    assert (code, err) == (0, "")
    assert out.startswith(plain)
    assert " of 20 " in out
    assert max(map(len, out[len(plain) :].splitlines())) <= 80
    code, out, _ = run("explain", QUERY, 1, "--check", "--html", tmp_path / "a.html")
    assert (code, out.splitlines()[0]) == (0, "Does the cosine need the words that count most?")


def test_json(run: Run, indexed: Path) -> None:
    plain = json.loads(run("explain", QUERY, 1, "--json")[1])
    found = json.loads(run("explain", QUERY, 1, "--check", "--json")[1])
    check = found.pop("faithfulness")
    assert found == plain
    assert set(check) == {"cosine", "words", "removals", "holds"}
    assert check["cosine"] == pytest.approx(plain["cosine"], abs=1e-5)
    assert [len(removal["random"]) for removal in check["removals"]] == [20] * len(check["removals"])


def test_wrong_usage(run: Run, indexed: Path) -> None:
    code, out, err = run("explain", QUERY, 1, "--check", "--mode", "lexical")
    assert (code, out) == (1, "")
    assert "ranked by its words alone" in " ".join(err.split())
