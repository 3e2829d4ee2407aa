"""Two encoded texts and a score -> an Explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.encoding import Encoder
from search.explaining.matrices import contribution_matrix, similarity_matrix
from search.records.explanations import Explanation, Term
from search.records.tokens import TokenVectors

if TYPE_CHECKING:
    from search.encoding.inputs import Role
    from search.records.tokens import Matrix


def similarity_layer(n_layers: int) -> int:
    """The layer whose cosines tell best which word is like which: the middle one.

    Measured with all-MiniLM-L6-v2 (F1 of `Explanation.alignment`, benchmarks/alignment.py) on MTRef: 0.847
    for layer 3 of 6, 0.827 for the last; on headlines of SemEval-2016 task 2 0.502 and 0.489. No mean of
    layers was better. Later layers mix each word with its sentence.
    """
    return n_layers // 2


def explain_pair(
    query: TokenVectors,
    passage: TokenVectors,
    *,
    encoder: Encoder,
    layer: int,
    cosine: float | None = None,
    score: float | None = None,
    mode: str = "dense",
    weight: float = 1.0,
    terms: tuple[Term, ...] = (),
    late: Matrix | None = None,
    recomputed: float | None = None,
    roles: tuple[Role | None, Role | None] = (None, None),
    offline: bool = False,
) -> Explanation:
    """Explain the cosine of two texts.

    Args:
        query, passage: from `encoder`, with the last layer, and layer `layer` for the similarity matrix.
        cosine: as it was ranked by; None takes it from the two embeddings.
        score: what the passage was ranked by; None takes the cosine.
        weight: what the cosine counts in it.
        terms: the addends besides the token pairs.
        late: those of a rerank by late interaction, (q, p).
        recomputed: the score as the index says it now; see `Audit`.
        roles: what the two texts were encoded as.
        offline: never call out to the hub, should the model be needed in PyTorch.
    """
    if cosine is None:
        cosine = float(query.embedding @ passage.embedding)
    contributions, steps = _contributions(query, passage, encoder, roles, offline)
    return Explanation(
        query=query.text,
        passage=passage.text,
        context=passage.context,
        query_tokens=query.tokens,
        passage_tokens=passage.tokens,
        similarity=similarity_matrix(query.layers[layer], passage.layers[layer]),
        similarity_layer=layer,
        contributions=contributions,
        terms=terms,
        cosine=cosine,
        score=cosine if score is None else score,
        mode=mode,
        pooling=encoder.pooling,
        weight=weight,
        recomputed=recomputed,
        steps=steps,
        late=late,
    )


def _contributions(
    query: TokenVectors,
    passage: TokenVectors,
    encoder: Encoder,
    roles: tuple[Role | None, Role | None],
    offline: bool,
) -> tuple[Matrix, int]:
    """The addends of the cosine, and the steps of integration that they took: none where they are exact."""
    if query.addends is not None and passage.addends is not None:
        return contribution_matrix(query.addends, passage.addends, encoder.pooling), 0
    from search.explaining.gradients import attribution

    return attribution(encoder, query, roles[0], offline).cells(passage, roles[1])
