"""How many tokens an answer has, and as much of it as fits. Four characters of its JSON count as a token."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel

from search.render import json

_CHARACTERS = 4  # of English and of JSON; to count by a tokenizer takes longer, and each model has its own
_SNIPPETS = (1_200, 900, 700, 550, 400, 300, 200, 100)  # characters

Answer = TypeVar("Answer", bound=BaseModel)


def written(answer: BaseModel) -> str:
    """An answer as it is sent, on one line."""
    return json.compact(answer.model_dump(exclude_none=True))


def tokens(answer: BaseModel) -> int:
    return -(-len(written(answer)) // _CHARACTERS)


def listed(most: int, count: int, make: Callable[[int, int], Answer]) -> Answer:
    """As many items as fit, each with as long a text as fits: rather all of them with shorter texts.

    Args:
        most: tokens.
        count: how many items there are.
        make: an answer with so many of them, with texts of so many characters.
    """
    while count > 1 and tokens(make(count, _SNIPPETS[-1])) > most:
        count -= 1
    for characters in _SNIPPETS:
        answer = make(count, characters)
        if tokens(answer) <= most:
            break
    return answer
