"""What a look inside a model finds, as plain tables for a page."""

from __future__ import annotations

from collections.abc import Sequence

from search.records import Inspection
from search.render.inside import (
    embedding_line,
    embedding_rows,
    model_line,
    offsets,
    parameter_rows,
    parameters_line,
    pooler_line,
    state_rows,
    states_line,
    sum_line,
    tokens_line,
)
from search.render.page.document import isolated, text


def tables(found: Inspection) -> str:
    """A folded section each for tokens, embedding layer, hidden states and pooler, and parameters."""
    names, lengths = embedding_rows(found)
    tokens = [
        [
            isolated(token.text),
            str(token.id),
            offsets(token),
            "" if token.word is None else str(token.word),
            str(token.segment),
            str(token.attended),
        ]
        for token in found.tokens
    ]
    layers = [[str(number), *map(_number, rest)] for number, *rest in state_rows(found)]
    parts = [[text(name), shape, f"{count:,}"] for name, shape, count in parameter_rows(found.model)]
    of_vectors = [
        [isolated(token.text), *(f"{length:.3f}" for length in row)]
        for token, row in zip(found.tokens, lengths, strict=True)
    ]
    return "\n".join(
        (
            _folded(
                f"Tokens: {tokens_line(found)}",
                _table(["token", "id", "offsets", "word", "segment", "mask"], tokens),
                _words(found),
            ),
            _folded(
                f"Embedding layer: {sum_line(found)}",
                _table(["token", *names], of_vectors),
                f"Lengths of the vectors. {embedding_line(found)}",
            ),
            _folded(
                f"Hidden states: {states_line(found)}",
                _table(
                    ["layer", "|[CLS]|", "mean length", "cosine to layer before", "cosine of two tokens"],
                    layers,
                ),
                "Layer 0 is the output of the embedding layer.",
                f"Pooler, tanh(W [CLS] + b). {pooler_line(found)}",
            ),
            _folded(
                f"Parameters: {parameters_line(found.model)}",
                _table(["part", "shape", "parameters"], parts),
                model_line(found.model),
            ),
        )
    )


def _words(found: Inspection) -> str:
    unknown = [word.text for word in found.words if word.unknown]
    split = sum(word.split for word in found.words)
    named = f"unknown: {', '.join(unknown)}" if unknown else "none is unknown"
    return f"{split} of {len(found.words)} words are spelled with several tokens; {named}."


def _folded(title: str, table: str, *notes: str) -> str:
    said = "".join(f'<p class="faint">{text(note)}</p>' for note in notes)
    return f'<details><summary>{text(title)}</summary><div class="wide">{table}</div>{said}</details>'


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table; the cells are HTML."""
    head = "".join(f'<th scope="col">{text(header)}</th>' for header in headers)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return f'<table class="plain"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
