"""Fine-tune the encoder, or train a task head on it: `train`, `train_classifier`, `train_tagger`, `train_reader`.

A tenth of the rows is held out: the model is measured on it before and after training, with the same code
that uses the model later. Another tenth is held out to choose the best checkpoint, so that the metrics stay
unbiased. Rows that share a text are always in the same part.

During training a folder `.NAME.…` beside the result contains the trainer's `checkpoint-STEP/`, and at the end
`result/`, which is then moved into place.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.encoding.torch_engine import best_device
from search.errors import InputError, ModelError, OptionalDependency, quoted
from search.evaluating.evaluation import too_long
from search.evaluating.metrics import about_few
from search.files import sha256_of
from search.lab.bert.checkpoint import KINDS, TRAINING
from search.lab.evaluating.formats import NO_ENTITY, read_conll
from search.lab.records.training import CurvePoint, HeldOut, TrainingFile, TrainingReport, TrainOptions
from search.lab.training.evaluators import Evaluator, Figures
from search.lab.training.tasks import (
    AnswerTraining,
    Entities,
    PartsOfSpeech,
    Sentences,
    Texts,
    TrainingSettings,
    TrainingTask,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

_LR_FROZEN = 1e-2  # for a frozen encoder
_PARTS = 10  # parts of the rows; one part is held out
# Minimum number of held-out rows; a correlation of two points is always 1.
_FEWEST = 3


@dataclass(frozen=True)
class Parts:
    """The rows in three parts, with facts about the split.

    Attributes:
        train: rows to train on.
        choice: held-out rows to choose the best checkpoint.
        dev: held-out rows to measure on.
        counts: numbers of rows by name, such as "duplicates".
    """

    train: Sequence[Any]
    choice: Sequence[Any]
    dev: Sequence[Any]
    files: tuple[TrainingFile, ...]
    counts: dict[str, int]
    notes: tuple[str, ...]


def train(data: str | Path, out: str | Path, **options: Unpack[TrainOptions]) -> TrainingReport:
    """Fine-tune an encoder with sentence-transformers' trainer, and save it as a model folder.

    Graded sentences are measured by Spearman's correlation of cosines and scores, queries by nDCG@10 among all passages
    in the data.

    Args:
        data: CSV, TSV or JSONL with query and passage (and negative), or with sentence1, sentence2 and score. See
            `search.lab.training.tasks`.
        out: folder for the result; it must be empty or not exist.
        options: keywords of `search.lab.records.training.TrainOptions`.

    Raises:
        InputError: malformed data (with file and line), too little data, invalid settings, an output folder that is not
            empty.
        ModelError: the model cannot be found, loaded or trained.
        OptionalDependency: the extra `training` is not installed.
    """
    return _run(Sentences(), data, out, options)


def train_classifier(
    data: str | Path, out: str | Path, **options: Unpack[TrainOptions]
) -> TrainingReport:
    """Train a classifier of texts, for `search.bert.label` and `seewhy lab label apply --model`.

    Args:
        data: CSV, TSV or JSONL with the columns text and label.
        out, options: as for `train`.

    Raises:
        InputError, ModelError, OptionalDependency: as for `train`.
    """
    return _run(Texts(), data, out, options)


def train_tagger(data: str | Path, out: str | Path, **options: Unpack[TrainOptions]) -> TrainingReport:
    """Train a tagger of entities or of parts of speech, for `search.bert.tag` and `seewhy lab tag --model`.

    Args:
        data: words with their labels in CoNLL format. If a label is O or has a hyphen ("B-person"), these are labels of
            entities; otherwise each word has a label of its own, such as NOUN.
        out, options: as for `train`.

    Raises:
        InputError, ModelError, OptionalDependency: as for `train`.
    """
    sentences = read_conll(Path(data).expanduser(), entities=False)
    names = {label for sentence in sentences for label in sentence.labels}
    finds_entities = any(name == NO_ENTITY or "-" in name for name in names)
    return _run(Entities() if finds_entities else PartsOfSpeech(), data, out, options)


def train_reader(data: str | Path, out: str | Path, **options: Unpack[TrainOptions]) -> TrainingReport:
    """Train a reader that answers questions with spans, for `search.bert.answer` and `seewhy lab ask --model`.

    Args:
        data: questions about paragraphs in SQuAD's format; questions may have no answer.
        out, options: as for `train`.

    Raises:
        InputError, ModelError, OptionalDependency: as for `train`.
    """
    return _run(AnswerTraining(), data, out, options)


def _run(kind: TrainingTask, data: str | Path, out: str | Path, options: TrainOptions) -> TrainingReport:
    for package in ("accelerate", "datasets"):
        if find_spec(package) is None:
            raise OptionalDependency(package, "training", "training a model")
    values: dict[str, Any] = {**options}
    name, offline = values.pop("model", None) or DEFAULT_MODEL, values.pop("offline", False)
    base = Encoder(name, offline=offline, engine="torch", device="cpu")
    dev, progress = values.pop("dev", None), values.pop("progress", None)
    place = Path(out).expanduser().absolute()
    _require_free(place)
    settings = _settings(kind, values)
    parts = _parted(kind, Path(data).expanduser(), Path(dev).expanduser() if dev else None, settings.seed)
    classes = kind.classes(parts.train)
    measure, chooser = (
        kind.measure(rows, parts.train, settings.seed) for rows in (parts.dev, parts.choice)
    )
    work = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    from search.lab.training import trainers

    try:
        with trainers.silent():
            model = trainers.load(kind, base.files, classes, settings)
            before, first = measure.measured(model), chooser.score(model)
            _require_numbers([first, before.metrics[measure.primary].mean])
            began = time.monotonic()
            state = trainers.fit(model, kind, parts.train, chooser.score, settings, work, progress)
            seconds = time.monotonic() - began
            after = measure.measured(model)
            _require_numbers([after.metrics[measure.primary].mean])
            sha256 = trainers.save(model, base.files, work / "result")
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    report = TrainingReport(
        out=str(place),
        base=base.files.name,
        base_sha256=base.files.weights_sha256,
        sha256=sha256,
        objective=kind.objective,
        loss=kind.loss,
        files=parts.files,
        counts=parts.counts,
        settings=asdict(settings),
        primary=measure.primary,
        before=before.metrics,
        after=after.metrics,
        difference=measure.difference(before, after),
        losses=_curve(state.log_history, "loss"),
        scores=(CurvePoint(0, first), *_curve(state.log_history, "eval_score")),
        steps=state.global_step,
        kept=int(str(state.best_model_checkpoint).rpartition("-")[2]),
        seconds=seconds,
        device=settings.device,
        classes=after.classes,
        held_out=_correct(kind, measure, after),
    )
    report = replace(report, notes=(*parts.notes, *_about_texts(kind, base, parts), *_remarks(report)))
    _describe(report, work / "result")
    _finish(work, place)
    return report


def _correct(kind: TrainingTask, measure: Evaluator, after: Figures) -> dict[str, HeldOut]:
    """Return how often the trained head is right, by its task."""
    if kind.head is None or measure.right is None:
        return {}
    right = measure.right(after.columns)
    held_out = HeldOut(int(right.sum()), len(right), KINDS[kind.head].unit)
    if measure.unanswerable is not None:
        refused = right & measure.unanswerable
        held_out = replace(
            held_out, unanswerable=int(measure.unanswerable.sum()), refused=int(refused.sum())
        )
    return {kind.head: held_out}


def _curve(history: Sequence[Mapping[str, Any]], name: str) -> tuple[CurvePoint, ...]:
    return tuple(CurvePoint(int(row["step"]), float(row[name])) for row in history if name in row)


def _settings(kind: TrainingTask, values: dict[str, Any]) -> TrainingSettings:
    """Return the settings of a training; missing ones get the defaults of its kind."""
    lr = _LR_FROZEN if values.get("freeze") == "all" else kind.lr
    values |= {"epochs": values.get("epochs") or kind.epochs, "lr": values.get("lr") or lr}
    return TrainingSettings(**{**values, "device": best_device()})


def _parted(kind: TrainingTask, data: Path, dev: Path | None, seed: int) -> Parts:
    """Split the rows of `data` into three parts; if `dev` is a file, measure on its rows instead.

    Raises:
        InputError: a file is malformed, or has too few rows.
    """
    read = kind.read(data, "train")
    rows, repeated, notes = list(read.rows), read.repeated, list(read.notes)
    files = [TrainingFile("train", str(data), data.name, sha256_of(data), len(rows) + repeated)]
    counts = {"read": files[0].rows, "duplicates": repeated}
    if dev is None:
        rows, test = _held_out(kind, rows, seed)
    else:
        second = kind.read(dev, "dev")
        test, notes = list(second.rows), [*notes, *second.notes]
        files.append(TrainingFile("dev", str(dev), dev.name, sha256_of(dev), len(test) + second.repeated))
        keys = {kind.key(row) for row in test}
        counts["also_held_out"] = sum(kind.key(row) in keys for row in rows)
        rows = [row for row in rows if kind.key(row) not in keys]
    rows, choice = _held_out(kind, rows, seed)
    counts |= {"train": len(rows), "held_out": len(test), "chosen_by": len(choice)}
    return Parts(rows, choice, test, tuple(files), counts, tuple(notes))


def _held_out(kind: TrainingTask, rows: Sequence[Any], seed: int) -> tuple[list[Any], list[Any]]:
    """Split rows into a larger part and a held-out tenth, stratified by label; rows that share a text stay together.

    Raises:
        InputError: too few rows.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    labels = [kind.label(row) for row in rows]
    many = Counter(labels)
    few = next((label for label in many if label and many[label] < _FEWEST), None)
    parts = min(_PARTS, len(rows) // _FEWEST, max(many.values(), default=0))
    if parts > 1 and few is None:
        division = StratifiedGroupKFold(parts, shuffle=True, random_state=seed)
        # Hide warnings about labels with fewer rows than parts.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            train, test = next(division.split(labels, labels, kind.groups(rows)))
        if len(train) and len(test) >= _FEWEST:
            return [rows[i] for i in train], [rows[i] for i in test]
    of = f" with the label '{few}'" if few else ""
    raise InputError(f"too few examples{of} to hold out a tenth. Add more.")


def _require_free(out: Path) -> None:
    """Check that the output folder can be created.

    Raises:
        InputError: the output path is taken, or its parent folder is missing.
    """
    if out.is_symlink() or (out.exists() and not (out.is_dir() and not any(out.iterdir()))):
        raise InputError(f"'{out}' already exists. Give another folder.")
    if not out.parent.is_dir():
        raise InputError(
            f"cannot create '{out}': the folder '{out.parent}' does not exist. Create it first."
        )


def _finish(work: Path, out: Path) -> None:
    """Move the trained model from the working folder to `out`, and delete the working folder.

    Raises:
        InputError: the output path was taken after the start; the result stays in the working folder.
    """
    try:
        if out.is_dir():
            out.rmdir()  # refused unless it is empty
        (work / "result").replace(out)
    except OSError:
        raise InputError(
            f"training is done, but '{out}' already exists. The model is in {quoted(work / 'result')}."
        ) from None
    shutil.rmtree(work, ignore_errors=True)


def _require_numbers(values: Sequence[float]) -> None:
    if not all(map(math.isfinite, values)):
        raise ModelError("all held-out examples have the same score or label. Use other --dev examples.")


def _about_texts(kind: TrainingTask, base: Encoder, parts: Parts) -> list[str]:
    """Return notes about the training texts."""
    notes = about_few(len(parts.dev), "held-out examples")
    texts = (
        sorted({text for row in parts.train for text in row.texts}) if isinstance(kind, Sentences) else []
    )
    if cut := too_long(base, texts):
        notes.append(f"{cut:,} of {len(texts):,} texts were truncated to {base.max_tokens} tokens")
    return notes


def _remarks(report: TrainingReport) -> list[str]:
    """Return notes that help to interpret the metrics of a report."""
    best = next(point for point in report.scores[1:] if point.step == report.kept)
    remarks = [
        f"kept the weights of step {report.kept:,}: {report.primary} {best.value:.4f} on "
        f"{report.counts['chosen_by']:,} held-out examples"
    ]
    if not report.improved:
        remarks.append(
            "the metrics did not improve. Keep the original model, or train with other settings or examples"
        )
    return remarks


def _describe(report: TrainingReport, folder: Path) -> None:
    """Write the report into the model's folder; data files are named without their folders."""
    base = Path(report.base).name if Path(report.base).is_absolute() else report.base
    record = asdict(report) | {"base": base, "out": folder.name, "classes": None}
    for task, held_out in report.held_out.items():
        record["held_out"][task]["interval"] = held_out.interval
    record["files"] = [{**asdict(file), "path": file.name} for file in report.files]
    (folder / TRAINING).write_text(json.dumps(record, indent=2), encoding="utf-8")
