"""Questions and exercises of notebook 8, is it any good?."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import search

from .tools import LABORATORY, Exercise, Prediction, household, number_of, require


@cache
def _judged() -> Any:
    return search.evaluate(
        LABORATORY / "household-judged.csv",
        index=household().path,
        offline=True,
        settings=["hybrid", "dense", "lexical"],
    )


def _ndcg_of(setting: str) -> float:
    (result,) = (item for item in _judged().settings if item.setting.name == setting)
    return float(result.metrics["ndcg@10"].mean)


def _better_alone() -> str:
    return max(("meaning", "dense"), ("keywords", "lexical"), key=lambda pair: _ndcg_of(pair[1]))[0]


def _half_width() -> float:
    (hybrid, *_) = _judged().settings
    figure = hybrid.metrics["ndcg@10"]
    width = (figure.high - figure.low) / 2
    return min((0.01, 0.07, 0.3), key=lambda choice: abs(np.log(choice / width)))


def _narrower() -> str:
    hybrid, _, lexical = (
        np.array([query.values["ndcg@10"] for query in item.queries]) for item in _judged().settings
    )
    apart = np.hypot(hybrid.std(), lexical.std())
    return "narrower" if (hybrid - lexical).std() < apart else "wider"


def _test_average_precision(average_precision: Any) -> None:
    for ranked, relevant in (
        (["a", "b", "c", "d"], {"a", "d"}),
        (["x", "y", "z"], {"z", "never found"}),
        (["x"], {"y"}),
    ):
        ranks = [rank for rank, name in enumerate(ranked, 1) if name in relevant]
        expected = sum(number / rank for number, rank in enumerate(ranks, 1)) / len(relevant)
        value = average_precision(ranked, relevant)
        require(value is not None, "Your function returns None: replace its body.")
        require(
            abs(number_of(value, "Return a number.") - expected) < 1e-9,
            f"{ranked} with {sorted(relevant)} relevant: you say {value}. What is never found counts, too.",
        )


def _test_queries_needed(number: Any) -> None:
    hybrid, dense, _ = (
        np.array([query.values["ndcg@10"] for query in item.queries]) for item in _judged().settings
    )
    expected = float(((1.96 * (hybrid - dense).std(ddof=1)) / 0.02) ** 2)
    value = number_of(number, "Give a number of queries.")
    require(
        0.9 * expected <= value <= 1.1 * expected,
        f"{value:,.0f} is {'too few' if value < expected else 'too many'}. The spread is that of the differences.",
    )


QUESTIONS: dict[str, Prediction | Exercise] = {
    "8.1": Prediction(_better_alone, "People ask in other words than the notes use."),
    "8.2": Prediction(_half_width, "Fifty questions are few: only large differences can be seen.", 1e-9),
    "8.3": Prediction(
        _narrower, "Hard questions are hard for both; the difference of each question leaves that out."
    ),
    "8.4": Prediction(
        None, "The best of many weights is partly the luckiest, and luck does not come along."
    ),
    "8.A": Exercise(_test_average_precision, "Its mean over queries is MAP."),
    "8.B": Exercise(_test_queries_needed, "Small improvements need hundreds of judged questions."),
}
