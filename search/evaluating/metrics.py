"""Metrics of queries in different settings ("hybrid,weight=0.7"), and comparisons of the settings.

Rankings follow trec_eval, which BEIR uses: a grade of 1 or more is relevant, a document without judgement is not, gains
of nDCG are the grades themselves, and a query without any relevant document scores 0 everywhere. One difference:
equal scores keep the order of the ranking, whereas trec_eval sorts them by document name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from search.errors import InputError
from search.evaluating.formats import Query
from search.records.evaluations import Comparison, JudgedQuery, Setting, SettingResult
from search.records.option_tools import complete, declared
from search.records.options import LimitOptions, QueryOptions
from search.records.reports import Progress
from search.statistics import compared, mean_of

_FEW = 20  # queries; with fewer an interval is itself uncertain
_NAMED = 10  # names in a note


A = TypeVar("A", bound=Query)
T = TypeVar("T")


@dataclass(frozen=True)
class MetricPlan:
    """Parameters of an evaluation: cut-off rank of metrics, seed of the resampling, progress callback."""

    k: int = 10
    seed: int = 0
    progress: Callable[[Progress], None] | None = None

    def report(self, stage: str, done: int, total: int) -> None:
        if self.progress:
            self.progress(Progress(stage, done, total, passages=done))


def measure(
    queries: Sequence[A],
    settings: Sequence[Setting],
    find: Callable[[A, Setting], tuple[Mapping[str, float], Sequence[str]]],
    plan: MetricPlan,
) -> tuple[SettingResult, ...]:
    """Run every query in every setting.

    Args:
        find: returns the metrics of a query, and the names of its results, best first.

    Raises:
        InputError: a query is invalid.
    """
    measured = []
    for setting in settings:
        judged = []
        for number, query in enumerate(queries, 1):
            try:
                values, names = find(query, setting)
            except InputError as error:
                raise InputError(f"query '{query.id}' failed ({setting.name}): {error}") from None
            judged.append(JudgedQuery(query.id, query.text, values, tuple(names[: plan.k])))
            plan.report("asking", number, len(queries))
        named = dict.fromkeys(name for query in judged for name in query.values)
        metrics = {name: mean_of(values_of(judged, name), seed=plan.seed) for name in named}
        measured.append(SettingResult(setting, metrics, tuple(judged)))
    return tuple(measured)


def comparisons(measured: Sequence[SettingResult], seed: int) -> tuple[Comparison, ...]:
    """Compare the first setting with each of the others, metric by metric."""
    first = measured[0]
    return tuple(
        compared(
            metric,
            (first.setting.name, other.setting.name),
            values_of(first.queries, metric),
            values_of(other.queries, metric),
            seed=seed,
        )
        for other in measured[1:]
        for metric in first.metrics
    )


def values_of(queries: Sequence[JudgedQuery], metric: str) -> NDArray[np.float64]:
    """Return the values of a metric, one for each query that has it."""
    return np.array(
        [query.values[metric] for query in queries if metric in query.values], dtype=np.float64
    )


def about_few(number: int, noun: str) -> list[str]:
    """Return a note that the intervals are rough if there are few queries, otherwise []."""
    return [f"with only {number} {noun}, the confidence intervals are rough"] if number < _FEW else []


def named(names: Sequence[str], about: str, of: str = "") -> list[str]:
    """Return a note that lists names: ["queries without a hit: 2 (3, 7)"]; [] if there are none."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return [f"{about}: {len(names):,}{of} ({', '.join(names[:_NAMED])}{more})"] if names else []


def settings_of(specs: Sequence[str | Setting]) -> tuple[Setting, ...]:
    """Parse settings and drop duplicates; without any, return only "hybrid".

    Args:
        specs: settings such as "hybrid,weight=0.7": a mode, followed by keywords of `Index.query` with values. Keywords
            that the evaluation sets itself, such as k, are invalid.

    Raises:
        InputError: unknown keyword or invalid value.

    Example:
        >>> settings_of(["dense,weight=0.5"])[0].options
        {'mode': 'dense', 'weight': 0.5}
    """
    settings = [spec if isinstance(spec, Setting) else _parsed(spec) for spec in specs]
    return tuple({setting.name: setting for setting in settings or [Setting("hybrid")]}.values())


def _parsed(text: str) -> Setting:
    mode, *others = (part.strip() for part in text.split(","))
    options: dict[str, Any] = {"mode": mode}
    for part in others:
        name, _, value = (text.strip() for text in part.partition("="))
        if not value or name not in QueryOptions.__annotations__ or name in LimitOptions.__annotations__:
            raise InputError(
                f"invalid option '{part}' in the setting '{text}'. Write NAME=VALUE, for example weight=0.5."
            )
        options[name] = value if "str" in str(declared(QueryOptions)[name][0]) else _number(value)
    try:
        complete(options, QueryOptions)
    except TypeError:
        raise InputError(f"a value in the setting '{text}' is not a number.") from None
    return Setting(text, options)


def _number(text: str) -> Any:
    """Parse a number, true, false or null as in JSON; else return the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


DEPTH = 100  # documents that are ranked for a query, at least


def ranking_values(ranked: Sequence[str], grades: Mapping[str, int], k: int = 10) -> dict[str, float]:
    """Return all ranking metrics of a query.

    Args:
        ranked: unique documents, best first.
        grades: document -> grade; documents with 0 or less are not relevant.
        k: cut-off rank. MAP uses `DEPTH` instead, or k if larger; recall and MRR are computed at both.

    Example:
        >>> ranking_values(["a", "b"], {"b": 1})["mrr@10"]
        0.5
    """
    deep = max(DEPTH, k)
    gains = np.maximum([grades.get(document, 0) for document in ranked], 0).astype(np.float64)
    ideal = np.sort([grade for grade in grades.values() if grade > 0])[::-1]
    total = max(1, len(ideal))
    ranks = np.flatnonzero(gains) + 1
    near, far = ranks[ranks <= k], ranks[ranks <= deep]
    best = _discounted(ideal[:k])
    return {
        f"ndcg@{k}": _discounted(gains[:k]) / best if best else 0.0,
        f"mrr@{k}": float(1 / near[0]) if len(near) else 0.0,
        f"mrr@{deep}": float(1 / far[0]) if len(far) else 0.0,
        f"map@{deep}": float((np.arange(1, len(far) + 1) / far).sum()) / total,
        f"recall@{k}": len(near) / total,
        f"recall@{deep}": len(far) / total,
        f"precision@{k}": len(near) / k,
    }


def _discounted(gains: NDArray[np.float64]) -> float:
    return float((gains / np.log2(np.arange(2, len(gains) + 2))).sum())
