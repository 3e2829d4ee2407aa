"""Pages about models: attention and cosines of sentences; on the server also forms and inspected texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from search.records.comparisons import Similarities
from search.records.inspections import Attention, Inspection
from search.render.format import letters, one_line
from search.render.heatmap import CAVEATS, rows_line
from search.render.inspection import model_line, turned_rows
from search.render.page.document import Page, about, data, drawn, hidden, isolated, link, shade, text

LONGEST = 8_000  # characters of a text, as it is part of an address
MOST_CELLS = 40_000  # browsers scroll larger tables badly
PLACES = {"/similarity": "Compare sentences", "/inspect": "Look inside a text"}
VIEWS = {"tokens": "tokens and layers", "attention": "attention between tokens"}
_USES = ("live.js", "sentences.js", "explanation.js", "attention.js", "attention.css")


def of_sentences(texts: Sequence[str], index: str, answer: Page | None, problem: str) -> Page:
    """Return the form that compares sentences, with its result.

    Args:
        texts: the typed sentences.
        index: name of the index whose model is used.
        answer: the result; None if there is none.
        problem: reason why there is no result; "" if there is one.
    """
    return _form("/similarity", "How similar are these sentences?", index, texts, answer, problem)


def of_text(texts: Sequence[str], index: str, answer: Page | None, problem: str, show: str) -> Page:
    """Return the form that inspects a text or a pair, with its result."""
    title = "How does the model represent a text?"
    return _form("/inspect", title, index, [*texts, "", ""], answer, problem, show)


def _form(
    action: str,
    title: str,
    index: str,
    texts: Sequence[str],
    answer: Page | None,
    problem: str,
    show: str = "",
) -> Page:
    body = drawn(
        "laboratory.html",
        action=action,
        hidden=hidden(index=index),
        index=index,
        texts=texts,
        answer=answer,
        problem=problem,
        show=show,
        longest=LONGEST,
        places=PLACES,
        views=VIEWS,
        link=link,
    )
    return Page(title, title, "", body, _USES)


def inspection(inspected: Inspection) -> Page:
    """Return the page of an inspected text or pair."""
    cosines = turned_rows(inspected)
    body = drawn(
        "inspection.html",
        tokens=inspected.tokens,
        layers=len(inspected.states),
        cosines=cosines,
        end=max((1 - value for row in cosines for value in row), default=1.0),
        shade=shade,
    )
    note = text(model_line(inspected.model))
    return Page("Inside a text", "Tokens and layers of the text", about(note=note), body)


def attention(attention: Attention, layer: int | None = None, head: int | None = None) -> Page:
    """Return the page of a text's attention.

    Args:
        layer, head: layer and head to begin with; None begins with the last layer and the mean over its heads.
    """
    opened = layer or attention.layers, head or attention.heads + 1
    body = drawn(
        "attention.html",
        attention=attention,
        opened=opened,
        rows_line=rows_line(attention),
        caveats=CAVEATS,
        data=Markup(data(_values(attention, opened))),
    )
    names = ("Text",) if len(attention.texts) == 1 else ("First", "Second")
    facts = [
        (name, f"<b>{isolated(value)}</b>") for name, value in zip(names, attention.texts, strict=True)
    ]
    page = about((*facts, ("Model", isolated(attention.model))))
    title = f"Attention: {attention.texts[0]}"
    return Page(title, "Which token attends to which", page, body, ("attention.js", "attention.css"))


def _values(attention: Attention, opened: tuple[int, int]) -> dict[str, Any]:
    """Return the data for the script."""
    return {
        "layers": attention.layers,
        "heads": attention.heads,
        "tokens": [token.text for token in attention.tokens],
        "special": [int(token.special) for token in attention.tokens],
        "weights": [_layer(attention, number) for number in range(1, attention.layers + 1)],
        "opened": opened,
    }


def _layer(attention: Attention, layer: int) -> list[list[int]]:
    """Return the attention of each head of a layer, and their mean last, as flat lists of thousandths."""
    heads = [attention.matrix(layer, head) for head in (*range(1, attention.heads + 1), None)]
    return [np.rint(1000 * head).astype(int).ravel().tolist() for head in heads]


def sentences(similarities: Similarities) -> Page:
    """Return the page of a similarity matrix of sentences.

    Raises:
        ValueError: the matrix has more than MOST_CELLS cells.
    """
    n, m = similarities.cosines.shape
    if n * m > MOST_CELLS:
        raise ValueError(f"{n} x {m} cosines are too many: a page can show {MOST_CELLS:,}")
    names = [str(j + 1) if similarities.itself else letters(j) for j in range(m)]
    cosines = similarities.cosines.tolist()
    values = {
        "rows": [one_line(sentence) for sentence in similarities.rows],
        "columns": [one_line(sentence) for sentence in similarities.columns],
        "names": names,
        "itself": similarities.itself,
        "cosine": [[round(cell, 4) for cell in row] for row in cosines],
    }
    body = drawn(
        "sentences.html",
        names=names,
        rows=similarities.rows,
        columns=similarities.columns,
        cosines=cosines,
        itself=similarities.itself,
        shade=shade,
        data=Markup(data(values)),
    )
    origin = f"{isolated(similarities.model)}, {text(similarities.pooling)} pooling"
    note = f"{n} \u00d7 {m} cosines of sentence embeddings: {origin}"
    title = "Similarity of these sentences"
    return Page(title, title, about(note=note), body, ("sentences.js",))
