"""Adapters for the trainers of sentence-transformers and transformers: load, train and save a model.

The trainers provide batches, steps, checkpoints, the log, early stopping and the best checkpoint. This module
imports PyTorch, so it is imported when a training begins.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import torch
import transformers
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer import losses
from transformers import (
    AutoTokenizer,
    EarlyStoppingCallback,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
)

from search.encoding.loading import (
    load_encoder,
    load_transformer,
    loading,
    quiet,
    require_whole,
    token_limit,
)
from search.encoding.models import ModelFiles
from search.encoding.prompts import Prompts
from search.encoding.tokenizer import load_tokenizer
from search.errors import InputError, ModelError
from search.files import sha256_of
from search.lab.bert.checkpoint import KINDS, Head, other_head
from search.lab.training.tasks import IGNORED, Feature, TrainingSettings, TrainingTask
from search.records.reports import Progress

_POINTS = 60  # points of the loss curve
_PATIENCE = 3  # evaluations in a row without improvement
_WARMUP = 0.1  # share of the steps


def load(
    kind: TrainingTask, files: ModelFiles, classes: tuple[str, ...], settings: TrainingSettings
) -> Any:
    """Load the model to train: a SentenceTransformer, or a `Head`.

    If the base model has a head with the same classes, training continues with it; else a new head is initialised with
    the seed.

    Raises:
        InputError: the model has fewer layers than the setting `freeze`.
        ModelError: the base model cannot be loaded.
    """
    torch.manual_seed(settings.seed)
    if kind.head is None:
        encoder = load_encoder(files)
        _freeze(encoder[0].auto_model, settings.freeze)
        return encoder.to(settings.device)
    base, lacking = load_transformer(files)
    require_whole(files, lacking)
    names = files.config.get("id2label") or {}
    missing: tuple[str, ...] = ("head",)
    same = not classes or tuple(names.get(str(i)) for i in range(len(names))) == classes
    if same and other_head(kind.head, files) is None:
        model, missing = load_transformer(files, KINDS[kind.head].loads)
    if missing:
        with loading(files):
            config = transformers.AutoConfig.from_pretrained(str(files.folder), local_files_only=True)
            if classes:
                config.id2label, config.problem_type = dict(enumerate(classes)), None
                config.label2id = {name: i for i, name in enumerate(classes)}
            model = getattr(transformers, KINDS[kind.head].loads).from_config(config).float().eval()
            model.base_model.load_state_dict(base.state_dict(), strict=False)
    _freeze(model.base_model, settings.freeze)
    for name, parameter in model.base_model.named_parameters():
        # A pooler that the base lacks is new, as the head is, so it must be trained.
        if name in lacking:
            parameter.requires_grad_(True)
    tokenizer, limit = load_tokenizer(files.folder, files.name), token_limit(files, model)
    return Head(kind.head, files, tokenizer, model.to(settings.device), classes, limit, settings.device)


def _freeze(base: Any, layers: int | str | None) -> None:
    """Freeze the embeddings and the first `layers` layers; "all" freezes all layers, None freezes nothing.

    Raises:
        InputError: the model has fewer layers.
    """
    if layers is None:
        return
    numbers = set()
    for name, parameter in base.named_parameters():
        layer = re.search(r"(?:^|\.)layers?\.(\d+)\.", name)
        numbers |= {int(layer[1])} if layer else set()
        first = name.startswith("embeddings") or (
            layer and layers != "all" and int(layer[1]) < int(layers)
        )
        parameter.requires_grad_(not (layers == "all" or first))
    if layers != "all" and int(layers) > len(numbers):
        raise InputError(f"cannot freeze {layers} layers: the model has {len(numbers)}.")


def fit(
    model: Any,
    kind: TrainingTask,
    rows: Sequence[Any],
    score: Callable[[Any], float],
    settings: TrainingSettings,
    work: Path,
    progress: Callable[[Progress], None] | None,
) -> TrainerState:
    """Train a model in place; at the end it has the weights of its best checkpoint.

    Args:
        score: returns a model's metric, by which checkpoints are compared.
        work: folder for checkpoints.

    Raises:
        ModelError: no checkpoint could be measured.
    """
    common: dict[str, Any] = {"callbacks": [_Watcher(progress), _Patience(_PATIENCE)]}
    if isinstance(model, Head):
        module, features = model.model, list(kind.features(model, rows))
        arguments = TrainingArguments(
            **_arguments(kind, len(features), settings, work),
            weight_decay=0.01,
            train_sampling_strategy="group_by_length",
            remove_unused_columns=False,
        )
        common |= {"train_dataset": features, "eval_dataset": features[:1]}
        trainer: Any = _HeadTrainer(module, arguments, data_collator=_collated(model), **common)
    else:
        module, table = model, _table(kind, rows)
        prompts = {
            name: Prompts(model.prompts).by_role["document" if i else "query"]
            for i, name in enumerate(table)
        }
        arguments = SentenceTransformerTrainingArguments(
            **_arguments(kind, len(rows), settings, work),
            batch_sampler="batch_sampler" if kind.objective == "graded" else "no_duplicates",
            prompts={name: prompt for name, prompt in prompts.items() if prompt and name != "score"}
            or None,
        )
        examples = datasets.Dataset.from_dict(table)
        common |= {"train_dataset": examples, "eval_dataset": examples.select([0])}
        trainer = _EncoderTrainer(model, arguments, loss=getattr(losses, kind.loss)(model), **common)
    trainer.score = partial(score, model)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    if trainer.state.best_model_checkpoint is None:
        raise ModelError("all metrics are NaN or infinite. Use a lower --lr.")
    # A wrapped model would still compute in bf16.
    trainer.accelerator.unwrap_model(module, keep_fp32_wrapper=False)
    model.eval() if module is model else module.eval()
    return trainer.state


def _arguments(
    kind: TrainingTask, examples: int, settings: TrainingSettings, work: Path
) -> dict[str, Any]:
    batches = math.ceil(examples / settings.batch_size)
    steps, between = batches * settings.epochs, math.ceil(batches / kind.checkpoints)
    return {
        "output_dir": str(work),
        "num_train_epochs": settings.epochs,
        "per_device_train_batch_size": settings.batch_size,
        "learning_rate": settings.lr,
        # No warm-up for a single step: its learning rate would be 0.
        "warmup_steps": math.floor(_WARMUP * steps),
        "seed": settings.seed,
        "use_cpu": settings.device == "cpu",
        "bf16": settings.precision == "bf16",
        "eval_strategy": "steps",
        "save_strategy": "steps",
        "eval_steps": between,
        "save_steps": between,
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "restore_callback_states_from_checkpoint": True,
        "metric_for_best_model": "eval_score",
        "greater_is_better": True,
        "logging_steps": max(1, steps // _POINTS),
        "report_to": "none",
        "disable_tqdm": True,
        "log_level": "error",
        "dataloader_pin_memory": settings.device.startswith("cuda"),
    }


def _table(kind: TrainingTask, rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the rows as columns by name: texts, and scores if the pairs are graded."""
    columns = list(zip(*(row.texts for row in rows), strict=True))
    names = ["anchor", "positive", "negative"][: len(columns)]
    if kind.objective == "graded":
        names, columns = (
            ["sentence1", "sentence2", "score"],
            [*columns, tuple(row.score for row in rows)],
        )
    return {name: list(column) for name, column in zip(names, columns, strict=True)}


