"""Examples -> a fine-tuned encoder: `train`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from search.encoding import Encoder
from search.encoding.encoder import Role
from search.encoding.inputs import prompt_for
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.evaluating.asking import OpenIndex
from search.evaluating.whole import too_long
from search.records.evaluations import TrainingReport
from search.records.reports import Progress
from search.training.examples import Examples, require_enough
from search.training.fitting import Settings
from search.training.losses import Loss, loss_for
from search.training.model import require_extra
from search.training.negatives import NEAREST, with_negatives
from search.training.reading import read_examples
from search.training.run import Job, Learning, run
from search.training.scoring import Correlation, Measure, Ranking
from search.training.splitting import apart_from, held_out
from search.training.work import WorkFolder

_FEW = 20  # held-out rows; with fewer an interval is itself uncertain


def train(
    data: str | Path,
    out: str | Path,
    *,
    model: str | None = None,
    dev: str | Path | None = None,
    dev_share: float = 0.1,
    split: str | None = None,
    score_range: tuple[float, float] | None = None,
    loss: str | None = None,
    negatives: OpenIndex | None = None,
    negatives_per_pair: int = 1,
    epochs: int = 1,
    batch_size: int = 16,
    lr: float = 2e-5,
    warmup: float = 0.1,
    weight_decay: float = 0.0,
    checkpoint_steps: int | None = None,
    patience: int | None = None,
    precision: str = "fp32",
    device: str | None = None,
    seed: int = 0,
    resume: bool = False,
    restart: bool = False,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> TrainingReport:
    """Fine-tune an encoder by sentence-transformers' trainer; the result is a model folder like any other.

    The held-out data is measured before, at every checkpoint and after, by one computation: graded sentences by
    Spearman's correlation of cosines and scores, queries by nDCG@10 among all passages that the data names. The best
    checkpoint is the result: the best on a share of the training data that is held out for the choice, where `dev` is
    there to measure with, so that the figures stay honest; and else on what is measured with.

    Args:
        data: CSV, TSV or JSONL with query and passage (and negative), or with sentence1, sentence2 and score; or a
            folder in BEIR layout. See `search.training.reading`.
        out: the folder of the result, which must not be there or be empty.
        model: as for `Encoder`; None takes the default. Its pooling stays.
        dev: examples of the same shape to measure with. What is in both is left out of the training.
        dev_share: the share of the examples that is held out, by query, so that nothing leaks: to measure and choose
            with, or with `dev` to choose alone. With `dev` it may be 0: then the choice is made by `dev`, too.
        split: which judgements of a BEIR folder.
        score_range: the lowest and the highest score that there can be; see `search.training.reading`.
        loss: a name in `search.training.losses`; None takes what suits the shape.
        negatives: an open index to take hard negatives from; see `search.training.negatives`.
        negatives_per_pair: how many.
        epochs, batch_size, lr, warmup, weight_decay, checkpoint_steps, patience, precision, device, seed: see
            `search.training.fitting.Settings`.
        resume: go on from the last checkpoint of a run that was stopped; restart: throw that one away.
        offline: never call out to the Hugging Face hub.
        progress: called at every step.

    Raises:
        InputError: data that is malformed (with file and line) or too little, settings that make no sense, a folder
            that holds something, or an unfinished training that neither `resume` nor `restart` is for.
        ModelError: the model cannot be found, loaded or trained.
        OptionalDependency: the extra `training` is not installed.
    """
    settings = Settings(
        epochs, batch_size, lr, warmup, weight_decay, checkpoint_steps, patience, precision, device, seed
    )
    require_extra()
    settings.checked()
    work = WorkFolder(out)
    if not (0 < dev_share <= 0.5 or (dev is not None and dev_share == 0)):
        raise InputError(
            f"dev_share is {dev_share}, but must be more than 0 and at most 0.5; with dev it may be 0."
        )
    if negatives_per_pair < 1:
        raise InputError(f"negatives_per_pair is {negatives_per_pair}, but must be at least 1.")
    base = Encoder(model or DEFAULT_MODEL, offline=offline, engine="torch", device="cpu")
    examples = _Read.of(Path(data).expanduser(), dev, dev_share, split, score_range, seed)
    chosen = _loss(examples.train, loss, settings, negatives_per_pair if negatives is not None else 0)
    _ = base.engine  # refuses what is no encoder, before anything long is done
    if negatives is not None:
        examples = examples.with_negatives(negatives, negatives_per_pair, progress)
    job = _job(examples, base, work, settings, chosen)
    return run(job, resume=resume, restart=restart, progress=progress)


def _loss(examples: Examples, asked: str | None, settings: Settings, negatives: int) -> Loss:
    """The loss, before anything long is done, with so many negatives that are yet to be found."""
    if negatives and examples.shape == "graded":
        raise InputError("graded sentences have no negatives. Leave --negatives out.")
    if negatives:
        rows = tuple(replace(row, texts=(*row.texts, *[""] * negatives)) for row in examples.rows)
        examples = replace(examples, shape="triplets", rows=rows)
    loss = loss_for(examples, asked)
    if loss.unique and examples.shape == "pairs":
        if settings.batch_size < 2:
            raise InputError(
                f"the loss '{loss.name}' compares the passages of a batch, and batch_size is 1. Take 2 or more."
            )
        if len({row.texts[1] for row in examples.rows}) < 2:
            raise InputError(
                f"the loss '{loss.name}' compares the passages of a batch, and all examples have the same one. "
                "Give other passages, or negatives."
            )
    return loss


@dataclass(frozen=True)
class _Read:
    """Examples to train on and to measure with, and how they came about.

    Attributes:
        pool: what is trained on as it was read, whose passages are ranked beside the held-out ones, so that the
            figures are of the same passages with mined negatives and without.
        choice: to choose a checkpoint by; None chooses by those that are measured with.
    """

    train: Examples
    dev: Examples
    pool: Examples
    choice: Examples | None
    counts: dict[str, int]
    choices: dict[str, Any]
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        data: Path,
        dev: str | Path | None,
        share: float,
        split: str | None,
        score_range: tuple[float, float] | None,
        seed: int,
    ) -> _Read:
        every = read_examples(data, split=split, score_range=score_range)
        require_enough(every, f"'{data}'")
        counts = {"read": every.read, "duplicates": every.duplicates}
        choice = None
        if dev is None:
            train, held = held_out(every, share, seed)
            notes = every.notes
        else:
            place = Path(dev).expanduser()
            held = read_examples(place, role="dev", split=None, score_range=score_range)
            if held.shape != every.shape:
                raise InputError(
                    f"'{data}' holds {every.shape} and '{dev}' {held.shape}. Give two of one shape."
                )
            require_enough(held, f"'{dev}'")
            train, counts["also_held_out"] = apart_from(every, held)
            require_enough(train, f"'{data}', without what is in '{dev}' too,")
            notes = (*every.notes, *held.notes)
            if share:
                train, choice = held_out(train, share, seed)
                counts["chosen_by"] = len(choice)
            train = replace(train, files=(*every.files, *held.files))
        return cls(train, held, train, choice, counts, {"dev_share": share}, notes)

    def with_negatives(
        self, index: OpenIndex, per_pair: int, progress: Callable[[Progress], None] | None
    ) -> _Read:
        found = with_negatives(self.train, index, per_pair, progress=progress)
        require_enough(found.examples, "what has negatives")
        counts = {
            **self.counts,
            "negatives": len(found.examples) * per_pair,
            "passed_over_as_own": found.own,
            "passed_over_as_too_near": found.near,
            "without_negative": found.without,
            "query_too_long": found.too_long,
        }
        note = (
            f"negatives are the passages of the index nearest to a query that are not its own; {found.own:,} were "
            f"passed over as its own, {found.near:,} because their cosine is more than {NEAREST:.0%} of that of the "
            "query's passage"
        )
        if found.without:
            note += f"; {found.without:,} examples were left out for want of negatives"
        if found.too_long:
            note += f"; {found.too_long:,} were left out because their query is too long to be asked"
        return replace(self, train=found.examples, counts=counts, notes=(*self.notes, note))


def _job(read: _Read, base: Encoder, work: WorkFolder, settings: Settings, loss: Loss) -> Job:
    train, dev = read.train, read.dev
    prompts = base.description.prompts
    measure: Measure
    choose: Measure | None = None
    counts = {**read.counts, "train": len(train), "held_out": len(dev)}
    notes = list(read.notes)
    if train.shape == "graded":
        measure = Correlation(dev, settings.seed)
        choose = Correlation(read.choice, settings.seed) if read.choice else None
        roles: list[tuple[Role | None, Sequence[str]]] = [(None, _texts(train, slice(None)))]
        measured = len(dev)
    else:
        ranking = Ranking(dev, read.pool, prompts, settings.seed)
        counts |= {"queries": ranking.queries, "ranked_passages": ranking.passages}
        measure, measured = ranking, ranking.queries
        choose = Ranking(read.choice, read.pool, prompts, settings.seed) if read.choice else None
        roles = [("query", _texts(train, slice(1))), ("document", _texts(train, slice(1, None)))]
        notes.append(
            f"{ranking.queries:,} held-out queries rank the {ranking.passages:,} passages that the data names, not a "
            "whole corpus"
        )
    cut = sum(too_long(base, texts, role) for role, texts in roles)
    counts |= {"texts": sum(len(texts) for _, texts in roles), "cut": cut}
    if cut:
        notes.append(
            f"{cut:,} of {counts['texts']:,} texts are longer than {base.max_tokens} tokens and are cut there"
        )
    if measured < _FEW:
        notes.append(f"with only {measured} held-out {'pairs' if train.shape == 'graded' else 'queries'} the intervals "
                     "are rough")  # fmt: skip
    columns: dict[str, Sequence[Any]] = {
        name: [row.texts[i] for row in train.rows] for i, name in enumerate(train.columns)
    }
    if train.shape == "graded":
        columns["score"] = [row.score for row in train.rows]
    put_before = {
        name: prompt
        for i, name in enumerate(train.columns)
        if train.shape != "graded" and (prompt := prompt_for("document" if i else "query", prompts))
    }
    return Job(
        base=base,
        work=work,
        settings=settings,
        objective=train.shape,
        files=train.files,
        counts=counts,
        data={
            "loss": loss.name,
            "train": train.digest(),
            "held-out data": dev.digest(),
            "choice": read.choice.digest() if read.choice else "",
        },
        choices={"loss": loss.name, **read.choices},
        learn=lambda model: Learning(
            loss.of(model), loss.kind, columns, measure, choose, put_before, loss.unique
        ),
        notes=tuple(notes),
    )


def _texts(examples: Examples, which: slice) -> list[str]:
    """Different texts of some columns."""
    return list(dict.fromkeys(text for row in examples.rows for text in row.texts[which]))
