"""Ask every query in every setting ("hybrid,weight=0.7"), compare the settings, and say how good an answer is.

Rankings follow trec_eval, which BEIR uses: a grade of 1 or more is relevant, a document without judgement is not, gains
of nDCG are the grades themselves, and a query without any relevant document scores 0 everywhere. One thing differs: the
order is that of the ranking, ties included, where trec_eval sorts equal scores anew by the name of the document.

Exact match and F1 of answers are SQuAD's (Rajpurkar et al. 2016, section 6.1).
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from search.errors import InputError
from search.evaluating.formats import Query
from search.records.evaluations import Comparison, JudgedQuery, Setting, SettingResult
from search.records.options import LimitOptions, QueryOptions, complete, declared
from search.records.reports import Progress
from search.statistics import compared, mean_of

_FEW = 20  # queries; with fewer an interval is itself uncertain
_NAMED = 10


A = TypeVar("A", bound=Query)
T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """What holds for all queries: the depth of metrics, the seed of resampling, the callback for progress."""

    k: int = 10
    seed: int = 0
    progress: Callable[[Progress], None] | None = None

    def told(self, stage: str, done: int, total: int) -> None:
        if self.progress:
            self.progress(Progress(stage, done, total, passages=done))


def measure(
    queries: Sequence[A],
    settings: Sequence[Setting],
    find: Callable[[A, Setting], tuple[Mapping[str, float], Sequence[str]]],
    plan: Plan,
) -> tuple[SettingResult, ...]:
    """Ask every query in every setting.

    Args:
        find: the metrics of a query, and the names of what was found, best first.

    Raises:
        InputError: a query cannot be asked.
    """
    measured = []
    for setting in settings:
        judged = []
        for number, query in enumerate(queries, 1):
            try:
                values, names = find(query, setting)
            except InputError as error:
                raise InputError(
                    f"the query '{query.id}' cannot be asked ({setting.name}): {error}"
                ) from None
            judged.append(JudgedQuery(query.id, query.text, values, tuple(names[: plan.k])))
            plan.told("asking", number, len(queries))
        named = dict.fromkeys(name for query in judged for name in query.values)
        metrics = {name: mean_of(values_of(judged, name), seed=plan.seed) for name in named}
        measured.append(SettingResult(setting, metrics, tuple(judged)))
    return tuple(measured)


def comparisons(measured: Sequence[SettingResult], seed: int) -> tuple[Comparison, ...]:
    """Every setting after the first with the first, by each metric."""
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
    """One value of each query that the metric is of."""
    return np.array(
        [query.values[metric] for query in queries if metric in query.values], dtype=np.float64
    )


def about_few(number: int, what: str) -> list[str]:
    """What has to be said of an interval over so few."""
    return [f"with only {number} {what} the intervals are rough"] if number < _FEW else []


def named(names: Sequence[str], about: str) -> list[str]:
    """How many there are, what is to be said of them, and which: "2 queries have no hit: 3, 7"; nothing of none."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return [f"{len(names):,} {about}: {', '.join(names[:_NAMED])}{more}"] if names else []


def settings_of(asked: Sequence[str | Setting]) -> tuple[Setting, ...]:
    """The settings that are meant, each once; the default one where nothing is asked for.

    Args:
        asked: a mode, and after commas further keywords of `Index.query` with their values, but for those that the
            evaluation sets.

    Raises:
        InputError: there is no such keyword or value.

    Example:
        >>> settings_of(["dense,weight=0.5"])[0].options
        {'mode': 'dense', 'weight': 0.5}
    """
    settings = [one if isinstance(one, Setting) else _parsed(one) for one in asked]
    return tuple({one.name: one for one in settings or [Setting("hybrid")]}.values())


def _parsed(text: str) -> Setting:
    mode, *others = (part.strip() for part in text.split(","))
    options: dict[str, Any] = {"mode": mode}
    for part in others:
        name, _, value = (each.strip() for each in part.partition("="))
        if not value or name not in QueryOptions.__annotations__ or name in LimitOptions.__annotations__:
            raise InputError(
                f"'{part}' in the setting '{text}' is no keyword with its value, as weight=0.5."
            )
        options[name] = value if "str" in str(declared(QueryOptions)[name][0]) else _number(value)
    try:
        complete(options, QueryOptions)
    except TypeError:
        raise InputError(f"a value in the setting '{text}' is no number.") from None
    return Setting(text, options)


def _number(text: str) -> Any:
    """A number, true, false or null as in JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


DEPTH = 100  # documents that are ranked for a query, at least


def ranking_values(ranked: Sequence[str], grades: Mapping[str, int], k: int = 10) -> dict[str, float]:
    """All metrics of one query.

    Args:
        ranked: documents, best first, none twice.
        grades: of the documents that were judged; 0 or less is not relevant.
        k: the depth of most metrics; recall and MAP look also at `DEPTH`, or at k if that is more.

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


def answer_values(predicted: str, gold: Sequence[str]) -> dict[str, float]:
    """Exact match and F1 with the gold answer that suits best.

    Args:
        predicted: "" for no answer.
        gold: those that count as right; none with a word means that no answer is right.
    """
    right = [words for answer in gold if (words := _words(answer))] or [[]]
    given = _words(predicted)
    return {
        "exact_match": float(given in right),
        "f1": max(_f1(given, words) for words in right),
    }


def _words(text: str) -> list[str]:
    """Lower case, without ASCII punctuation and English articles, as SQuAD's script has it."""
    plain = text.lower().translate(str.maketrans("", "", string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


def _f1(given: list[str], gold: list[str]) -> float:
    """F1 of words as bags; of no word 1 if both have none, else 0, as for SQuAD 2.0."""
    if not given or not gold:
        return float(given == gold)
    return 2 * (Counter(given) & Counter(gold)).total() / (len(given) + len(gold))


def entity_f1(
    right: NDArray[np.float64], found: NDArray[np.float64], gold: NDArray[np.float64], axis: int = -1
) -> NDArray[np.float64]:
    """Micro F1 of counts by sentence; 0 where there is no entity, as in seqeval."""
    return share(2 * right, found + gold, axis)


def share(part: NDArray[np.float64], whole: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    """The sum of one divided by the sum of the other; 0 where there is nothing to divide by."""
    above, below = np.sum(part, axis=axis), np.sum(whole, axis=axis)
    return np.divide(above, below, out=np.zeros_like(below, dtype=np.float64), where=below > 0)
