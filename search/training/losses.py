"""The loss that fits the shape of the examples.

multiple-negatives  the passage of each query against those of the others in the batch, and its own negatives
                    (Henderson et al. 2017; van den Oord et al. 2018, InfoNCE)
triplet             nearer to the passage than to the negative, by a margin (Schroff et al. 2015)
cosent              cosines in the order of the scores (Su 2022, CoSENT)
angle               the same, of angles in complex space (Li and Li 2023, AnglE)
cosine              cosines as near to the scores as can be (Reimers and Gurevych 2019)
contrastive         near for a score of 1, apart for a score of 0 (Hadsell et al. 2006)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from search.errors import InputError
from search.training.examples import Examples
from search.training.model import losses


@dataclass(frozen=True)
class Loss:
    """A loss of sentence-transformers.

    Attributes:
        kind: the name of its class.
        unique: no text twice in a batch, as the others in it count as wrong.
        graded: it learns scores.
    """

    name: str
    kind: str
    unique: bool
    graded: bool

    def of(self, model: Any) -> Any:
        """The module that computes it."""
        return getattr(losses(), self.kind)(model)


LOSSES = {
    loss.name: loss
    for loss in (
        Loss("multiple-negatives", "MultipleNegativesRankingLoss", True, False),
        Loss("triplet", "TripletLoss", False, False),
        Loss("cosent", "CoSENTLoss", False, True),
        Loss("angle", "AnglELoss", False, True),
        Loss("cosine", "CosineSimilarityLoss", False, True),
        Loss("contrastive", "ContrastiveLoss", False, True),
    )
}


def loss_for(examples: Examples, asked: str | None = None) -> Loss:
    """The loss that was asked for, or the one that suits the shape: "multiple-negatives", of graded rows "cosine".

    Of the two for scores, "cosine" did better on pairs held out of the STS benchmark's training data, from
    all-MiniLM-L6-v2 (benchmarks/README.md); "cosent" asks for the order of the scores alone, for scores whose distances
    mean nothing.

    Raises:
        InputError: no such loss, or one that cannot be computed of these examples.
    """
    graded = examples.shape == "graded"
    name = asked or ("cosine" if graded else "multiple-negatives")
    if name not in LOSSES:
        raise InputError(f"there is no loss '{name}'. Choose one of: {', '.join(LOSSES)}.")
    loss = LOSSES[name]
    if loss.graded != graded:
        fitting = ", ".join(one.name for one in LOSSES.values() if one.graded == graded)
        raise InputError(
            f"the loss '{name}' does not fit {examples.shape} examples. Choose one of: {fitting}."
        )
    if name == "triplet" and len(examples.columns) != 3:
        raise InputError(
            f"the loss 'triplet' needs one negative for each pair, not {len(examples.columns) - 2}. "
            "Take 'multiple-negatives'."
        )
    if name == "contrastive" and (strange := {row.score for row in examples.rows} - {0.0, 1.0}):
        raise InputError(
            f"the loss 'contrastive' needs scores of 0 or 1, not {min(strange):g}. Take 'cosent'."
        )
    return loss
