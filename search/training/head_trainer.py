"""transformers' own trainer for a model with a task head: the model it begins with, what it is given, what is saved.

It imports PyTorch, so it is imported when a training begins.
"""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import EarlyStoppingCallback, PrinterCallback, Trainer, TrainingArguments

from search.bert.checkpoint import KINDS, Head, Task
from search.encoding.loading import load_transformer, loading, require_whole, token_limit
from search.encoding.models import ModelFiles
from search.encoding.tokenizer import load_tokenizer
from search.errors import InputError
from search.files import sha256_of
from search.records.reports import Progress
from search.training.head_tasks import IGNORED, Feature
from search.training.heads import HeadJob
from search.training.job import Fitted
from search.training.measures import Measure
from search.training.steps import POINTS, Watcher, fitted, readable

_CHECKPOINTS = 2  # an epoch
_DECAY = 0.01
_TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt",
    "vocab.json", "merges.txt",
)  # fmt: skip


def head_to_train(job: HeadJob) -> Head:
    """The base with a head for the task: its own where it has one for the very classes, else a new one.

    Raises:
        InputError: there are fewer layers than shall be frozen.
        ModelError: the base cannot be loaded, or transformers has no such head for its kind of model.
    """
    files, settings = job.files, job.settings
    model, missing, new = _with_head(files, job.task.head, job.classes, settings.seed)
    freeze(model, settings.freeze)
    for name, parameter in model.base_model.named_parameters():
        if name in missing:  # a pooler that the base does not have is new as the head is
            parameter.requires_grad_(True)
    tokenizer = load_tokenizer(files.folder, files.name)
    limit = token_limit(files, model)
    return Head(job.task.head, files, tokenizer, model.to(settings.on), job.classes, limit, settings.on, new)


def _with_head(
    files: ModelFiles, task: Task, classes: tuple[str, ...], seed: int
) -> tuple[Any, tuple[str, ...], bool]:
    """The model in eval mode, what its base lacked, and whether its head is new, which then follows from the seed."""
    torch.manual_seed(seed)
    names = files.config.get("id2label") or {}
    if not classes or tuple(names.get(str(i)) for i in range(len(names))) == classes:
        model, missing = load_transformer(files, KINDS[task].loads)
        if not missing:
            return model, (), False
    base, missing = load_transformer(files)
    require_whole(files, missing)
    labels: dict[str, Any] = {}
    if classes:
        labels = {
            "id2label": dict(enumerate(classes)),
            "label2id": {name: i for i, name in enumerate(classes)},
            "problem_type": "single_label_classification" if task == "label" else None,
        }
    with loading(files):
        config = transformers.AutoConfig.from_pretrained(
            str(files.folder), local_files_only=True, trust_remote_code=False, **labels
        )
        model = getattr(transformers, KINDS[task].loads).from_config(config)
        model.base_model.load_state_dict(base.state_dict(), strict=False)
    return model.float().eval(), missing, True


def freeze(model: Any, layers: int | str | None) -> None:
    """Nothing is learned in the embeddings and the first layers, of which there may be 0; "all" freezes the encoder.

    Raises:
        InputError: there are fewer layers, or they share their weights.
    """
    if layers is None:
        return
    base = model.base_model
    if layers == "all":
        base.requires_grad_(False)
        return
    count = int(base.config.num_hidden_layers)
    stacks = [part for part in base.modules() if isinstance(part, torch.nn.ModuleList) and len(part) == count]
    if not stacks or not 0 <= int(layers) <= count:
        has = f"{count} layers" if stacks else "layers that share their weights"
        raise InputError(f"{layers} layers cannot be frozen: the model has {has}. Freeze fewer, or all.")
    for name, part in base.named_children():
        if name.startswith("embeddings"):
            part.requires_grad_(False)
    for layer in stacks[0][: int(layers)]:
        layer.requires_grad_(False)


