"""A look inside a model, drawn for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from search.records.inspections import ContextualCosines, Inspection, ModelShape, TokenizerComparison
from search.render.escape import one_line
from search.render.inside import (
    STATE_HEADERS,
    comparison_line,
    context_columns,
    context_name,
    contexts_line,
    embedding_line,
    embedding_rows,
    model_line,
    offsets,
    parameter_rows,
    parameters_line,
    pooler_line,
    spelled,
    state_rows,
    states_line,
    sum_line,
    tokens_line,
)
from search.render.terminal import canvas, drawn

if TYPE_CHECKING:
    from rich.console import Console

_BAR = 20


def inspection(found: Inspection, *, width: int = 80, colour: bool = False) -> str:
    """Tokens, embedding layer, hidden states, pooler, parameters; a section each."""
    console = canvas(width, colour)
    _draw_head(console, found)
    _title(console, f"Tokens: {tokens_line(found)}")
    _draw_tokens(console, found)
    _draw_words(console, found)
    _title(console, f"Embedding layer: {sum_line(found)}")
    _draw_embedding(console, found)
    _title(console, f"Hidden states: {states_line(found)}")
    _draw_states(console, found)
    _title(console, "Pooler: tanh(W [CLS] + b)")
    console.print(pooler_line(found))
    _title(console, f"Parameters: {parameters_line(found.model)}")
    _draw_parameters(console, found.model)
    return drawn(console)


def comparison(found: TokenizerComparison, *, width: int = 80, colour: bool = False) -> str:
    """What two tokenizers make of the same text, side by side; * where they differ."""
    console = canvas(width, colour)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    table.add_column("text", overflow="fold")
    for made in (found.first, found.second):
        table.add_column(f"{one_line(made.name)} ({made.vocabulary:,} entries)", overflow="fold")
    for stretch in found.stretches:
        mark = " " if stretch.same else "*"
        table.add_row(mark, one_line(stretch.text), *map(spelled, (stretch.first, stretch.second)))
    console.print(table)
    console.print()
    console.print(comparison_line(found), style="dim")
    return drawn(console)


def contexts(found: ContextualCosines, *, width: int = 80, colour: bool = False) -> str:
    """The cosines of a word in several contexts, a layer a line."""
    console = canvas(width, colour)
    names = Table(box=None, show_header=False, pad_edge=False)
    names.add_column(style="bold", no_wrap=True)
    names.add_column(overflow="fold")
    for i, text in enumerate(found.texts):
        names.add_row(context_name(i), _marked(text, found.found[i]))
    console.print(names)
    console.print()
    headers, columns = context_columns(found)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("layer", justify="right")
    for header in headers:
        table.add_column(header, justify="right", overflow="fold")
    for layer in range(len(found.between)):
        table.add_row(str(layer), *(f"{column[layer]:.4f}" for column in columns))
    console.print(table)
    console.print()
    console.print(contexts_line(found), style="dim")
    return drawn(console)


def _draw_head(console: Console, found: Inspection) -> None:
    model = found.model
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in zip(("text", "text 2"), found.texts, strict=False):
        table.add_row(name, one_line(text))
    table.add_row("model", model_line(model))
    console.print(table)


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))


def _draw_tokens(console: Console, found: Inspection) -> None:
    table = _numbers("#", "token", "id", "offsets", "word", "segment", "mask")
    for i, token in enumerate(found.tokens):
        word = "" if token.word is None else str(token.word)
        style = "dim" if token.special else "bold red" if token.unknown else ""
        name = Text(one_line(token.text), style=style)
        table.add_row(
            str(i), name, str(token.id), offsets(token), word, str(token.segment), str(token.attended)
        )
    console.print(table)


def _draw_words(console: Console, found: Inspection) -> None:
    unknown = [one_line(word.text) for word in found.words if word.unknown]
    for word in found.words:
        if word.split:
            console.print(
                f"  {one_line(word.text)} is no entry: {spelled([found.tokens[i] for i in word.tokens])}"
            )
    named = ", ".join(dict.fromkeys(unknown)) if unknown else "none"
    console.print(f"  unknown words: {named}")


def _draw_embedding(console: Console, found: Inspection) -> None:
    names, rows = embedding_rows(found)
    table = _numbers("#", "token", *names)
    for i, (token, lengths) in enumerate(zip(found.tokens, rows, strict=True)):
        table.add_row(str(i), one_line(token.text), *(f"{length:.3f}" for length in lengths))
    console.print(table)
    console.print(f"  Lengths of the vectors. {embedding_line(found)}", style="dim")


def _draw_states(console: Console, found: Inspection) -> None:
    table = _numbers(*STATE_HEADERS)
    for number, cls, mean, moved, alike in state_rows(found):
        table.add_row(str(number), f"{cls:.3f}", f"{mean:.3f}", _number(moved), _number(alike))
    console.print(table)
    console.print("  Means over the tokens. Layer 0 is the output of the embedding layer.", style="dim")


def _draw_parameters(console: Console, model: ModelShape) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(overflow="fold")
    for _ in range(3):
        table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, style="blue")
    for name, shape, count in parameter_rows(model):
        share = count / model.parameters
        table.add_row(name, shape, f"{count:,}", f"{share:.1%}", "█" * round(share * _BAR))
    console.print(table)


def _numbers(*headers: str) -> Table:
    """A table whose columns are numbers, but for the one of tokens."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for header in headers:
        table.add_column(header, justify="left" if header == "token" else "right", overflow="fold")
    return table


def _marked(text: str, span: tuple[int, int]) -> Text:
    start, end = span
    return Text.assemble(
        _keep_edges(text[:start]), (one_line(text[start:end]), "bold"), _keep_edges(text[end:])
    )


def _keep_edges(part: str) -> str:
    """On one line, without losing the space between it and its neighbour."""
    before, after = (" " if part[:1].isspace() else ""), (" " if part[-1:].isspace() else "")
    inner = one_line(part)
    return f"{before}{inner}{after}" if inner else before


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
