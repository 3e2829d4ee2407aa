"""A task head is trained with its encoder or on a frozen one: `train_classifier`, `train_tagger`, `train_reader`.

What is held out is measured before and after by the code that applies the head later: see `search.training.run`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.bert.checkpoint import Head
from search.encoding.models import DEFAULT_MODEL, find_model
from search.errors import InputError, OptionalDependency
from search.evaluating.asking import about_few
from search.records.evaluations import TrainingFile, TrainingReport
from search.records.options import HeadOptions
from search.records.reports import Progress
from search.training.head_tasks import HeadTask, Questions, Sentences, Texts, parted
from search.training.job import Fitted, Job, Settings
from search.training.run import require_extra, run
from search.training.work import WorkFolder

if TYPE_CHECKING:
    from typing_extensions import Unpack

# The highest learning rate where none is asked for: of an encoder that learns, and of a head on a frozen one.
LR, LR_FROZEN = 1e-4, 1e-2


@dataclass(frozen=True)
class HeadSettings(Settings):
    """How to train a head.

    Attributes:
        freeze: nothing is learned in the embeddings and the first so many layers; "all" freezes the encoder, None
            nothing.
        class_weights: "balanced" makes every class count alike, however rare it is; None every example.
        patience: after how many evaluations in a row that brought nothing the training ends; there are two an epoch.
        precision: of the steps' arithmetic, "fp32" or "bf16", which is about twice as quick where the processor or GPU
            has units for it; weights and figures before and after are of fp32.
    """

    freeze: int | str | None = None
    class_weights: str | None = None
    patience: int = 3
    precision: str = "fp32"

    def __post_init__(self) -> None:
        if self.freeze not in (None, "all") and not (type(self.freeze) is int and self.freeze >= 0):
            raise InputError(f"freeze is {self.freeze!r}, but takes a number of layers, or all.")
        if self.class_weights not in (None, "balanced"):
            raise InputError(f"there are no class weights '{self.class_weights}'. Choose: balanced.")
        if self.patience < 1:
            raise InputError(f"the patience is {self.patience}, but at least 1 evaluation is needed.")
        if self.precision not in ("fp32", "bf16"):
            raise InputError(f"the precision '{self.precision}' is not known. Choose fp32 or bf16.")


@dataclass(frozen=True, kw_only=True)
class HeadJob(Job):
    """The training of a head.

    Attributes:
        rows: to learn from.
        classes: that it tells apart; () for a reader.
    """

    settings: HeadSettings
    task: HeadTask
    rows: tuple[Any, ...]
    classes: tuple[str, ...]

    def load(self) -> Head:
        from search.training.head_trainer import head_to_train

        return head_to_train(self)

    def begins_anew(self, model: Head) -> bool:
        return model.untrained

    def fit(
        self, model: Head, checkpoint: Path | None, progress: Callable[[Progress], None] | None
    ) -> Fitted:
        from search.training.head_trainer import fit

        return fit(model, self, checkpoint, progress)

    def save(self, model: Head, folder: Path) -> str:
        from search.training.head_trainer import save_head

        return save_head(model, folder)


def train_classifier(
    data: str | Path,
    out: str | Path,
    *,
    text_column: str | None = None,
    label_column: str = "label",
    **options: Unpack[HeadOptions],
) -> TrainingReport:
    """Train a classifier of texts, which `search.bert.label` and `seewhy lab label apply --model` apply.

    The encoder learns, too, as far as it is not frozen: layers from `freeze` on, or with "all" the new head alone.

    Args:
        data: CSV, TSV or JSONL with a column of texts and one of labels.
        out: the folder of the result, which must not be there or be empty.
        text_column, label_column: None takes "text".
        options: of `search.records.options.HeadOptions`:
            model: the checkpoint to train, by name or folder; None takes the default encoder. Its head is taken on if
            it has one for the very classes; otherwise a new one begins.
            dev: a file to measure with; what is in both is not learned from. None holds out a share of the data.
            dev_share: that share. The same share of what is left is held out to choose the best checkpoint by, and to
            stop.
            freeze, class_weights, patience, precision: see `HeadSettings`.
            epochs: most of them. batch_size, lr, warmup, device, seed: see `search.training.job.Settings`; lr None
            takes 1e-4, and 1e-2 where the encoder is frozen.
            resume: go on from the last checkpoint of a run that was stopped, if there is one.
            offline: never call out to the Hugging Face hub.
            progress: called at every step.

    Raises:
        InputError: data that is malformed (with file and line) or too little, settings that make no sense, a folder
            that holds something, or an unfinished training that `resume` is not given for, or with other settings.
        ModelError: the model cannot be found, loaded or trained.
        OptionalDependency: the extra `training` is not installed.
    """
    return _trained(Texts(text_column, label_column), data, out, **options)


def train_tagger(data: str | Path, out: str | Path, **options: Unpack[HeadOptions]) -> TrainingReport:
    """Train a tagger of entities, which `search.bert.tag` and `seewhy lab tag --model` apply.

    Args:
        data: words with their labels in CoNLL format, as for `seewhy eval-ner`.
        out, options: as for `train_classifier`.

    Raises:
        InputError, ModelError: as of `train_classifier`.
        OptionalDependency: the extra `training` or `entities` is not installed.
    """
    if find_spec("seqeval") is None:
        raise OptionalDependency("seqeval", "entities", "scoring entities")
    return _trained(Sentences(), data, out, **options)


def train_reader(data: str | Path, out: str | Path, **options: Unpack[HeadOptions]) -> TrainingReport:
    """Train a reader that answers questions with spans, which `search.bert.answer` and `seewhy lab ask --model` apply.

    Args:
        data: questions about paragraphs in SQuAD's format, with or without questions that have no answer.
        out, options: as for `train_classifier`; there are no classes to weigh.

    Raises:
        InputError, ModelError, OptionalDependency: as of `train_classifier`.
    """
    if options.get("class_weights"):
        raise InputError("answers are spans, not classes: leave class_weights out.")
    return _trained(Questions(), data, out, **options)


def _trained(
    task: HeadTask,
    data: str | Path,
    out: str | Path,
    *,
    model: str | None = None,
    dev: str | Path | None = None,
    dev_share: float = 0.1,
    epochs: int = 4,
    lr: float | None = None,
    freeze: int | str | None = None,
    resume: bool = False,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> TrainingReport:
    require_extra()
    if not 0 < dev_share <= 0.5:
        raise InputError(f"dev_share is {dev_share}, but must be more than 0 and at most 0.5.")
    rate = lr if lr is not None else LR_FROZEN if freeze == "all" else LR
    how = HeadSettings(epochs=epochs, lr=rate, freeze=freeze, **settings)
    work = WorkFolder(out)
    files = find_model(model or DEFAULT_MODEL, offline=offline)
    parts = _parts(task, Path(data).expanduser(), dev, dev_share, how.seed)
    classes = task.classes(parts.train)
    job = HeadJob(
        files=files,
        work=work,
        settings=how,
        objective=task.objective,
        loss="CrossEntropyLoss",
        data=parts.files,
        measure=task.measure(parts.dev, classes, how.seed),
        chooser=task.measure(parts.choice, classes, how.seed),
        digests={
            "train": _digest(parts.train),
            "held-out data": _digest(parts.dev),
            "choice": _digest(parts.choice),
        },
        dev_share=dev_share,
        counts=parts.counts,
        notes=(*parts.notes, *about_few(len(parts.dev), "examples to measure with")),
        task=task,
        rows=parts.train,
        classes=classes,
    )
    return run(job, resume=resume, progress=progress)


@dataclass(frozen=True)
class _Parts:
    """Rows to learn from, to measure with and to choose a checkpoint by, and how they came about."""

    train: tuple[Any, ...]
    dev: tuple[Any, ...]
    choice: tuple[Any, ...]
    files: tuple[TrainingFile, ...]
    counts: dict[str, int]
    notes: tuple[str, ...]


def _parts(task: HeadTask, data: Path, dev: str | Path | None, share: float, seed: int) -> _Parts:
    every = task.read(data, "train")
    read = [every]
    counts = {"read": every.file.rows, "duplicates": every.repeated}
    if dev is None:
        rows, held = parted(task, every.rows, share, seed)
    else:
        read.append(task.read(Path(dev).expanduser(), "dev"))
        held = list(read[1].rows)
        known = {task.key(row) for row in held}
        rows = [row for row in every.rows if task.key(row) not in known]
        counts["also_held_out"] = len(every.rows) - len(rows)
    rows, choice = parted(task, rows, share, seed)
    counts |= {"train": len(rows), "held_out": len(held), "chosen_by": len(choice)}
    notes = tuple(note for one in read for note in one.notes)
    return _Parts(tuple(rows), tuple(held), tuple(choice), tuple(one.file for one in read), counts, notes)


def _digest(rows: Sequence[Any]) -> str:
    """sha256 of rows, in order."""
    return hashlib.sha256("\n".join(repr(asdict(row)) for row in rows).encode()).hexdigest()
