"""A cache with a converted model, ways to damage it, and whether a query still encodes as before."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np

from search import Encoder, Fingerprint
from tests.conftest import save_tiny_bert
from tests.faults.damage import ANYTHING, BIT, damaged

_TEXTS = ["find the key", "time and water and the long way to the other side of the door"]
_SECONDS = 10.0  # of processor time that an answer may take; PyTorch alone takes some six
_PARAMETERS = ["parameters.json", "parameters.safetensors"]
_FILES = ("encoder.bin", "encoder.xml", *_PARAMETERS, "tokenizer.json", "entry.json", "*.blob")


def base(place: Path) -> None:
    """Convert two models, unless that was done, and write down what they encode."""
    if (place / "model.json").exists():
        return
    with mock.patch.dict(os.environ, SEEWHY_CACHE=str(place / "base")):
        for seed, name in ((1, "other"), (0, "model")):
            encoder = Encoder(str(save_tiny_bert(place / name, seed=seed)), engine="openvino")
            np.save(place / f"{name}.npy", encoder.encode(_TEXTS))
            (place / f"{name}.json").write_text(json.dumps(vars(encoder.fingerprint)), encoding="utf-8")


def damage_one(place: Path, rng: Random) -> str:
    """Restore the cache, and damage a file of the model in it; which, and how."""
    os.environ["SEEWHY_CACHE"] = str(place / "cache")
    shutil.rmtree(place / "cache", ignore_errors=True)
    shutil.copytree(place / "base", place / "cache")
    entry, other_entry = (_entry(place / "cache", place / name) for name in ("model", "other"))
    target = next(entry.glob(rng.choice(_FILES)))
    fault = rng.choice(("bit",) * 8 + ("bytes", "lost", "other's", "half written"))
    if fault == "half written":
        entry.rename(entry.with_suffix(".new"))
    elif fault == "lost":
        target.unlink()
    elif fault == "other's":
        shutil.copyfile(
            next(other_entry.glob("*.blob" if target.suffix == ".blob" else target.name)), target
        )
    else:
        kind, data = damaged(target.read_bytes(), rng, BIT if fault == "bit" else ANYTHING)
        target.unlink()
        target.write_bytes(data)
        fault = kind
    return f"{target.name} {fault}"


def encodes(place: Path) -> tuple[str, str]:
    """The outcome to count, and why it is a failure: a query encodes as before, twice."""
    fingerprint = Fingerprint(**json.loads((place / "model.json").read_text(encoding="utf-8")))
    conversions, remark, by = 0, "", ""

    def copy_conversion(model: Any, folder: Path) -> list[str]:
        """Copy an earlier conversion, in place of one that takes a second."""
        nonlocal conversions
        conversions += 1
        source = _entry(place / "base", place / "model")
        for name in ("encoder.xml", "encoder.bin", *_PARAMETERS):
            shutil.copyfile(source / name, folder / name)
        return _PARAMETERS

    for _ in range(2):
        started = time.process_time()
        with mock.patch("search.encoding.engines.convert", copy_conversion):
            encoder = Encoder.of(fingerprint, offline=True)
            off = np.abs(encoder.encode(_TEXTS) - np.load(place / "model.npy")).max()
        if not off < 1e-5:
            return "wrong", f"embeddings are off by {off:.1e}"
        if (seconds := time.process_time() - started) > _SECONDS:
            return "slow", f"an answer took {seconds:.0f} s"
        remark, by = "".join(encoder.remarks), encoder.engine.name
    if by == "torch":
        return "by PyTorch", "" if remark else "PyTorch encodes, and no word of it"
    if conversions > 1:
        return "not healed", "it was converted again twice"
    return ("converted again" if conversions else "right"), ""


def _entry(cached: Path, model: Path) -> Path:
    """The folder of a model in a cache."""
    fingerprint = json.loads(model.with_suffix(".json").read_text(encoding="utf-8"))
    return next((cached / "models").glob(f"{fingerprint['weights'][:24]}-*[!k]"))
