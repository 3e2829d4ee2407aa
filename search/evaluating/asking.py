"""A way to ask -> what is found for each query, how good that is, and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from search.encoding import Encoder
from search.errors import InputError
from search.evaluating.dataset import Query
from search.evaluating.statistics import comparisons, measured
from search.records.evaluations import Comparison, JudgedQuery, Latency, Measured, Setting
from search.records.hits import Hit
from search.records.reports import Progress, Status

_TIMED = 200  # queries that are timed, at most
FEW = 20  # queries; with fewer an interval is itself uncertain
_NAMED = 10


class OpenIndex(Protocol):
    """What is needed of the public `Index`, which a later stage makes."""

    path: Path

    @property
    def query(self) -> Callable[..., Sequence[Hit]]: ...
    @property
    def encoder(self) -> Encoder: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def status(self) -> Callable[[], Status]: ...


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
    find: Callable[[Setting], Callable[[Query], Found]],
    ask: Callable[[Setting], Callable[[str], object]],
    plan: Plan,
    *,
    passages: int,
) -> tuple[tuple[Measured, ...], tuple[Comparison, ...], list[str]]:
    """Ask every query in every setting.

    Args:
        find: for a setting, what finds and judges the answer to a query.
        ask: for a setting, what is timed: a plain query with k hits.
        passages: how many are searched, to be shown.

    Returns:
        The settings, each with the first compared, and what has to be said.

    Raises:
        InputError: a query cannot be asked, or none has an answer.
    """
    done, notes = [], []
    for setting in settings:
        found = _answers(setting.name, find(setting), queries, passages, plan)
        without = [query.id for query, one in zip(queries, found, strict=True) if not one.names]
        if len(without) == len(queries):
            raise InputError(
                f"no query has a hit in the setting '{setting.name}', so there is nothing to judge."
            )
        if without:
            end = f"no hit in '{setting.name}', and so 0"
            notes.append(named(without, f"query has {end}", f"queries have {end}"))
        judged = [
            JudgedQuery(query.id, query.text, one.values, one.names[: plan.k])
            for query, one in zip(queries, found, strict=True)
        ]
        done.append(measured(setting, judged, _latency(ask(setting), queries, plan.k), seed=plan.seed))
    if len(queries) < FEW:
        notes.append(f"with only {len(queries)} queries the intervals are rough")
    if len(settings) > 2:
        notes.append("the p-values are not corrected for the number of comparisons")
    return tuple(done), comparisons(done, seed=plan.seed), notes


def _answers(
    setting: str, find: Callable[[Query], Found], queries: Sequence[Query], passages: int, plan: Plan
) -> list[Found]:
    found = []
    for number, query in enumerate(queries, 1):
        try:
            found.append(find(query))
        except InputError as error:
            raise InputError(f"the query '{query.id}' cannot be asked ({setting}): {error}") from None
        if plan.progress:
            plan.progress(Progress("asking", number, len(queries), passages=passages))
    return found


def _latency(ask: Callable[[str], object], queries: Sequence[Query], k: int) -> Latency:
    """Of up to 200 queries spread over all, each timed once. They were asked before: everything is loaded."""
    chosen = queries[:: -(-len(queries) // _TIMED)]
    milliseconds = []
    for query in chosen:
        started = time.perf_counter()
        ask(query.text)
        milliseconds.append(1000 * (time.perf_counter() - started))
    p50, p95 = np.percentile(milliseconds, [50, 95])
    return Latency(float(p50), float(p95), len(chosen), k)


def named(names: Sequence[str], one: str, many: str) -> str:
    """How many there are, what is to be said of them, and which: "2 queries have no hit: 3, 7"."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{len(names):,} {one if len(names) == 1 else many}: {', '.join(names[:_NAMED])}{more}"
