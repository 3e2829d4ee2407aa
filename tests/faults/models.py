"""A cache with a converted model, ways to damage it, and whether a query still encodes as before."""

from __future__ import annotations

import json
import os
import shutil
import time
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np

from search import Fingerprint
from search.encoding import Encoder, cache
from tests.conftest import save_tiny_bert
from tests.faults.damage import ANYTHING, damaged

_TEXTS = ["find the key", "time and water and the long way to the other side of the door"]
_SECONDS = 10.0  # of processor time that an answer may take; PyTorch alone takes some six
_FILES = ("encoder.bin", "encoder.xml", "tokenizer.json", "entry.json", "*.blob")
_PRIVATE = "private.txt"


def base(place: Path) -> None:
    """Convert two models, unless that was done, and write down what they encode."""
    if (place / "model.json").exists():
        return
    with mock.patch.dict(os.environ, SEEWHY_CACHE=str(place / "base")):
        for seed, name in ((1, "other"), (0, "model")):
            encoder = Encoder(str(save_tiny_bert(place / name, seed=seed)), engine="openvino")
            np.save(place / f"{name}.npy", encoder.encode(_TEXTS))
            (place / f"{name}.json").write_text(json.dumps(encoder.fingerprint.as_dict()), encoding="utf-8")


def damage_one(place: Path, rng: Random) -> str:
    """Restore the cache, and damage something in it; what, and how."""
    os.environ["SEEWHY_CACHE"] = str(place / "cache")
    for path in (place / "cache", place / "decoy"):
        path.unlink() if path.is_file() else shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(place / "base", place / "cache")
    (place / "decoy").mkdir()
    (place / "decoy" / _PRIVATE).write_text("private", encoding="utf-8")
    entry, other = (cache.entry_folder(*_hashes(place, name)) for name in ("model", "other"))
    target = next(entry.glob(rng.choice(_FILES)))
    how = rng.choice(
        ("bytes",) * 6 + ("zeros", "emptied", "lost", "folder", "link", "pipe", "other's", "whole")
    )
    if how == "whole":
        return _damage_whole(entry, other, place / "decoy", rng)
    what = f"{target.name} {how}"
    if how == "bytes":
        kind, data = damaged(target.read_bytes(), rng, ANYTHING)
        what = f"{target.name} {kind}"
    else:
        data = bytes(target.stat().st_size if how == "zeros" else 0)
    twin = next(other.glob("*.blob" if target.suffix == ".blob" else target.name))
    target.unlink()
    if how == "folder":
        target.mkdir()
        (target / _PRIVATE).write_text("private", encoding="utf-8")
    elif how == "link":
        shutil.copyfile(twin, place / "decoy" / target.name)
        target.symlink_to(place / "decoy" / target.name)
    elif how == "pipe":
        os.mkfifo(target)
    elif how == "other's":
        shutil.copyfile(twin, target)
    elif how != "lost":
        target.write_bytes(data)
    return what


def _damage_whole(entry: Path, other: Path, decoy: Path, rng: Random) -> str:
    """Damage more than one file: as a loss of power, a wrong copy, or another user would."""
    how = rng.choice(
        ("half written", "no power", "of another model", "a file", "a link", "no cache", "a lock")
    )
    if how == "half written":
        entry.rename(entry.with_name(f"{entry.name}.new"))
    elif how == "no power":
        for name in ("encoder.bin", "encoder.xml", "tokenizer.json"):
            (entry / name).write_bytes(bytes((entry / name).stat().st_size))
    elif how == "of another model":
        shutil.rmtree(entry)
        shutil.copytree(other, entry)
    elif how == "a lock":
        next(entry.glob("*.blob")).unlink()
        (entry / "encoder.xml").unlink()
        (entry.parent / f"{entry.name}.lock").unlink()
        (entry.parent / f"{entry.name}.lock").symlink_to(decoy / _PRIVATE)
    elif how == "no cache":
        shutil.rmtree(entry.parent)
        entry.parent.write_text("x", encoding="utf-8")
    else:
        entry.rename(decoy / "entry")
        entry.write_text("x", encoding="utf-8") if how == "a file" else entry.symlink_to(decoy / "entry")
    return how


def encodes(place: Path) -> tuple[str, str]:
    """The outcome to count, and why it is a failure: a query encodes as before, twice, and nothing else changed."""
    before = _tree(place / "decoy")
    fingerprint = Fingerprint.from_dict(json.loads((place / "model.json").read_text(encoding="utf-8")))
    made, remark, by = 0, "", ""

    def copied(known: Any, folder: Path) -> None:
        """In place of a conversion, which takes a second: the one that was made before."""
        nonlocal made
        made += 1
        source = place / "base" / "models" / cache.entry_folder(*known.files.hashes).name
        for name in ("encoder.xml", "encoder.bin"):
            shutil.copyfile(source / name, folder / name)

    for _ in range(2):
        started = time.process_time()
        with mock.patch("search.encoding.engines.convert", copied):
            encoder = Encoder.of(fingerprint, offline=True)
            off = np.abs(encoder.encode(_TEXTS) - np.load(place / "model.npy")).max()
        if not off < 1e-5:
            return "wrong", f"embeddings are off by {off:.1e}"
        if (seconds := time.process_time() - started) > _SECONDS:
            return "slow", f"an answer took {seconds:.0f} s"
        remark, by = "".join(encoder.remarks), encoder.engine.name
    if _tree(place / "decoy") != before:
        return "harm", "something outside the cache changed"
    if by == "torch":
        return "by PyTorch", "" if remark else "PyTorch encodes, and no word of it"
    if made > 1:
        return "not healed", "it was made again twice"
    return ("made again" if made else "right"), ""


@lru_cache
def _hashes(place: Path, name: str) -> tuple[str, str, str]:
    made = json.loads((place / f"{name}.json").read_text(encoding="utf-8"))
    return made["weights"], made["tokenizer"], made["config"]


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
