"""How well entities were found, against gold ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from search.records.evaluations import Estimate


@dataclass(frozen=True)
class EntityFigures:
    """The figures of one type of entity, or of all together.

    An entity is right if its type, its first and its last word are.

    Attributes:
        precision, recall, f1: in [0, 1], with 95 % intervals over sentences; 0 where there is nothing to divide by.
        gold, predicted, right: how many entities.
    """

    name: str
    precision: Estimate
    recall: Estimate
    f1: Estimate
    gold: int
    predicted: int
    right: int


@dataclass(frozen=True)
class EntityEvaluation:
    """Gold sentences, and how well their entities were found.

    Attributes:
        dataset, source: name and path of the gold file.
        model: the checkpoint, or the file that the predictions came from.
        sentences, words: that were looked at.
        micro: over all entities, whatever their type.
        macro_f1: the mean of the types' F1.
        types: by name.
        mapping: what types of the checkpoint were taken for.
        predictions: of each sentence its words with the labels that were predicted, by BIO.
        notes: sentences about what has to be known to read the figures.
    """

    dataset: str
    source: str
    model: str
    sentences: int
    words: int
    micro: EntityFigures
    macro_f1: float
    types: tuple[EntityFigures, ...]
    mapping: Mapping[str, str]
    predictions: tuple[tuple[tuple[str, str], ...], ...]
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def metrics(self) -> Mapping[str, Estimate]:
        """The figures over all entities, by name."""
        return {"f1": self.micro.f1, "precision": self.micro.precision, "recall": self.micro.recall}
