"""The course: each notebook asks before it shows, its checks can tell right from wrong, and the solutions are right."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.notebooks import NOTEBOOKS

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("scipy")

PLACE = NOTEBOOKS[0].parent
SOLUTIONS = sorted((PLACE / "solutions").glob("notebook_*.py"))


@pytest.fixture(scope="module")
def course() -> Iterator[ModuleType]:
    """The module of the checks, imported as a notebook does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PLACE))
        patch.chdir(PLACE)
        yield importlib.import_module("course")
    for name in ("course", "solutions"):
        sys.modules.pop(name, None)


def cells(path: Path, kind: str) -> list[str]:
    return [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == kind]


def numbers(texts: list[str], pattern: str) -> list[str]:
    return [number for text in texts for number in re.findall(pattern, text)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_begins_with_its_aim_and_time_and_ends_with_what_was_learned(path: Path) -> None:
    texts = cells(path, "markdown")
    assert re.search(r"^\*\*Aim\.\*\* .*\n\n\*\*Time:\*\* \d+ minutes", texts[0], re.MULTILINE)
    assert "## What you have learned" in texts[-1] and "**On your own folder.**" in texts[-1]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_three_to_five_predictions_and_two_exercises_each_with_a_check(path: Path) -> None:
    texts, code = cells(path, "markdown"), cells(path, "code")
    predictions = numbers(texts, r"\*\*Predict (\d\.\d)\*\*")
    exercises = numbers(texts, r"\*\*(\d\.[A-Z])\*\*")
    checks = numbers(code, r'check\("(\d\.\w)"')
    assert 3 <= len(predictions) <= 5 and len(exercises) == 2
    assert sorted(checks) == sorted(predictions + exercises)
    assert all(number[0] == path.stem[0] for number in checks)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_is_printed_without_a_sentence_after_it(path: Path) -> None:
    """Cells with output are followed by text; a cell that only asks may be followed by the answer."""
    own = nbformat.read(path, 4).cells
    for cell, after in pairwise(own):
        if cell.cell_type == "code" and cell.outputs and not re.match(r"guess = None", cell.source):
            assert after.cell_type == "markdown", cell.source


def test_every_question_of_the_course_is_in_a_notebook(course: ModuleType) -> None:
    questions = [
        number for path in NOTEBOOKS for number in numbers(cells(path, "code"), r'check\("(\d\.\w)"')
    ]
    assert sorted(questions) == sorted(course.COURSE)


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_every_solution_is_right(
    path: Path, course: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    importlib.import_module(f"solutions.{path.stem}")
    del sys.modules[f"solutions.{path.stem}"]
    lines = capsys.readouterr().out.splitlines()
    assert all("  Right. " in line for line in lines), lines
    number = path.stem[-1]
    measured = {name for name, task in course.COURSE.items() if getattr(task, "answer", task) is None}
    expected = {name for name in course.COURSE if name[0] == number} - measured
    assert {line.split()[0] for line in lines} == expected
    assert all(name in path.read_text(encoding="utf-8") for name in measured if name[0] == number)


def test_each_notebook_has_its_solutions() -> None:
    assert [path.stem[-1] for path in SOLUTIONS] == [path.stem[0] for path in NOTEBOOKS]


@pytest.mark.parametrize(
    ("number", "guess", "reply"),
    [
        ("1.1", None, "Write your guess first"),
        ("1.1", 13, "Not this time: the answer is 14."),
        ("1.1", "many", "Write a number: 'many' is none."),
        ("1.4", "Different", 'Not this time: the answer is "the same".'),
        ("1.4", " The  same. ", "Right."),
        ("3.3", "CLS", "Right."),
        ("1.B", None, "Write your solution first"),
        ("1.B", "cat", "Not yet. 'cat' is spelled with one piece"),
        ("1.B", "xqzkvwjp", "Not yet. 'xqzkvwjp' is in no text of the household."),
        ("1.B", 3, "Not yet. Give one word"),
        ("2.B", ("bank", "a loan", "the bank"), "Not yet. Each sentence needs the word once."),
        ("2.B", ("house", "the house is red", "a house of wood"), "Not yet. In the last layer"),
        ("3.B", (7, 1), "Not yet. There are the layers 1 to 6"),
        ("3.B", (1, 1), "Not yet. This head gives [SEP]"),
        (
            "4.B",
            ("a red house stands here", "here a red house stands"),
            "Not yet. Both have a, here, house",
        ),
        ("4.B", ("a red house stands here", "two dogs chase many cats"), "Not yet. Their cosine is"),
        ("6.B", "where may bicycles be put", "Not yet. 5 words"),
        ("6.B", "kind:text party", "Not yet. No filters"),
        ("7.B", ("Street", "four"), "Not yet. Without them the cosine falls by"),
        ("7.B", ("Street", "parrot"), "Not yet. The passage has no word 'parrot'."),
        ("7.B", ("Street", "street."), "Not yet. Give two different words."),
    ],
)
def test_guesses_and_values_get_an_answer_or_a_hint(
    course: ModuleType, capsys: pytest.CaptureFixture[str], number: str, guess: Any, reply: str
) -> None:
    course.check(number, guess)
    assert capsys.readouterr().out.startswith(f"{number}  {reply}")


@pytest.mark.parametrize("number", ["1.A", "2.A", "3.A", "4.A", "5.A", "6.A", "7.A", "8.A"])
@pytest.mark.parametrize(
    ("solution", "reply"),
    [
        (lambda *values: None, "Not yet."),
        (lambda *values: 1 / 0, "Not yet. Your code raises ZeroDivisionError"),
        (lambda *values: 3.0, "Not yet."),
    ],
    ids=["nothing", "an error", "a number"],
)
def test_no_exercise_takes_a_function_that_does_nothing(
    course: ModuleType,
    capsys: pytest.CaptureFixture[str],
    number: str,
    solution: Callable[..., Any],
    reply: str,
) -> None:
    course.check(number, solution)
    assert capsys.readouterr().out.startswith(f"{number}  {reply}")


TABLES = """
from search import bert
tables = bert.parameters(offline=True)
rows = {name: tables[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")}
weight, bias = (tables[f"embeddings.LayerNorm.{name}"] for name in ("weight", "bias"))
norm = lambda x, axis=1: (x - x.mean(axis=axis, keepdims=True)) / x.std(axis=axis, keepdims=True)
total = lambda ids, at=0: rows["word"][ids] + rows["position"][at : len(ids) + at] + rows["token_type"][0]
"""


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        ("total(ids)", "That is the sum of the rows."),
        ("norm(total(ids))", "The weight and the bias of the layer normalisation are missing."),
        ("norm(total(ids), 0) * weight + bias", "The normalisation runs over the tokens."),
        ("norm(total(ids, 1)) * weight + bias", "Positions begin with 0"),
        ("norm(rows['word'][ids]) * weight + bias", "The vectors of a single text differ"),
        ("norm(total(ids)) * weight + bias", "One text is right, a pair is not."),
        ("total(ids)[1:]", "The result has the shape (6, 384), it should be (7, 384)."),
    ],
)
def test_the_hint_of_the_embedding_layer_names_the_mistake(
    course: ModuleType, capsys: pytest.CaptureFixture[str], body: str, reply: str
) -> None:
    names: dict[str, Any] = {}
    exec(f"{TABLES}\nlayer_0 = lambda ids, segments: {body}", names)
    course.check("1.A", names["layer_0"])
    assert capsys.readouterr().out.startswith(f"1.A  Not yet. {reply}")


@pytest.mark.parametrize(
    ("attend", "reply"),
    [
        (lambda parts, weights, matrix, bias: weights @ (parts @ matrix.T), "The bias is missing."),
        (lambda parts, weights, matrix, bias: weights @ (parts @ matrix.T) + bias, "Every part has got"),
        (lambda parts, weights, matrix, bias: weights @ parts, "Three random tokens and the offset"),
    ],
)
def test_the_hint_of_attention_names_the_mistake(
    course: ModuleType, capsys: pytest.CaptureFixture[str], attend: Callable[..., Any], reply: str
) -> None:
    course.check("7.A", attend)
    assert capsys.readouterr().out.startswith(f"7.A  Not yet. {reply}")


def test_a_question_of_an_experiment_needs_its_result(
    course: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="pass its result"):
        course.check("3.4", "attention")
    course.check("3.4", "attention", "contributions")
    assert 'Not this time: the answer is "contributions".' in capsys.readouterr().out
    with pytest.raises(KeyError, match="no question 9.9"):
        course.check("9.9", 1)
