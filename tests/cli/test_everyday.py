"""Notes and short answers of commands: when they are printed, and when not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from search import Index
from tests.conftest import Run


def test_an_error_names_the_variable_that_chose_the_index(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEEWHY_INDEX", "nope")
    code, _, err = run("query", "door")
    assert code == 1
    assert (
        "the environment variable SEEWHY_INDEX is 'nope': no index 'nope'. Choose one with --index" in err
    )
    assert run("query", "door", "-i", "notes")[0] == 0


def test_quiet_prints_no_notes(run: Run, indexed: Path, own_home: Path) -> None:
    (own_home / "indexes" / "broken").mkdir()
    (own_home / "indexes" / "broken" / "index.db").write_bytes(b"no database" * 100)
    assert "cannot read" in run("list")[2]
    assert run("list", "-q")[2] == ""
    (indexed / "keys.md").write_text("changed", encoding="utf-8")
    assert "since indexing" in run("query", "key", "-i", "notes")[2]
    assert run("query", "key", "-i", "notes", "-q")[2] == ""
    shutil.rmtree(indexed)
    assert "could not be updated" in run("query", "key", "-i", "notes", "--update")[2]
    assert run("query", "key", "-i", "notes", "--update", "-q")[2] == ""


def test_an_index_counts_encoded_and_reused_passages(run: Run, tmp_path: Path, tiny_model: Path) -> None:
    (tmp_path / "notes").mkdir()
    for name in ("a", "b"):
        (tmp_path / "notes" / f"{name}.md").write_text("# Same\n\nopen the door", encoding="utf-8")
    assert "2 (1 encoded, 1 reused)" in run("index", tmp_path / "notes", "--model", tiny_model)[1]
    (tmp_path / "notes" / "c.md").write_text("# Same\n\nopen the door", encoding="utf-8")
    assert "3 (0 encoded, 1 reused)" in run("index", tmp_path / "notes")[1]


def test_a_query_without_hits_says_why_and_what_to_try(run: Run, indexed: Path) -> None:
    command = ("query", "zzzqqq", "-i", "notes", "-m", "lexical")
    code, out, _ = run(*command)
    assert (code, out) == (0, 'No passage contains "zzzqqq". Try: --mode hybrid\n')
    assert "p1" in run(*command, *out.split("Try: ")[1].split())[1]
    for options, message in (
        (("-m", "lexical", "--since", "7d"), 'No passage passes --since and contains "zzzqqq".'),
        (("--where", "path:none/**"), "No passage passes --where.\n"),
        (("--min-score", "1"), "No passage passes --min-score.\n"),
        (("--weight", "0"), 'No passage contains "zzzqqq".\n'),
        (("--offset", "100"), "There are at most 100 hits, which --offset skips.\n"),
    ):
        assert run("query", "zzzqqq", "-i", "notes", *options)[1].startswith(message), options
    assert run("query", '"zzzqqq"', "-i", "notes")[1] == (
        "No passage passes the query's quotes, minus signs or filters.\n"
    )
    assert run("query", "zzzqqq key", "-i", "notes", "-m", "lexical", "--without", "key")[1] == (
        'No passage contains any word of "zzzqqq key" except key. Try: --mode hybrid\n'
    )
    assert run("similar", "p1", "-i", "notes", "--where", "path:none/**")[1] == (
        "No other passage passes --where.\n"
    )


def test_an_index_without_passages_says_so(run: Run, own_home: Path, tiny_model: Path) -> None:
    with Index.create("empty", model=str(tiny_model)):
        pass
    for mode in ("hybrid", "dense", "lexical"):
        out = run("query", "key", "-i", "empty", "-m", mode)[1]
        assert out == "The index has no passages yet.\n"
