"""Fine-tune the encoder, or train a task head on it: `train`, `train_classifier`, `train_tagger`, `train_reader`.

Held-out rows are measured before and after by one computation, the one that applies the model later. Another share is
held out to choose the best checkpoint by, so that the figures stay honest.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.errors import ModelError, OptionalDependency
from search.evaluating.asking import about_few
from search.evaluating.retrieval import too_long
from search.records.evaluations import CurvePoint, TrainingReport
from search.records.options import TrainOptions
from search.training.examples import Parts, Settings, parted
from search.training.kinds import Answers, Entities, Kind, Sentences, Texts
from search.training.work import WorkFolder

if TYPE_CHECKING:
    from typing_extensions import Unpack

_LR_FROZEN = 1e-2  # of a head alone
_LIBRARIES = ("seewhy", "sentence-transformers", "transformers", "torch", "accelerate", "datasets")


def train(
    data: str | Path, out: str | Path, *, loss: str | None = None, **options: Unpack[TrainOptions]
) -> TrainingReport:
    """Fine-tune an encoder by sentence-transformers' trainer; the result is a model folder like any other.

    Graded sentences are measured by Spearman's correlation of cosines and scores, queries by nDCG@10 among all passages
    that the data names.

    Args:
        data: CSV, TSV or JSONL with query and passage (and negative), or with sentence1, sentence2 and score. See
            `search.training.kinds`.
        out: the folder of the result, which must not be there or be empty.
        loss: a name in `search.training.kinds.LOSSES`; None takes what suits the examples.
        options: of `search.records.options.TrainOptions`.

    Raises:
        InputError: data that is malformed (with file and line) or too little, settings that make no sense, a folder
            that holds something, or an unfinished training that `resume` is not given for, or with other settings.
        ModelError: the model cannot be found, loaded or trained.
        OptionalDependency: the extra `training` is not installed.
    """
    return _run(Sentences(loss), data, out, options)


def train_classifier(data: str | Path, out: str | Path, **options: Unpack[TrainOptions]) -> TrainingReport:
    """Train a classifier of texts, which `search.bert.label` and `seewhy lab label apply --model` apply.

    Args:
        data: CSV, TSV or JSONL with the columns text and label.
        out, options: as for `train`.

    Raises:
        InputError, ModelError, OptionalDependency: as of `train`.
    """
    return _run(Texts(), data, out, options)


def train_tagger(data: str | Path, out: str | Path, **options: Unpack[TrainOptions]) -> TrainingReport:
    """Train a tagger of entities, which `search.bert.tag` and `seewhy lab tag --model` apply.

    Args:
        data: words with their labels in CoNLL format.
        out, options: as for `train`.

    Raises:
        InputError, ModelError, OptionalDependency: as of `train`.
    """
    return _run(Entities(), data, out, options)


def train_reader(data: str | Path, out: str | Path, **options: Unpack[TrainOptions]) -> TrainingReport:
    """Train a reader that answers questions with spans, which `search.bert.answer` and `seewhy lab ask --model` apply.

    Args:
        data: questions about paragraphs in SQuAD's format, with or without questions that have no answer.
        out, options: as for `train`.

    Raises:
        InputError, ModelError, OptionalDependency: as of `train`.
    """
    return _run(Answers(), data, out, options)


def _run(kind: Kind, data: str | Path, out: str | Path, options: TrainOptions) -> TrainingReport:
    for package in ("accelerate", "datasets"):
        if find_spec(package) is None:
            raise OptionalDependency(package, "training", "training a model")
    given: dict[str, Any] = {**options}
    base = Encoder(
        given.pop("model", None) or DEFAULT_MODEL,
        offline=given.pop("offline", False),
        engine="torch",
        device="cpu",
    )
    dev, resume, progress = (given.pop(name, None) for name in ("dev", "resume", "progress"))
    if given.get("lr") is None:
        given["lr"] = _LR_FROZEN if given.get("freeze") == "all" else kind.lr
    settings = Settings(**{**given, "epochs": given.get("epochs") or kind.epochs})
    work = WorkFolder(out)
    dev_file = Path(dev).expanduser() if dev else None
    parts = parted(kind, Path(data).expanduser(), dev_file, settings.dev_share, settings.seed)
    classes = kind.classes(parts.train)
    measure, chooser = (kind.measure(rows, parts.train, settings.seed) for rows in (parts.dev, parts.choice))
    plan = {
        "weights": base.files.weights_sha256,
        "tokenizer": base.files.tokenizer_sha256,
        "objective": kind.objective,
        "loss": kind.loss,
        "classes": list(classes),
        **{f"sha256 of {file.role}": file.sha256 for file in parts.files},
        **{name: value for name, value in asdict(settings).items() if name != "device"},
    }
    from search.training import trainers

    with work.held(plan, bool(resume)) as checkpoint, trainers.silent():
        model = trainers.load(kind, base.files, classes, settings)
        before, first = measure.measured(model), chooser.score(model)
        _require_numbers([first, before.metrics[measure.primary].mean])
        began = time.monotonic()
        state = trainers.fit(
            model, kind, parts.train, chooser.score, settings, work.path, checkpoint, progress
        )
        seconds = time.monotonic() - began
        after = measure.measured(model)
        _require_numbers([after.metrics[measure.primary].mean])
        curves = {
            name: [CurvePoint(int(one["step"]), float(one[name])) for one in state.log_history if name in one]
            for name in ("loss", "eval_score")
        }
        report = TrainingReport(
            out=str(work.out),
            base=base.files.name,
            base_sha256=base.files.weights_sha256,
            sha256=trainers.save(model, base.files, work.result),
            objective=kind.objective,
            loss=kind.loss,
            files=parts.files,
            counts=parts.counts,
            settings=asdict(settings),
            primary=measure.primary,
            before=before.metrics,
            after=after.metrics,
            difference=measure.difference(before, after),
            losses=tuple(curves["loss"]),
            scores=(CurvePoint(0, first), *curves["eval_score"]),
            steps=state.global_step,
            kept=int(str(state.best_model_checkpoint).rpartition("-")[2]),
            resumed=int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0,
            seconds=seconds,
            device=settings.on,
            classes=after.classes,
            versions={name: version(name) for name in _LIBRARIES},
        )
        notes = (*parts.notes, *_about_texts(kind, base, parts), *_remarks(report, state.max_steps))
        report = replace(report, notes=notes)
        _describe(report, work.result)
        work.finish()
    return report


def _require_numbers(values: Sequence[float]) -> None:
    if not all(map(math.isfinite, values)):
        raise ModelError(
            "the model gives all held-out rows the same, or what is no number, so there is nothing to compare. Hold "
            "out other examples with --dev, or begin anew with a lower --lr."
        )


def _about_texts(kind: Kind, base: Encoder, parts: Parts) -> list[str]:
    """What has to be known of the texts that an encoder learned from."""
    notes = about_few(len(parts.dev), "examples to measure with")
    if not isinstance(kind, Sentences):
        return notes
    rows = [row.texts for row in parts.train]
    texts = {text for row in rows for text in row}
    if cut := too_long(base, sorted(texts)):
        parts.counts["cut"] = cut
        notes.append(
            f"{cut:,} of {len(texts):,} texts are longer than {base.max_tokens} tokens and are cut there"
        )
    if kind.objective != "graded" and len(texts) < sum(map(len, rows)):
        notes.append(
            "texts repeat, and none stands twice in a batch; examples may be left to a later epoch for that"
        )
    return notes


def _remarks(report: TrainingReport, planned: int) -> list[str]:
    """What has to be known to read the figures."""
    start, *_ = report.scores
    best = next(point for point in report.scores[1:] if point.step == report.kept)
    remarks = [
        f"step {report.kept:,} of {report.steps:,} was kept: {report.primary} {best.value:.4f} ({start.value:.4f} "
        f"before) on {report.counts['chosen_by']:,} examples that were held out for that choice"
    ]
    if report.steps < planned:
        remarks.append(f"stopped at step {report.steps:,} of {planned:,}, as nothing had become better")
    if not report.improved:
        remarks.append("the figures are not better than before: keep that model, or train otherwise")
    if report.resumed:
        remarks.append(
            f"an earlier run had come to step {report.resumed:,}; the time is that of this run alone"
        )
    return remarks


_LIBRARY = {
    "pairs": "sentence-transformers",
    "triplets": "sentence-transformers",
    "graded": "sentence-transformers",
}
_CARD = """\
---
library_name: {library}
tags: [seewhy, {objective}]
---

