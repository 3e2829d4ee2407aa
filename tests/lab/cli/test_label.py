"""`seewhy lab label`."""

from __future__ import annotations

import csv
import json
from importlib import util
from pathlib import Path

import pytest

import search
from search.bert import label, load_linear_head
from tests.conftest import Run
from tests.lab.bert.conftest import save_tiny_head
from tests.lab.bert.test_label_training import texts_of

MOODS = ("bad", "good")
drawing = pytest.mark.skipif(
    util.find_spec("matplotlib") is None, reason="the extra 'pictures' is not installed"
)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 texts with three labels, one of which would colour a terminal or be markup on a page."""
    names = {"door": "<b>door</b>\x1b[31m", "time": "time", "water": "water"}
    rows = "".join(f'"{text}",{names[label]}\n' for text, label in texts_of(60))
    path = tmp_path_factory.mktemp("examples") / "topics.csv"
    path.write_text(f"text,label\n{rows}", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def head(examples: Path, tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A head on embeddings of the tiny model."""
    from search.bert import train_labels

    with examples.open(encoding="utf-8", newline="") as rows:
        pairs = [(row["text"], row["label"]) for row in csv.DictReader(rows)]
    result = train_labels(pairs, model=str(tiny_model), name="topic", folds=2)
    return result.head.save(tmp_path_factory.mktemp("heads") / "topic")


def test_training_prints_its_figures_and_saves_the_head(
    run: Run, examples: Path, tiny_model: Path, tmp_path: Path
) -> None:
    args = (
        "lab",
        "label",
        "train",
        examples,
        "--encoder",
        tiny_model,
        "--name",
        "topic",
        "--folds",
        3,
    )
    code, out, err = run(*args, "--out", tmp_path / "head")
    assert code == 0
    assert "60 examples of topics.csv, 3 labels" in out
    assert "3-fold cross-validation" in " ".join(out.split())
    assert "majority class" in out
    assert "<b>door</b>\\x1b[31m" in out and "\x1b" not in out
    assert f"Label with: seewhy lab label apply --head {tmp_path / 'head'}" in err
    assert load_linear_head(tmp_path / "head").name == "topic"
    code, out, err = run(*args, "--out", tmp_path / "head")
    assert (code, out) == (1, "") and "already contains a head. Give another folder" in err
    code, out, err = run(*args, "--json", "--pooling", "cls")
    output = json.loads(out)
    assert (code, output["head"], output["source"]) == (0, None, "topics.csv")
    assert "the head was not saved. To save it, add --out FOLDER" in err
    assert (output["report"]["pooling"], output["report"]["examples"]) == ("cls", 60)
    assert sum(map(sum, output["report"]["confusion"])) == pytest.approx(60)
    assert run(*args, "-q")[2] == ""


def test_texts_are_printed_with_their_labels(run: Run, head: Path, tmp_path: Path) -> None:
    code, out, err = run(
        "lab", "label", "apply", "--text", "open the door", "--text", "water \x1b[31m", "--head", head
    )
    assert (code, err) == (0, "")
    assert "open the door" in out and "water \\x1b[31m" in out
    assert "2 texts by topic: " in out
    expected = label(["open the door"], head=head).texts[0]
    output = json.loads(
        run("lab", "label", "apply", "--text", "open the door", "--head", head, "--json")[1]
    )
    assert output["texts"][0]["scores"] == pytest.approx(expected.scores)
    checkpoint = save_tiny_head(tmp_path, "label", labels=MOODS)
    long = ["lab", "label", "apply", "--text", "the key " * 100, "--model", checkpoint, "--offline"]
    assert json.loads(run(*long, "--json")[1])["texts"][0]["windows"] > 1


