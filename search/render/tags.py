"""Tagged words and entities, and what a run of tagging did, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from search.records.annotations import Annotator, Mention, filter_argument, in_filter
from search.records.predictions import FieldCount, Tagged, TagReport
from search.render.escape import escape, one_line
from search.render.terminal import canvas, drawn, duration

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red")


def tagged(found: Tagged, *, width: int = 80, colour: bool = False) -> str:
    """The text with its entities marked, each with its place, and every word with its class."""
    console = canvas(width, colour)
    if found.task == "ner":
        console.print(_marked(found, colour))
        console.print()
        _draw_mentions(console, found)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("word", "tokens", "class"):
        table.add_column(name, overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("offsets", justify="right", no_wrap=True)
    for word in found.words:
        style = "" if word.label.upper() != "O" else "dim"
        table.add_row(
            Text(one_line(word.text), style=style),
            Text(" ".join(map(one_line, word.tokens)), style="dim"),
            Text(one_line(word.label), style=style),
            Text(f"{word.score:.4f}", style=style),
            Text(f"{word.start}-{word.end}", style="dim"),
        )
    console.print(table)
    for line in said_of(found):
        console.print(Text(line, style="dim"))
    return drawn(console)


def said_of(found: Tagged) -> Iterator[str]:
    """What has to be known of a tagged text."""
    many = any(len(word.tokens) > 1 for word in found.words)
    rule = " A word has the class of its first token." if many else ""
    yield f"{one_line(found.model)}, {len(found.labels)} classes.{rule}"
    if found.windows > 1:
        yield (
            f"Read in {found.windows} overlapping windows; a token counts in the one in whose middle it stands nearest."
        )


def field_colours(found: Tagged) -> dict[str, int]:
    """field -> number of its colour, in the order in which fields come up."""
    return {field: number for number, field in enumerate(dict.fromkeys(one.field for one in found.mentions))}


def _marked(found: Tagged, colour: bool) -> Text:
    colours, text, at = field_colours(found), Text(), 0
    for one in found.mentions:
        text.append(escape(found.text[at : one.start]))
        inside = escape(one.text)
        style = _COLOURS[colours[one.field] % len(_COLOURS)]
        text.append(inside if colour else f"«{inside}»", style=f"bold {style}")
        text.append(f" {escape(one.field)} ", style=f"{style} dim")
        at = one.end + (found.text[one.end : one.end + 1] == " ")
    return text.append(escape(found.text[at:]))


def _draw_mentions(console: Console, found: Tagged) -> None:
    if not found.mentions:
        console.print("No entity.")
    for one in found.mentions:
        console.print(Text(mention_line(one)), soft_wrap=True)
    console.print()


def mention_line(one: Mention) -> str:
    """An entity in one line."""
    return f"{one.field}: {one_line(one.text)}  ({one.start}-{one.end}, {one.score:.4f})"


def report(done: TagReport, *, width: int = 80, colour: bool = False) -> str:
    """How many passages were tagged, and what was found, by field."""
    console = canvas(width, colour)
    console.print(Text(head_line(done), style="bold"), soft_wrap=True)
    if any(one.mentions for one in done.fields):
        console.print(_field_table(done.fields))
        first = next(one for one in done.fields if one.mentions)
        typed = one_line(filter_argument(in_filter(first.field, first.frequent[0][0])))
        console.print(Text(f"Filter by them: --where {typed}", style="dim"), soft_wrap=True)
    for note in done.notes:
        console.print(Padding(Text(f"note: {one_line(note)}", style="dim"), (0, 0)))
    return drawn(console)


def head_line(done: TagReport) -> str:
    """What was done, in one line."""
    what = "entities" if done.task == "ner" else "parts of speech"
    if not done.tagged:
        return f"{done.name}: nothing new to tag; all {done.passages:,} passages have {what}."
    new = "all" if done.tagged == done.passages else f"{done.tagged:,} new ones of"
    windows = f", {done.windowed:,} of them in several windows" if done.windowed else ""
    took = duration(done.seconds)
    return f"{one_line(done.name)}: tagged {new} {done.passages:,} passages{windows}, {one_line(done.model)}, {took}."


def _field_table(fields: tuple[FieldCount, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("field", no_wrap=True)
    for name in ("mentions", "different", "passages"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("most frequent", overflow="fold")
    for one in fields:
        frequent = ", ".join(f"{one_line(value)} ({count:,})" for value, count in one.frequent)
        table.add_row(
            Text(one_line(one.field)),
            f"{one.mentions:,}",
            f"{one.values:,}",
            f"{one.passages:,}",
            Text(frequent, style="dim"),
        )
    return table


def removed(was: Annotator) -> str:
    """What was taken away."""
    fields = ", ".join(map(one_line, was.fields))
    passages = f"{was.annotated:,} passage{'' if was.annotated == 1 else 's'}"
    return f"Removed the annotations '{one_line(was.name)}' of {passages}, with the fields {fields}."
