"""Answers drawn for a terminal and as JSON: harmless, with the numbers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from search.records.predictions import Answer, Answers
from search.render import hits as draw
from search.render.json import document
from tests.render.test_page import EVIL
from tests.render.test_render import HIT

PASSAGE = f"The key \U0001f511 is\r\nin the water. {EVIL} end"
START = PASSAGE.index("in the water")
ANSWER = Answer(
    rank=1, text="in the water", start=100 + START, end=100 + START + 12, path="/texts/a.md", document="a.md",
    line_start=4, line_end=4, page=None, passage=PASSAGE, passage_start=100, hit=replace(HIT, rank=7, score=0.25),
    start_logit=3.5, end_logit=1.0, null_score=2.0, window=(2, 3), also=1,
)  # fmt: skip
FOUND = Answers(f"where? {EVIL}", f"reader {EVIL}", "cpu", (ANSWER,), None, 3, 4, 6, 2, 0.0, 30, (EVIL,))
NONE = replace(FOUND, answers=(), nearest=replace(ANSWER, rank=0), unanswered=4, more=0)


def test_the_numbers_of_the_sum() -> None:
    assert ANSWER.margin == 2.5
    assert ANSWER.probability == pytest.approx(0.924142)
    assert ANSWER.score == ANSWER.probability
    assert draw.sum_line(ANSWER) == (
        "margin +2.50 over no answer (+3.50 start, +1.00 end, less +2.00); its passage ranks 7 with 0.250; "
        "window 2 of 3; found at 1 other place, too"
    )


@pytest.mark.parametrize("found", [FOUND, NONE])
def test_a_terminal_gets_no_control_characters(found: Answers) -> None:
    for colour in (False, True):
        shown = draw.answers(found, width=80, colour=colour)
        plain = shown.replace("\x1b[", "") if colour else shown
        assert not any(ord(character) < 32 and character != "\n" for character in plain)
        assert "\u202e" not in shown and "\\u202e" in shown
    shown = " ".join(draw.answers(found, width=80).split())
    assert "is «in the water». " in shown
    assert "0.924" in shown
    assert ("2 of them without an answer; 3 further answers not shown." in shown) == bool(found.answers)
    assert ("No answer: no span in any of the 4 passages scores as much as no answer does." in shown) == (
        not found.answers
    )


def test_json_has_what_is_derived() -> None:
    found = json.loads(document(FOUND))
    (one,) = found["answers"]
    assert (one["margin"], one["score"], one["passage_id"]) == (2.5, ANSWER.score, HIT.passage_id)
    assert (one["window"], one["also"]) == ([2, 3], 1)
    assert json.loads(document(NONE))["nearest"]["window"] == [2, 3]
