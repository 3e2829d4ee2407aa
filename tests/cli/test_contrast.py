"""seewhy contrast: two hits by rank, passage or path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run

QUERY = "find the lock"


def test_two_ranks_are_contrasted_by_word(run: Run, indexed: Path) -> None:
    code, out, err = run("contrast", QUERY, 1, 3, "--json")
    contrast = json.loads(out)
    assert (code, err) == (0, "")
    hits = json.loads(run("query", QUERY, "-k", 3, "--json")[1])
    assert contrast["a"]["passage_id"] == hits[0]["passage_id"]
    assert contrast["b"]["passage_id"] == hits[2]["passage_id"]
    assert contrast["gap"] == pytest.approx(hits[0]["score"] - hits[2]["score"], abs=1e-7)
    assert sum(word["gap"] for word in contrast["words"]) == pytest.approx(contrast["gap"], abs=1e-5)
    for word in contrast["words"]:
        assert word["gap"] == pytest.approx(word["in_a"] - word["in_b"], abs=1e-9)
    back = json.loads(run("contrast", QUERY, 3, 1, "--json")[1])
    assert back["gap"] == pytest.approx(-contrast["gap"])


def test_a_passage_and_a_path_are_contrasted_with_their_true_ranks(run: Run, indexed: Path) -> None:
    contrast = json.loads(run("contrast", QUERY, "p1", indexed / "keys.md", "--json")[1])
    assert (contrast["a"]["passage_id"], contrast["b"]["document"]) == (1, "keys.md")
    ranks = {hit["passage_id"]: hit["rank"] for hit in json.loads(run("query", QUERY, "--json")[1])}
    assert contrast["b"]["rank"] == ranks[contrast["b"]["passage_id"]]
