"""`seewhy eval` of answers and entities: seqeval's and SQuAD's figures of a tiny model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import bert
from tests.conftest import Run
from tests.lab.bert.conftest import BIO, save_tagger, save_tiny_head

GOLD = "Ada\tB-PER\nwrote\tO\n\nParis\tB-LOC\n \nNobody\tO\n"


def write_gold(folder: Path, content: str = GOLD) -> Path:
    path = folder / "gold.conll"
    path.write_text(content, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tagger(tmp_path_factory.mktemp("models") / "ner", BIO)


def test_figures_of_entities_are_those_of_seqeval(tagger: Path, tmp_path: Path, run: Run) -> None:
    """The figures as JSON, and the scorer on the labels that are printed sentence by sentence."""
    metrics = pytest.importorskip("seqeval.metrics")
    chance = np.random.default_rng(0)
    sentences = []
    for start in range(0, 400, 8):
        words = [f"{chance.choice(['ada', 'london', 'old', 'key'])}{start + i}" for i in range(8)]
        labels = [str(chance.choice(["O", "B-PER", "B-LOC", "O"])) for _ in words]
        sentences.append(list(zip(words, labels, strict=True)))
    lines = ["".join(f"{word}\t{label}\n" for word, label in sentence) for sentence in sentences]
    gold = write_gold(tmp_path, "\n".join(lines))
    args: tuple[Any, ...] = ("eval", gold, "--task", "entities", "--model", tagger)
    code, out, err = run(*args, "--json", "--per-query")
    assert code == 0, err
    output = json.loads(out)
    predictions = [query["results"] for query in output["queries"]]
    labels_of = [[label for _, label in sentence] for sentence in sentences]
    report = metrics.classification_report(labels_of, predictions, output_dict=True, zero_division=0)
    figure = output["metrics"]["f1"]
    assert figure["mean"] == pytest.approx(report["micro avg"]["f1-score"], abs=1e-12)
    assert figure["low"] < figure["mean"] < figure["high"]
    for kind in ("PER", "LOC"):
        for name, key in (("f1", "f1-score"), ("precision", "precision"), ("recall", "recall")):
            assert output["metrics"][f"{name} {kind}"]["mean"] == pytest.approx(
                report[kind][key], abs=1e-12
            )
    _, out, _ = run(*args)
    expected = f"f1 PER {report['PER']['f1-score']:.4f}"
    assert "50 sentences, " in out and expected in " ".join(out.split())
    assert len(json.loads(run(*args, "--json", "--per-query")[1])["queries"]) == 50


def test_long_sentences_are_tagged_to_their_end(tagger: Path, tmp_path: Path, run: Run) -> None:
    gold = write_gold(tmp_path, f"-DOCSTART- -X- O\n\n{GOLD}")
    args: tuple[Any, ...] = ("eval", gold, "--task", "entities", "--model", tagger)
    assert json.loads(run(*args, "--json")[1])["metrics"]["f1 LOC"]["mean"] == 0
    words = [*(f"word{i}" for i in range(80)), "\u200d"]
    write_gold(tmp_path, "".join(f"{word}\tB-PER\n" for word in words))
    (query,) = json.loads(run(*args, "--json", "--per-query")[1])["queries"]
    assert len(query["results"]) == len(words)
    assert len(set(query["results"][-20:])) > 1  # far behind what one window holds


PARAGRAPHS = {
    "To rotate the key, open the door.": {
        "what opens": ["the door", "door"],
        "what turns": ["key"],
        "red": [],
    },
    "The water is long.": {"what is long": ["The water"], "who is he": []},
}


def write_squad(path: Path, unanswered: bool = True) -> Path:
    paragraphs = []
    for context, questions in PARAGRAPHS.items():
        qas = [
            {"id": text, "question": text, "answers": [{"text": gold} for gold in golds]}
            for text, golds in questions.items()
            if golds or unanswered
        ]
        paragraphs.append({"context": context, "qas": qas})
    path.write_text(
        json.dumps({"data": [{"title": "Things", "paragraphs": paragraphs}]}), encoding="utf-8"
    )
    return path


def test_an_answer_is_right_if_it_is_one_of_the_gold_answers(tmp_path: Path, run: Run) -> None:
    """With unanswered questions a span must score as much as none; else the best one counts, as in SQuAD 1.1."""
    reader = str(save_tiny_head(tmp_path / "reader", "answer", positions=128))
    for unanswered in (True, False):
        path = write_squad(tmp_path / "a.json", unanswered)
        args = ("eval", path, "--task", "answers", "--model", reader)
        output = json.loads(run(*args, "--json", "--per-query")[1])
        results = {query["id"]: query for query in output["queries"]}
        assert len(results) == (5 if unanswered else 3) and output["documents"] == 2
        for text, questions in PARAGRAPHS.items():
            for question, gold in questions.items():
                if gold or unanswered:
                    answers = bert.answer(question, text, model=reader, answers=1)
                    nearest = [answers.nearest] if answers.nearest and not unanswered else []
                    expected = [span.text for span in (*answers.answers, *nearest)]
                    assert results[question]["results"] == expected
                    right = any(span in (expected or [""]) for span in (gold or [""]))
                    assert results[question]["values"]["exact_match"] == right
        assert list(output["metrics"]) == ["exact_match", "f1"]
    assert "every question has an answer, so the no-answer threshold is off" in output["notes"]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--task", "entities"], 2, "needs --model"),
        (["--task", "answers", "--model", "m", "no.json"], 1, "cannot read 'no.json'"),
    ],
)
def test_wrong_usage_is_refused_with_a_reason(
    run: Run, tmp_path: Path, args: list[str], code: int, message: str
) -> None:
    if not args[-1].startswith("no."):
        args = [*args, str(write_gold(tmp_path))]
    status, out, err = run("eval", *args)
    assert (status, out) == (code, "")
    assert message in " ".join(err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n \n", "contains no sentences"),
        (b"a\tO\nb\n", "gold.conll:2: 'b' is not a word with a label"),
        (b"a\tO\n\tO\n", "gold.conll:2: 'O' is not a word with a label"),
        (b"a\tO\nb\tperson\n", "is not a word with a label"),
        (b"a\tO\n\xff\tO\n", "cannot read"),
    ],
)
def test_a_malformed_file_of_labels_is_refused(
    run: Run, tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "gold.conll"
    path.write_bytes(content)
    assert message in run("eval", path, "--task", "entities", "--model", "m")[2]
