"""Answers of a reader in a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from search.lab.records.predictions import Answer, Answers
from search.lab.render import predictions
from tests.render.test_render import EVIL, HIT, assert_harmless

PASSAGE = f"The key \U0001f511 is\r\nin the water. {EVIL} end"


START = PASSAGE.index("in the water")


ANSWER = Answer(
    rank=1, text="in the water", start=100 + START, end=100 + START + 12, path="/texts/a.md", document="a.md",
    line_start=4, line_end=4, page=None, passage=PASSAGE, passage_start=100, hit=replace(HIT, rank=7, score=0.25),
    start_logit=3.5, end_logit=1.0, null_score=2.0, probability=0.25,
)  # fmt: skip


ANSWERS = Answers(f"where? {EVIL}", f"reader {EVIL}", (ANSWER,), None, 3, 4, 6)


WITHOUT_ANSWER = replace(ANSWERS, answers=(), nearest=replace(ANSWER, rank=0), more=0)


@pytest.mark.parametrize("answers", [ANSWERS, WITHOUT_ANSWER])
def test_an_answer_is_drawn_with_the_numbers_of_its_margin(answers: Answers) -> None:
    output = " ".join(predictions.answers(answers, width=80).split())
    assert (
        "margin +2.50 over 'no answer' (answer +3.50 start, +1.00 end; 'no answer' +2.00); p(start) x p(end) 0.250; "
        "its passage ranks 7, score 0.250"
    ) in output
    assert "is «in the water». " in output and "0.924" in output
    assert ("; 3 further answers not shown." in output) == bool(answers.answers)
    assert ("No answer: no span of 4 passages scores higher" in output) == (not answers.answers)


@pytest.mark.parametrize("colour", [False, True])
def test_nothing_from_a_file_reaches_the_terminal_raw(colour: bool) -> None:
    answers = replace(ANSWERS, model=EVIL, answers=(replace(ANSWER, passage=EVIL, text=EVIL),))
    assert_harmless(predictions.answers(answers, colour=colour), colour)
