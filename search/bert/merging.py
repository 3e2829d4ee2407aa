"""Answers of many windows and passages -> a list in which nothing stands twice; what was merged is kept."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from search.records.predictions import Answer, AnswerPlace


@dataclass(frozen=True)
class Merged:
    """The best answers, and how many more there are."""

    shown: tuple[Answer, ...]
    more: int


@dataclass
class _Group:
    """An answer, and the candidates that were merged into it."""

    best: Answer
    readings: int = 1
    others: list[Answer] = field(default_factory=list)


@dataclass
class _Places:
    """Where answers stand in a document, and where their texts stand once more; no two share characters."""

    starts: list[int] = field(default_factory=list)
    held: list[tuple[int, _Group]] = field(default_factory=list)  # the end of each, and whose it is

    def add(self, one: Answer, group: _Group) -> None:
        at = bisect_left(self.starts, one.start)
        self.starts.insert(at, one.start)
        self.held.insert(at, (one.end, group))

    def sharing(self, one: Answer) -> _Group | None:
        """Whose place shares characters with a span; of several the best answer's."""
        groups = []
        for at in range(bisect_left(self.starts, one.end) - 1, -1, -1):
            end, group = self.held[at]
            if end <= one.start:
                break
            groups.append(group)
        return max(groups, key=lambda group: (group.best.score, group.best.margin), default=None)


def merged(found: Sequence[Answer], most: int, placed: Callable[[Answer], Answer]) -> Merged:
    """Rank candidates by their scores, equal ones by margin; merge each into a better one that it repeats.

    It repeats one if it is the same span (read in another window, or in a passage that overlaps), if it shares
    characters with its span or with a place where its text stands once more, or if it is the same text elsewhere,
    whatever its case and white space.

    Args:
        most: how many come back; the others are counted.
        placed: fills in lines and page of those that come back, and of what was merged into them.
    """
    groups: list[_Group] = []
    by_text: dict[str, _Group] = {}
    by_span: dict[tuple[str, str, int, int], _Group] = {}
    places: dict[tuple[str, str], _Places] = defaultdict(_Places)
    order = sorted(found, key=lambda one: (-one.score, -one.margin, one.document, one.start, one.end))
    for one in order:
        span = one.path, one.document, one.start, one.end
        same = " ".join(one.text.casefold().split())
        here = places[one.path, one.document]
        if span in by_span:  # read in another window
            group = by_span[span]
            best = group.best
            group.readings += span == (best.path, best.document, best.start, best.end)
            continue
        near = here.sharing(one)
        if near is not None:
            group = near
            group.others.append(one)
        elif same in by_text:
            group = by_text[same]
            group.others.append(one)
            here.add(one, group)
        else:
            group = by_text[same] = _Group(one)
            groups.append(group)
            here.add(one, group)
        by_span[span] = group
    shown = tuple(_answer(group, rank, placed) for rank, group in enumerate(groups[:most], 1))
    return Merged(shown, len(groups) - len(shown))


def _answer(group: _Group, rank: int, placed: Callable[[Answer], Answer]) -> Answer:
    also = tuple(_place(placed(one)) for one in group.others)
    return replace(placed(group.best), rank=rank, readings=group.readings, also=also)


def _place(one: Answer) -> AnswerPlace:
    return AnswerPlace(
        text=one.text,
        path=one.path,
        document=one.document,
        start=one.start,
        end=one.end,
        line_start=one.line_start,
        line_end=one.line_end,
        page=one.page,
        passage_id=one.passage_id,
        margin=one.margin,
    )
