"""Ask every query in every setting ("hybrid,weight=0.7"), and compare the settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from search.errors import InputError
from search.evaluating.formats import Query
from search.records.evaluations import Comparison, JudgedQuery, Measured, Setting
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
) -> tuple[Measured, ...]:
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
        measured.append(Measured(setting, metrics, tuple(judged)))
    return tuple(measured)


def comparisons(measured: Sequence[Measured], seed: int) -> tuple[Comparison, ...]:
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
    return np.array([query.values[metric] for query in queries if metric in query.values], dtype=np.float64)


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
                f"'{part}' in the setting '{text}' is no keyword of a query with its value, such as weight=0.5."
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


def spread(judged: Sequence[T], limit: int | None) -> Sequence[T]:
    """So many, spread evenly over the data; None for all.

    Raises:
        InputError: a limit below 1.
    """
    if limit is None or limit >= len(judged):
        return judged
    if limit < 1:
        raise InputError(f"the limit is {limit}; it must be at least 1.")
    return [judged[i * len(judged) // limit] for i in range(limit)]
