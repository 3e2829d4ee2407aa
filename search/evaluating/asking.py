"""The ways to ask an index, as people write them ("hybrid,weight=0.7"), and how good and how quick each is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from search.errors import InputError
from search.evaluating.dataset import Query
from search.records.evaluations import Comparison, JudgedQuery, Measured, Setting
from search.records.options import LimitOptions, QueryOptions, declared
from search.records.reports import Progress
from search.statistics import compared, mean_of

T = TypeVar("T")

_FEW = 20  # queries; with fewer an interval is itself uncertain
_NAMED = 10
QUERIES = "query has", "queries have"
_TAKEN = LimitOptions.__annotations__
_KINDS: dict[Any, tuple[str, tuple[type, ...]]] = {
    **dict.fromkeys((int, float | None), ("a number", (int, float))),
    bool: ("true or false", (bool,)),
}


@dataclass(frozen=True)
class Plan:
    """What holds for all queries: the depth of figures, the seed of resampling, who is told how far it is."""

    k: int = 10
    seed: int = 0
    progress: Callable[[Progress], None] | None = None


@dataclass(frozen=True)
class Found:
    """What was found for a query: its figures, and the names of what was ranked, best first."""

    values: Mapping[str, float]
    names: tuple[str, ...]


def measure(
    queries: Sequence[Query],
    settings: Sequence[Setting],
    find: Callable[[Query, Mapping[str, Any]], Found],
    plan: Plan,
    *,
    passages: int,
) -> tuple[tuple[Measured, ...], tuple[Comparison, ...], list[str]]:
    """Ask every query in every way.

    Args:
        find: finds and judges the answer to a query, by a setting's options.
        passages: how many are searched, to be shown.

    Returns:
        The figures of each way, those of the first compared with each other one, and remarks.

    Raises:
        InputError: a query cannot be asked, or no query has a hit.
    """
    measured: list[Measured] = []
    notes: list[str] = []
    for setting in settings:
        judged = []
        for number, query in enumerate(queries, 1):
            try:
                found = find(query, setting.options)
            except InputError as error:
                raise InputError(
                    f"the query '{query.id}' cannot be asked ({setting.name}): {error}"
                ) from None
            judged.append(JudgedQuery(query.id, query.text, found.values, found.names[: plan.k]))
            if plan.progress:
                plan.progress(Progress("asking", number, len(queries), passages=passages))
        without = [query.id for query in judged if not query.found]
        if len(without) == len(queries):
            raise InputError(
                f"no query has a hit in the setting '{setting.name}', so there is nothing to judge."
            )
        notes += named(without, *QUERIES, f"no hit in '{setting.name}', and so 0")
        metrics = {metric: mean_of(values_of(judged, metric), seed=plan.seed) for metric in judged[0].values}
        measured.append(Measured(setting, metrics, tuple(judged)))
    notes += about_few(len(queries), "queries")
    if len(settings) > 2:
        notes.append("the p-values are not corrected for the number of comparisons")
    return tuple(measured), comparisons(measured, seed=plan.seed), notes


def comparisons(measured: Sequence[Measured], *, seed: int = 0) -> tuple[Comparison, ...]:
    """Every setting after the first with the first, for each figure that every query has."""
    return tuple(
        compared(
            metric,
            (measured[0].setting.name, other.setting.name),
            values_of(measured[0].queries, metric),
            values_of(other.queries, metric),
            seed=seed,
        )
        for other in measured[1:]
        for metric in other.queries[0].values
    )


def values_of(queries: Sequence[JudgedQuery], metric: str) -> NDArray[np.float64]:
    return np.array([query.values[metric] for query in queries], dtype=np.float64)


def about_few(number: int, what: str) -> list[str]:
    """What has to be said of an interval over so few."""
    return [f"with only {number} {what} the intervals are rough"] if number < _FEW else []


def named(names: Sequence[str], one: str, many: str, what: str) -> list[str]:
    """How many there are, what is to be said of them, and which: "2 queries have no hit: 3, 7"; nothing of none."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    which = f"{', '.join(names[:_NAMED])}{more}"
    return [f"{len(names):,} {one if len(names) == 1 else many} {what}: {which}"] if names else []


def settings_of(asked: Sequence[str | Setting], keywords: Iterable[str]) -> tuple[Setting, ...]:
    """The settings that are meant, each once; the default one where nothing is asked for.

    Args:
        asked: a mode, and after commas further keywords of `Index.query` with their values.
        keywords: of `Index.query`; those that evaluation sets itself do not count.

    Raises:
        InputError: a keyword that there is not.

    Example:
        >>> settings_of(["dense,weight=0.5"], ["mode", "weight"])[0].options
        {'mode': 'dense', 'weight': 0.5}
    """
    known = [name for name in keywords if name not in _TAKEN]
    settings = [one if isinstance(one, Setting) else _parsed(one) for one in asked]
    for setting in settings:
        for name, value in setting.options.items():
            if name not in known:
                raise InputError(
                    f"'{name}' in the setting '{setting.name}' is no keyword that counts here; "
                    f"there are: {', '.join(known) or 'none'}."
                )
            _require_fitting(setting, name, value)
    settings = settings or [Setting("hybrid")]
    return tuple({setting.name: setting for setting in settings}.values())


def _require_fitting(setting: Setting, name: str, value: Any) -> None:
    """Raise InputError for a value of another kind than the keyword takes; null is as if it were not there."""
    kind, types = _KINDS.get(declared(QueryOptions)[name][0], ("a text", (str,)))
    if value is not None and (not isinstance(value, types) or isinstance(value, bool) != (bool in types)):
        raise InputError(f"'{name}' in the setting '{setting.name}' takes {kind}, not {value!r}.")


def _parsed(text: str) -> Setting:
    first, *others = (part.strip() for part in text.split(","))
    if not first or "=" in first:
        raise InputError(f"the setting '{text}' must begin with a mode: dense,weight=0.5 for instance.")
    options: dict[str, Any] = {"mode": first}
    for part in others:
        name, equals, value = part.partition("=")
        if not equals or not name:
            raise InputError(f"'{part}' in the setting '{text}' must be a keyword and its value: weight=0.5.")
        options[name.strip()] = _value(value.strip())
    return Setting(text, options)


def _value(text: str) -> Any:
    """A number, true, false or null as in JSON; anything else is a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def spread(judged: Sequence[T], limit: int | None, what: str) -> Sequence[T]:
    """So many, spread evenly over the data; None for all.

    Raises:
        InputError: a limit below 1.
    """
    if limit is None or limit >= len(judged):
        return judged
    if limit < 1:
        raise InputError(f"the limit is {limit}, but at least 1 {what} must be looked at.")
    return [judged[i * len(judged) // limit] for i in range(limit)]
