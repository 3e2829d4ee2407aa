"""Exact match and F1 of answers: against the published script written out, and of a reader that is foreseen."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.bert import answer
from search.errors import InputError
from search.evaluating.answering import GOLD, answer_values, evaluate_reader, normalized
from search.evaluating.asking import Plan
from search.evaluating.evaluation import evaluate_answers
from search.evaluating.formats import read_questions
from search.records.predictions import Answer, Answers
from tests.bert.conftest import save_tiny_head
from tests.conftest import DATA


def published_tokens(text: str) -> list[str]:
    """As the evaluation script of SQuAD 2.0 does it, step by step."""
    lowered = "".join(character for character in text.lower() if character not in set(string.punctuation))
    return re.sub(re.compile(r"\b(a|an|the)\b", re.UNICODE), " ", lowered).split()


def published_f1(gold: str, predicted: str) -> float:
    gold_tokens, tokens = published_tokens(gold), published_tokens(predicted)
    same = sum((Counter(gold_tokens) & Counter(tokens)).values())
    if len(gold_tokens) == 0 or len(tokens) == 0:
        return float(gold_tokens == tokens)
    if same == 0:
        return 0.0
    precision, recall = same / len(tokens), same / len(gold_tokens)
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize(
    ("predicted", "gold", "exact", "f1"),
    [
        ("the Denver Broncos.", ["Denver Broncos"], 1, 1),
        ("Denver", ["Denver Broncos", "Broncos"], 0, 2 / 3),
        ("a b b", ["b b b c"], 0, 2 * (2 / 2) * (2 / 4) / (2 / 2 + 2 / 4)),  # "a" is an article
        ("", ["Denver"], 0, 0),
        ("", [], 1, 1),
        ("Denver", [], 0, 0),
        ("an", ["the"], 1, 1),
        ("1,000", ["1000"], 1, 1),
    ],
)
def test_cases_worked_by_hand(predicted: str, gold: list[str], exact: float, f1: float) -> None:
    assert answer_values(predicted, gold) == {"exact_match": exact, "f1": pytest.approx(f1)}


words = st.lists(
    st.sampled_from(["a", "the", "An", "key", "Key!", "lock", "-", "théâtre", "\u00a0", "x"])
).map(" ".join)


@given(words, words)
def test_the_same_as_the_published_script(predicted: str, gold: str) -> None:
    found = answer_values(predicted, [gold])
    assert found["f1"] == pytest.approx(published_f1(gold, predicted))
    assert found["exact_match"] == (published_tokens(gold) == published_tokens(predicted))
    assert normalized(gold) == " ".join(published_tokens(gold))


PARAGRAPHS = {
    "To rotate the key, open the door.": [
        ("what opens", ["the door", "door"]),
        ("what turns", ["key"]),
        ("what is red", []),
    ],
    "The water is long.": [("what is long", ["The water"]), ("who is he", [])],
}


def written(path: Path, paragraphs: dict[str, Any] = PARAGRAPHS, **question: Any) -> Path:
    listed = []
    for context, asked in paragraphs.items():
        qas = [
            {
                "id": text,
                "question": text,
                "answers": [{"text": one, "answer_start": context.find(one)} for one in golds],
                "is_impossible": not golds,
                **question,
            }
            for text, golds in asked
        ]
        listed.append({"context": context, "qas": qas})
    data = {"version": "2.0", "data": [{"title": "Things", "paragraphs": listed}]}
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


SAID = {  # what the reader says, and how sure it is
    "what opens": ("the door", 2.0),
    "what turns": ("rotate the key", 1.0),
    "what is red": ("key", -0.5),
    "what is long": ("water", -1.0),
    "who is he": ("water", 3.0),
}


def foreseen(question: str, text: str) -> Answers:
    said, margin = SAID[question]
    start = text.index(said)
    one = Answer(
        rank=1, text=said, start=start, end=start + len(said), path="", document="", line_start=1, line_end=1,
        passage=text, passage_start=0, hit=None, start_logit=margin, end_logit=0.0, null_score=0.0,
    )  # fmt: skip
    if margin >= 0:
        return Answers(question, "foreseen", "cpu", (one,), None, 0, 1, 1, 0, 0.0, 30, 1.0)
    return Answers(question, "foreseen", "cpu", (), replace(one, rank=0), 0, 1, 1, 1, 0.0, 30, 1.0)


def test_questions_without_an_answer(tmp_path: Path) -> None:
    data = read_questions(written(tmp_path / "two.json"))
    assert [(one.id, one.paragraph, one.answers) for one in data.questions] == [
        ("what opens", "1", ("the door", "door")),
        ("what turns", "1", ("key",)),
        ("what is red", "1", ()),
        ("what is long", "2", ("The water",)),
        ("who is he", "2", ()),
    ]
    found = evaluate_reader(data, "foreseen", foreseen, Plan())
    values = [(one.values["exact_match"], one.values["f1"], one.values["answered"]) for one in found.queries]
    assert values == [(1, 1, 1), (0, pytest.approx(2 / 3), 1), (1, 1, 0), (0, 0, 0), (0, 0, 1)]
    figures = {name: round(figure.mean, 4) for name, figure in found.metrics.items()}
    assert figures == {
        "exact_match": 0.4, "f1": 0.5333, "answered": 0.6, "has_answer_exact_match": 0.3333,
        "has_answer_f1": 0.5556, "no_answer_exact_match": 0.5,
    }  # fmt: skip
    for figure in found.metrics.values():
        assert figure.low <= figure.mean <= figure.high
    assert [one.found for one in found.queries] == [("the door",), ("rotate the key",), (), (), ("water",)]
    assert (found.task, found.documents, found.judgements, found.primary) == ("qa", 2, 4, "f1")
    assert "2 questions have no answer in their paragraph" in " ".join(found.notes)
    forced = evaluate_reader(data, "foreseen", foreseen, Plan(), forced=True)
    assert [one.found for one in forced.queries][2:4] == [("key",), ("water",)]
    assert forced.metrics["has_answer_f1"].mean == pytest.approx((1 + 2 / 3 + 1) / 3)


def test_without_such_questions_the_best_span_always_counts(tmp_path: Path) -> None:
    asked = {context: [one for one in qas if one[1]] for context, qas in PARAGRAPHS.items()}
    data = read_questions(written(tmp_path / "one.json", asked))
    found = evaluate_reader(data, "foreseen", foreseen, Plan())
    assert [one.found for one in found.queries] == [("the door",), ("rotate the key",), ("water",)]
    assert set(found.metrics) == {"exact_match", "f1", "answered"}
    assert "the best span counts as the answer, however little it scores" in found.notes
    assert evaluate_reader(data, "foreseen", foreseen, Plan(), forced=False).queries[2].found == ()
    two = evaluate_reader(data, "foreseen", foreseen, Plan(), limit=2)
    assert [one.id for one in two.queries] == ["what opens", "what turns"]
    assert "2 of 3 questions were asked, spread evenly over the data" in two.notes
    with pytest.raises(InputError, match="limit is 0"):
        evaluate_reader(data, "foreseen", foreseen, Plan(), limit=0)


def test_malformed_answers(tmp_path: Path) -> None:
    right = json.loads(written(tmp_path / "a.json").read_text(encoding="utf-8"))

    def broken(change: Any) -> Path:
        data = json.loads(json.dumps(right))
        change(data["data"][0]["paragraphs"][0]["qas"][0])
        path = tmp_path / "broken.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    for change, message in (
        (lambda one: one.pop("answers"), '"answers" must be there'),
        (lambda one: one["answers"][0].update(text=""), '"text" must be there'),
    ):
        with pytest.raises(InputError, match=message) as raised:
            read_questions(broken(change))
        assert "data[0].paragraphs[0].qas[0]" in str(raised.value)


def test_a_tiny_reader_alone_and_over_an_index(tmp_path: Path, tiny_model: Path) -> None:
    reader = str(save_tiny_head(tmp_path / "reader", "answer", positions=128))
    path = written(tmp_path / "two.json")
    states: list[str] = []
    found = evaluate_answers(
        path, model=reader, retrieve=True, settings=["lexical", "dense"], k=2, max_answer=5,
        device="cpu", encoder=str(tiny_model), progress=lambda state: states.append(state.stage),
    )  # fmt: skip
    assert [one.setting.name for one in found.settings] == [
        GOLD, "lexical, 2 passages", "dense, 2 passages"
    ]  # fmt: skip
    assert {one.metric for one in found.comparisons} == {"exact_match", "f1", "answered"}
    assert states.count("asking") == 15
    assert "5 of 5 questions (100.0%) have a passage of their paragraph" in " ".join(found.notes)
    data = read_questions(path)
    for query, question in zip(found.queries, data.questions, strict=True):
        text = data.paragraphs.entries[question.paragraph].text
        said = answer(question.text, text, model=reader, max_answer=5, device="cpu").answers
        assert query.found == tuple(one.text for one in said[:1])
    for wrong, message in (
        ({"model": None}, "no reader is named"),
        ({"settings": ["dense"]}, "with retrieve"),
    ):
        with pytest.raises(InputError, match=message):
            evaluate_answers(path, **{"model": reader, **wrong})  # type: ignore[arg-type]


def test_the_gold_answers_of_xquad() -> None:
    path = DATA / "qa" / "xquad-en-squad-format.json"
    if not path.is_file():
        pytest.skip("XQuAD is not at hand")
    data = read_questions(path)
    assert (len(data.questions), len(data.paragraphs.entries)) == (1190, 240)
    shifted = [one.id for one in data.questions if not one.answers]
    assert shifted == []
    perfect = [answer_values(one.answers[0], one.answers)["f1"] for one in data.questions]
    assert np.mean(perfect) == 1.0
