"""`seewhy lab ask` and `seewhy eval --task answers`, as a person and a program see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from search import bert
from tests.conftest import Run
from tests.lab.bert.conftest import save_reader
from tests.lab.evaluating.test_evaluated_heads import write_squad
from tests.render.test_notebook import Cells

QUESTION = "where is the key?"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reader(tmp_path_factory.mktemp("readers") / "bert")


@pytest.fixture(scope="module")
def unsure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reader(tmp_path_factory.mktemp("unsure") / "bert", null=4.0)


def test_answers_are_printed_with_their_place_and_score(run: Run, indexed: Path, reader: Path) -> None:
    code, out, err = run("lab", "ask", QUESTION, "--model", reader)
    assert (code, err) == (0, "")
    result = json.loads(run("lab", "ask", QUESTION, "--model", reader, "--json")[1])
    assert [answer["rank"] for answer in result["answers"]] == [1, 2, 3]
    for answer in result["answers"]:
        source = Path(answer["path"]).read_text(encoding="utf-8")
        assert answer["hit"]["text"][answer["start"] - answer["hit"]["start"] :].startswith(
            answer["text"]
        )
        if not answer["path"].endswith(".csv"):
            assert source[answer["start"] : answer["end"]] == answer["text"]
        assert answer["margin"] == pytest.approx(
            answer["start_logit"] + answer["end_logit"] - answer["null_score"]
        )
        assert f"    {answer['score']:.3f}  {answer['path']}:{answer['line_start']}" in out
        assert f"«{' '.join(answer['text'].split())}»" in " ".join(out.split())
    assert f"{result['more']:,} further answers not shown" in " ".join(out.split())
    assert "its passage ranks" in " ".join(out.split())
    coloured = run("lab", "ask", QUESTION, "--model", reader, "-n", 1, "--color", "always")[1]
    assert "\x1b[1;32m" in coloured and "«" not in coloured


def test_a_page_marks_the_answers(run: Run, indexed: Path, reader: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    code, out, err = run("lab", "ask", QUESTION, "--model", reader, "--html", file)
    assert (code, out, err) == (0, "", f"wrote {file}\n")
    html = file.read_text(encoding="utf-8")
    result = json.loads(run("lab", "ask", QUESTION, "--model", reader, "--json")[1])
    for answer in result["answers"]:
        assert f">{answer['text']} <small>answer {answer['rank']}</small></mark>" in html
        assert f"p(start) × p(end) = {answer['probability']:.3f}" in html
    cells = Cells(html).rows[1:]
    logits = sorted(result["answers"], key=lambda answer: answer["rank"])[0]["start_logit"]
    assert f"{logits:+.2f}" in [row[1] for row in cells] and len(cells) == 5


def test_logits_are_printed_and_drawn(run: Run, reader: Path, tmp_path: Path) -> None:
    file, png = tmp_path / "keys.txt", tmp_path / "a.png"
    file.write_text("The door is open.\nThe key is in the water.\n", encoding="utf-8")
    ask = ("lab", "ask", QUESTION, "--in", file, "--model", reader)
    best = bert.answer(QUESTION, file.read_text(encoding="utf-8"), model=str(reader)).answers[0]
    code, out, err = run(*ask, "--logits")
    assert (code, err) == (0, "")
    window = best.window
    table = out.partition("first token")[2].splitlines()[1:6]
    for column, logits in ((0, window.start_logits), (3, window.end_logits)):
        likeliest = sorted(window.candidates, key=lambda i: -logits[i])[:5]
        cells = [line.split()[column : column + 2] for line in table]
        assert cells == [[f"{i}:{window.tokens[i]}", f"{logits[i]:+.2f}"] for i in likeliest]
    assert "first token" not in run(*ask)[1]
    assert "logits" not in json.loads(run(*ask, "--json")[1])
    result = json.loads(run(*ask, "--json", "--logits")[1])
    assert len(result["logits"]) == len(result["answers"])
    first = result["logits"][0]
    assert first["tokens"] == list(window.tokens) and (first["first"], first["last"]) == (
        best.first,
        best.last,
    )
    for name in ("start_logits", "end_logits", "start_probabilities", "end_probabilities"):
        assert first[name] == pytest.approx(getattr(window, name).tolist(), abs=1e-5)
    code, out, err = run(*ask, "--png", png)
    assert (code, out, err) == (0, "", f"wrote {png}\n")
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_picture_without_a_passage_is_refused(
    run: Run, indexed: Path, reader: Path, tmp_path: Path
) -> None:
    png = tmp_path / "a.png"
    code, _, err = run("lab", "ask", QUESTION, "--model", reader, "--where", "path:gone.md", "--png", png)
    assert code == 1 and "no passage was read, so there is no answer" in err and not png.exists()


def test_no_answer_is_printed_with_the_closest_candidate(run: Run, indexed: Path, unsure: Path) -> None:
    code, out, err = run("lab", "ask", QUESTION, "--model", unsure)
    assert (code, err) == (0, "")
    assert out.startswith("No answer: no span of ")
    assert 'scores higher than "no answer".' in " ".join(out.split())
    assert "Closest candidate:" in out
    result = json.loads(run("lab", "ask", QUESTION, "--model", unsure, "--json")[1])
    assert result["answers"] == [] and result["nearest"]["rank"] == 0
    code, out, _ = run("lab", "ask", QUESTION, "--model", unsure, "--where", "path:gone.md")
    assert (code, out) == (0, "No answer: there are no passages to read.\n")


def test_a_file_is_read_without_an_index(run: Run, reader: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    file.write_text("The door is open.\nThe key is in the water.\n", encoding="utf-8")
    code, out, err = run("lab", "ask", QUESTION, "--in", file, "--model", reader)
    assert (code, err) == (0, "")
    assert "  line 1" in out or "  line 2" in out
    assert "1 passage in 1 window read by" in out
    assert "there is no" not in err
    code, _, err = run("lab", "ask", QUESTION, "--in", tmp_path / "gone.txt", "--model", reader)
    assert code == 1 and "cannot be read" in err


def test_wrong_usage_is_refused_with_advice(
    run: Run, indexed: Path, reader: Path, tiny_model: Path
) -> None:
    code, _, err = run("lab", "ask", QUESTION)
    assert code == 1
    assert "deepset/roberta-base-squad2" in err and "make lab" in err
    code, out, err = run("lab", "ask", QUESTION, "--model", tiny_model)
    assert (code, out) == (1, "")
    assert "has no head for answer spans" in err and err.count("\n") == 1
    code, _, err = run("lab", "ask", "key " * 200, "--model", reader, "--mode", "lexical")
    assert code == 1 and "Shorten it" in err


def test_the_figures_of_a_reader_are_printed_with_intervals(
    run: Run, reader: Path, tmp_path: Path
) -> None:
    path = write_squad(tmp_path / "two.json")
    args = ("eval", path, "--task", "answers", "--model", reader)
    code, out, err = run(*args)
    assert (code, err) == (0, "")
    assert "5 questions, 4 gold answers; 2 paragraphs; " in " ".join(out.split())
    assert [line.split()[0] for line in out.splitlines() if " to " in line][:2] == ["exact_match", "f1"]
    result = json.loads(run(*args, "--json")[1])
    assert (result["query_count"], result["task"], result["primary"]) == (5, "answers", "f1")
    figure = result["metrics"]["f1"]
    assert 0 <= figure["low"] <= figure["mean"] <= figure["high"]
