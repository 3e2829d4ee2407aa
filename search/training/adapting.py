"""Passages without labels -> an encoder that knows their language: `adapt`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.evaluating.whole import too_long
from search.records.evaluations import TrainingReport
from search.records.reports import Progress
from search.training.fitting import Settings
from search.training.model import require_extra
from search.training.objectives import AdaptingMeasure, objective_of
from search.training.passages import read_passages
from search.training.run import Job, Learning, run
from search.training.work import WorkFolder

OBJECTIVES = ("mlm", "denoising")
_PURPOSE = (
    "an adapted model is a start for `seewhy train`: nothing here has told it which texts are alike, so compare it "
    "with the base by `seewhy eval` before it is used as it is"
)


def adapt(
    source: str | Path,
    out: str | Path,
    *,
    objective: Literal["mlm", "denoising"] = "mlm",
    model: str | None = None,
    dev_share: float = 0.1,
    epochs: int = 1,
    batch_size: int = 16,
    lr: float = 3e-5,
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
    """Train an encoder further on the passages of a corpus; the result is a model folder like any other.

    The mean loss on held-out passages is told before and after, with the same masks or deletions.

    Args:
        source: a folder of text, or an index by name or path.
        objective: "mlm", masked-language modelling (Devlin et al. 2019), or "denoising", a denoising auto-encoder
            (Wang et al. 2021, "TSDAE").
        dev_share: of the passages that are held out, at least two.

    The others are as for `train`.

    Raises:
        InputError: no such source or objective, too few passages, or as for `train`.
        ModelError: the model cannot be found, loaded or trained, or its architecture cannot learn this.
        OptionalDependency: the extra `training` is not installed.
    """
    settings = Settings(
        epochs, batch_size, lr, warmup, weight_decay, checkpoint_steps, patience, precision, device, seed
    )
    require_extra()
    settings.checked()
    work = WorkFolder(out)
    if objective not in OBJECTIVES:
        raise InputError(f"there is no objective '{objective}'. Choose one of: {', '.join(OBJECTIVES)}.")
    if not 0 < dev_share <= 0.5:
        raise InputError(f"dev_share is {dev_share}, but must be more than 0 and at most 0.5.")
    base = Encoder(model or DEFAULT_MODEL, offline=offline, engine="torch", device="cpu")
    _ = base.engine
    passages = read_passages(source, base, dev_share, seed)
    texts = (*passages.train, *passages.dev)
    cut = too_long(base, texts)
    counts = {
        "read": passages.read,
        "duplicates": passages.duplicates,
        "skipped_files": passages.skipped,
        "train": len(passages.train),
        "held_out": len(passages.dev),
        "texts": len(texts),
        "cut": cut,
    }
    notes = [_PURPOSE]
    if cut:
        notes.append(
            f"{cut:,} of {len(texts):,} texts are longer than {base.max_tokens} tokens and are cut there"
        )
    if passages.skipped:
        notes.append(
            f"{passages.skipped:,} files or records gave no text; `seewhy index FOLDER --dry-run` lists them"
        )

    def learn(model: Any) -> Learning:
        made = objective_of(objective, model, base.files, seed)
        measure = AdaptingMeasure(made, passages.dev, seed)
        return Learning(made.module, made.kind, made.columns(passages.train), measure, notes=made.notes)

    job = Job(
        base=base,
        work=work,
        settings=settings,
        objective=objective,
        files=(passages.file,),
        counts=counts,
        data={"passages": passages.file.sha256, "dev_share": dev_share},
        choices={"dev_share": dev_share},
        learn=learn,
        notes=tuple(notes),
    )
    return run(job, resume=resume, restart=restart, progress=progress)
