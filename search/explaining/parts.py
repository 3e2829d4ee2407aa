"""Why a passage has its score for a query of several parts.

The cosine is a sum over the parts (see `search.ranking.question`), and the cosine with a text is one over token
pairs. So the rows of the texts' contribution matrices, each matrix times the factor of its part, stand below each
other, and what is no text, or not taken apart, is one addend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from search.explaining.explanation import explain_pair
from search.ranking.ranking import Part
from search.records.explanations import Explanation, Term
from search.records.tokens import Token, TokenVectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.encoding import Encoder
    from search.records.tokens import Matrix


def encoded(encoder: Encoder, parts: Sequence[Part], layers: Sequence[int]) -> list[TokenVectors | None]:
    """The token vectors of the parts that have a text; None for the others."""
    found: list[TokenVectors | None] = []
    for part in parts:
        if part.text:
            found += encoder.tokens(
                [part.text], contexts=[part.context] if part.context else None, role=part.role, layers=layers
            )
        else:
            found.append(None)
    return found


def explain_parts(
    parts: Sequence[Part],
    tokens: Sequence[TokenVectors | None],
    passage: TokenVectors,
    vector: Matrix,
    *,
    terms: tuple[Term, ...],
    weight: float,
    **options: Any,
) -> Explanation:
    """As `explain_pair`, for a query of several parts.

    Args:
        tokens: of each part, from `encoded`.
        vector: the embedding of the passage by which it was ranked.
    """
    wholes = []
    others = []
    for part, mine in zip(parts, tokens, strict=True):
        if mine is None and weight:
            added = weight * part.factor * float(part.embedding @ vector)
            others.append(Term(part.name, added, kind="like"))
        elif mine is not None:
            roles = (part.role, "document")
            pair = explain_pair(mine, passage, weight=weight, terms=(), **(options | {"roles": roles}))
            wholes.append((part.factor, pair))
    texts = [whole.query for _, whole in wholes]
    _, first = wholes[0]
    similarity: NDArray[np.float32] = np.vstack([whole.similarity for _, whole in wholes]).astype(np.float32)
    return replace(
        first,
        query="\n".join(texts),
        query_tokens=_in_a_row([whole.query_tokens for _, whole in wholes], texts),
        similarity=similarity,
        contributions=np.vstack([factor * whole.contributions for factor, whole in wholes]),
        terms=(*others, *terms),
        steps=max(whole.steps for _, whole in wholes),
    )


def _in_a_row(tokens: Sequence[tuple[Token, ...]], texts: Sequence[str]) -> tuple[Token, ...]:
    """The tokens of several texts, with their offsets in all the texts, one a line, and words counted on."""
    found: list[Token] = []
    at = words = 0
    for mine, text in zip(tokens, texts, strict=True):
        for token in mine:
            moved = at if token.part == "text" else 0
            word = None if token.word is None else token.word + words
            found.append(replace(token, start=token.start + moved, end=token.end + moved, word=word))
        words += 1 + max((token.word for token in mine if token.word is not None), default=0)
        at += len(text) + 1
    return tuple(found)
