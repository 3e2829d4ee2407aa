"""What a look inside a model finds, as tables for a page and for a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from search.records.inspections import InputToken, Inspection, TokenizerComparison
from search.render.escape import one_line
from search.render.inside import (
    STATE_HEADERS,
    comparison_line,
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
    turned_rows,
    words_line,
)
from search.render.numbers import fixed
from search.render.sheet import Cell, Grid, Sheet

_TURNED = (
    "Cosine to the layer before: how far each layer turns the vector of each token; "
    "the stronger the colour, the further."
)
_ROUNDING = 1e-5  # of a cosine, in float32


def inspection_sheet(found: Inspection) -> Sheet:
    """Tokens, embedding layer, hidden states and pooler, and parameters."""
    return Sheet(
        title="Inside the model",
        about=(
            *zip(("text", "text 2"), found.texts, strict=False),
            ("model", found.model.name),
        ),
        grids=(_tokens(found), _embedding(found), _turned(found), _states(found), _parameters(found)),
    )


def comparison_sheet(found: TokenizerComparison) -> Sheet:
    """What two tokenizers make of a text; where they differ it is marked."""
    made = (found.first, found.second)
    rows = tuple(
        (
            Cell("" if stretch.same else "*"),
            Cell(stretch.text, faint=stretch.same),
            *(
                Cell(spelled(tokens), strong=not stretch.same, faint=stretch.same)
                for tokens in (stretch.first, stretch.second)
            ),
        )
        for stretch in found.stretches
    )
    headers = ("", "text", *(f"{one_line(one.name)} ({one.vocabulary:,} entries)" for one in made))
    notes = (f"{comparison_line(found)} * marks where they differ.",)
    grid = Grid("", headers, rows, texts=(0, 1, 2, 3), named=1, notes=notes)
    return Sheet("Two tokenizers on the same text", (), (grid,))


def _tokens(found: Inspection) -> Grid:
    rows = [
        (
            *_named(number, token),
            Cell(str(token.id)),
            Cell(offsets(token)),
            Cell("" if token.word is None else str(token.word)),
            Cell(str(token.segment)),
            Cell(str(token.attended)),
        )
        for number, token in enumerate(found.tokens)
    ]
    headers = ("#", "token", "id", "offsets", "word", "segment", "mask")
    return _of_tokens(f"Tokens: {tokens_line(found)}", headers, rows, words_line(found))


def _embedding(found: Inspection) -> Grid:
    names, lengths = embedding_rows(found)
    summed = names.index("sum") + 1  # what comes after is of another size
    longest = max(max(row[:summed]) for row in lengths) or 1.0
    rows = [
        (
            *_named(number, token),
            *(Cell(fixed(length, 3), length / longest) for length in row[:summed]),
            *(Cell(fixed(length, 3)) for length in row[summed:]),
        )
        for number, (token, row) in enumerate(zip(found.tokens, lengths, strict=True))
    ]
    note = f"Embedding layer: lengths of the vectors. {embedding_line(found)}"
    return _of_tokens(f"Embedding layer: {sum_line(found)}", ("#", "token", *names), rows, note)


def _turned(found: Inspection) -> Grid:
    cosines = turned_rows(found)
    furthest = max((1.0 - value for row in cosines for value in row), default=0.0)
    scale = furthest if furthest > _ROUNDING else 1.0
    rows = [
        (
            *_named(number, token),
            *(Cell(fixed(value, 3), (1.0 - value) / scale) for value in row),
        )
        for number, (token, row) in enumerate(zip(found.tokens, cosines, strict=True))
    ]
    headers = ("#", "token", *(str(layer) for layer in range(1, len(found.states))))
    return _of_tokens("Cosine to the layer before", headers, rows, _TURNED)


def _states(found: Inspection) -> Grid:
    rows = [tuple(map(Cell, (str(number), *map(_number, rest)))) for number, *rest in state_rows(found)]
    notes = (
        "Means over the tokens. Layer 0 is the output of the embedding layer.",
        f"Pooler, tanh(W [CLS] + b). {pooler_line(found)}",
    )
    return Grid(f"Hidden states: {states_line(found)}", STATE_HEADERS, tuple(rows), texts=(), notes=notes)


def _parameters(found: Inspection) -> Grid:
    every = found.model.parameters
    rows = [
        (Cell(name), Cell(shape), Cell(f"{count:,}"), Cell(f"{count / every:.1%}", count / every))
        for name, shape, count in parameter_rows(found.model)
    ]
    headers = ("part", "shape", "parameters", "share")
    notes = (model_line(found.model),)
    return Grid(f"Parameters: {parameters_line(found.model)}", headers, tuple(rows), notes=notes)


def _of_tokens(title: str, headers: tuple[str, ...], rows: Sequence[tuple[Cell, ...]], note: str) -> Grid:
    """A table with a row for each token, named by its number and text."""
    return Grid(title, headers, tuple(rows), texts=(1,), named=1, keys=2, notes=(note,))


def _named(number: int, token: InputToken) -> Iterable[Cell]:
    return Cell(str(number), faint=True), Cell(token.text, strong=token.unknown, faint=token.special)


def _number(value: float | None) -> str:
    return "" if value is None else fixed(value, 3)
