"""Answers of a reader in a terminal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from search.lab.records.predictions import Answer, Answers, ReaderWindow
from search.lab.render import predictions
from tests.render.test_render import EVIL, HIT, assert_harmless

PASSAGE = f"The key \U0001f511 is\r\nin the water. {EVIL} end"


START = PASSAGE.index("in the water")


WINDOW = ReaderWindow(
    ("[CLS]", "where", "[SEP]", EVIL, "in", "the", "water", "[SEP]"),
    (None, None, None, (0, 4), (START, START + 2), (START + 3, START + 6), (START + 7, START + 12), None),
    np.array([1.0, 0.0, 0.0, -1.0, 3.5, 2.0, -2.0, 9.0]),
    np.array([1.0, 0.0, 0.0, 0.5, -1.0, 0.0, 1.0, 9.0]),
)


ANSWER = Answer(
    rank=1, text="in the water", start=100 + START, end=100 + START + 12, path="/texts/a.md", document="a.md",
    line_start=4, line_end=4, page=None, passage=PASSAGE, passage_start=100, hit=replace(HIT, rank=7, score=0.25),
    start_logit=3.5, end_logit=1.0, null_score=2.0, probability=0.25,
    window=WINDOW, first=4, last=6,
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


@pytest.mark.parametrize("answers", [ANSWERS, WITHOUT_ANSWER])
def test_the_likeliest_ends_are_drawn_with_their_softmax(answers: Answers) -> None:
    """By hand: only [CLS] and the passage's tokens count, so the 9.0 of the last [SEP] is no candidate."""
    output = predictions.answers(answers, logits=True)
    table = output.partition("first token")[2].splitlines()[1:]
    starts, ends = np.array([1.0, -1.0, 3.5, 2.0, -2.0]), np.array([1.0, 0.5, -1.0, 0.0, 1.0])
    start, end = (np.exp(side) / np.exp(side).sum() for side in (starts, ends))
    assert table[0].split() == ["4:in", "+3.50", f"{start[2]:.4f}", "0:[CLS]", "+1.00", f"{end[0]:.4f}"]
    assert table[1].split() == ["5:the", "+2.00", f"{start[3]:.4f}", "6:water", "+1.00", f"{end[4]:.4f}"]
    assert "of 4 in the passage, and [CLS] for no answer" in " ".join(output.split())
    assert_harmless(output, False)
    assert "first token" not in predictions.answers(answers)
    np.testing.assert_allclose(WINDOW.start_probabilities[[0, 3, 4, 5, 6]], start)
    assert WINDOW.start_probabilities[[1, 2, 7]].tolist() == [0, 0, 0]