# {base}, trained further

It learned {learned}. On {held_out:,} held-out examples, with the 95 % interval of the difference:

| metric | before | after | difference |
|---|---|---|---|
{figures}

{notes}

`training.json` has all settings, and the hashes of data and weights.
"""


def _describe(report: TrainingReport, folder: Path) -> None:
    """Write a model card, and the whole report beside it; files are named without folders."""
    name = Path(report.base).name if Path(report.base).is_absolute() else report.base
    figures = [
        f"| {metric} | {before.mean:.4f} | {report.after[metric].mean:.4f} | {gap.mean:+.4f} "
        f"({gap.low:+.3f} to {gap.high:+.3f}) |"
        for (metric, before), gap in zip(report.before.items(), report.difference.values(), strict=True)
    ]
    card = _CARD.format(
        library=_LIBRARY.get(report.objective, "transformers"),
        objective=report.objective,
        base=name,
        learned=report.learned,
        held_out=report.counts["held_out"],
        figures="\n".join(figures),
        notes="\n".join(f"- {note}" for note in report.notes),
    )
    (folder / "README.md").write_text(card, encoding="utf-8")
    told = asdict(report) | {"base": name, "out": folder.name, "classes": None}
    told["files"] = [{**asdict(file), "path": file.name} for file in report.files]
    (folder / "training.json").write_text(json.dumps(told, indent=2), encoding="utf-8")
