"""Vectors of two texts side by side, for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.text import Text

from search.records.contexts import ContextualCosines, EqualRows
from search.render import json
from search.render.format import fixed, letters, one_line
from search.render.terminal import Canvas, as_text, folded, grid

_MOST_PAIRS = 20


@as_text
def contexts(canvas: Canvas, cosines: ContextualCosines) -> None:
    """The cosines of words in several contexts, a layer a line."""
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
    said = f"Cosines of {what_is_compared(cosines)}{spelled_as}, by {one_line(cosines.model)}."
    if any(len(parts) > 1 for parts in cosines.pieces):
        said += " The vector of a word of several tokens is their mean."
    if cosines.against:
        said += " Words compared with are read by themselves."
        for text, length in zip(cosines.against, cosines.lengths, strict=True):
            if length > 1:
                said += f" The vector of '{one_line(text)}' is the mean of its {length} tokens."
    several = [letters(i) for i, count in enumerate(cosines.counts) if count > 1]
    if several:
        said += f" Where it stands more than once ({', '.join(several)}), the first is taken."
    return said


def what_is_compared(cosines: ContextualCosines) -> str:
    """The word, or each with the letter of its context."""
    words = list(map(one_line, cosines.words))
    if len(set(words)) == 1:
        return f"'{words[0]}'"
    return " and ".join(f"'{word}' in {letters(i)}" for i, word in enumerate(words))


def _marked(text: str, span: tuple[int, int]) -> Text:
    """The text on one line, the word in bold; a mark beside the word keeps the space there."""
    start, end = span
    before, after = one_line(f"{text[:start]}|")[:-1], one_line(f"|{text[end:]}")[1:]
    return Text.assemble(before, (one_line(text[start:end]), "bold"), after)


@as_text
def equal_rows(canvas: Canvas, found: EqualRows) -> None:
    """A place a line: "=" where the vectors of both texts are equal there, else their cosine."""
    canvas.facts(((letters(i), one_line(text)) for i, text in enumerate(found.texts)), style="bold")
    canvas.gap()
    shown = [i for i, part in enumerate(found.parts) if part in _shown_parts(found)]
    names = [found.parts[i] for i in shown]
    table = grid(folded("#"), *map(letters, range(2)), *map(folded, names), header="dim")
    for place, row in enumerate(found.equal):
        tokens = (one_line(side[place].text) for side in found.tokens)
        cells = ("=" if row[i] else f"{fixed(found.cosines[place, i], 2)}" for i in shown)
        table.add_row(str(place), *tokens, *cells)
    canvas.table(table)
    for line in _said_of_equal_rows(found):
        canvas.gap()
        canvas.line(line)
    canvas.gap()
    canvas.dim(
        f"= stands for vectors that are equal, other numbers are cosines; each text was read by itself, by "
        f"{one_line(found.model)}."
    )


def _shown_parts(found: EqualRows) -> set[str]:
    """Those that have room: of the layers the first two and the last."""
    return {part for part in found.parts if not part.startswith("layer")} | {
        "layer 0",
        "layer 1",
        found.parts[-1],
    }


def _said_of_equal_rows(found: EqualRows) -> Iterator[str]:
    """What is equal, in sentences."""
    first, last = found.parts.index("layer 0"), found.parts[-1]
    equal = [f"{i} {one_line(found.tokens[0][i].text)}" for i in np.flatnonzero(found.equal[:, first])]
    yield f"Equal rows in layer 0, where entry and place are the same: {', '.join(equal) or 'none'}."
    if found.elsewhere:
        named = [f"{one_line(found.tokens[0][i].text)} {i} and {j}" for i, j in found.elsewhere[:_MOST_PAIRS]]
        named += [f"and {more:,} more (--json)"] if (more := len(found.elsewhere) - _MOST_PAIRS) > 0 else []
        yield f"One row of the word table at two places, in A and in B: {', '.join(named)}."
    still = [f"{i} {one_line(found.tokens[0][i].text)}" for i in np.flatnonzero(found.equal[:, -1])]
    yield f"Equal in {last}, where each has read its text: {', '.join(still) or 'none'}."