def test_the_addends_of_a_logit_are_printed_and_sum_to_it(run: Run, head: Path) -> None:
    args = ("lab", "label", "explain", "open the <i>door", "--head", head)
    code, out, _ = run(*args)
    assert code == 0
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    logits = [float(cell) for cell in lines["logit"]]
    rows = out.split("intercept")[0].splitlines()
    words = [[float(cell) for cell in line.split()[-3:]] for line in rows if line.count("0.") >= 2]
    sums = [
        sum(column) + float(cell)
        for column, cell in zip(zip(*words, strict=True), lines["intercept"], strict=True)
    ]
    assert sums == pytest.approx(logits, abs=0.001)
    (explanation,) = json.loads(run(*args, "--json")[1])
    assert max(map(abs, explanation["residual"])) < 1e-5
    assert [word["text"] for word in explanation["words"]][1:3] == ["open", "the"]


def test_an_index_is_labelled_filtered_and_cleared(
    run: Run, head: Path, notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    index = search.Index.build(notes, model=str(tiny_model))
    passages = index.status().passages
    code, out, err = run("lab", "label", "apply", "--head", head, "-i", index.path, "-q")
    assert (code, err) == (0, "")
    assert f"topic: {passages} passages labelled" in out
    assert 'To filter by label: --where "topic=' in out
    output = json.loads(run("lab", "label", "apply", "--head", head, "-i", index.path, "-q", "--json")[1])
    assert (output["labelled"], output["before"], output["name"]) == (0, passages, "topic")
    assert sum(output["counts"].values()) == passages
    assert "topic: all" in run("status", "-i", index.path)[1]
    best = max(output["counts"], key=lambda name: output["counts"][name])
    where = f'topic="{best}"' if best.startswith("<") else f"topic={best}"
    hits = json.loads(run("query", "the door", "-i", index.path, "--where", where, "--json", "-k", 50)[1])
    assert len(hits) == output["counts"][best]
    checkpoint = save_tiny_head(tmp_path, "label", labels=MOODS)
    code, _, err = run(
        "lab", "label", "apply", "--model", checkpoint, "--name", "topic", "-i", index.path, "-q"
    )
    assert code == 1 and "--replace" in err
    code, out, err = run(
        "lab", "label", "apply", "--model", checkpoint, "--name", "topic", "--replace", "-i", index.path
    )
    assert code == 0 and "good" in out and err == ""
    code, out, err = run("lab", "label", "remove", "topic", "-i", index.path, "--json")
    assert (code, err, json.loads(out)["annotated"]) == (0, "", passages)
    run("lab", "label", "apply", "--head", head, "--name", "has it", "-i", index.path)
    code, out, _ = run("lab", "label", "remove", "has it", "-i", index.path, "-q")
    assert code == 0 and f"Removed the annotations 'has it' from {passages} passages" in out
    assert run("lab", "label", "remove", "topic", "-i", index.path)[0] == 1


def test_an_impossible_request_is_refused(
    run: Run, head: Path, examples: Path, notes: Path, other_model: Path
) -> None:
    index = search.Index.build(notes, model=str(other_model))
    code, _, err = run("lab", "label", "apply", "--head", head, "-i", index.path)
    assert code == 1 and err.startswith("seewhy: the head 'topic' does not fit these embeddings")
    assert run("lab", "label", "apply", "--head", head.parent, "-i", index.path)[0] == 1
    code, _, err = run("lab", "label", "apply", "--head", other_model, "--text", "a")
    assert code == 1 and "no head.safetensors in" in err
    assert run("lab", "label", "train", examples.with_name("gone.csv"))[0] == 1
    assert "in about ten minutes: make lab" in run("lab", "label", "apply", "--text", "a")[2]
    for wrong in (
        ("apply", "--head", head, "--model", "x"),
        ("apply", "--head", head, "--text", "a", "-i", "x"),
        ("explain", "a"),
        ("train",),
        ("train", examples, "-i", "x", "--encoder", "y"),
        ("remove",),
        (),
    ):
        assert run("lab", "label", *wrong)[0] == 2, wrong
