"""The steps themselves, by sentence-transformers' own trainer: checkpoints, early stopping, the best one kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from search.encoding.torch_engine import usable_device
from search.errors import InputError, ModelError
from search.records.evaluations import CurvePoint
from search.records.reports import Progress
from search.training.batches import remarks, unique_batches
from search.training.model import part_of
from search.training.work import WorkFolder

PRECISIONS = ("fp32", "bf16")
_OWN = "loss.safetensors"
_POINTS = 60  # of the curve of the loss


@dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes:
        epochs: how often every example is seen.
        batch_size: examples a step.
        lr: the highest learning rate; it rises over the first `warmup` of the steps and falls to 0 from there on.
        weight_decay: of AdamW.
        checkpoint_steps: steps between evaluations, each with a checkpoint; None takes four an epoch.
        patience: stop after so many evaluations without a better one; None never does.
        precision: "fp32"; "bf16" on a GPU.
        device: of PyTorch; None takes a GPU where there is one.
    """

    epochs: int = 1
    batch_size: int = 16
    lr: float = 2e-5
    warmup: float = 0.1
    weight_decay: float = 0.0
    checkpoint_steps: int | None = None
    patience: int | None = None
    precision: str = "fp32"
    device: str | None = None
    seed: int = 0

    def checked(self) -> Settings:
        """Itself.

        Raises:
            InputError: a value that makes no sense, or a device that there is not, or a precision that it lacks.
        """
        for name in ("epochs", "batch_size", "checkpoint_steps", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}, but must be at least 1.")
        if not (math.isfinite(self.lr) and self.lr > 0):
            raise InputError(f"lr is {self.lr}, but must be more than 0.")
        if not 0 <= self.warmup < 1:
            raise InputError(
                f"warmup is {self.warmup}, but must be a share of the steps: at least 0, less than 1."
            )
        if not 0 <= self.weight_decay < 1:
            raise InputError(f"weight_decay is {self.weight_decay}, but must be at least 0 and less than 1.")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed is {self.seed}, but must be a whole number from 0 to {2**32 - 1}.")
        if self.precision not in PRECISIONS:
            raise InputError(
                f"precision '{self.precision}' is not known. Choose one of: {', '.join(PRECISIONS)}."
            )
        on = self.on
        if self.precision == "bf16" and not on.startswith("cuda"):
            raise InputError("bf16 is for a GPU, and there is none here. Leave --precision out.")
        return self

    @property
    def on(self) -> str:
        return usable_device(self.device)

    def steps(self, examples: int, batches: int | None = None) -> tuple[int, int]:
        """(steps in all, steps between checkpoints), with `batches` an epoch where they are not all full."""
        each = batches or math.ceil(examples / self.batch_size)
        return each * self.epochs, self.checkpoint_steps or max(1, math.ceil(each / 4))


@dataclass(frozen=True)
class Fitted:
    """What came of it; the model holds the weights of the step `kept`, and `between` lie between two checkpoints."""

    losses: tuple[CurvePoint, ...]
    scores: tuple[CurvePoint, ...]
    steps: int
    planned: int
    kept: int
    between: int
    notes: tuple[str, ...] = ()


