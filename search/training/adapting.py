"""An encoder learns the language of passages without labels: `adapt`, a denoising auto-encoder.

Most words of a text are left out, and a decoder, tied to the encoder, writes the text again from the embedding of what
is left (Wang et al. 2021, "TSDAE"). What the embedding does not hold cannot be written, so it learns to hold more.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.corpus import Cutter, Skipped, documents, load, walk
from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL, ModelFiles
from search.encoding.tokenizer import with_context
from search.errors import InputError, ModelError, ReadError, first_line
from search.records.evaluations import Estimate, TrainingFile, TrainingReport
from search.records.reports import Progress
from search.statistics import mean_of
from search.store.layout import find_index, is_index
from search.store.sqlite import SQLiteStore
from search.training.examples import key_of
from search.training.measures import Figures
from search.training.run import Job, Options, Settings, cut_texts, run
from search.training.work import WorkFolder

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from search.training.trainer import Learning

DELETED = 0.6  # of the words
FEWEST = 8  # passages
_LONG = 20  # characters a word, on average; no language that parts its words has so many
_UNSUITABLE = (OSError, ValueError, KeyError, RuntimeError, AssertionError, AttributeError, TypeError)
_PURPOSE = (
    "an adapted model is a start for `seewhy train`: nothing here has told it which texts are alike, so compare it "
    "with the base by `seewhy eval` before it is used as it is"
)


def adapt(
    source: str | Path,
    out: str | Path,
    *,
    model: str | None = None,
    dev_share: float = 0.1,
    resume: bool = False,
    restart: bool = False,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
    **options: Unpack[Options],
) -> TrainingReport:
    """Train an encoder further on the passages of a corpus; the result is a model folder like any other.

    The mean loss on held-out passages is told before and after, with the same words left out.

    Args:
        source: a folder of text, or an index by name or path.
        dev_share: of the passages that are held out, at least two.
        lr: 3e-5 where nothing else is said.

    The others are as for `train`.

    Raises:
        InputError: no such source, too few passages, or as for `train`.
        ModelError: the model cannot be found, loaded or trained, or its architecture cannot be a decoder.
        OptionalDependency: the extra `training` is not installed.
    """
    options.setdefault("lr", 3e-5)
    settings = Settings(**options)
    settings.require_sensible()
    work = WorkFolder(out)
    if not 0 < dev_share <= 0.5:
        raise InputError(f"dev_share is {dev_share}, but must be more than 0 and at most 0.5.")
    base = Encoder(model or DEFAULT_MODEL, offline=offline, engine="torch", device="cpu")
    _ = base.engine
    texts, file, skipped = _passages(source, base)
    random.Random(settings.seed).shuffle(texts)
    held = max(2, min(round(dev_share * len(texts)), len(texts) // 2))
    train, dev = texts[held:], texts[:held]
    counts = {
        "read": file.rows,
        "duplicates": file.rows - len(texts),
        "skipped_files": skipped,
        "train": len(train),
        "held_out": len(dev),
    }
    notes = [_PURPOSE, *cut_texts(base, [(None, texts)], counts)]
    if skipped:
        notes.append(f"{skipped:,} files or records gave no text; `seewhy index FOLDER --dry-run` lists them")
    if without_words := sum(map(_has_no_words, train)):
        notes.append(
            f"{without_words:,} texts are not parted by spaces: of them characters were left out, not words"
        )

    def learn(loaded: Any) -> Learning:
        from search.training.trainer import Learning

        loss = _denoising(loaded, base.files)
        columns = {"damaged": damaged(train, settings.seed), "text": train}
        return Learning(loss, "DenoisingAutoEncoderLoss", columns, HeldOutLoss(loss, dev, settings.seed))

    job = Job(
        base=base,
        work=work,
        settings=settings,
        objective="denoising",
        files=(file,),
        counts=counts,
        data={"passages": file.sha256, "dev_share": dev_share},
        choices={"dev_share": dev_share},
        learn=learn,
        notes=(
            *notes,
            "the decoder's attention to the embedding is fresh; part of what the loss falls by is due to that",
        ),
    )
    return run(job, resume=resume, restart=restart, progress=progress)


class HeldOutLoss:
    """Held-out passages: their mean loss, with the same words left out at every call."""

    primary = "loss"

    def __init__(self, loss: Any, texts: Sequence[str], seed: int) -> None:
        self._loss, self._seed = loss, seed
        self._pairs = list(zip(damaged(texts, seed), texts, strict=True))

    def score(self, model: Any) -> float:
        return float(self._values(model).mean())

    def figures(self, model: Any) -> Figures:
        values = self._values(model)
        return Figures({"loss": mean_of(values, seed=self._seed)}, {"loss": values})

    def difference(self, before: Figures, after: Figures) -> dict[str, Estimate]:
        return {"loss": mean_of(after.values["loss"] - before.values["loss"], seed=self._seed)}

    def _values(self, model: Any) -> NDArray[np.float64]:
        """(n,) the mean over the tokens of each text."""
        import torch

        self._loss.eval()
        with torch.no_grad():
            values = [
                float(self._loss([_features(model, text) for text in pair], None)) for pair in self._pairs
            ]
        self._loss.train()
        return np.array(values, dtype=np.float64)


def _features(model: Any, text: str) -> dict[str, Any]:
    features = model.preprocess([text])
    return {
        name: value.to(model.device) if hasattr(value, "to") else value for name, value in features.items()
    }


def _denoising(model: Any, files: ModelFiles) -> Any:
    from sentence_transformers.sentence_transformer.losses import DenoisingAutoEncoderLoss

    try:
        return DenoisingAutoEncoderLoss(model, tie_encoder_decoder=True).to(model.device)
    except _UNSUITABLE as error:
        raise ModelError(
            f"'{files.name}' cannot be a decoder, too, as a denoising auto-encoder needs ({first_line(error)}). "
            "Choose another model: --model"
        ) from error


def damaged(texts: Sequence[str], seed: int) -> list[str]:
    """Texts without most of their words, at least one left, by the seed and the text's place alone.

    Where spaces part no words, characters are left out instead.
    """
    left = []
    for number, text in enumerate(texts):
        chance, words, between = random.Random(f"{seed} {number}"), text.split(), " "
        if _has_no_words(text):
            words, between = list("".join(words)), ""
        kept = [word for word in words if chance.random() >= DELETED]
        left.append(between.join(kept or [chance.choice(words)]))
    return left


def _has_no_words(text: str) -> bool:
    """Spaces do not part it into words, as in Chinese or Thai."""
    words = text.split()
    return len(words) < 2 or sum(map(len, words)) > _LONG * len(words)


def _passages(source: str | Path, encoder: Encoder) -> tuple[list[str], TrainingFile, int]:
    """The different passages of a folder or an index as the model reads them, and how many files gave none.

    Raises:
        InputError: neither, or too few passages.
    """
    path, skipped = Path(source).expanduser(), 0
    if path.is_dir() and not is_index(path):
        texts, skipped = _of_folder(path, encoder)
    else:
        path = find_index(source)
        with SQLiteStore(path).reading() as snapshot:
            texts = [with_context(context, text) for context, text in snapshot.texts()]
    different = list({key_of(text): text for text in texts}.values())
    if len(different) < FEWEST:
        raise InputError(
            f"'{source}' holds {len(different)} different passages; at least {FEWEST} are needed."
        )
    digest = hashlib.sha256("\0".join(different).encode("utf-8", "replace")).hexdigest()
    return (
        different,
        TrainingFile("passages", str(source), path.resolve().name, digest, len(texts)),
        skipped,
    )


def _of_folder(folder: Path, encoder: Encoder) -> tuple[list[str], int]:
    """Texts of all passages, and how many files or records gave none."""
    cutter = Cutter(encoder.tokenizer, max_tokens=encoder.max_tokens)
    texts: list[str] = []
    skipped = 0
    for file in walk(folder):
        if isinstance(file, Skipped):
            skipped += 1
            continue
        try:
            for document in documents(file, load(file)):
                if isinstance(document, Skipped):
                    skipped += 1
                else:
                    texts += [with_context(passage.context, passage.text) for passage in cutter.cut(document)]
        except ReadError:
            skipped += 1
    return texts, skipped
