"""Join short sections with their neighbours, so that a passage can stand alone.

A link beneath a heading, or half a sentence, is nearest to whatever resembles the title that is encoded with it. So
neighbours are joined while they fit into one passage, along the tree of headings: what lies deepest first, then what
lies beneath the same heading, a heading's own text with its first sections. What they share stays their context; the
headings that they do not share stand in their text, or they are not joined. What is left over and very short goes to
whatever stands before it, or behind it, and may make that a little too long.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

_VERY_SHORT = 3  # times as much fits into a passage


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a document that becomes a passage by itself, or with its neighbours.

    Attributes:
        start, end: its span.
        tokens: about how many there are in its text.
        trail: the headings that its beginning stands under, outermost first: its context.
        above: how many of these do not stand in its text.
        shown: headings that stand in its text.
        shared: how many headings of the trail all of it stands under.
        names: of what it was joined of, the headings below those that are shared.
        apart: of what is set apart from the rest, what it belongs to; only such parts are joined. 0 for the rest.
    """

    start: int
    end: int
    tokens: int
    trail: tuple[str, ...]
    above: int
    shown: tuple[str, ...]
    shared: int
    names: tuple[str, ...] = ()
    apart: int = 0

    @property
    def heading(self) -> str:
        """What it stands under, and behind that the names."""
        return " > ".join(
            (*self.trail[: self.shared], *([" \u00b7 ".join(self.names)] if self.names else ()))
        )


def joined(parts: Iterable[Part], most: int, room: int, breaks: Container[int] = frozenset()) -> list[Part]:
    """Parts in the order of the document, neighbours joined as far as they may be.

    Args:
        most: tokens of a part that is joined of others.
        room: tokens of one that was joined with something very short, at most; and no more than a little over `most`.
        breaks: where no join may reach across: the beginnings of slides.
    """
    found, room = list(parts), min(room, most + most // _VERY_SHORT)
    for depth in range(max((len(part.trail) for part in found), default=0), -1, -1):
        before, found = found, []
        for part in before:
            if (
                found
                and part.start not in breaks
                and _fit(found[-1], part, most)
                and _alike(found[-1], part) >= depth
            ):
                part = _together(found.pop(), part)
            found.append(part)
    before, found = found, []
    for part in before:
        if (
            found
            and part.start not in breaks
            and min(found[-1].tokens, part.tokens) * _VERY_SHORT < most
            and _fit(found[-1], part, room, False)
        ):
            part = _together(found.pop(), part)
        found.append(part)
    return found


def _fit(one: Part, two: Part, most: int, whole: bool = True) -> bool:
    """Whether two neighbours may be one: of the second, and with `whole` of the first, no heading gets lost."""
    shared = _alike(one, two)
    lost = two.above > shared or (whole and one.above > shared)
    return one.end == two.start and one.apart == two.apart and one.tokens + two.tokens <= most and not lost


def _alike(one: Part, two: Part) -> int:
    """How many headings two parts share."""
    pairs = zip(one.trail[: one.shared], two.trail[: two.shared], strict=False)
    return next((i for i, (mine, other) in enumerate(pairs) if mine != other), min(one.shared, two.shared))


def _together(one: Part, two: Part) -> Part:
    shared = _alike(one, two)
    return Part(
        start=one.start,
        end=two.end,
        tokens=one.tokens + two.tokens,
        trail=one.trail[: max(shared, one.above)],
        above=one.above,
        shown=one.shown + two.shown,
        shared=shared,
        names=tuple(dict.fromkeys(_names(one, shared) + _names(two, shared))),
        apart=one.apart,
    )


def _names(part: Part, shared: int) -> tuple[str, ...]:
    """What a part says of itself below the headings that are shared."""
    return part.trail[shared : part.shared][:1] or part.names
