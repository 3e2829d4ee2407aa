"""Answers to a question, for a terminal and as JSON."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text

from search.records.predictions import Answer, AnswerPlace, Answers, ReadWindow
from search.render import json
from search.render.escape import escape, one_line
from search.render.terminal import canvas, drawn, headings, where

if TYPE_CHECKING:
    from rich.console import Console

_AROUND = 150  # characters of the passage on each side of an answer
_MOST_PLACES = 4


def answers(found: Answers, *, width: int = 80, colour: bool = False) -> str:
    """Each answer with its place, how its score is made up, and the passage around it."""
    console = canvas(width, colour)
    for one in found.answers:
        _draw(console, one, colour)
    if not found.answers:
        console.print(Text(no_answer_line(found), style="bold"))
        if found.nearest:
            console.print()
            console.print(Text("The nearest:"))
            _draw(console, found.nearest, colour)
    if found.passages:
        console.print(Text(reading_line(found), style="dim"))
    for note in found.notes:
        console.print(Text(f"note: {one_line(note)}", style="dim"))
    return drawn(console).rstrip("\n")


def _draw(console: Console, one: Answer, colour: bool) -> None:
    head = Text(f"{one.rank:>2}  " if one.rank else "    ", style="bold")
    head.append(one_line(one.text), style="bold green")
    console.print(head, soft_wrap=True)
    place = Text(f"    {one.score:.3f}", style="bold")
    place.append(f"  {place_of(one)}", style="cyan")
    if one.passage_id is not None:
        place.append(f"  p{one.passage_id}", style="dim")
    console.print(place, soft_wrap=True)
    if one.hit and (title := headings(one.hit)):
        console.print(Padding(Text(title, style="bold"), (0, 0, 0, 4)))
    before, after = around(one)
    line = Text(before)
    line.append(one_line(one.text) if colour else f"«{one_line(one.text)}»", style="bold green")
    line.append(after)
    console.print(Padding(line, (0, 0, 0, 4)))
    for said in (sum_line(one), also_line(one)):
        if said:
            console.print(Padding(Text(said, style="dim"), (0, 0, 0, 4)))
    console.print()


def around(one: Answer, most: int = _AROUND) -> tuple[str, str]:
    """What stands before and behind an answer in its passage, on one line, harmless."""
    start, end = one.start - one.passage_start, one.end - one.passage_start
    before, after = _flat(one.passage[:start]), _flat(one.passage[end:])
    if len(before) > most:
        before = "… " + before[-most:].partition(" ")[2]
    if len(after) > most:
        after = after[:most].rpartition(" ")[0] + " …"
    return before.lstrip(), after.rstrip()


def _flat(text: str) -> str:
    return escape(re.sub(r"\s+", " ", text))


def place_of(one: Answer | AnswerPlace) -> str:
    """`path:line`, or the line alone of a text that has no path."""
    return where(one) if one.path else f"line {one.line_start}"


def sum_line(one: Answer) -> str:
    """How the score of an answer is made up."""
    spans = f"{one.start_logit:+.2f} start, {one.end_logit:+.2f} end"
    said = f"margin {one.margin:+.2f} over no answer ({spans}, less {one.null_score:+.2f})"
    if one.hit:
        if one.weight < 1:
            said += (
                f"; {one.weight:g} x {one.probability:.3f} + {1 - one.weight:g} x "
                f"{one.hit.score:.3f} of the passage"
            )
        else:
            said += f"; its passage ranks {one.hit.rank} with {one.hit.score:.3f}"
    if one.window.of > 1:
        said += f"; window {one.window.number} of {one.window.of}"
    return said


def also_line(one: Answer) -> str:
    """Where else it was found; "" for nowhere."""
    said = []
    if one.readings > 1:
        said.append(f"chosen in {one.readings} windows")
    for other in one.also[:_MOST_PLACES]:
        shown = "" if other.text == one.text else f" '{one_line(other.text)}'"
        said.append(f"{place_of(other)}{shown} ({other.margin:+.2f})")
    if len(one.also) > _MOST_PLACES:
        said.append(f"{len(one.also) - _MOST_PLACES:,} more places")
    return f"also: {', '.join(said)}" if said else ""


def no_answer_line(found: Answers) -> str:
    """That there is no answer, and why."""
    if not found.passages:
        return "No answer: there is no passage to read."
    read = "the text" if found.passages == 1 else f"any of the {found.passages:,} passages"
    if found.nearest is None:
        return f"No answer: the reader's tokenizer leaves nothing of {read}."
    if not found.no_answer_margin:
        return f"No answer: no span in {read} scores as much as no answer does."
    return f"No answer: no span in {read} has a margin of {found.no_answer_margin:g} over no answer."


def reading_line(found: Answers) -> str:
    """What was read, by whom, and how much of it holds no answer."""
    passages, windows = _count(found.passages, "passage"), _count(found.windows, "window")
    said = f"{passages} in {windows} read by {one_line(found.model)}"
    if found.answers and found.unanswered:
        said += f"; {found.unanswered:,} of them without an answer"
    if found.more:
        said += f"; {_count(found.more, 'further answer')} not shown"
    return f"{said}."


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def as_json(found: Answers, *, logits: bool = False) -> str:
    """One JSON document; with `logits` the tokens of each window and their logits, too."""
    said = {
        name: getattr(found, name) for name in _names(found) if name not in ("answers", "nearest", "notes")
    }
    return json.document(
        {
            **said,
            "answers": [_plain(one, logits) for one in found.answers],
            "nearest": None if found.nearest is None else _plain(found.nearest, logits),
            "notes": found.notes,
        }
    )


def _plain(one: Answer, logits: bool) -> dict[str, Any]:
    derived = ("score", "reader_part", "retrieval_part", "probability", "margin", "span_score", "passage_id")
    said = {name: getattr(one, name) for name in _names(one) if name not in ("passage", "window")}
    return {
        **said,
        **{name: getattr(one, name) for name in derived},
        "window": _window(one.window, logits),
    }


def _window(window: ReadWindow, logits: bool) -> dict[str, Any]:
    many = ("tokens", "start_logits", "end_logits")
    said = {name: getattr(window, name) for name in _names(window) if logits or name not in many}
    return said if logits else {**said, "tokens": len(window.tokens)}


def _names(record: Any) -> list[str]:
    return [field.name for field in fields(record)]