def fit(
    head: Head, job: HeadJob, checkpoint: Path | None, progress: Callable[[Progress], None] | None
) -> Fitted:
    """Train, and leave the weights of the best checkpoint in the model.

    Raises:
        ModelError: the loss became NaN or infinity.
    """
    features = list(job.task.features(head, job.rows))
    trainer = _HeadTrainer(
        head,
        job.chooser,
        args=_arguments(job, len(features)),
        train_dataset=features,
        eval_dataset=features[:1],  # the chooser has its own, and the trainer wants one
        compute_loss_func=_weighted(features, head) if job.settings.class_weights else None,
        callbacks=[Watcher(progress), _Patience(job.settings.patience)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    trainer.accelerator.unwrap_model(head.model, keep_fp32_wrapper=False)  # else it goes on computing in bf16
    head.model.eval()
    return fitted(trainer.state)


def _arguments(job: HeadJob, features: int) -> TrainingArguments:
    settings = job.settings
    batches = math.ceil(features / settings.batch_size)
    steps, between = batches * settings.epochs, math.ceil(batches / _CHECKPOINTS)
    return TrainingArguments(
        output_dir=str(job.work.path),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=settings.lr,
        weight_decay=_DECAY,
        warmup_steps=math.floor(settings.warmup * steps),
        seed=settings.seed,
        use_cpu=settings.on == "cpu",
        bf16=settings.precision == "bf16",
        train_sampling_strategy="group_by_length",
        remove_unused_columns=False,
        eval_strategy="steps",
        save_strategy="steps",
        eval_steps=between,
        save_steps=between,
        save_total_limit=2,
        load_best_model_at_end=True,
        restore_callback_states_from_checkpoint=True,
        metric_for_best_model="eval_score",
        greater_is_better=True,
        logging_steps=max(1, steps // POINTS),
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        log_level="error",
        dataloader_pin_memory=settings.on.startswith("cuda"),
    )


class _HeadTrainer(Trainer):
    """The trainer, whose checkpoints are compared by what the head says when it is applied."""

    def __init__(self, head: Head, chooser: Measure, **given: Any) -> None:
        super().__init__(model=head.model, data_collator=self._batch, **given)
        self._head, self._chooser = head, chooser

    def _batch(self, features: Sequence[Feature]) -> dict[str, torch.Tensor]:
        rows = self._head.batch([one["encoding"] for one in features])
        batch = {name: torch.from_numpy(values) for name, values in rows.items()}
        for name in features[0].keys() - {"encoding", "input_ids"}:
            targets = [torch.tensor(one[name]) for one in features]
            if targets[0].dim():
                batch[name] = torch.nn.utils.rnn.pad_sequence(
                    targets, batch_first=True, padding_value=IGNORED
                )
            else:
                batch[name] = torch.stack(targets)
        return batch

    def evaluate(self, *given: Any, **named: Any) -> dict[str, float]:
        self._head.model.eval()
        found = {"eval_score": self._chooser.score(self._head)}
        self.log(found)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, found)
        return found


class _Patience(EarlyStoppingCallback):
    """Ends a training that brings nothing more; a score of 0, as of a tagger that finds no entity yet, is no end."""

    def check_metric_value(self, args: Any, state: Any, control: Any, metric_value: float) -> None:
        if metric_value:
            super().check_metric_value(args, state, control, metric_value)  # type: ignore[no-untyped-call]


def _weighted(features: Sequence[Feature], head: Head) -> Callable[..., torch.Tensor]:
    """Cross-entropy in which every class counts alike, however rare it is: n / (classes * n of the class)."""
    many = Counter(
        label
        for one in features
        for label in (one["labels"] if isinstance(one["labels"], list) else [one["labels"]])
        if label != IGNORED
    )
    weights = torch.tensor([many.total() / (len(many) * (many[i] or 1)) for i in range(len(head.labels))])

    def loss(outputs: Any, labels: torch.Tensor, num_items_in_batch: Any = None) -> torch.Tensor:
        logits = outputs["logits"].flatten(end_dim=-2)
        weight = weights.to(logits.device)
        return torch.nn.functional.cross_entropy(
            logits, labels.flatten(), weight=weight, ignore_index=IGNORED
        )

    return loss


def save_head(head: Head, folder: Path) -> str:
    """Write the model with the base's tokenizer; sha256 of its weights."""
    head.model.save_pretrained(str(folder))
    there = (head.files.folder / name for name in _TOKENIZER_FILES)
    for file in filter(Path.is_file, there):
        shutil.copyfile(file, folder / file.name)
    if not (folder / "tokenizer.json").is_file():
        head.tokenizer.save(str(folder / "tokenizer.json"))
    readable(folder)
    return sha256_of(folder / "model.safetensors")
