"""Labels of texts and of an index, and what a logit is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from rich.table import Table
from rich.text import Text

from search.records.annotations import field_in_filter, filter_argument, in_filter
from search.records.predictions import LabelExplanation, LabelledIndex, LabelledText, Labelling, LabelTraining
from search.records.tokens import Word
from search.render import json
from search.render.escape import one_line
from search.render.numbers import fixed
from search.render.terminal import canvas, drawn

_BAR = 20
_NAMELESS = "(no name)"


def labelling(found: Labelling, *, width: int = 80, colour: bool = False) -> str:
    """Texts with the probabilities of their classes, the best first."""
    console = canvas(width, colour)
    for number, one in enumerate(found.texts):
        if number:
            console.print()
        console.print(Text(one_line(one.text)))
        console.print(_probabilities(found, one))
        if one.windows > 1:
            console.print(f"  read in {one.windows} windows; the mean of their logits counts", style="dim")
    console.print()
    console.print(Text(classifier_line(found), style="dim"))
    return drawn(console)


def classifier_line(found: Labelling) -> str:
    """Who has labelled, and what the numbers are."""
    who = one_line(found.classifier)
    if found.pooling:
        who += f", a linear head over {one_line(found.model)} ({found.pooling})"
    rest = "They sum to 1." if found.exclusive else "Each class has its own; from 0.5 on it is a label."
    return f"Probabilities by {who}. {rest}"


def _probabilities(found: Labelling, one: LabelledText) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    _add_columns(table, "left", "right", "left")
    pairs = sorted(zip(found.classes, one.scores, strict=True), key=lambda pair: -pair[1])
    for name, score in pairs:
        style = "bold green" if name in one.labels else "dim"
        bar = "█" * round(score * _BAR)
        table.add_row(
            Text(f"  {one_line(name) or _NAMELESS}", style=style), f"{score:.3f}", Text(bar, style="blue")
        )
    return table


def labelled_index(found: LabelledIndex, *, width: int = 80, colour: bool = False) -> str:
    """What was labelled, and how many passages have each label."""
    console = canvas(width, colour)
    before = f", {found.before:,} had been before" if found.before else ""
    console.print(Text(f"{one_line(found.name)}: {found.labelled:,} passages labelled{before}", style="bold"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    _add_columns(table, "left", "right", "right", "left")
    for name, count in sorted(found.counts.items(), key=lambda pair: -pair[1]):
        share = count / max(found.passages, 1)
        shown = one_line(name) if name else "(none)"
        bar = Text("█" * round(share * _BAR), style="blue")
        table.add_row(f"  {shown}", f"{count:,}", f"{share:.0%}", bar)
    console.print(table)
    if found.windowed:
        console.print(windowed_line(found))
    console.print(Text(index_line(found), style="dim"))
    return drawn(console)


def windowed_line(found: LabelledIndex) -> str:
    return f"{found.windowed:,} of them did not fit the model and were read in windows"


def index_line(found: LabelledIndex) -> str:
    """How the labels are used."""
    best = max(found.classes, key=lambda label: found.counts.get(label, 0))
    condition = in_filter(found.name, best)
    if found.exclusive:  # of several labels it would be the highest one's
        condition += f" and {field_in_filter(f'{found.name}_score')}>=0.8"
    return f"Filter by it: --where {one_line(filter_argument(condition))}"


def explanation(found: LabelExplanation, *, width: int = 80, colour: bool = False) -> str:
    """What each word adds to the logit of each class, the sums, and the probabilities."""
    console = canvas(width, colour)
    console.print(Text(one_line(found.text)))
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", overflow="fold")
    for name in found.classes:
        table.add_column(one_line(name), justify="right", overflow="fold")
    largest = float(abs(found.by_word).max()) or 1.0
    for word, added in zip(found.words, found.by_word.tolist(), strict=True):
        style = "" if word.kind == "word" else "dim"
        cells = [Text(_addend(value), style=_tone(value, largest)) for value in added]
        table.add_row(Text(one_line(word.text), style=style), *cells)
    table.add_row(Text("intercept", style="dim"), *(_addend(value) for value in found.intercepts.tolist()))
    table.add_row(
        Text("logit", style="bold"),
        *(Text(_addend(value), style="bold") for value in found.logits.tolist()),
    )
    table.add_row("probability", *(f"{value:.4f}" for value in found.probabilities.tolist()))
    console.print(table)
    console.print()
    console.print(Text(explained_line(found), style="dim"))
    return drawn(console)


def explained_line(found: LabelExplanation) -> str:
    residual = float(abs(found.residual).max())
    return (
        f"The label is '{one_line(found.label)}', by the head '{one_line(found.head)}' over {one_line(found.model)} "
        f"({found.pooling}). Each column adds up to its logit; residual at most {residual:.1e}. The vectors of words "
        "depend on their neighbours: an addend is no effect of leaving the word out."
    )


def _addend(value: float) -> str:
    return fixed(value, 4, signed=True)


def _tone(value: float, largest: float) -> str:
    if abs(value) < largest / 4:
        return ""
    return "blue" if value > 0 else "yellow"


def _add_columns(table: Table, *sides: Literal["left", "right"]) -> None:
    for side in sides:
        table.add_column(justify=side, overflow="fold")


def as_json(found: Labelling | LabelledIndex | LabelTraining, **more: Any) -> str:
    """Any of the records as one JSON document, with more keys where they are given."""
    return json.document({**vars(found), **more})


def explanations_json(found: Sequence[LabelExplanation]) -> str:
    """The explanations with what they derive: residual, addends by word."""
    return json.document(
        [
            {**vars(one), "residual": one.residual, "by_word": one.by_word, "words": words_of(one.words)}
            for one in found
        ]
    )


def words_of(words: Sequence[Word]) -> list[dict[str, Any]]:
    return [
        {
            "text": word.text,
            "start": word.start,
            "end": word.end,
            "kind": word.kind,
            "tokens": list(word.tokens),
        }
        for word in words
    ]
