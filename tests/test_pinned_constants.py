"""Constants that a benchmark chose: each has the value that the published figures were measured with.

A constant is changed on purpose, after the benchmark was run again. To add one, add a `Pin`: what it is, how to read it
(from a public name or by what the code computes, where that is possible; else the constant itself), its value, and the
file that has the reason, `benchmarks/*.py` or the page of the handbook that states the rule.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import search
from search.encoding import distil
from search.explaining.explanation import middle_layer
from search.indexing.encode_pending import SAMPLE
from search.ranking import fusion, on_demand, propose, rerank, verdict
from search.ranking.question import Question
from search.ranking.selection import Selection
from search.records.alignment import NEIGHBOURS
from search.records.option_tools import Ranking
from search.store import passages
from search.store.bm25 import discriminative, norms, saturations, scale, weight
from search.store.settings import PassageSettings

REPOSITORY = Path(__file__).parent.parent
QUALITY, VERDICT, ALIGNMENT = (f"benchmarks/{name}.py" for name in ("quality", "verdict", "alignment"))
AT_ONCE = "benchmarks/at_once.py"
MODEL_REPORT = "benchmarks/model_report.py"
MAIL_FOOTERS = "corpora/handbook/40-results.md"


@dataclass(frozen=True)
class Pin:
    """A constant.

    Attributes:
        read: returns the value that the code has.
        value: the value that was chosen.
        reason: file with the reason for the value, relative to the repository.
    """

    name: str
    read: Callable[[], Any]
    value: Any
    reason: str


def default_of(function: Callable[..., Any], parameter: str) -> Any:
    return inspect.signature(function).parameters[parameter].default


def figures_of_the_verdict() -> tuple[float, ...]:
    """Excess, coverage and lead of ten hits: only the third and the fourth have words of the query."""
    hits = [
        SimpleNamespace(passage=i, cosine=0.99 if i == 0 else 0.1, score=0.9 if i == 0 else 0.2)
        for i in range(10)
    ]
    words = np.zeros((10, 4))
    words[2, :2] = words[3, :] = 1.0
    keyword_scores = SimpleNamespace(addends=lambda ids: words[ids])
    terms = list("abcd")
    ranking = SimpleNamespace(typed=terms, counts=[1] * 4, terms=terms, keyword_scores=keyword_scores)
    snapshot = SimpleNamespace(facts=SimpleNamespace(passages=100, foreign_cosine=None))
    return verdict.figures(snapshot, ranking, hits)


def excess_without_a_measured_cosine() -> float:
    hits = [SimpleNamespace(passage=0, cosine=0.28, score=0.0)] * 10
    none = SimpleNamespace(addends=lambda ids: np.zeros((len(ids), 0)))
    ranking = SimpleNamespace(typed=[], counts=[], terms=[], keyword_scores=none)
    snapshot = SimpleNamespace(facts=SimpleNamespace(passages=100, foreign_cosine=None))
    return verdict.figures(snapshot, ranking, hits)[0]


PINS = (
    Pin("weight of the cosine in a hybrid score", lambda: Ranking.of().weight, 0.75, QUALITY),
    Pin("share of late interaction in a score", lambda: 1 - Ranking.of(rerank="late").first_share, 0.5, QUALITY),
    Pin("minimum weight of a token in late interaction", lambda: rerank._MIN_TOKEN_WEIGHT, 0.05, QUALITY),
    Pin("passages that are reranked", lambda: Selection.of(10).pools()[0].k, 30, QUALITY),
    Pin(
        "BM25's k1 and b, and the ratio of lengths (norms of passages of 0, 1, 1.5 and 9 mean lengths)",
        lambda: norms(np.array([0.0, 1.0, 1.5, 9.0]), 1.0).tolist(),
        [1.2 * (0.25 + 0.75 * ratio) for ratio in (0.0, 1.0, 1.5, 1.5)],
        QUALITY,
    ),
    Pin(
        "BM25's k1 (addends of 1, 2 and 4 occurrences)",
        lambda: saturations(np.array([1.0, 2.0, 4.0]), np.full(3, 1.2)).tolist(),
        [2.2 * n / (n + 1.2) for n in (1, 2, 4)],
        QUALITY,
    ),
    Pin("idf of a word in 3 of 10 passages", lambda: weight(3, 10), math.log(1 + 7.5 / 3.5), QUALITY),
    Pin(
        "share of passages above which a word has no keyword score",
        lambda: discriminative(["half", "more"], [5, 6], 10),
        ["half"],
        QUALITY,
    ),
    Pin("words in the divisor of BM25", lambda: scale(0.0, [1.0] * 9) / 2.2, 3, QUALITY),
    Pin("best passage as the divisor of BM25", lambda: scale(99.0, [1.0] * 9), 99.0, QUALITY),
    Pin("passages by meaning in addition to n", lambda: fusion._EXTRA, 100, "benchmarks/scale.py"),
    Pin(
        "tokens of a passage, of its context and of its overlap; headings as context",
        lambda: tuple(vars(PassageSettings()).values()),
        (180, 48, 0, True),
        "benchmarks/passages.py",
    ),
    Pin("weight of neighbours in an alignment", lambda: NEIGHBOURS, 0.15, ALIGNMENT),
    Pin("layer of an alignment", lambda: (middle_layer(6), middle_layer(12)), (3, 6), ALIGNMENT),
    Pin(
        "coefficients of the verdict",
        lambda: (verdict.CONSTANT, verdict.EXCESS, verdict.COVERAGE, verdict.LEAD),
        (-4.0, 11.95, 2.42, 6.9),
        VERDICT,
    ),
    Pin(
        "thresholds of the verdict",
        lambda: (verdict.ANSWERED, verdict.PROBABLY, verdict.PERHAPS, verdict.MORE_COVERAGE),
        (0.83, 0.5, 0.15, 0.2),
        VERDICT,
    ),
    Pin("limits of excess and lead; coverage in three hits", figures_of_the_verdict, (0.25, 0.5, 0.25), VERDICT),
    Pin("foreign cosine of an index that has not measured it", excess_without_a_measured_cosine, 0.10, VERDICT),
    Pin("hits that the verdict needs", lambda: verdict.FIRST_HITS, 10, VERDICT),
    Pin(
        "passages from which on copies are listed once: rows of a file, equal texts, one mail in several files",
        lambda: tuple(fewest for _, _, fewest in passages._KINDS_OF_COPIES),
        (5, 5, 2),
        MAIL_FOOTERS,
    ),
    Pin("cosine of near-duplicates", lambda: default_of(search.Index.duplicates, "threshold"), 0.95, MAIL_FOOTERS),
    Pin("weight of an example in `unlike`", lambda: Question.of("a", unlike=[1]).examples, ((1, -0.5),), MAIL_FOOTERS),
    Pin(
        "pending passages of a query, and how many are encoded at a time",
        lambda: (Selection.of().pending, on_demand.AT_A_TIME),
        (100, 20),
        AT_ONCE,
    ),
    Pin(
        "prediction of embeddings: nearest and sampled passages, ridge, words, passages of a long list",
        lambda: (propose.NEAREST, propose.SAMPLED, propose.RIDGE, propose.EXPANDED, propose.LONG_LIST),
        (200, 300, 0.3, 200, 500),
        AT_ONCE,
    ),
    Pin(
        "dimensions of the static model, sequences that it is fitted to, and their words",
        lambda: (distil.DIMENSION, distil.SEQUENCES, distil.LONGEST),
        (256, 6000, 60),
        MODEL_REPORT,
    ),
    Pin("passages that are encoded first, spread over the index", lambda: SAMPLE, 2048, AT_ONCE),
    Pin("hits of a document", lambda: (Selection.of().per_document, Selection.of().k), (3, 10), MAIL_FOOTERS),
)  # fmt: skip


@pytest.mark.parametrize("pin", PINS, ids=lambda pin: pin.name)
def test_a_constant_has_the_value_that_the_published_figures_were_measured_with(pin: Pin) -> None:
    assert (REPOSITORY / pin.reason).is_file()
    value = pin.read()
    again = (
        f"run {pin.reason} again" if pin.reason.startswith("benchmarks/") else f"change {pin.reason}, too"
    )
    assert (
        value == pytest.approx(pin.value) if isinstance(pin.value, float | list) else value == pin.value
    ), (
        f"{pin.name}: {value}, chosen was {pin.value}. If that is on purpose, {again}, then update the figures in "
        "benchmarks/README.md and the value here."
    )
