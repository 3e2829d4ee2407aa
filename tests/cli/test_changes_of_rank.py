"""seewhy explain and why-not with --counterfactual: one line, and a key in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import search
from tests.conftest import Run

QUERY = "turn the key in the lock"


@pytest.fixture
def folder(tmp_path: Path, run: Run, tiny_model: Path) -> Path:
    """Fourteen short files, and one that the index does not have."""
    folder = tmp_path / "things"
    folder.mkdir()
    words = "water people number time long sound side index file door token vector".split()
    for i, word in enumerate(words):
        (folder / f"{i}.txt").write_text(f"Look at the {word}. Many say {word}.", encoding="utf-8")
    (folder / "key.txt").write_text("The key is in the lock. Turn it.", encoding="utf-8")
    (folder / "lock.txt").write_text("A lock has a key. Turn the key.", encoding="utf-8")
    assert run("index", folder, "--model", tiny_model, "-q")[0] == 0
    return folder


def test_an_explanation_ends_with_what_would_change_the_rank(run: Run, folder: Path) -> None:
    index = search.Index.open(folder)
    hit = index.query(QUERY, 2)[1]
    expected = index.counterfactual(QUERY, hit, 2)
    assert expected.tries
    arguments = ("explain", QUERY, 2, "-k", 2)
    code, out, err = run(*arguments, "--counterfactual")
    assert (code, err) == (0, "")
    assert " ".join(out.split()).endswith(f"What would change the rank {expected.sentence}")
    assert "What would change" not in run(*arguments)[1]
    answer = json.loads(run(*arguments, "--counterfactual", "--json")[1])
    assert answer["counterfactual"] == expected.to_dict()
    assert "counterfactual" not in json.loads(run(*arguments, "--json")[1])


def test_the_number_of_hits_is_the_one_of_the_query_whatever_rank_is_named(
    run: Run, folder: Path
) -> None:
    answer = json.loads(run("explain", QUERY, 9, "-k", 3, "--counterfactual", "--json")[1])
    assert (answer["counterfactual"]["k"], answer["counterfactual"]["rank"]) == (3, 9)
    assert {change["kind"] for change in answer["counterfactual"]["changes"]} <= {"added word"}


def test_a_missing_document_has_a_word_that_makes_it_a_hit(run: Run, folder: Path) -> None:
    index = search.Index.open(folder)
    last = index.query(QUERY, 20)[-1]
    arguments = ("why-not", QUERY, folder / last.document, "-k", 3)
    answer = json.loads(run(*arguments, "--counterfactual", "--json")[1])
    (change,) = answer["counterfactual"]["changes"]
    assert answer["cause"] == "lower"
    assert change["new_rank"] <= 3
    ranks = {hit.document: hit.rank for hit in index.query(change["query"], 3)}
    assert ranks[last.document] == change["new_rank"]
    output = " ".join(run(*arguments, "--counterfactual")[1].split())
    assert change["sentence"] in output
    assert change["sentence"] not in " ".join(run(*arguments)[1].split())


def test_a_file_that_is_not_indexed_has_none(run: Run, folder: Path) -> None:
    (folder / "new.txt").write_text("Turn the key.", encoding="utf-8")
    answer = json.loads(run("why-not", QUERY, folder / "new.txt", "--counterfactual", "--json")[1])
    assert (answer["cause"], answer["counterfactual"]) == ("not indexed", None)
    assert run("why-not", QUERY, folder / "new.txt", "--counterfactual")[0] == 0


def test_a_matrix_has_no_line_for_it(run: Run, folder: Path) -> None:
    code, _, err = run("explain", QUERY, 1, "--matrix", "--counterfactual")
    assert code == 2
    assert "--counterfactual prints a line" in " ".join(err.split())
