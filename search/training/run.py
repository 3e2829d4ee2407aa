"""A training from the model's files to the result in its place; and its model card."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from search.encoding import Encoder
from search.encoding.torch_engine import usable_device
from search.errors import InputError, ModelError, OptionalDependency
from search.records.evaluations import CurvePoint, TrainingReport
from search.records.reports import Progress
from search.training.examples import Examples
from search.training.measures import Figures, Measure
from search.training.work import WorkFolder

if TYPE_CHECKING:
    from search.training.trainer import Fitted

_LIBRARIES = ("seewhy", "sentence-transformers", "transformers", "torch", "accelerate", "datasets")
_CARD = """\
---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags: [sentence-transformers, sentence-similarity, feature-extraction, seewhy]
---

# {base}, trained further

A sentence encoder that `seewhy train` made. It learned {learned}.

Load it by `search.Encoder("this/folder")` or `sentence_transformers.SentenceTransformer("this/folder")`.

## Figures

On {held_out:,} examples that nothing was learned from, with 95 % bootstrap intervals.

| metric | before | after | difference |
|---|---|---|---|
{figures}

{notes}

## Base

- {base}
- sha256 of its weights: `{base_sha256}`
- sha256 of these weights: `{sha256}`

## Data

| for | name | rows | sha256 |
|---|---|---|---|
{files}

{counts}

## Training

- objective: {objective}, loss: {loss}
- steps: {steps:,}; the weights are those of step {kept:,}
{settings}
- {seconds:.0f} s on {device}
- {versions}
"""


@dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes:
        epochs: how often every example is seen.
        batch_size: examples a step.
        lr: the highest learning rate; it rises over the first `warmup` of the steps and falls to 0 from there on.
        device: of PyTorch; None takes a GPU where there is one.
    """

    epochs: int = 1
    batch_size: int = 16
    lr: float = 2e-5
    warmup: float = 0.1
    device: str | None = None
    seed: int = 0

    @property
    def on(self) -> str:
        """The device."""
        return usable_device(self.device)


@dataclass(frozen=True)
class Loss:
    """A loss of sentence-transformers.

    Attributes:
        kind: the name of its class.
        graded: it learns scores. One that does not takes the other passages of a batch for wrong ones.
    """

    name: str
    kind: str
    graded: bool


@dataclass(frozen=True)
class Job:
    """All that a training is made of.

    Attributes:
        base: the model that is trained on.
        measure: the data that the figures are of; `chooser` that by which a checkpoint is chosen.
        digests: of the data, by what it is for.
        dev_share: of the examples that were held out.
        prompts: of columns, put before their texts.
    """

    base: Encoder
    work: WorkFolder
    settings: Settings
    examples: Examples
    loss: Loss
    measure: Measure
    chooser: Measure
    digests: Mapping[str, str]
    dev_share: float
    counts: Mapping[str, int]
    prompts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def choices(self) -> dict[str, Any]:
        """Everything that was chosen, by name."""
        return {
            **asdict(self.settings),
            "loss": self.loss.name,
            "dev_share": self.dev_share,
            "max_tokens": self.base.max_tokens,
            "pooling": self.base.pooling,
            "device": self.settings.on,
        }

    @property
    def plan(self) -> dict[str, Any]:
        """What decides about the result."""
        files = self.base.files
        model = {"weights": files.weights_sha256, "tokenizer": files.tokenizer_sha256}
        plan = {**model, "prompts": dict(self.prompts), **self.digests, **self.choices}
        del plan["device"]
        return plan


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
    from search.encoding.loading import load_encoder
    from search.training.trainer import fit, save_model, silent

    with job.work.held(job.plan, resume) as checkpoint:
        with silent():
            model = load_encoder(job.base.files).to(job.settings.on)
            before = job.measure.figures(model)
            first = job.chooser.score(model)
            require_numbers(first, *(figure.mean for figure in before.metrics.values()))
            began = time.monotonic()
            fitted = fit(model, job, checkpoint=checkpoint, progress=progress)
            seconds = time.monotonic() - began
            after = job.measure.figures(model)
            if not all(math.isfinite(figure.mean) for figure in after.metrics.values()):
                raise ModelError(
                    f"{job.measure.primary} of the trained model is no number: the training has gone astray. "
                    "Begin anew with a lower learning rate: --lr"
                )
            saved = save_model(model, job.work.result)
        resumed = int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0
        report = _report(job, saved, (before, after), first, fitted, resumed, seconds)
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
    saved: Encoder,
    figures: tuple[Figures, Figures],
    first: float,
    fitted: Fitted,
    resumed: int,
    seconds: float,
) -> TrainingReport:
    report = TrainingReport(
        out=str(job.work.out),
        base=job.base.model,
        base_sha256=job.base.files.weights_sha256,
        sha256=saved.files.weights_sha256,
        objective=job.examples.shape,
        loss=job.loss.kind,
        files=job.examples.files,
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
        versions={name: version(name) for name in _LIBRARIES},
    )
    return replace(report, notes=(*job.notes, *_remarks(report)))


def _remarks(report: TrainingReport) -> list[str]:
    """What has to be known to read the figures."""
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
    if not report.improved:
        remarks.append("the figures are not better than before: keep that model, or train otherwise")
    if report.resumed:
        remarks.append(
            f"an earlier run had come to step {report.resumed:,}; the time is that of this run alone"
        )
    return remarks


def card(report: TrainingReport) -> str:
    """The model card of a result: Markdown with the head that model hubs read. File names stand without folders."""
    figures = [
        f"| {name} | {before.mean:.4f} ({before.low:.3f} to {before.high:.3f}) "
        f"| {report.after[name].mean:.4f} ({report.after[name].low:.3f} to {report.after[name].high:.3f}) "
        f"| {gap.mean:+.4f} ({gap.low:+.3f} to {gap.high:+.3f}) |"
        for (name, before), gap in zip(report.before.items(), report.difference.values(), strict=True)
    ]
    files = [
        f"| {file.role} | {_plain(file.name)} | {file.rows:,} | `{file.sha256}` |" for file in report.files
    ]
    settings = [f"- {name}: {value}" for name, value in report.settings.items() if value is not None]
    counts = [f"{name.replace('_', ' ')}: {count:,}" for name, count in report.counts.items()]
    lists: dict[str, Sequence[str]] = {
        "figures": figures,
        "files": files,
        "settings": settings,
        "notes": [f"- {_plain(note[:1].upper() + note[1:])}." for note in report.notes],
    }
    return _CARD.format(
        **{
            **vars(report),
            **{name: "\n".join(lines) for name, lines in lists.items()},
            "base": _plain(_without_folder(report.base)),
            "learned": report.learned,
            "held_out": report.counts["held_out"],
            "counts": ", ".join(counts),
            "versions": ", ".join(f"{name} {number}" for name, number in report.versions.items()),
        }
    )


def _without_folder(name: str) -> str:
    """A model's name; of a path the last part alone."""
    is_path = name.startswith(("/", "~", ".")) or "\\" in name or name[1:3] == ":/"
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2] if is_path else name


def _plain(text: str) -> str:
    """On one line, and without what a table or a heading would be broken by."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
