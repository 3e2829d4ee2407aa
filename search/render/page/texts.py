"""The two texts of an explanation, their words as things to point at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from search.records.explanations import Explanation
from search.records.tokens import Word
from search.render.page.document import shade, signed, text
from search.render.units import By, Unit, Units

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BESIDE = {
    "context": "Title and headings",
    "prompt": "The model's prompt",
    "special": "Special tokens",
    "punctuation": "Punctuation",
}


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two texts.

    Attributes:
        id, name: for scripts, and for people.
        source, context: the strings that words point into.
        words, units: the text's own.
        added: (units,) what each unit added.
        by: whether its units are words or tokens.
    """

    id: Literal["query", "passage"]
    name: str
    source: str
    context: str
    words: Sequence[Word]
    units: Sequence[Unit]
    added: NDArray[np.float64]
    by: By

    @property
    def end(self) -> float:
        """The largest |sum| of a word: where shades end."""
        alone = [
            abs(float(value))
            for unit, value in zip(self.units, self.added, strict=True)
            if len(unit.words) == 1
        ]
        return max(alone, default=0.0) or 1.0


def two_texts(why: Explanation, drawn: Units, names: tuple[str, str]) -> tuple[Side, Side]:
    """Query and passage of an explanation, under the names that they have on the page."""
    words = drawn.words
    return (
        Side("query", names[0], why.query, "", words.query, drawn.query, drawn.query_added, drawn.by),
        Side(
            "passage",
            names[1],
            why.passage,
            why.context,
            words.passage,
            drawn.passage,
            drawn.passage_added,
            drawn.by,
        ),
    )


def panel(side: Side) -> str:
    """A text as it is written; below it what is no word of it, a line a kind, with what these added."""
    lines = []
    for kind, name in _BESIDE.items():
        at = [i for i, unit in enumerate(side.units) if unit.kind == kind]
        if not at or (kind == "punctuation" and side.by == "token"):
            continue
        if kind == "context":
            shown = f"<bdi>{_flow(side, side.context, ('context',))}</bdi>"
        else:
            shown = " ".join(_unit(side, i, side.units[i].label) for i in at)
        lines.append(
            f"<div><dt>{name}</dt><dd>{shown}</dd><dd>added {signed(float(side.added[at].sum()))}</dd></div>"
        )
    beside = f'<dl class="beside">{"".join(lines)}</dl>' if lines else ""
    return f"""<section class="panel" id="{side.id}" role="group" aria-label="{side.name}">
<h2>{side.name}</h2>
<p class="text" dir="auto">{_flow(side, side.source, ("word", "punctuation"))}</p>{beside}</section>"""


def _flow(side: Side, source: str, kinds: tuple[str, ...]) -> str:
    """A string with its words marked; what lies between them stays as it is."""
    unit_of = {word: i for i, unit in enumerate(side.units) for word in unit.words}
    found, at = [], 0
    for i, word in enumerate(side.words):
        if word.kind not in kinds:
            continue
        start = max(word.start, at)
        inside = source[start : word.end]
        found.append(text(source[at:start]))
        if word.kind == "punctuation" and side.by == "word":  # has a line of its own
            found.append(f'<span class="mark" data-unit="{unit_of[i]}">{text(inside)}</span>')
        else:
            found.append(_unit(side, unit_of[i], inside))
        at = max(at, word.end)
    return "".join(found) + text(source[at:])


def _unit(side: Side, number: int, shown: str) -> str:
    classes = f"unit {shade(float(side.added[number]), side.end)}"
    return f'<span class="{classes}" data-unit="{number}" role="button" tabindex="-1">{text(shown)}</span>'
