"""seewhy contrast, as a person and a program see it."""

import json
from pathlib import Path

import pytest

from tests.conftest import Run

QUERY = "find the key, turn the lock"


def test_two_ranks(run: Run, indexed: Path) -> None:
    code, out, err = run("contrast", QUERY, 1, 3, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    hits = json.loads(run("query", QUERY, "-k", 3, "--json")[1])
    assert (found["a"]["passage_id"], found["b"]["passage_id"]) == (
        hits[0]["passage_id"],
        hits[2]["passage_id"],
    )
    assert found["gap"] == pytest.approx(hits[0]["score"] - hits[2]["score"], abs=1e-7)
    assert sum(word["gap"] for word in found["words"]) == pytest.approx(found["gap"], abs=1e-5)
    assert found["residual"] == pytest.approx(0, abs=1e-5)
    for word in found["words"]:
        assert word["gap"] == word["in_a"] - word["in_b"]
        assert set(word) == {
            "text", "kind", "start", "end", "in_a", "in_b", "gap", "found_in_a", "found_in_b"
        }  # fmt: skip
    code, out, _ = run("contrast", QUERY, 1, 3)
    assert "Why A is above B" in out
    assert "(rank 3, p" in out
    assert "[CLS] and [SEP]" in out
    assert max(map(len, out.splitlines()[4:])) <= 80
    assert "Why B is above A" in run("contrast", QUERY, 3, 1)[1]
    assert "equal scores" in run("contrast", QUERY, 3, 3)[1]


def test_narrow_and_wide(run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in (40, 65, 66, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = run("contrast", QUERY, 1, 3)[1].splitlines()
        table = lines[next(i for i, line in enumerate(lines) if line.startswith("query word")) :]
        assert max(map(len, table)) <= columns
        assert ("with" in table[0]) == (columns >= 66)
        assert len([line for line in table if line.startswith(("find", "lock", "sum"))]) == 3
    monkeypatch.setenv("COLUMNS", "80")
    assert "\x1b" not in run("contrast", QUERY, 1, 3)[1]
    assert "\x1b[" in run("contrast", QUERY, 1, 3, "--color", "always")[1]


def test_ids_and_paths(run: Run, indexed: Path) -> None:
    found = json.loads(run("contrast", QUERY, "p1", indexed / "keys.md", "--json")[1])
    assert found["a"]["passage_id"] == 1
    assert found["b"]["document"] == "keys.md"
    ranks = {hit["passage_id"]: hit["rank"] for hit in json.loads(run("query", QUERY, "--json")[1])}
    assert found["b"]["rank"] == ranks[found["b"]["passage_id"]]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["1", "99"], 1, "there is no rank 99"),
        (["0", "1"], 1, "there is no rank 0"),
        (["1", "p999"], 1, "the index has no passage 999"),
        (["1", "nothing.md"], 1, "'nothing.md' is not in the index: not there"),
        (["1", "deep"], 1, "'deep' is a folder"),
        (["1"], 2, "Missing argument 'B'"),
    ],
)
def test_failures(run: Run, indexed: Path, args: list[str], code: int, message: str) -> None:
    found, out, err = run("contrast", QUERY, *args)
    assert (found, out) == (code, "")
    assert message in " ".join(err.split())
