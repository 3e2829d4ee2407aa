"""One word in several contexts: lines for a terminal, JSON, and what pages and pictures say, too."""

from __future__ import annotations

from rich.table import Column
from rich.text import Text

from search.records.inspections import ContextualCosines
from search.render import json
from search.render.escape import one_line
from search.render.format import letters
from search.render.terminal import Canvas, grid


def contexts(found: ContextualCosines, *, width: int = 80, colour: bool = False) -> str:
    """The cosines of a word in several contexts, a layer a line."""
    canvas = Canvas(width, colour)
    texts = zip(found.texts, found.found, strict=True)
    canvas.facts(((letters(i), _marked(text, span)) for i, (text, span) in enumerate(texts)), style="bold")
    canvas.gap()
    names, columns = compared(found)
    table = grid(
        Column("layer", justify="right"), *(Column(name, justify="right", overflow="fold") for name in names)
    )
    for layer in range(len(found.between)):
        table.add_row(str(layer), *(f"{column[layer]:.4f}" for column in columns))
    canvas.table(table)
    canvas.gap()
    canvas.line(what_was_compared(found), style="dim")
    return canvas.drawn()


def as_json(found: ContextualCosines) -> str:
    """The record, and its cosines by name."""
    names, columns = compared(found)
    return json.document(found, layers=dict(zip(names, columns, strict=True)))


def compared(found: ContextualCosines) -> tuple[list[str], list[list[float]]]:
    """Names of what is compared, and the cosines at every layer."""
    names, columns = [], []
    count = len(found.texts)
    for i in range(count):
        for j in range(i + 1, count):
            names.append(f"{letters(i)} ~ {letters(j)}")
            columns.append(found.between[:, i, j].tolist())
    for j, other in enumerate(found.against):
        for i in range(count):
            names.append(f"{letters(i)} ~ {one_line(other)}")
            columns.append(found.others[:, i, j].tolist())
    return names, columns


def what_was_compared(found: ContextualCosines) -> str:
    """In a sentence or two."""
    pieces = sorted({" ".join(map(one_line, parts)) for parts in found.pieces})
    split = [piece for piece in pieces if " " in piece]
    spelled_as = f", spelled {' or '.join(split)}" if split else ""
    said = f"Cosines of '{one_line(found.word)}'{spelled_as}, by {one_line(found.model)}."
    if any(len(parts) > 1 for parts in found.pieces):
        said += " The vector of a word of several tokens is their mean."
    if found.against:
        said += " Words compared with are read by themselves."
    several = [letters(i) for i, count in enumerate(found.counts) if count > 1]
    if several:
        said += f" Where it stands more than once ({', '.join(several)}), the first is taken."
    return said


def _marked(text: str, span: tuple[int, int]) -> Text:
    """The text on one line, the word in bold; a mark beside the word keeps the space there."""
    start, end = span
    before, after = one_line(f"{text[:start]}|")[:-1], one_line(f"|{text[end:]}")[1:]
    return Text.assemble(before, (one_line(text[start:end]), "bold"), after)
