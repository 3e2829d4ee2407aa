"""Vectors of two texts side by side, for a terminal and as JSON."""

from __future__ import annotations

from rich.text import Text

from search.records.contexts import ContextualCosines
from search.render import json
from search.render.format import letters, one_line
from search.render.terminal import Canvas, as_text, folded, grid


@as_text
def contexts(canvas: Canvas, cosines: ContextualCosines) -> None:
    """The cosines of a word in several contexts, a layer a line."""
    texts = zip(cosines.texts, cosines.found, strict=True)
    canvas.facts(((letters(i), _marked(text, span)) for i, (text, span) in enumerate(texts)), style="bold")
    canvas.gap()
    names, columns = compared(cosines)
    layers = enumerate(zip(*columns, strict=True))
    rows = ((str(layer), *map("{:.4f}".format, numbers)) for layer, numbers in layers)
    canvas.table(grid(folded("layer"), *map(folded, names)), rows)
    canvas.gap()
    canvas.dim(what_was_compared(cosines))


def contexts_json(cosines: ContextualCosines) -> str:
    """The record, and its cosines by name."""
    names, columns = compared(cosines)
    return json.document(cosines, layers=dict(zip(names, columns, strict=True)))


def compared(cosines: ContextualCosines) -> tuple[list[str], list[list[float]]]:
    """Names of what is compared, and the cosines at every layer."""
    names, columns = [], []
    count = len(cosines.texts)
    for i in range(count):
        for j in range(i + 1, count):
            names.append(f"{letters(i)} ~ {letters(j)}")
            columns.append(cosines.between[:, i, j].tolist())
    for j, other in enumerate(cosines.against):
        for i in range(count):
            names.append(f"{letters(i)} ~ {one_line(other)}")
            columns.append(cosines.others[:, i, j].tolist())
    return names, columns


def what_was_compared(cosines: ContextualCosines) -> str:
    """In a sentence or two."""
    pieces = sorted({" ".join(map(one_line, parts)) for parts in cosines.pieces})
    split = [piece for piece in pieces if " " in piece]
    spelled_as = f", spelled {' or '.join(split)}" if split else ""
    said = f"Cosines of '{one_line(cosines.word)}'{spelled_as}, by {one_line(cosines.model)}."
    if any(len(parts) > 1 for parts in cosines.pieces):
        said += " The vector of a word of several tokens is their mean."
    if cosines.against:
        said += " Words compared with are read by themselves."
    several = [letters(i) for i, count in enumerate(cosines.counts) if count > 1]
    if several:
        said += f" Where it stands more than once ({', '.join(several)}), the first is taken."
    return said


def _marked(text: str, span: tuple[int, int]) -> Text:
    """The text on one line, the word in bold; a mark beside the word keeps the space there."""
    start, end = span
    before, after = one_line(f"{text[:start]}|")[:-1], one_line(f"|{text[end:]}")[1:]
    return Text.assemble(before, (one_line(text[start:end]), "bold"), after)