def _collated(head: Head) -> Callable[[Sequence[Feature]], dict[str, torch.Tensor]]:
    def batch(features: Sequence[Feature]) -> dict[str, torch.Tensor]:
        rows = head.batch([feature["encoding"] for feature in features])
        tensors = {name: torch.from_numpy(values) for name, values in rows.items()}
        for name in features[0].keys() - {"encoding", "input_ids"}:
            targets = [torch.tensor(feature[name]) for feature in features]
            by_token = targets[0].dim() > 0
            pad = torch.nn.utils.rnn.pad_sequence
            tensors[name] = pad(targets, True, IGNORED) if by_token else torch.stack(targets)
        return tensors

    return batch


class _Scored:
    """Mixin for a trainer that compares checkpoints by the metric that `score` measures, not by loss."""

    score: Callable[[], float]

    def evaluate(self: Any, *args: Any, **kwargs: Any) -> dict[str, float]:
        self.model.eval()
        metrics = {"eval_score": self.score()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics


class _HeadTrainer(_Scored, Trainer):
    pass


class _EncoderTrainer(_Scored, SentenceTransformerTrainer):
    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Do nothing: `search.lab.training.run` writes the model card, with the metrics."""


class _Patience(EarlyStoppingCallback):
    """Stops training when the score no longer improves, but not while it is 0: a tagger may find no entity at first."""

    def check_metric_value(self, args: Any, state: Any, control: Any, metric_value: float) -> None:
        if metric_value:
            super().check_metric_value(args, state, control, metric_value)


class _Watcher(TrainerCallback):
    """Calls the progress callback during training."""

    def __init__(self, progress: Callable[[Progress], None] | None) -> None:
        self._progress = progress

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        if self._progress:
            self._progress(Progress("training", state.global_step, state.max_steps))


def save(model: Any, files: ModelFiles, folder: Path) -> str:
    """Write the model with its tokenizer; return the sha256 of its weights."""
    if isinstance(model, Head):
        model.model.save_pretrained(str(folder))
        AutoTokenizer.from_pretrained(str(files.folder), local_files_only=True).save_pretrained(
            str(folder)
        )
    else:
        model.save_pretrained(str(folder), create_model_card=False)
    return sha256_of(folder / "model.safetensors")


@contextmanager
def silent() -> Iterator[None]:
    """Keep the libraries from printing progress bars, tables and warnings."""
    bars = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        with quiet():
            yield
    finally:
        if bars:
            datasets.enable_progress_bars()
