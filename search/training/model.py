"""A model that can be trained, loaded by sentence-transformers, and saved as one that seewhy takes."""

from __future__ import annotations

import logging
import random
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from search.encoding import Encoder
from search.encoding.loading import load_encoder, quiet
from search.encoding.models import ModelFiles
from search.errors import ModelError, OptionalDependency
from search.training.scoring import embeddings

_SAMPLE = ("a short text", "another one, a little longer than the first")
_FARTHEST = 1e-4


def part_of(now: str, before_6: str) -> Any:
    """A module of sentence-transformers, by its place since version 6 or before it."""
    try:
        return import_module(f"sentence_transformers.{now}")
    except ImportError:
        return import_module(f"sentence_transformers.{before_6}")


def losses() -> Any:
    """The module with its losses."""
    return part_of("sentence_transformer.losses", "losses")


def require_extra() -> None:
    """
    Raises:
        OptionalDependency: what the trainer needs is not installed.
    """
    for package in ("accelerate", "datasets"):
        if find_spec(package) is None:
            raise OptionalDependency(package, "training", "training a model")


@contextmanager
def silent() -> Iterator[None]:
    """Keep the libraries from printing: bars, tables, remarks, warnings."""
    import datasets

    loggers = [logging.getLogger(name) for name in ("sentence_transformers", "accelerate", "datasets")]
    levels = [logger.level for logger in loggers]
    bars = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            datasets.enable_progress_bars()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Everything random starts from the seed, and afterwards goes on as if nothing had been."""
    import torch

    before = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])


def shown_name(name: str) -> str:
    """A model's name for a card: of a path the last part alone."""
    is_path = name.startswith(("/", "~", ".")) or "\\" in name or name[1:3] == ":/"
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2] if is_path else name


def load_model(files: ModelFiles, device: str) -> Any:
    """
    Raises:
        ModelError: sentence-transformers cannot load it.
    """
    return load_encoder(files).to(device)


def save_model(model: Any, folder: Path) -> Encoder:
    """Save it, and load it as `seewhy index --model` would.

    Raises:
        ModelError: what was saved is not what was trained.
    """
    model.eval()
    model.save_pretrained(str(folder), create_model_card=False)
    usual = stat.S_IMODE((folder / "config.json").stat().st_mode)
    for weights in folder.rglob("*.safetensors"):  # safetensors gives them to their owner alone
        weights.chmod(usual)
    encoder = Encoder(str(folder), engine="torch", device="cpu", offline=True)
    gap = float(np.abs(encoder.encode(list(_SAMPLE), truncate=True) - embeddings(model, list(_SAMPLE))).max())
    if not gap <= _FARTHEST:  # NaN, too
        raise ModelError(
            f"the trained model was saved to {folder}, but read back its embeddings differ by {gap:.2g}. "
            "Its architecture is not handled right here; please report it."
        )
    return encoder
