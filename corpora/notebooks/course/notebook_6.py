"""Questions and exercises of notebook 6, how a search engine ranks and explains."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from .tools import HOUSEHOLD, Exercise, Prediction, as_mistake, household, require, words_of

BOILER = "does the landlord have to pay for the boiler"


def _exact_cosines() -> float:
    index = household()
    _, vectors = index.embeddings()
    query = index.encoder.encode([BOILER], role="query")[0]
    step = abs(vectors).max() / 127
    codes = np.round(vectors / step).astype(np.float32)
    slack = np.linalg.norm(vectors - codes * step, axis=1).max()
    cosines, rough = vectors @ query, codes * step @ query
    order = np.argsort(-rough)
    return next(
        n for n in range(5, len(order)) if np.sort(cosines[order[:n]])[-5] >= rough[order[n]] + slack
    )


@cache
def _shares_of_the_boiler() -> dict[str, float]:
    index = household()
    why = index.explain(BOILER, index.query(BOILER, k=1)[0])
    totals: dict[str, float] = {}
    for share in why.shares():
        if share.kind in ("word", "term"):
            totals[share.text] = totals.get(share.text, 0) + share.contribution
    return totals


def _longest_bar() -> str:
    return max(_shares_of_the_boiler(), key=lambda word: _shares_of_the_boiler()[word])


def _test_rrf(rrf: Any) -> None:
    random = np.random.default_rng(6)
    rankings = [random.permutation(12)[:8].tolist() for _ in range(3)]
    expected: dict[int, float] = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, 1):
            expected[name] = expected.get(name, 0) + 1 / (60 + rank)
    scores = rrf(rankings)
    require(isinstance(scores, dict), "Return a dictionary: document -> score.")
    require(
        scores.keys() == expected.keys(), "Each document of any ranking has a score, and no other one."
    )
    wrong = [name for name in expected if abs(scores[name] - expected[name]) > 1e-9]
    require(
        not wrong,
        f"The scores of {len(wrong)} of {len(expected)} documents are wrong. Ranks begin with 1.",
    )


def _test_query_for_the_meeting(text: Any) -> None:
    require(isinstance(text, str), "Give a query.")
    first = "home/tenants-meeting.md"
    require(not re.search(r"[=<>:\"]", text), "No filters and no quotation marks.")
    require(len(text.split()) <= 4, f"{len(text.split())} words; at most 4 are allowed.")
    with as_mistake("The query is refused:"):
        hits = household().query(text, k=1)
    shared = words_of(text) & words_of((HOUSEHOLD / first).read_text(encoding="utf-8"))
    require(not shared, f"The minutes have these words, too: {', '.join(sorted(shared))}.")
    require(
        bool(hits) and hits[0].document == first,
        f"The first hit is {hits[0].document if hits else 'none'}.",
    )


QUESTIONS: dict[str, Prediction | Exercise] = {
    "6.1": Prediction(
        _exact_cosines, "The bound is so small that the rough order is nearly the exact one.", 3
    ),
    "6.2": Prediction(_longest_bar, "Its addends by meaning and by keyword together are the largest."),
    "6.3": Prediction(None, "Other words of the passage say the same: 'heating', 'repairs', 'pays'."),
    "6.A": Exercise(_test_rrf, "Reciprocal rank fusion needs no scales, only ranks."),
    "6.B": Exercise(
        _test_query_for_the_meeting, "Found by meaning alone: not one word of yours is in it."
    ),
}
