"""What a training is made of, whatever it trains: a base, data to learn from and to measure with, settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from search.encoding.models import ModelFiles
from search.encoding.torch_engine import usable_device
from search.records.evaluations import CurvePoint, Objective, TrainingFile
from search.records.reports import Progress
from search.training.measures import Measure
from search.training.work import WorkFolder


@dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes:
        epochs: how often every example is seen.
        batch_size: examples a step.
        lr: the highest learning rate; it rises over the first `warmup` of the steps and falls to 0 from there on.
        device: of PyTorch; None takes a GPU where there is one.
    """

    epochs: int = 1
    batch_size: int = 16
    lr: float = 2e-5
    warmup: float = 0.1
    device: str | None = None
    seed: int = 0

    @property
    def on(self) -> str:
        """The device."""
        return usable_device(self.device)


@dataclass(frozen=True)
class Fitted:
    """What came of the steps; the model holds the weights of the step `kept`.

    Attributes:
        steps: that were made, of `planned`.
    """

    losses: tuple[CurvePoint, ...]
    scores: tuple[CurvePoint, ...]
    steps: int
    planned: int
    kept: int


@dataclass(frozen=True, kw_only=True)
class Job(ABC):
    """All that a training is made of.

    Attributes:
        files: of the model that is trained on.
        loss: the name of its class.
        data: the files that were read.
        measure: the data that the figures are of; `chooser` that by which a checkpoint is chosen.
        digests: of the data, by what it is for.
        dev_share: of the examples that were held out.
    """

    files: ModelFiles
    work: WorkFolder
    settings: Settings
    objective: Objective
    loss: str
    data: tuple[TrainingFile, ...]
    measure: Measure
    chooser: Measure
    digests: Mapping[str, str]
    dev_share: float
    counts: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @abstractmethod
    def load(self) -> Any:
        """The model as it is before the training, on the device; what the measures measure."""

    @abstractmethod
    def fit(self, model: Any, checkpoint: Path | None, progress: Callable[[Progress], None] | None) -> Fitted:
        """Train it, from a checkpoint on if there is one, and leave the weights of the best one in the model."""

    @abstractmethod
    def save(self, model: Any, folder: Path) -> str:
        """Write the model's folder; sha256 of its weights."""

    def begins_anew(self, model: Any) -> bool:
        """Whether a loaded model has not learned its task yet, so that it is nothing to keep."""
        return False

    @property
    def choices(self) -> dict[str, Any]:
        """Everything that was chosen, by name."""
        return {**asdict(self.settings), "dev_share": self.dev_share, "device": self.settings.on}

    @property
    def plan(self) -> dict[str, Any]:
        """What decides about the result."""
        model = {"weights": self.files.weights_sha256, "tokenizer": self.files.tokenizer_sha256}
        plan = {**model, "objective": self.objective, **self.digests, **self.choices}
        del plan["device"]
        return plan
