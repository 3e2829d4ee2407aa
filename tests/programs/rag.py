"""Retrieval-augmented generation: an answer with its sources, or none if the index does not seem to have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import search

Model = Callable[[str], str]
"""A language model: from a prompt to a text."""


@dataclass(frozen=True)
class Answer:
    text: str
    sources: list[str]


def answer(index: search.Index, question: str, model: Model) -> Answer:
    """Answer a question from the best passages of an index."""
    hits = index.query(question, k=3, per_document=1)
    verdict = hits[0].verdict if hits else None
    if not hits or (verdict and verdict.says == "probably not here"):
        return Answer("The documents do not say.", [])
    passages = "\n\n".join(f"[{number}] {hit.text}" for number, hit in enumerate(hits, 1))
    prompt = f"Answer from these passages, and cite their numbers.\n\n{passages}\n\nQuestion: {question}"
    text = model(prompt)
    sources = [place(hit) for number, hit in enumerate(hits, 1) if f"[{number}]" in text]
    return Answer(text, sources)


def place(hit: search.Hit) -> str:
    """Return the place of a passage, and the words of the question that found it."""
    return f"{hit.document}:{hit.line_start}-{hit.line_end}"


def telling_words(index: search.Index, question: str, hit: search.Hit) -> list[str]:
    """Return the words of a question that add most to the score of a hit."""
    shares = index.explain(question, hit).shares(partners=0)
    words = sorted(shares, key=lambda share: share.contribution, reverse=True)
    return [share.text for share in words if share.kind == "word"][:2]
