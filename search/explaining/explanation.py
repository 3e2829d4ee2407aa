"""Build an `Explanation`, with its two matrices, from two encoded texts and a score.

The similarity matrix compares tokens. The contribution matrix splits the cosine of the two embeddings into
addends: with mean pooling over n query tokens and m passage tokens

    cos(q, p) = (mean_i q_i) . (mean_j p_j) / (|q_mean| |p_mean|)
              = sum_ij  (q_i . p_j) / (n m |q_mean| |p_mean|)

so each pair of tokens adds (q_i . p_j) / (n m |q_mean| |p_mean|), and these addends sum to the cosine.

For a query of several parts, the cosine is the sum of the parts' cosines times their factors (see
`search.ranking.question`). The contribution matrices of the parts, times these factors, are stacked by rows; a part
without tokens is a single addend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from search.encoding import Encoder
from search.encoding.pooling import check_layer, layer_number
from search.errors import InputError
from search.records.explanations import Explanation
from search.records.options import Gradients
from search.records.reports import Progress
from search.records.shares import Term
from search.records.tokens import Token, TokenVectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.encoding.tokenizer import Role
    from search.ranking.question import QuestionPart
    from search.records.tokens import Layer, Matrix


def similarity_matrix(query: NDArray[Any], passage: NDArray[Any]) -> NDArray[np.float32]:
    """Cosine similarity of every query token with every passage token.

    Args:
        query: (q, d) token vectors, q >= 1, any length, any scale.
        passage: (p, d) token vectors from the same model and layer, p >= 1.

    Returns:
        (q, p) float32 in [-1, 1]; row i belongs to query token i. A token whose vector is all zeros gets
        a row or column of zeros, never NaN; the cosine of a vector with itself is exactly 1.

    Example:
        >>> similarity_matrix(np.array([[2.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 5.0]]))
        array([[1., 0.]], dtype=float32)
    """
    cosines = _directions(query) @ _directions(passage).T
    return np.clip(cosines, -1, 1).astype(np.float32)


def contribution_matrix(
    query: NDArray[Any], passage: NDArray[Any], pooling: str = "mean"
) -> NDArray[np.float64]:
    """Addend of each pair of tokens in the cosine of the two pooled embeddings.

    Args:
        query: (q, d) last-layer vectors of all query tokens, special tokens included.
        passage: (p, d) last-layer vectors of all passage tokens.
        pooling: "mean" or "mean_sqrt_len", which give the same cosine; or "max", where the addend of a dimension
            belongs to the two tokens with the largest values in it.

    Returns:
        (q, p) float64; its sum is the cosine, to rounding. Addends may be negative.

    Raises:
        InputError: a pooled vector is all zeros.

    Example:
        >>> contribution_matrix(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[3.0, 0.0]])).round(4)
        array([[0.7071],
               [0.    ]])
    """
    q, p = query.astype(np.float64), passage.astype(np.float64)
    if pooling == "max":
        pairs = np.zeros((len(q), len(p)))
        np.add.at(pairs, (q.argmax(axis=0), p.argmax(axis=0)), q.max(axis=0) * p.max(axis=0))
        pooled = q.max(axis=0), p.max(axis=0)
    else:
        pairs = (q @ p.T) / (len(q) * len(p))
        pooled = q.mean(axis=0), p.mean(axis=0)
    lengths = np.linalg.norm(pooled[0]) * np.linalg.norm(pooled[1])
    if lengths == 0:
        raise InputError("the token vectors sum to zero, so the text has no cosine.")
    return pairs / lengths


def _directions(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Return the rows as float64, scaled to length 1; a row of zeros stays zero."""
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)


def middle_layer(n_layers: int) -> int:
    """Return the layer whose cosines align words best: the middle one.

    Later layers mix each word with its sentence. With all-MiniLM-L6-v2 on MTRef, the F1 of `Explanation.alignment` is
    0.847 for layer 3 of 6, and 0.827 for the last layer (benchmarks/alignment.py).
    """
    return n_layers // 2


def similarity_layer(layer: Layer | None, n_layers: int) -> Layer:
    """Return the layer of a similarity matrix: its number (0 is the embedding layer), or "mean:4" and the like.

    Args:
        layer: a number (negative ones count from the last), "middle", "last", or a combination of the last N layers:
            "mean:N", "sum:N" or "concat:N". None is "middle".

    Raises:
        InputError: the model has no such layer.
    """
    middle = middle_layer(n_layers)
    named = {"None": middle, "middle": middle, "last": n_layers}
    number = named.get(str(layer), layer)
    if isinstance(number, str) and ":" in number:
        return check_layer(number, n_layers)
    if not isinstance(number, Integral) or isinstance(number, bool):
        raise InputError(
            f"no layer {layer!r}. Choose from 0 to {n_layers}, 'middle', 'last', or mean:N, sum:N or concat:N for the "
            "last N layers."
        )
    return layer_number(int(number), n_layers)


@dataclass(frozen=True)
class GradientMethod:
    """Method for embeddings whose addends are not exact; see `search.explaining.gradients`.

    Attributes:
        gradients: "tokens", "pairs" or "off".
        progress: callback for "pairs".
    """

    gradients: Gradients = "tokens"
    progress: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        if self.gradients not in get_args(Gradients):
            raise InputError(
                f"gradients is {self.gradients!r}. Choose one of: {', '.join(get_args(Gradients))}."
            )


