"""`seewhy lab ask` and `seewhy eval --task answers`, as a person and a program see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.bert.conftest import save_reader
from tests.lab.evaluating.test_evaluated_heads import squad as written

QUESTION = "where is the key?"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reader(tmp_path_factory.mktemp("readers") / "bert")


@pytest.fixture(scope="module")
def unsure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reader(tmp_path_factory.mktemp("unsure") / "bert", null=4.0)


def test_answers_in_a_terminal(run: Run, indexed: Path, reader: Path) -> None:
    code, out, err = run("lab", "ask", QUESTION, "--model", reader)
    assert (code, err) == (0, "")
    found = json.loads(run("lab", "ask", QUESTION, "--model", reader, "--json")[1])
    assert [one["rank"] for one in found["answers"]] == [1, 2, 3]
    for one in found["answers"]:
        source = Path(one["path"]).read_text(encoding="utf-8")
        assert one["hit"]["text"][one["start"] - one["hit"]["start"] :].startswith(one["text"])
        if not one["path"].endswith(".csv"):
            assert source[one["start"] : one["end"]] == one["text"]
        assert one["margin"] == pytest.approx(one["start_logit"] + one["end_logit"] - one["null_score"])
        assert f"    {one['score']:.3f}  {one['path']}:{one['line_start']}" in out
        assert f"«{' '.join(one['text'].split())}»" in " ".join(out.split())
    assert f"{found['more']:,} further answers not shown" in " ".join(out.split())
    assert "its passage ranks" in " ".join(out.split())
    coloured = run("lab", "ask", QUESTION, "--model", reader, "-n", 1, "--color", "always")[1]
    assert "\x1b[1;32m" in coloured and "«" not in coloured


def test_a_page_marks_the_answers(run: Run, indexed: Path, reader: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    code, out, err = run("lab", "ask", QUESTION, "--model", reader, "--html", file)
    assert (code, out, err) == (0, "", f"wrote {file}\n")
    html = file.read_text(encoding="utf-8")
    found = json.loads(run("lab", "ask", QUESTION, "--model", reader, "--json")[1])
    for one in found["answers"]:
        assert f">{one['text']} <small>answer {one['rank']}</small></mark>" in html
        assert f"p(start) × p(end) = {one['probability']:.3f}" in html


def test_no_answer_is_an_answer(run: Run, indexed: Path, unsure: Path) -> None:
    code, out, err = run("lab", "ask", QUESTION, "--model", unsure)
    assert (code, err) == (0, "")
    assert out.startswith("No answer: no span of ")
    assert 'scores higher than "no answer".' in " ".join(out.split())
    assert "Closest candidate:" in out
    found = json.loads(run("lab", "ask", QUESTION, "--model", unsure, "--json")[1])
    assert found["answers"] == [] and found["nearest"]["rank"] == 0
    code, out, _ = run("lab", "ask", QUESTION, "--model", unsure, "--where", "path:gone.md")
    assert (code, out) == (0, "No answer: there are no passages to read.\n")


def test_one_text(run: Run, reader: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    file.write_text("The door is open.\nThe key is in the water.\n", encoding="utf-8")
    code, out, err = run("lab", "ask", QUESTION, "--in", file, "--model", reader)
    assert (code, err) == (0, "")
    assert "  line 1" in out or "  line 2" in out
    assert "1 passage in 1 window read by" in out
    assert "there is no" not in err
    code, _, err = run("lab", "ask", QUESTION, "--in", tmp_path / "gone.txt", "--model", reader)
    assert code == 1 and "cannot be read" in err


def test_wrong_usage(run: Run, indexed: Path, reader: Path, tiny_model: Path) -> None:
    code, _, err = run("lab", "ask", QUESTION)
    assert code == 1
    assert "deepset/roberta-base-squad2" in err and "make lab" in err
    code, out, err = run("lab", "ask", QUESTION, "--model", tiny_model)
    assert (code, out) == (1, "")
    assert "has no head for answer spans" in err and err.count("\n") == 1
    code, _, err = run("lab", "ask", "key " * 200, "--model", reader, "--mode", "lexical")
    assert code == 1 and "Shorten it" in err


def test_evaluating_a_reader(run: Run, reader: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "two.json")
    args = ("eval", path, "--task", "answers", "--model", reader)
    code, out, err = run(*args)
    assert (code, err) == (0, "")
    assert "5 questions, 4 gold answers; 2 paragraphs; " in " ".join(out.split())
    assert [line.split()[0] for line in out.splitlines() if " to " in line][:2] == ["exact_match", "f1"]
    found = json.loads(run(*args, "--json")[1])
    assert (found["query_count"], found["task"], found["primary"]) == (5, "answers", "f1")
    figure = found["metrics"]["f1"]
    assert 0 <= figure["low"] <= figure["mean"] <= figure["high"]
