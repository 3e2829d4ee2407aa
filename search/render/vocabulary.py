"""Entries of a vocabulary, for a terminal: how many there are, which ones, and what they are like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Column, Table
from rich.text import Text

from search.records.models import Decoded, Entry, Neighbours, Vocabulary
from search.render.format import one_line
from search.render.terminal import Canvas, as_text, bar, folded, grid


@as_text
def vocabulary(canvas: Canvas, found: Vocabulary) -> None:
    """What kinds of entries there are."""
    special = "  ".join(f"{one_line(entry.piece)} {entry.id}" for entry in found.special)
    rows = [
        ("model", one_line(found.model)),
        ("kind", found.kind),
        ("entries", f"{found.entries:,}"),
        ("special", special or "none"),
        ("one character", f"{found.characters:,}"),
    ]
    if found.longest:
        rows.append(("longest", f"{one_line(found.longest.piece)} {found.longest.id}"))
    if found.continuing is not None:
        rows.insert(4, ("begin with ##", f"{found.continuing:,}, which go on with a word"))
    canvas.facts(rows)


@as_text
def decoded(canvas: Canvas, found: Decoded) -> None:
    """Numbers, entries, and the text that they make."""
    canvas.table(_table(), _rows(found.entries))
    canvas.gap()
    canvas.line(("reads as: ", "dim"), one_line(found.text))


@as_text
def entries(canvas: Canvas, found: Sequence[Entry], *, most: int, what: str) -> None:
    """The first of the entries that were looked for, and how many there are."""
    canvas.line(f"Entries {one_line(what)}: {len(found):,}", style="bold")
    if found:
        canvas.gap()
        canvas.table(_table(), _rows(found[:most]))
    if len(found) > most:
        canvas.gap()
        canvas.dim(f"The first {most}, in the order of the vocabulary; -k {len(found)} or --json shows all.")


@as_text
def neighbours(canvas: Canvas, found: Neighbours) -> None:
    """The entries that are most like a word, with their cosines."""
    spelled = " ".join(one_line(entry.piece) for entry in found.spelled)
    canvas.line(f"Input embeddings like that of {one_line(found.word)}", style="bold")
    canvas.gap()
    table = grid(folded("id"), "entry", folded("cosine"), Column(no_wrap=True), header="dim")
    for entry, cosine in zip(found.entries, found.cosines, strict=True):
        table.add_row(*_row(entry), f"{cosine:.4f}", bar(max(cosine, 0.0)))
    canvas.table(table)
    canvas.gap()
    mean = f" It is spelled {spelled}; the mean of their rows is compared." if len(found.spelled) > 1 else ""
    canvas.dim(
        f"Rows of the table of word embeddings of {one_line(found.model)}, before any context is read.{mean}"
    )


def _table() -> Table:
    return grid(folded("id"), "entry", header="dim")


def _rows(found: Iterable[Entry]) -> Iterable[tuple[str, Text]]:
    return map(_row, found)


def _row(entry: Entry) -> tuple[str, Text]:
    """Its number and its piece; how it reads, where that is not the same."""
    text = Text(one_line(entry.piece), style="dim" if entry.special else "")
    if entry.word not in (entry.piece, entry.piece.removeprefix("##")):
        text.append(f"  {one_line(entry.word)}", style="dim")
    return str(entry.id), text
