"""Probes: what linear classifiers read from the layers of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from search.lab.records.lab_record import LabRecord
from search.records.evaluations import Estimate


@dataclass(frozen=True)
class LayerScore:
    """Accuracy of a probe on the vectors of one layer, in [0, 1].

    Attributes:
        layer: 0 for the embedding layer, L for the last.
        accuracy: cross-validated accuracy, with its 95 % interval.
        control: the same for random labels; see `ProbeTask.control`.
        behind: accuracy of the best layer minus that of this layer, with the 95 % interval for the same examples.
    """

    layer: int
    accuracy: Estimate
    control: Estimate
    behind: Estimate

    @property
    def selectivity(self) -> float:
        """Accuracy minus that of the control task (Hewitt & Liang 2019)."""
        return self.accuracy.mean - self.control.mean


@dataclass(frozen=True)
class ProbeTask:
    """Probes of all layers for the labels of one file.

    Attributes:
        name: name of the file.
        unit: "text" if each text has a label, "word" if each word has one.
        examples: number of labelled texts or words.
        groups: number of groups of examples; those of a group are in the same fold.
        classes: the labels, sorted.
        majority: the most frequent label.
        majority_accuracy: accuracy of always predicting it, in [0, 1].
        by_word: accuracy of the label that a word has most often in the other folds, without any vector; the majority
            label for a new word. None for texts.
        control: "types" if each word form has a random label, "shuffled" if the labels of the texts are shuffled.
        layers: a score for each layer, from 0.
        left_out: number of words that the tokenizer drops.
    """

    name: str
    unit: Literal["text", "word"]
    examples: int
    groups: int
    classes: tuple[str, ...]
    majority: str
    majority_accuracy: float
    by_word: float | None
    control: Literal["types", "shuffled"]
    layers: tuple[LayerScore, ...]
    left_out: int = 0

    @property
    def best(self) -> LayerScore:
        """Layer with the highest accuracy; the lowest of equal ones."""
        return max(self.layers, key=lambda score: score.accuracy.mean)

    @property
    def as_good(self) -> tuple[int, ...]:
        """Other layers whose distance from the best layer may be chance: its interval contains 0."""
        best = self.best
        return tuple(score.layer for score in self.layers if score is not best and score.behind.low <= 0)


@dataclass(frozen=True, repr=False)
class LayerProbes(LabRecord):
    """Probes of a model's layers for one or several tasks.

    Attributes:
        model: name of the model.
        folds, seed: number of folds and seed of the cross-validation.
        tasks: one for each file, in their order.
    """

    model: str
    folds: int
    seed: int
    tasks: tuple[ProbeTask, ...]
