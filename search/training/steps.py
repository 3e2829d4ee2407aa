"""What every trainer shares: what is read off its log, who watches its steps, and its silence.

It imports PyTorch, so it is imported when a training begins.
"""

from __future__ import annotations

import math
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import datasets
from transformers import TrainerCallback, TrainerState

from search.encoding.loading import quiet
from search.errors import ModelError
from search.records.evaluations import CurvePoint
from search.records.reports import Progress
from search.training.job import Fitted

POINTS = 60  # of the curve of the loss


def best_checkpoint(state: TrainerState) -> Path:
    """
    Raises:
        ModelError: none could be measured.
    """
    if state.best_model_checkpoint is None:
        raise ModelError(
            "no checkpoint could be measured: what came out is no number at any of them. "
            "Begin anew with a lower learning rate: --lr"
        )
    return Path(state.best_model_checkpoint)


def fitted(state: TrainerState) -> Fitted:
    """What a trainer's state says of a training that has come to its end."""
    return Fitted(
        losses=_curve(state, "loss"),
        scores=_curve(state, "eval_score"),
        steps=state.global_step,
        planned=state.max_steps,
        kept=int(best_checkpoint(state).name.rpartition("-")[2]),
    )


def _curve(state: TrainerState, name: str) -> tuple[CurvePoint, ...]:
    return tuple(
        CurvePoint(int(entry["step"]), float(entry[name])) for entry in state.log_history if name in entry
    )


class Watcher(TrainerCallback):
    """Tells how far it is, and ends a training that has gone astray."""

    def __init__(self, progress: Callable[[Progress], None] | None) -> None:
        self._progress = progress

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **given: Any) -> None:
        if self._progress:
            self._progress(Progress("training", state.global_step, state.max_steps))

    def on_log(self, args: Any, state: TrainerState, control: Any, **given: Any) -> None:
        loss = given["logs"].get("loss", 0.0)
        if not math.isfinite(loss):
            raise ModelError(
                f"the loss is {loss} at step {state.global_step}: the training has gone astray. "
                "Begin anew with a lower learning rate: --lr"
            )


def readable(folder: Path) -> None:
    """Weights are for everybody who may read the configuration; safetensors gives them to their owner alone."""
    usual = stat.S_IMODE((folder / "config.json").stat().st_mode)
    for weights in folder.rglob("*.safetensors"):
        weights.chmod(usual)


@contextmanager
def silent() -> Iterator[None]:
    """Keep the libraries from printing: bars, tables, remarks, warnings."""
    bars = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        with quiet():
            yield
    finally:
        if bars:
            datasets.enable_progress_bars()
