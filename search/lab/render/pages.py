"""Pages of the laboratory: tokens and layers, attention, vocabulary, tags, answers; on the server also their forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from search.lab.records.inspections import Attention, Decoding, Inspection
from search.lab.records.predictions import Answers, Tagging
from search.lab.render.attention import CAVEATS, rows_line
from search.lab.render.inspection import model_line, turned_rows
from search.lab.render.predictions import (
    LIKELIEST,
    class_of_a_word,
    likeliest_ends,
    right_for,
    title_of_window,
)
from search.render.page.comparison import Form
from search.render.page.document import Page, drawn

_OF_ATTENTION = ("attention.js", "attention.css")
VOCABULARY = Form("/vocabulary", "Which entries of the vocabulary spell a text?", "look_up.html")


def vocabulary(decoding: Decoding) -> Page:
    """Return the page of the entries that spell a text, and of what the model reads."""
    title = "Entries of the vocabulary"
    return Page(title, title, drawn("vocabulary.html", decoding=decoding))


def inspection(inspected: Inspection) -> Page:
    """Return the page of an inspected text or pair."""
    cosines = turned_rows(inspected)
    body = drawn(
        "inspection.html",
        tokens=inspected.tokens,
        layers=len(inspected.states),
        cosines=cosines,
        end=max((1 - value for row in cosines for value in row), default=1.0),
        model=model_line(inspected.model),
    )
    return Page("Inside a text", "Tokens and layers of the text", body)


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
        values=_values(attention, opened),
    )
    title = f"Attention: {attention.texts[0]}"
    return Page(title, "Which token attends to which", body, _OF_ATTENTION)


def _values(attention: Attention, opened: tuple[int, int]) -> dict[str, Any]:
    """Return the data for the script: for each layer the heads, and their mean last, as flat lists of thousandths."""
    heads = (*range(1, attention.heads + 1), None)
    layers = range(1, attention.layers + 1)
    weights = [[attention.matrix(layer, head) for head in heads] for layer in layers]
    return {
        "layers": attention.layers,
        "heads": attention.heads,
        "tokens": [token.text for token in attention.tokens],
        "special": [int(token.special) for token in attention.tokens],
        "weights": np.rint(1000 * np.array(weights))
        .astype(int)
        .reshape(len(layers), len(heads), -1)
        .tolist(),
        "opened": opened,
    }


def tags(tagging: Tagging) -> Page:
    """Return the page of a text with its entities or parts of speech, and the class of each word."""
    spans = [(mention.start, mention.end, mention.field) for mention in tagging.mentions]
    texts, how_good = [(_pieces(tagging.text, spans), None)], right_for(tagging.held_out)
    words = class_of_a_word(tagging)
    body = drawn("marked.html", tagging=tagging, texts=texts, class_of_a_word=words, right_for=how_good)
    title = "Entities" if tagging.task == "ner" else "Parts of speech"
    return Page(title, title, body)


def answers(reply: Answers) -> Page:
    """Return the page of the answers to a question, each marked in its passage."""
    texts = []
    for answer in reply.spans:
        start, end = answer.start - answer.passage_start, answer.end - answer.passage_start
        label = f"answer {answer.rank}" if answer.rank else "closest candidate"
        texts.append((_pieces(answer.passage, [(start, end, label)]), answer))
    body = drawn(
        "marked.html",
        reply=reply,
        texts=texts,
        head=LIKELIEST,
        ends=likeliest_ends(reply.span()) if reply.spans else [],
        title_of_ends=title_of_window(reply.span()) if reply.spans else "",
        right_for=right_for(reply.held_out),
    )
    return Page(reply.question, reply.question, body)


def _pieces(text: str, spans: Sequence[tuple[int, int, str]]) -> list[tuple[str, str]]:
    """Return a text in pieces, each with its label, or "" for text between the spans."""
    pieces, at = [], 0
    for start, end, label in spans:
        pieces += [(text[at:start], ""), (text[start:end], label)]
        at = end
    return [*pieces, (text[at:], "")]
