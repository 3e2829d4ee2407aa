"""What a training did: its data, its figures before and after, its curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from search.records.evaluations import Estimate

Objective = Literal["pairs", "triplets", "graded", "mlm", "denoising"]


@dataclass(frozen=True)
class TrainingFile:
    """A file, an index or a folder that was read.

    Attributes:
        role: "train", "dev", "negatives" or "passages".
        path: as it was named; `name` without folders.
        sha256: of the file's bytes; of an index or a folder, of the texts that were taken from it, in order.
        rows: that were read, before any was left out.
    """

    role: str
    path: str
    name: str
    sha256: str
    rows: int


@dataclass(frozen=True)
class CurvePoint:
    """A value after so many steps of the optimizer; 0 is before the first."""

    step: int
    value: float


@dataclass(frozen=True)
class TrainingReport:
    """A model that was trained, and what it was trained with.

    Attributes:
        out: the folder of the result, a model like any other.
        base: the model that was trained on, by name; `base_sha256` of its weights, `sha256` of the result's.
        objective: what the data is, and so what is learned: "pairs" and "triplets" a ranking, "graded" similarities;
            "mlm" and "denoising" adapt to passages without labels.
        loss: the name of the class of the loss.
        files: everything that was read.
        counts: by name, how many rows, texts and so on there were; see `search.training`.
        settings: epochs, batch_size, lr and so on, with the seed.
        primary: the metric that the best checkpoint was chosen by; "loss" is better when it is lower.
        before, after: by metric, on the held-out data, of the base and of the result.
        difference: after less before, with the interval of the difference, which is paired.
        losses: the mean training loss since the point before.
        scores: the primary metric at step 0 and at every checkpoint, on what the checkpoint was chosen by: the held-out
            data, or a share of the training data if `counts` has "chosen_by".
        steps: that were trained; `planned` there would have been without early stopping.
        kept: the step whose weights were kept.
        resumed: the step that an earlier, interrupted run had come to; 0 for none.
        seconds: for the steps and their evaluations, of this run; `device` where they were computed.
        versions: of the libraries, by name.
        notes: sentences about what has to be known to read the figures.
    """

    out: str
    base: str
    base_sha256: str
    sha256: str
    objective: Objective
    loss: str
    files: tuple[TrainingFile, ...]
    counts: Mapping[str, int]
    settings: Mapping[str, Any]
    primary: str
    before: Mapping[str, Estimate]
    after: Mapping[str, Estimate]
    difference: Mapping[str, Estimate]
    losses: tuple[CurvePoint, ...]
    scores: tuple[CurvePoint, ...]
    steps: int
    planned: int
    kept: int
    resumed: int
    seconds: float
    device: str
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def stopped_early(self) -> bool:
        return self.steps < self.planned

    @property
    def lower_is_better(self) -> bool:
        return self.primary == "loss"

    @property
    def improved(self) -> bool:
        """The primary metric is better after than before, by however little."""
        gap = self.after[self.primary].mean - self.before[self.primary].mean
        return gap < 0 if self.lower_is_better else gap > 0
