"""The checks of the course: is a guess right, is an exercise solved?

    from course import check

    check("1.1", 12)         # a guess, as a number or a short text
    check("1.A", layer_0)    # the solution of an exercise, as a function or a value

The answers are computed here, on other examples than those of the notebooks where that is possible. A guess that is
wrong gets the answer and its reason; an exercise gets a hint. Whoever reads on sees the answers: the solutions, with
explanations, are in the folder `solutions`.
"""

from __future__ import annotations

from typing import Any

from . import (
    notebook_1,
    notebook_2,
    notebook_3,
    notebook_4,
    notebook_5,
    notebook_6,
    notebook_7,
    notebook_8,
)
from .notebook_7 import PAIR, RED_CAR, SMALL
from .tools import Exercise, Prediction

__all__ = ["COURSE", "PAIR", "RED_CAR", "SMALL", "check"]

_NOTEBOOKS = (
    notebook_1,
    notebook_2,
    notebook_3,
    notebook_4,
    notebook_5,
    notebook_6,
    notebook_7,
    notebook_8,
)
COURSE: dict[str, Prediction | Exercise] = {
    number: task for notebook in _NOTEBOOKS for number, task in notebook.QUESTIONS.items()
}
"""Questions by the number of their notebook: digits for predictions, letters for exercises."""


def check(number: str, work: Any, measured: str | float | None = None) -> None:
    """Print whether a guess or the solution of an exercise is right.

    Args:
        number: number of the question, such as "1.1", or of the exercise, such as "1.A".
        work: the guess or the solution; None if there is none yet.
        measured: the answer, for a question that the notebook answers by an experiment.

    Raises:
        KeyError: there is no such question.
        ValueError: the question needs what was measured.
    """
    if number not in COURSE:
        raise KeyError(f"no question {number}; there are {', '.join(COURSE)}")
    task = COURSE[number]
    if work is None:
        wish = "Write your guess" if isinstance(task, Prediction) else "Write your solution"
        print(f"{number}  {wish} first, then run this cell again.")
    elif isinstance(task, Exercise):
        print(f"{number}  {task.examined(work)}")
    elif task.answer is None and measured is None:
        raise ValueError(f"question {number} is answered by an experiment: pass its result.")
    else:
        print(f"{number}  {task.examined(work, measured)}")