def fit(
    model: Any,
    loss: Any,
    columns: dict[str, Sequence[Any]],
    settings: Settings,
    work: WorkFolder,
    *,
    score: Callable[[Any], float],
    lower_is_better: bool = False,
    unique: bool = False,
    prompts: dict[str, str] | None = None,
    resume_from: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Fitted:
    """Train, and leave the weights of the best evaluation in the model.

    Args:
        columns: the texts by name, and "score" or none.
        score: what the evaluations compare; the model is handed in.
        unique: no text twice in a batch.
        prompts: of columns, put before every text.
        resume_from: the step of a checkpoint in the work folder to go on from; 0 begins.

    Raises:
        ModelError: the loss became NaN or infinity, or a checkpoint is damaged.
    """
    from datasets import Dataset

    n = len(next(iter(columns.values())))
    dataset = Dataset.from_dict({name: list(values) for name, values in columns.items()})
    batches = unique_batches(dataset, settings.batch_size, settings.epochs, settings.seed) if unique else None
    planned, between = settings.steps(n, len(batches) if batches else None)
    args = _arguments(settings, work, planned, between, lower_is_better, unique, prompts)
    trainer = _trainer()(
        model=model,
        args=args,
        train_dataset=dataset,
        loss=loss,
        evaluator=_evaluator(score),
        callbacks=[_watcher(settings, lower_is_better, n, progress)],
    )
    trainer.own_batches = batches
    _remove_printers(trainer)
    checkpoint = work.checkpoint(resume_from) if resume_from else None
    if checkpoint is not None and _was_done(checkpoint, trainer, settings, lower_is_better, planned):
        trainer._load_best_model()
    else:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    notes = remarks(batches, settings.batch_size, len(columns)) if batches else ()
    return _fitted(trainer.state, planned, between, notes)


def _was_done(
    checkpoint: Path, trainer: Any, settings: Settings, lower_is_better: bool, planned: int
) -> bool:
    """Nothing was left to do after a checkpoint; the trainer then has the state of that time."""
    from transformers import TrainerState

    state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
    if state.global_step < planned and not _exhausted(state, settings, lower_is_better):
        return False
    trainer.state = state
    return True


def _exhausted(state: Any, settings: Settings, lower_is_better: bool) -> bool:
    """So many evaluations in a row were no better that patience is at its end."""
    scores = [one["eval_score"] for one in state.log_history if "eval_score" in one]
    if not scores or settings.patience is None:
        return False
    best = scores.index(min(scores) if lower_is_better else max(scores))
    return len(scores) - 1 - best >= settings.patience


def _arguments(
    settings: Settings,
    work: WorkFolder,
    planned: int,
    between: int,
    lower_is_better: bool,
    unique: bool,
    prompts: dict[str, str] | None,
) -> Any:
    from sentence_transformers import SentenceTransformerTrainingArguments

    return SentenceTransformerTrainingArguments(
        output_dir=str(work.path),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=settings.lr,
        warmup_steps=math.floor(settings.warmup * planned),  # of one step none: at its first the rate is 0
        weight_decay=settings.weight_decay,
        seed=settings.seed,
        bf16=settings.precision == "bf16",
        use_cpu=settings.on == "cpu",
        batch_sampler="no_duplicates" if unique else "batch_sampler",
        prompts=prompts or None,
        eval_strategy="steps",
        save_strategy="steps",
        eval_steps=between,
        save_steps=between,
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="eval_score",
        greater_is_better=not lower_is_better,
        logging_steps=max(1, planned // _POINTS),
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        log_level="error",
        dataloader_num_workers=0,
        dataloader_pin_memory=settings.on.startswith("cuda"),
    )


def _fitted(state: Any, planned: int, between: int, notes: tuple[str, ...]) -> Fitted:
    if state.best_model_checkpoint is None:
        raise ModelError(
            "no checkpoint could be measured: what came out is no number at any of them. "
            "Begin anew with a lower learning rate: --lr, --restart"
        )
    losses = tuple(CurvePoint(one["step"], float(one["loss"])) for one in state.log_history if "loss" in one)
    scores = tuple(
        CurvePoint(one["step"], float(one["eval_score"])) for one in state.log_history if "eval_score" in one
    )
    kept = int(Path(state.best_model_checkpoint).name.rpartition("-")[2])
    return Fitted(losses, scores, int(state.global_step), planned, kept, between, notes)


@lru_cache(maxsize=1)
def _trainer() -> Any:
    """sentence-transformers' trainer, with checkpoints that also hold what a loss has learned of its own."""
    from safetensors.torch import load_file, save_file
    from sentence_transformers import SentenceTransformerTrainer

    theirs: Any = SentenceTransformerTrainer

    class Trainer(theirs):  # type: ignore[misc]
        own_batches: Any = None

        def get_batch_sampler(self, *given: Any, **named: Any) -> Any:
            return self.own_batches or super().get_batch_sampler(*given, **named)

        def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
            """The card is written once, at the end, by `search.training.card`."""

        def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
            folder = Path(output_dir or self.args.output_dir)
            self.model.save_pretrained(str(folder), create_model_card=False)
            if own := _own_parameters(self):
                save_file(
                    {name: value.detach().cpu().contiguous() for name, value in own.items()}, folder / _OWN
                )

        def _load_from_checkpoint(self, checkpoint_path: str) -> None:
            try:
                super()._load_from_checkpoint(checkpoint_path)
                own = _own_parameters(self)
                stored = load_file(Path(checkpoint_path) / _OWN) if own else {}
                for name, value in own.items():
                    value.data.copy_(stored[name])
            except (OSError, ValueError, KeyError, RuntimeError) as error:
                raise ModelError(
                    f"the checkpoint {checkpoint_path} cannot be read ({error}). Begin anew: --restart"
                ) from error

        def _load_best_model(self) -> None:
            """As the trainer's own, which goes on with the last weights when it fails."""
            self._load_from_checkpoint(self.state.best_model_checkpoint)

    return Trainer


def _own_parameters(trainer: Any) -> dict[str, Any]:
    """Parameters of the loss that are none of the model's."""
    models = {id(value) for value in trainer.model.parameters()}
    return {name: value for name, value in trainer.loss.named_parameters() if id(value) not in models}


def _evaluator(score: Callable[[Any], float]) -> Any:
    theirs: Any = part_of("base.evaluation", "evaluation").SentenceEvaluator

    class Evaluator(theirs):  # type: ignore[misc]
        def __call__(self, model: Any, *where: Any, **named: Any) -> dict[str, float]:
            return {"score": score(model)}

    return Evaluator()


def _watcher(
    settings: Settings, lower_is_better: bool, examples: int, progress: Callable[[Progress], None] | None
) -> Any:
    """What looks on: progress, early stopping, and a loss that is no number."""
    from transformers import TrainerCallback

    class Watcher(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if progress:
                progress(Progress("training", int(state.global_step), int(state.max_steps)))

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **given: Any) -> None:
            if not math.isfinite(float((logs or {}).get("loss", 0.0))):
                raise ModelError(
                    f"the loss is {logs['loss']} at step {state.global_step}: the training has gone astray. "
                    "Begin anew with a lower learning rate: --lr, --restart"
                )

        def on_evaluate(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if _exhausted(state, settings, lower_is_better):
                control.should_training_stop = True

    return Watcher()


def _remove_printers(trainer: Any) -> None:
    from transformers.trainer_callback import PrinterCallback, ProgressCallback

    for callback in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(callback)
