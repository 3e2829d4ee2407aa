"""An encoder is fine-tuned on examples: `train`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from search.encoding import Encoder
from search.encoding.encoder import Role
from search.encoding.models import DEFAULT_MODEL
from search.encoding.tokenizer import prompt_for
from search.errors import InputError
from search.evaluating.asking import about_few
from search.evaluating.retrieval import too_long
from search.records.evaluations import TrainingReport
from search.records.reports import Progress
from search.training.examples import Examples, apart_from, held_out, read_examples
from search.training.job import Fitted, Job, Settings
from search.training.measures import Correlation, Measure, Ranking
from search.training.run import require_extra, run
from search.training.work import WorkFolder


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


# multiple-negatives  the passage of each query against those of the others in the batch, and its own negatives
#                     (Henderson et al. 2017; van den Oord et al. 2018, InfoNCE)
# cosent              cosines in the order of the scores (Su 2022, CoSENT)
# angle               the same, of angles in complex space (Li and Li 2023, AnglE)
# cosine              cosines as near to the scores as can be (Reimers and Gurevych 2019)
LOSSES = {
    loss.name: loss
    for loss in (
        Loss("multiple-negatives", "MultipleNegativesRankingLoss", graded=False),
        Loss("cosent", "CoSENTLoss", graded=True),
        Loss("angle", "AnglELoss", graded=True),
        Loss("cosine", "CosineSimilarityLoss", graded=True),
    )
}


def train(
    data: str | Path,
    out: str | Path,
    *,
    model: str | None = None,
    dev: str | Path | None = None,
    dev_share: float = 0.1,
    loss: str | None = None,
    resume: bool = False,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
    epochs: int = 1,
    batch_size: int = 16,
    lr: float = 2e-5,
    warmup: float = 0.1,
    device: str | None = None,
    seed: int = 0,
) -> TrainingReport:
    """Fine-tune an encoder by sentence-transformers' trainer; the result is a model folder like any other.

    The held-out data is measured before, at every checkpoint and after, by one computation: graded sentences by
    Spearman's correlation of cosines and scores, queries by nDCG@10 among all passages that the data names. The best
    checkpoint is the result: the best on a share of the training data that is held out for the choice, where `dev` is
    there to measure with, so that the figures stay honest; and else on what is measured with.

    Args:
        data: CSV, TSV or JSONL with query and passage (and negative), or with sentence1, sentence2 and score. See
            `search.training.examples`.
        out: the folder of the result, which must not be there or be empty.
        model: as for `Encoder`; None takes the default. Its pooling stays.
        dev: examples of the same shape to measure with. What is in both is left out of the training.
        dev_share: the share of the examples that is held out, by query, so that nothing leaks: to measure and choose
            with, or with `dev` to choose alone. With `dev` it may be 0: then the choice is made by `dev`, too.
        loss: a name in `LOSSES`; None takes what suits the shape.
        resume: go on from the last checkpoint of a run that was stopped, if there is one.
        offline: never call out to the Hugging Face hub.
        progress: called at every step.
        epochs, batch_size, lr, warmup, device, seed: see `search.training.job.Settings`.

    Raises:
        InputError: data that is malformed (with file and line) or too little, settings that make no sense, a folder
            that holds something, or an unfinished training that `resume` is not given for, or with other settings.
        ModelError: the model cannot be found, loaded or trained.
        OptionalDependency: the extra `training` is not installed.
    """
    require_extra()
    settings = Settings(epochs, batch_size, lr, warmup, device, seed)
    work = WorkFolder(out)
    if not (0 < dev_share <= 0.5 or (dev is not None and dev_share == 0)):
        raise InputError(
            f"dev_share is {dev_share}, but must be more than 0 and at most 0.5; with dev it may be 0."
        )
    base = Encoder(model or DEFAULT_MODEL, offline=offline, engine="torch", device="cpu")
    parts = _parts(Path(data).expanduser(), dev, dev_share, settings.seed)
    chosen = loss_for(parts.train, loss)
    _ = base.engine  # refuses what is no encoder, before anything long is done
    return run(_job(parts, base, work, settings, chosen, dev_share), resume=resume, progress=progress)


def loss_for(examples: Examples, asked: str | None = None) -> Loss:
    """The loss that was asked for, or the one that suits the shape: "multiple-negatives", of graded rows "cosine".

    Of the two for scores, "cosine" did better on pairs held out of the STS benchmark's training data, from
    all-MiniLM-L6-v2 (benchmarks/README.md); "cosent" asks for the order of the scores alone, for scores whose distances
    mean nothing.

    Raises:
        InputError: no such loss, or one for examples of another shape.
    """
    graded = examples.shape == "graded"
    name = asked or ("cosine" if graded else "multiple-negatives")
    if name not in LOSSES:
        raise InputError(f"there is no loss '{name}'. Choose one of: {', '.join(LOSSES)}.")
    loss = LOSSES[name]
    if loss.graded != graded:
        fitting = ", ".join(other.name for other in LOSSES.values() if other.graded == graded)
        raise InputError(
            f"the loss '{name}' does not fit {examples.shape} examples. Choose one of: {fitting}."
        )
    return loss


@dataclass(frozen=True)
class _Parts:
    """Examples to train on and to measure with, and how they came about.

    Attributes:
        choice: to choose a checkpoint by; None chooses by those that are measured with.
    """

    train: Examples
    dev: Examples
    choice: Examples | None
    counts: dict[str, int]
    notes: tuple[str, ...]


def _parts(
    data: Path,
    dev: str | Path | None,
    share: float,
    seed: int,
) -> _Parts:
    every = read_examples(data)
    every.require_enough(f"'{data}'")
    counts = {"read": every.read, "duplicates": every.duplicates}
    if dev is None:
        train, held = held_out(every, share, seed)
        return _Parts(train, held, None, counts, every.notes)
    held = read_examples(Path(dev).expanduser(), role="dev")
    if held.shape != every.shape:
        raise InputError(f"'{data}' holds {every.shape} and '{dev}' {held.shape}. Give two of one shape.")
    held.require_enough(f"'{dev}'")
    train = apart_from(every, held)
    counts["also_held_out"] = len(every) - len(train)
    train.require_enough(f"'{data}', without what is in '{dev}' too,")
    choice = None
    if share:
        train, choice = held_out(train, share, seed)
        counts["chosen_by"] = len(choice)
    train = replace(train, files=(*every.files, *held.files))
    return _Parts(train, held, choice, counts, (*every.notes, *held.notes))


@dataclass(frozen=True, kw_only=True)
class EncoderJob(Job):
    """The training of an encoder.

    Attributes:
        prompts: of columns, put before their texts.
    """

    encoder: Encoder
    examples: Examples
    loss_name: str
    prompts: Mapping[str, str] = field(default_factory=dict)

    def load(self) -> Any:
        from search.encoding.loading import load_encoder

        return load_encoder(self.files).to(self.settings.on)

    def fit(self, model: Any, checkpoint: Path | None, progress: Callable[[Progress], None] | None) -> Fitted:
        from search.training.trainer import fit

        return fit(model, self, checkpoint, progress)

    def save(self, model: Any, folder: Path) -> str:
        from search.training.trainer import save_model

        return save_model(model, folder).files.weights_sha256

    @property
    def choices(self) -> dict[str, Any]:
        of_encoder = {"max_tokens": self.encoder.max_tokens, "pooling": self.encoder.pooling}
        return {**super().choices, "loss": self.loss_name, **of_encoder}

    @property
    def plan(self) -> dict[str, Any]:
        return {**super().plan, "prompts": dict(self.prompts)}


def _job(
    parts: _Parts, base: Encoder, work: WorkFolder, settings: Settings, loss: Loss, share: float
) -> EncoderJob:
    train, dev, seed = parts.train, parts.dev, settings.seed
    counts = {**parts.counts, "train": len(train), "held_out": len(dev)}
    notes = list(parts.notes)
    prompts: dict[str, str] = {}
    measure: Measure
    chooser: Measure
    if train.shape == "graded":
        measure, chooser = (Correlation(each, seed) for each in (dev, parts.choice or dev))
        texts: list[tuple[Role | None, list[str]]] = [(None, train.texts(0, 1))]
        few = about_few(len(dev), "held-out pairs")
    else:
        asked, answers = (prompt_for(role, base.description.prompts) for role in ("query", "document"))
        ranking, chooser = (
            Ranking(each, train, base.description.prompts, seed) for each in (dev, parts.choice or dev)
        )
        measure = ranking
        prompts = {name: answers if i else asked for i, name in enumerate(train.columns)}
        texts = [("query", train.texts(0)), ("document", train.texts(*range(1, len(train.columns))))]
        counts |= {"queries": ranking.queries, "ranked_passages": ranking.passages}
        notes.append(
            f"{ranking.queries:,} held-out queries rank the {ranking.passages:,} passages that the data names, not a "
            "whole corpus"
        )
        few = about_few(ranking.queries, "held-out queries")
    notes += _cut_texts(base, texts, counts)
    if not loss.graded and len(train.texts(*range(len(train.columns)))) < len(train) * len(train.columns):
        notes.append(
            "texts repeat, and none may stand twice in a batch: an example that is put off for that comes in a later "
            "batch, or, where the epoch ends before, in none"
        )
    return EncoderJob(
        files=base.files,
        encoder=base,
        work=work,
        settings=settings,
        objective=train.shape,
        examples=train,
        data=train.files,
        loss=loss.kind,
        loss_name=loss.name,
        measure=measure,
        chooser=chooser,
        digests={
            "train": train.digest(),
            "held-out data": dev.digest(),
            "choice": parts.choice.digest() if parts.choice else "",
        },
        dev_share=share,
        counts=counts,
        prompts={name: prompt for name, prompt in prompts.items() if prompt},
        notes=(*notes, *few),
    )


def _cut_texts(
    base: Encoder, texts: Sequence[tuple[Role | None, Sequence[str]]], counts: dict[str, int]
) -> list[str]:
    """Count the texts of each role that are longer than the model reads, and say so."""
    counts["texts"] = sum(len(each) for _, each in texts)
    counts["cut"] = sum(too_long(base, each, role) for role, each in texts)
    if not counts["cut"]:
        return []
    return [
        f"{counts['cut']:,} of {counts['texts']:,} texts are longer than {base.max_tokens} tokens and are cut there"
    ]
