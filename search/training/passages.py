"""The passages of a folder or an index, to adapt a model to; a part of them is held out."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from pathlib import Path

from search.corpus import Cutter, Skipped, SourceFile, documents, load, walk
from search.encoding import Encoder
from search.encoding.inputs import with_context
from search.errors import InputError, ReadError
from search.records.evaluations import TrainingFile
from search.store.layout import DATABASE, find_index
from search.store.sqlite import SQLiteStore
from search.training.examples import key_of

FEWEST = 8  # passages


@dataclass(frozen=True)
class Passages:
    """
    Attributes:
        train, dev: texts as the model reads them, headings included; none twice.
        read: passages that there were; `duplicates` had the text of an earlier one; `skipped` files were left out.
    """

    train: tuple[str, ...]
    dev: tuple[str, ...]
    file: TrainingFile
    read: int
    duplicates: int
    skipped: int = 0


def read_passages(source: str | Path, encoder: Encoder, share: float, seed: int) -> Passages:
    """
    Args:
        source: a folder of text, which is cut to what the model reads; or an index, by name or path.
        share: of the passages that are held out.

    Raises:
        InputError: neither, or too few passages.
    """
    folder = Path(source).expanduser()
    skipped = 0
    if folder.is_dir() and not (folder / DATABASE).is_file():
        texts, skipped = _of_folder(folder, encoder)
        path = folder
    else:
        path = find_index(source)
        texts = _of_index(path)
    kept = list({key_of(text): text for text in texts}.values())
    if len(kept) < FEWEST:
        raise InputError(f"'{source}' holds {len(kept)} different passages; at least {FEWEST} are needed.")
    digest = hashlib.sha256("\0".join(kept).encode("utf-8", "replace")).hexdigest()
    shuffled = list(kept)
    random.Random(seed).shuffle(shuffled)
    dev = max(2, min(round(share * len(kept)), len(kept) // 2))
    return Passages(
        train=tuple(shuffled[dev:]),
        dev=tuple(shuffled[:dev]),
        file=TrainingFile("passages", str(source), path.resolve().name, digest, len(texts)),
        read=len(texts),
        duplicates=len(texts) - len(kept),
        skipped=skipped,
    )


def _of_index(path: Path) -> list[str]:
    with SQLiteStore(path).reading() as snapshot:
        return [with_context(context, text) for context, text in snapshot.texts()]


def _of_folder(folder: Path, encoder: Encoder) -> tuple[list[str], int]:
    """Texts of all passages, and how many files or records gave none."""
    cutter = Cutter(encoder.tokenizer, max_tokens=encoder.max_tokens)
    texts, skipped = [], 0
    for found in walk(folder):
        if isinstance(found, Skipped):
            skipped += 1
            continue
        made, lost = _of_file(found, cutter)
        texts += made
        skipped += lost
    return texts, skipped


def _of_file(file: SourceFile, cutter: Cutter) -> tuple[list[str], int]:
    texts, skipped = [], 0
    try:
        for document in documents(file, load(file)):
            if isinstance(document, Skipped):
                skipped += 1
            else:
                texts += [with_context(passage.context, passage.text) for passage in cutter.cut(document)]
    except ReadError:
        skipped += 1
    return texts, skipped
