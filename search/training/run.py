"""A training from the model's files to the result in its place, whatever is learned."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from search.encoding import Encoder
from search.errors import InputError, ModelError
from search.records.evaluations import CurvePoint, Objective, TrainingFile, TrainingReport
from search.records.reports import Progress
from search.training.card import card
from search.training.fitting import Fitted, Settings, fit
from search.training.model import load_model, save_model, seeded, silent
from search.training.scoring import Figures, Measure
from search.training.work import WorkFolder

_FORMAT = 1  # of plan.json
_LIBRARIES = ("seewhy", "sentence-transformers", "transformers", "torch", "accelerate", "datasets")


@dataclass(frozen=True)
class Learning:
    """What the trainer is given.

    Attributes:
        module: the loss; `kind` the name of its class.
        columns: texts by name, and "score" or none.
        prompts: of columns, put before their texts.
        measure: for the figures; choose: for the choice of a checkpoint, None for the same.
        unique: no text twice in a batch.
    """

    module: Any
    kind: str
    columns: Mapping[str, Sequence[Any]]
    measure: Measure
    choose: Measure | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    unique: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """All that a training is made of.

    Attributes:
        base: the model that is trained on.
        data: digests and choices that decide about the result, by name.
        learn: makes what is learned of the loaded model.
    """

    base: Encoder
    work: WorkFolder
    settings: Settings
    objective: Objective
    files: tuple[TrainingFile, ...]
    counts: Mapping[str, int]
    data: Mapping[str, Any]
    choices: Mapping[str, Any]
    learn: Callable[[Any], Learning]
    notes: tuple[str, ...] = ()


def run(
    job: Job, *, resume: bool, restart: bool, progress: Callable[[Progress], None] | None = None
) -> TrainingReport:
    """Measure, train, measure again, save.

    Raises:
        InputError: an unfinished training is in the way, or there is none to resume.
        ModelError: the model cannot be trained, or went astray.
    """
    plan = {
        "format": _FORMAT,
        "weights": job.base.files.weights_sha256,
        "tokenizer": job.base.files.tokenizer_sha256,
        "objective": job.objective,
        "pooling": job.base.pooling,
        "max_tokens": job.base.max_tokens,
        "prompts": dict(job.base.description.prompts),
        **job.data,
        **{name: value for name, value in asdict(job.settings).items() if name != "device"},
    }
    with job.work.held():
        started_at = job.work.begin(plan, resume=resume, restart=restart)
        with silent(), seeded(job.settings.seed):
            model = load_model(job.base.files, job.settings.on)
            learning = job.learn(model)
            before = learning.measure.figures(model)
            _require_numbers(before, learning.measure.primary)
            first = (learning.choose or learning.measure).score(model)
            _require_number(first, learning.measure.primary)
            fitted, seconds = _fitted(job, model, learning, started_at, progress)
            after = learning.measure.figures(model)
            if not all(math.isfinite(one.mean) for one in after.metrics.values()):
                raise ModelError(
                    f"{learning.measure.primary} of the trained model is no number: the training has gone astray. "
                    "Begin anew with a lower learning rate: --lr, --restart"
                )
            saved = save_model(model, job.work.result)
        report = _report(job, learning, saved, before, after, first, fitted, started_at, seconds)
        (job.work.path / "result" / "README.md").write_text(card(report), encoding="utf-8")
        job.work.finish()
    return report


def _require_numbers(figures: Figures, primary: str) -> None:
    for one in figures.metrics.values():
        _require_number(one.mean, primary)


def _require_number(value: float, primary: str) -> None:
    if math.isfinite(value):
        return
    if primary == "spearman":
        raise InputError(
            "the model gives all held-out pairs the same cosine, so there is no correlation to measure. "
            "Hold out other examples: --dev FILE"
        )
    raise InputError(f"{primary} of the held-out data is no number, so nothing can be measured with it.")


def _fitted(
    job: Job, model: Any, learning: Learning, started_at: int, progress: Callable[[Progress], None] | None
) -> tuple[Fitted, float]:
    """What came of the steps, and how many seconds they took."""
    began = time.monotonic()
    fitted = fit(
        model,
        learning.module,
        dict(learning.columns),
        job.settings,
        job.work,
        score=(learning.choose or learning.measure).score,
        lower_is_better=learning.measure.primary == "loss",
        unique=learning.unique,
        prompts=dict(learning.prompts),
        resume_from=started_at,
        progress=progress,
    )
    return fitted, time.monotonic() - began


def _report(
    job: Job,
    learning: Learning,
    saved: Encoder,
    before: Figures,
    after: Figures,
    first: float,
    fitted: Fitted,
    started_at: int,
    seconds: float,
) -> TrainingReport:
    primary = learning.measure.primary
    settings = {
        **asdict(job.settings),
        **job.choices,
        "max_tokens": job.base.max_tokens,
        "pooling": job.base.pooling,
    }
    settings["device"] = job.settings.on
    settings["checkpoint_steps"] = fitted.between
    report = TrainingReport(
        out=str(job.work.out),
        base=job.base.model,
        base_sha256=job.base.files.weights_sha256,
        sha256=saved.files.weights_sha256,
        objective=job.objective,
        loss=learning.kind,
        files=job.files,
        counts=job.counts,
        settings=settings,
        primary=primary,
        before=before.metrics,
        after=after.metrics,
        difference=learning.measure.difference(before, after),
        losses=fitted.losses,
        scores=(CurvePoint(0, first), *fitted.scores),
        steps=fitted.steps,
        planned=fitted.planned,
        kept=fitted.kept,
        resumed=started_at,
        seconds=seconds,
        device=_device_name(job.settings.on),
        versions=_versions(),
    )
    notes = (*job.notes, *learning.notes, *fitted.notes, *_remarks(report))
    return TrainingReport(**{**vars(report), "notes": notes})


def _remarks(report: TrainingReport) -> list[str]:
    """What has to be known to read the figures."""
    found = []
    start, trained = report.scores[0], report.scores[1:]
    best, last = next(point for point in trained if point.step == report.kept), trained[-1]
    choice = report.counts.get("chosen_by")
    if len(trained) > 1:
        kept = f"the checkpoint of step {report.kept:,} was kept as the best of {len(trained)}"
        if choice:
            found.append(
                f"{kept} on {choice:,} examples of the training data that were held out for that: {report.primary} "
                f"{start.value:.4f} before, {best.value:.4f} there, {last.value:.4f} at the last, step {last.step:,}"
            )
        else:
            found.append(
                f"{kept}, chosen by the held-out data that the figures are of, which flatters them a little; the last "
                f"one, of step {last.step:,}, has {last.value:.4f}"
            )
    if choice and (best.value > start.value) == report.lower_is_better:
        found.append("on the examples that it was chosen by, no checkpoint was better than the model before")
    if not report.improved:
        found.append("the figures are not better than before: keep that model, or train otherwise")
    if report.resumed:
        found.append(
            f"an earlier run had come to step {report.resumed:,}; the time is that of this run alone"
        )
    return found


def _device_name(device: str) -> str:
    import torch

    if device.startswith("cuda"):
        return str(torch.cuda.get_device_name(device))
    if device != "cpu":
        return device
    threads = torch.get_num_threads()
    return f"cpu, {threads} thread{'' if threads == 1 else 's'}"


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
