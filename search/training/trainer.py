"""sentence-transformers' own trainer: what it is given, and what is read off it afterwards.

Batches, steps, checkpoints, going on from one, the log that the curve is drawn from, and which checkpoint is the best
are the trainer's. It imports PyTorch, so it is imported when a training begins.
"""

from __future__ import annotations

import math
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.base.evaluation import BaseEvaluator
from sentence_transformers.sentence_transformer import losses
from transformers import PrinterCallback, TrainerCallback, TrainerState

from search.encoding import Encoder
from search.encoding.loading import quiet
from search.errors import ModelError
from search.records.evaluations import CurvePoint
from search.records.reports import Progress
from search.training.measures import Measure
from search.training.run import Job

_POINTS = 60  # of the curve of the loss
_CHECKPOINTS = 4  # an epoch


@dataclass(frozen=True)
class Fitted:
    """What came of the steps; the model holds the weights of the step `kept`."""

    losses: tuple[CurvePoint, ...]
    scores: tuple[CurvePoint, ...]
    steps: int
    kept: int


def fit(
    model: SentenceTransformer,
    job: Job,
    *,
    checkpoint: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Fitted:
    """Train, and leave the weights of the best checkpoint in the model.

    Args:
        checkpoint: the one to go on from.

    Raises:
        ModelError: the loss became NaN or infinity.
    """
    trainer = _Trainer(
        model=model,
        args=_arguments(job),
        train_dataset=datasets.Dataset.from_dict(job.examples.table()),
        loss=getattr(losses, job.loss.kind)(model),
        evaluator=_Evaluator(job.chooser),
        callbacks=[_Watcher(progress)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    state = trainer.state
    if state.best_model_checkpoint is None:
        raise ModelError(
            "no checkpoint could be measured: what came out is no number at any of them. "
            "Begin anew with a lower learning rate: --lr"
        )
    best = Path(state.best_model_checkpoint)
    stored = SentenceTransformer(str(best), device="cpu", local_files_only=True)
    model.load_state_dict(stored.state_dict())
    return Fitted(
        losses=_curve(state, "loss"),
        scores=_curve(state, "eval_score"),
        steps=state.global_step,
        kept=int(best.name.rpartition("-")[2]),
    )


def _arguments(job: Job) -> SentenceTransformerTrainingArguments:
    settings = job.settings
    batches = math.ceil(len(job.examples) / settings.batch_size)
    steps, between = batches * settings.epochs, math.ceil(batches / _CHECKPOINTS)
    return SentenceTransformerTrainingArguments(
        output_dir=str(job.work.path),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=settings.lr,
        warmup_steps=math.floor(settings.warmup * steps),  # of one step none: at its first the rate is 0
        seed=settings.seed,
        use_cpu=settings.on == "cpu",
        batch_sampler="batch_sampler" if job.loss.graded else "no_duplicates",
        prompts=dict(job.prompts) or None,
        eval_strategy="steps",
        save_strategy="steps",
        eval_steps=between,
        save_steps=between,
        save_total_limit=2,
        metric_for_best_model="eval_score",
        greater_is_better=True,
        logging_steps=max(1, steps // _POINTS),
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        log_level="error",
        dataloader_pin_memory=settings.on.startswith("cuda"),
    )


class _Trainer(SentenceTransformerTrainer):
    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """No card of its own: `search.training.run` writes one, with the figures of before and after."""


class _Evaluator(BaseEvaluator):
    """The measure that checkpoints are compared by, as the trainer takes it."""

    def __init__(self, measure: Measure) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._measure = measure

    def __call__(self, model: Any, *where: Any, **named: Any) -> dict[str, float]:
        return {"score": self._measure.score(model)}


class _Watcher(TrainerCallback):
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


def _curve(state: TrainerState, name: str) -> tuple[CurvePoint, ...]:
    return tuple(
        CurvePoint(int(entry["step"]), float(entry[name])) for entry in state.log_history if name in entry
    )


def save_model(model: SentenceTransformer, folder: Path) -> Encoder:
    """Save it, and load it as `seewhy index --model` would."""
    model.eval()
    model.save_pretrained(str(folder), create_model_card=False)
    usual = stat.S_IMODE((folder / "config.json").stat().st_mode)
    for weights in folder.rglob("*.safetensors"):  # safetensors gives them to their owner alone
        weights.chmod(usual)
    return Encoder(str(folder), engine="torch", device="cpu", offline=True)


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
