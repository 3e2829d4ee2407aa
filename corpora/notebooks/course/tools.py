"""What the questions of all notebooks need: predictions, exercises, and the hints of an exercise."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import search
from search import bert

CORPORA = Path(__file__).parents[2]
HOUSEHOLD, LABORATORY = CORPORA / "household", CORPORA / "lab"
Array = NDArray[np.float64]


class NotSolved(Exception):
    """What is still wrong with the solution of an exercise, as a sentence to the student."""


@dataclass(frozen=True)
class Prediction:
    """A question that is answered before the cell below it runs.

    Attributes:
        answer: computes the answer: a text, or a number; None if the notebook measures it.
        reason: a sentence about it.
        tolerance: how far a number may be from the answer.
    """

    answer: Callable[[], str | float] | None
    reason: str
    tolerance: float = 0.0

    def examined(self, guess: Any, measured: str | float | None) -> str:
        """Return what to say to a guess."""
        answer = self.answer() if self.answer else measured
        if isinstance(answer, str):
            right = plain(guess) == plain(answer)
        else:
            try:
                right = abs(float(guess) - float(answer or 0)) <= self.tolerance
            except (TypeError, ValueError):
                return f"Write a number: {guess!r} is none."
        told = answer if isinstance(answer, str) else f"{answer:g}"
        return f"Right. {self.reason}" if right else f"Not this time: it is {told}. {self.reason}"


@dataclass(frozen=True)
class Exercise:
    """A piece of work with a check.

    Attributes:
        test: raises NotSolved, with a hint, unless the solution is right.
        praise: a sentence for the right solution.
    """

    test: Callable[[Any], None]
    praise: str

    def examined(self, solution: Any) -> str:
        """Return what to say to a solution."""
        try:
            self.test(solution)
        except NotSolved as problem:
            return f"Not yet. {problem}"
        except Exception as error:  # a mistake in the student's function, whatever it is
            return f"Not yet. Your code raises {type(error).__name__}: {error}"
        return f"Right. {self.praise}"


def plain(text: Any) -> str:
    return " ".join(str(text).casefold().split()).strip("'\"[].")


def require(condition: bool, hint: str) -> None:
    if not condition:
        raise NotSolved(hint)


def array_of(value: Any, shape: tuple[int, ...]) -> Array:
    """Return what a student's function returned as an array of this shape."""
    require(value is not None, "Your function returns None: replace its body.")
    values = np.asarray(value, dtype=np.float64)
    require(values.shape == shape, f"The result has the shape {values.shape}, it should be {shape}.")
    return values


def require_near(value: Any, expected: Array, hint: str, tolerance: float = 1e-4) -> None:
    values = array_of(value, expected.shape)
    difference = float(abs(values - expected).max())
    require(difference <= tolerance, f"{hint} The largest difference is {difference:.3g}.")


def number_of(value: Any, hint: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise NotSolved(hint) from None


@contextmanager
def as_mistake(hint: str) -> Iterator[None]:
    """Turn errors of the library about a student's texts into a hint."""
    try:
        yield
    except search.SearchError as error:
        raise NotSolved(f"{hint} {error}") from None


@cache
def encoder(pooling: Literal["pooler"] | None = None) -> search.Encoder:
    return search.Encoder(offline=True, pooling=pooling)


def cosine_of(a: str, b: str, pooling: Literal["pooler"] | None = None) -> float:
    x, y = encoder(pooling).encode([a, b])
    return float(x @ y)


def tokens_of(text: str) -> list[str]:
    return [token.text for token in bert.tokenize(text, offline=True).tokens]


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def softmax(logits: Array) -> Array:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def always(answer: str) -> Callable[[], str]:
    """Return the answer to a question about a definition, which needs no computation."""
    return lambda: answer


@cache
def household() -> search.Index:
    """Build the index of the household."""
    return search.Index.build(HOUSEHOLD, index=mkdtemp(), offline=True)


@cache
def topics() -> list[tuple[str, str]]:
    """Read the sentences of the laboratory, each with its topic."""
    with (LABORATORY / "topics.csv").open(encoding="utf-8") as file:
        return [(row["text"], row["label"]) for row in csv.DictReader(file)]
