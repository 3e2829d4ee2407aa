"""A training from the model's files to the result in its place."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec

from search.errors import InputError, ModelError, OptionalDependency
from search.records.evaluations import CurvePoint, TrainingReport
from search.records.reports import Progress
from search.training.card import card
from search.training.job import Fitted, Job
from search.training.measures import Figures

_LIBRARIES = ("seewhy", "sentence-transformers", "transformers", "torch", "accelerate", "datasets")


def require_extra() -> None:
    """
    Raises:
        OptionalDependency: the extra `training` is not installed.
    """
    for package in ("accelerate", "datasets"):
        if find_spec(package) is None:
            raise OptionalDependency(package, "training", "training a model")


def run(job: Job, *, resume: bool, progress: Callable[[Progress], None] | None = None) -> TrainingReport:
    """Measure, train, measure again, save.

    Raises:
        InputError: an unfinished training is in the way, or another one is to be resumed.
        ModelError: the model cannot be trained, or went astray.
    """
    from search.training.steps import silent

    with job.work.held(job.plan, resume) as checkpoint:
        with silent():
            model = job.load()
            before = job.measure.figures(model)
            first, new = job.chooser.score(model), job.begins_anew(model)
            require_numbers(first, *(figure.mean for figure in before.metrics.values()))
            began = time.monotonic()
            fitted = job.fit(model, checkpoint, progress)
            seconds = time.monotonic() - began
            after = job.measure.figures(model)
            if not all(math.isfinite(figure.mean) for figure in after.metrics.values()):
                raise ModelError(
                    f"{job.measure.primary} of the trained model is no number: the training has gone astray. "
                    "Begin anew with a lower learning rate: --lr"
                )
            sha256 = job.save(model, job.work.result)
        resumed = int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0
        report = _report(job, sha256, (before, after), first, fitted, resumed, seconds)
        report = replace(report, notes=(*job.notes, *_remarks(report, fitted.planned, new)))
        (job.work.result / "README.md").write_text(card(report), encoding="utf-8")
        job.work.finish()
    return report


def require_numbers(*values: float) -> None:
    """
    Raises:
        InputError: what was measured before the training is no number, so nothing can be compared with it.
    """
    if not all(map(math.isfinite, values)):
        raise InputError(
            "the model gives all held-out pairs the same cosine, so there is no correlation to measure. "
            "Hold out other examples: --dev FILE"
        )


def _report(
    job: Job,
    sha256: str,
    figures: tuple[Figures, Figures],
    first: float,
    fitted: Fitted,
    resumed: int,
    seconds: float,
) -> TrainingReport:
    return TrainingReport(
        out=str(job.work.out),
        base=job.files.name,
        base_sha256=job.files.weights_sha256,
        sha256=sha256,
        objective=job.objective,
        loss=job.loss,
        files=job.data,
        counts=job.counts,
        settings=job.choices,
        primary=job.measure.primary,
        before=figures[0].metrics,
        after=figures[1].metrics,
        difference=job.measure.difference(*figures),
        losses=fitted.losses,
        scores=(CurvePoint(0, first), *fitted.scores),
        steps=fitted.steps,
        kept=fitted.kept,
        resumed=resumed,
        seconds=seconds,
        device=job.settings.on,
        classes=figures[1].classes,
        versions={name: version(name) for name in _LIBRARIES},
    )


def _remarks(report: TrainingReport, planned: int, new: bool) -> list[str]:
    """What has to be known to read the figures, of a head that was new or of what had learned before."""
    remarks = []
    start, trained = report.scores[0], report.scores[1:]
    best, last = next(point for point in trained if point.step == report.kept), trained[-1]
    choice = report.counts.get("chosen_by")
    if len(trained) > 1:
        remark = f"the checkpoint of step {report.kept:,} was kept as the best of {len(trained)}"
        if choice:
            remark += (
                f" on {choice:,} examples of the training data that were held out for that: {report.primary} "
                f"{start.value:.4f} before, {best.value:.4f} there, {last.value:.4f} at the last, step {last.step:,}"
            )
        else:
            remark += (
                ", chosen by the held-out data that the figures are of, which flatters them a little; the last one, of "
                f"step {last.step:,}, has {last.value:.4f}"
            )
        remarks.append(remark)
    if report.steps < planned:
        remarks.append(
            f"stopped at step {report.steps:,} of {planned:,}, as nothing had become better since step {report.kept:,}"
        )
    if not report.improved and new:
        remarks.append("no better than an untrained head: train longer, or with a higher --lr")
    elif not report.improved:
        remarks.append("the figures are not better than before: keep that model, or train otherwise")
    if report.resumed:
        remarks.append(
            f"an earlier run had come to step {report.resumed:,}; the time is that of this run alone"
        )
    return remarks