def explain_pair(
    query: TokenVectors,
    passage: TokenVectors,
    *,
    encoder: Encoder,
    layer: Layer,
    roles: tuple[Role | None, Role | None] = (None, None),
    weight: float = 1.0,
    method: GradientMethod = GradientMethod(),
) -> Explanation:
    """Explain the cosine of two texts; the cosine is the score.

    Args:
        query, passage: token vectors from `encoder`, of the last layer and of `layer`.
        layer: layer of the similarity matrix.
        roles: roles that the two texts were encoded with.
        weight: weight of the cosine in the score.
    """
    cosine = float(query.embedding @ passage.embedding)
    pairs, margins, steps = None, None, 0
    terms: tuple[Term, ...] = ()
    if query.addends is not None and passage.addends is not None:
        pairs = contribution_matrix(query.addends, passage.addends, encoder.pooling)
    elif method.gradients == "off" or not weight:
        margins = np.zeros(len(query.tokens)), np.zeros(len(passage.tokens))
        terms = (Term("cosine", weight * cosine, kind="model"),) if weight else ()
    else:
        from search.explaining.gradients import NODES, attribution

        split = attribution(encoder, query, roles[0])
        if method.gradients == "pairs":
            pairs, steps = split.pairs(passage, roles[1], method.progress), NODES[0]
        else:
            margins, steps = split.margins(passage, roles[1])
    return Explanation(
        query=query.text,
        passage=passage.text,
        context=passage.context,
        hidden=passage.hidden,
        query_tokens=query.tokens,
        passage_tokens=passage.tokens,
        similarity=similarity_matrix(query.layers[layer], passage.layers[layer]),
        similarity_layer=layer,
        n_layers=encoder.n_layers,
        contributions=pairs,
        margins=margins,
        terms=terms,
        cosine=cosine,
        score=cosine,
        mode="dense",
        pooling=encoder.pooling,
        steps=steps,
    )


def encoded_parts(
    encoder: Encoder, parts: Sequence[QuestionPart], layers: Sequence[int | str]
) -> list[TokenVectors | None]:
    """Return the token vectors of the parts that have a text; None for the others."""
    vectors: list[TokenVectors | None] = []
    for part in parts:
        if part.text:
            vectors += encoder.tokens(
                [part.text],
                contexts=[part.context] if part.context else None,
                role=part.role,
                layers=layers,
            )
        else:
            vectors.append(None)
    return vectors


def explain_parts(
    parts: Sequence[QuestionPart],
    tokens: Sequence[TokenVectors | None],
    passage: TokenVectors,
    embedding: Matrix,
    *,
    encoder: Encoder,
    layer: Layer,
    weight: float,
    method: GradientMethod,
) -> Explanation:
    """Explain a cosine like `explain_pair`, for a query of several parts.

    Args:
        tokens: token vectors of each part, from `encoded_parts`.
        embedding: stored embedding of the passage.
        weight: weight of the cosine in the score.
    """
    explanations = []
    others = []
    for part, part_tokens in zip(parts, tokens, strict=True):
        if part_tokens is None and weight:
            added = weight * part.factor * float(part.embedding @ embedding)
            others.append(Term(part.name, added, kind="like"))
        elif part_tokens is not None:
            pair = explain_pair(
                part_tokens,
                passage,
                encoder=encoder,
                layer=layer,
                roles=(part.role, "document"),
                weight=weight * part.factor,
                method=method,
            )
            others += [replace(term, term=f"{term.term}: {part_tokens.text}") for term in pair.terms]
            explanations.append((part.factor, pair))
    if not explanations:
        raise InputError("a query without text cannot be explained. Use explain_similar for an example.")
    texts = [pair.query for _, pair in explanations]
    _, first = explanations[0]
    pairs = [
        factor * pair.contributions for factor, pair in explanations if pair.contributions is not None
    ]
    sides = [(factor * pair.sums[0], factor * pair.sums[1]) for factor, pair in explanations]
    return replace(
        first,
        query="\n".join(texts),
        query_tokens=_concatenated([pair.query_tokens for _, pair in explanations], texts),
        similarity=np.vstack([pair.similarity for _, pair in explanations]).astype(np.float32),
        contributions=np.vstack(pairs) if pairs else None,
        margins=None
        if pairs
        else (np.concatenate([a for a, _ in sides]), np.sum([b for _, b in sides], axis=0)),
        terms=tuple(others),
        steps=max(pair.steps for _, pair in explanations),
    )


def _concatenated(tokens: Sequence[tuple[Token, ...]], texts: Sequence[str]) -> tuple[Token, ...]:
    """Concatenate the tokens of several texts; offsets and word numbers refer to the texts joined by line breaks."""
    concatenated: list[Token] = []
    offset = words = 0
    for tokens_of_text, text in zip(tokens, texts, strict=True):
        for token in tokens_of_text:
            shift = offset if token.part == "text" else 0
            word = None if token.word is None else token.word + words
            moved = replace(token, start=token.start + shift, end=token.end + shift, word=word)
            concatenated.append(moved)
        words += 1 + max((token.word for token in tokens_of_text if token.word is not None), default=0)
        offset += len(text) + 1
    return tuple(concatenated)
