"""sentence-transformers' own trainer: what it is given, and what is read off it afterwards.

Batches, steps, checkpoints, going on from one, the log that the curve is drawn from, and which checkpoint is the best
are the trainer's. It imports PyTorch, so it is imported when a training begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
from transformers import PrinterCallback

from search.encoding import Encoder
from search.records.reports import Progress
from search.training.job import Fitted
from search.training.measures import Measure
from search.training.steps import POINTS, Watcher, best_checkpoint, fitted, readable
from search.training.tuning import EncoderJob

_CHECKPOINTS = 4  # an epoch


def fit(
    model: SentenceTransformer,
    job: EncoderJob,
    checkpoint: Path | None,
    progress: Callable[[Progress], None] | None,
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
        loss=getattr(losses, job.loss)(model),
        evaluator=_Evaluator(job.chooser),
        callbacks=[Watcher(progress)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    stored = SentenceTransformer(str(best_checkpoint(trainer.state)), device="cpu", local_files_only=True)
    model.load_state_dict(stored.state_dict())
    return fitted(trainer.state)


def _arguments(job: EncoderJob) -> SentenceTransformerTrainingArguments:
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
        batch_sampler="batch_sampler" if job.examples.shape == "graded" else "no_duplicates",
        prompts=dict(job.prompts) or None,
        eval_strategy="steps",
        save_strategy="steps",
        eval_steps=between,
        save_steps=between,
        save_total_limit=2,
        metric_for_best_model="eval_score",
        greater_is_better=True,
        logging_steps=max(1, steps // POINTS),
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


def save_model(model: SentenceTransformer, folder: Path) -> Encoder:
    """Save it, and load it as `seewhy index --model` would."""
    model.eval()
    model.save_pretrained(str(folder), create_model_card=False)
    readable(folder)
    return Encoder(str(folder), engine="torch", device="cpu", offline=True)
