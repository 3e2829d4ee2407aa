"""Answers of many windows and passages -> a list in which nothing stands twice; what was merged is kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from search.records import Answer, AnswerPlace


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


def merged(found: Sequence[Answer], most: int, placed: Callable[[Answer], Answer]) -> Merged:
    """Rank candidates by their scores, equal ones by margin; merge each into a better one that it repeats.

    It repeats one if it is the same span (read in another window, or in a passage that overlaps), if it shares
    characters with its span, or if it is the same text elsewhere, whatever its case and white space.

    Args:
        most: how many come back; the others are counted.
        placed: fills in lines and page of those that come back, and of what was merged into them.
    """
    groups: list[_Group] = []
    by_text: dict[str, _Group] = {}
    taken: dict[tuple[str, str], list[tuple[Answer, _Group]]] = defaultdict(list)
    order = sorted(found, key=lambda one: (-one.score, -one.margin, one.document, one.start, one.end))
    for one in order:
        here = taken[one.path, one.document]
        near = next(((other, group) for other, group in here if _shares(one, other)), None)
        same = " ".join(one.text.casefold().split())
        if near is not None:
            other, group = near
            if (one.start, one.end) == (other.start, other.end):
                group.readings += other is group.best
                continue
            group.others.append(one)
        elif same in by_text:
            group = by_text[same]
            group.others.append(one)
        else:
            group = by_text[same] = _Group(one)
            groups.append(group)
        here.append((one, group))
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


def _shares(one: Answer, other: Answer) -> bool:
    return one.start < other.end and other.start < one.end
