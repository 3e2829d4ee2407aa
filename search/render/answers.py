"""Answers to a question, for a terminal and as JSON."""

from __future__ import annotations

import re
from typing import Any

from search.records.predictions import Answer, AnswerPlace, Answers
from search.render import json
from search.render.format import counted, escape, headings, one_line, where
from search.render.terminal import Canvas

_AROUND = 150  # characters of the passage on each side of an answer
_MOST_PLACES = 4


def answers(reply: Answers, *, width: int = 80, colour: bool = False) -> str:
    """Each answer with its place, how its score is made up, and the passage around it."""
    canvas = Canvas(width, colour)
    for answer in reply.answers:
        _draw(canvas, answer)
    if not reply.answers:
        canvas.line(no_answer_line(reply), style="bold")
        if reply.nearest:
            canvas.gap()
            canvas.line("The nearest:")
            _draw(canvas, reply.nearest)
    if reply.passages:
        canvas.line(reading_line(reply), style="dim")
    canvas.notes(reply.notes)
    return canvas.drawn().rstrip("\n")


def _draw(canvas: Canvas, answer: Answer) -> None:
    text = one_line(answer.text)
    rank = f"{answer.rank:>2}  " if answer.rank else "    "
    canvas.line(rank, (text, "green"), style="bold", whole=True)
    canvas.line(
        f"    {answer.score:.3f}",
        (f"  {place_of(answer)}", "cyan"),
        ("" if answer.passage_id is None else f"  p{answer.passage_id}", "dim"),
        style="bold",
        whole=True,
    )
    if answer.hit and (title := headings(answer.hit)):
        canvas.line(title, style="bold", indent=4)
    before, after = around(answer)
    canvas.line(before, (text if canvas.colour else f"«{text}»", "bold green"), after, indent=4)
    for said in (sum_line(answer), also_line(answer)):
        if said:
            canvas.line(said, style="dim", indent=4)
    canvas.gap()


def around(answer: Answer, most: int = _AROUND) -> tuple[str, str]:
    """What stands before and behind an answer in its passage, on one line, harmless."""
    start, end = answer.start - answer.passage_start, answer.end - answer.passage_start
    before, after = _flat(answer.passage[:start]), _flat(answer.passage[end:])
    if len(before) > most:
        before = "… " + before[-most:].partition(" ")[2]
    if len(after) > most:
        after = after[:most].rpartition(" ")[0] + " …"
    return before.lstrip(), after.rstrip()


def _flat(text: str) -> str:
    return escape(re.sub(r"\s+", " ", text))


def place_of(answer: Answer | AnswerPlace) -> str:
    """`path:line`, or the line alone of a text that has no path."""
    return where(answer) if answer.path else f"line {answer.line_start}"


def sum_line(answer: Answer) -> str:
    """How the score of an answer is made up."""
    spans = f"{answer.start_logit:+.2f} start, {answer.end_logit:+.2f} end"
    said = f"margin {answer.margin:+.2f} over no answer ({spans}, less {answer.null_score:+.2f})"
    if answer.hit:
        said += f"; its passage ranks {answer.hit.rank} with {answer.hit.score:.3f}"
    if answer.window.of > 1:
        said += f"; window {answer.window.number} of {answer.window.of}"
    return said


def also_line(answer: Answer) -> str:
    """Where else it was found; "" for nowhere."""
    said = []
    if answer.readings > 1:
        said.append(f"chosen in {answer.readings} windows")
    for other in answer.also[:_MOST_PLACES]:
        shown = "" if other.text == answer.text else f" '{one_line(other.text)}'"
        said.append(f"{place_of(other)}{shown} ({other.margin:+.2f})")
    if len(answer.also) > _MOST_PLACES:
        said.append(f"{len(answer.also) - _MOST_PLACES:,} more places")
    return f"also: {', '.join(said)}" if said else ""


def no_answer_line(reply: Answers) -> str:
    """That there is no answer, and why."""
    if not reply.passages:
        return "No answer: there is no passage to read."
    read = "the text" if reply.passages == 1 else f"any of the {reply.passages:,} passages"
    if reply.nearest is None:
        return f"No answer: the reader's tokenizer leaves nothing of {read}."
    if not reply.no_answer_margin:
        return f"No answer: no span in {read} scores as much as no answer does."
    return f"No answer: no span in {read} has a margin of {reply.no_answer_margin:g} over no answer."


def reading_line(reply: Answers) -> str:
    """What was read, by whom, and how much of it holds no answer."""
    passages, windows = counted(reply.passages, "passage"), counted(reply.windows, "window")
    said = f"{passages} in {windows} read by {one_line(reply.model)}"
    if reply.answers and reply.unanswered:
        said += f"; {reply.unanswered:,} of them without an answer"
    if reply.more:
        said += f"; {counted(reply.more, 'further answer')} not shown"
    return f"{said}."


def as_json(reply: Answers, *, logits: bool = False) -> str:
    """One JSON document; with `logits` the tokens of each window and their logits, too."""
    whole = json.plain(reply)
    for answer in (*whole["answers"], *([whole["nearest"]] if reply.nearest else ())):
        if not logits:
            answer["window"] = _without_logits(answer["window"])
    return json.document(whole)


def _without_logits(window: dict[str, Any]) -> dict[str, Any]:
    """What the model read, with the number of its tokens instead of them and their logits."""
    left_out = ("tokens", "start_logits", "end_logits")
    kept = {name: value for name, value in window.items() if name not in left_out}
    return {**kept, "tokens": len(window["tokens"])}
