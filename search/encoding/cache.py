"""Converted models, and conversions that failed, kept on this machine under the hashes of the model's files.

    <cache>/models/<weights>-<tokenizer>-<config>/
        entry.json       what is known of the model; written last, so a folder without it is no entry
        encoder.xml/.bin the model as OpenVINO reads it
        tokenizer.json   N_Dense/   its other files
        compiled/        made by OpenVINO for this machine
        failed.json      in place of all these: why OpenVINO cannot run it, so that not every process tries again.
                         With another version of a package that converts, it counts no more.

An entry holds all that a query needs, so that asking a question looks at no other file of the model.
`<cache>` is `$SEEWHY_CACHE`, or the platform's folder for caches; anything in it may be deleted.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from search.encoding.description import Description, KnownModel
from search.encoding.models import ModelFiles
from search.encoding.tokenizer import load_tokenizer
from search.files import cache_home, write_whole
from search.records.tokens import ConvertedModel

_FORMAT = 3  # raise it when the conversion changes
_ENTRY, _FAILED = "entry.json", "failed.json"
_PACKAGES = ("openvino", "torch", "transformers")


def entry_folder(weights: str, tokenizer: str, config: str) -> Path:
    """Where the model of these three hashes is kept."""
    return cache_home() / "models" / f"{weights[:24]}-{tokenizer[:12]}-{config[:12]}"


def cached_model(weights: str, tokenizer: str, config: str) -> KnownModel | None:
    """The converted model of these hashes, None when there is none of this format."""
    return _read(entry_folder(weights, tokenizer, config))


def listed() -> list[ConvertedModel]:
    """Every converted model, and those that could not be converted, with the reason; by name."""
    place = cache_home() / "models"
    found = []
    for folder in place.iterdir() if place.is_dir() else ():
        if entry := _read(folder):
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            files, layers = entry.files, entry.description.layers
            found.append(ConvertedModel(files.name, files.weights_sha256, layers, size, str(folder)))
        elif failure := _failure(folder):
            name, weights, reason = (str(failure[key]) for key in ("name", "weights", "reason"))
            found.append(ConvertedModel(name, weights, 0, 0, str(folder), reason))
    return sorted(found, key=lambda model: (bool(model.problem), model.name))


def remove(model: ConvertedModel) -> None:
    """Delete a converted model, which is made again when it is needed, or forget that one failed."""
    shutil.rmtree(model.folder)


def add(model: KnownModel, write: Callable[[Path], None]) -> KnownModel:
    """Put a model into the cache, unless another process was quicker.

    Args:
        write: writes the converted model into a folder.

    The folder is made beside its place and renamed, under a lock: two processes that convert the same model
    at once do it one after the other, and a killed one leaves nothing that looks like an entry.
    """
    from filelock import FileLock

    files, description = model.files, model.description
    place = entry_folder(*files.hashes)
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.parent / f"{place.name}.lock"):
        if entry := _read(place):
            return entry
        temporary = place.with_name(f"{place.name}.new")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        write(temporary)
        load_tokenizer(files.folder, files.name).save(str(temporary / "tokenizer.json"))
        for module, _ in description.dense:
            (temporary / module).mkdir(parents=True)
            shutil.copyfile(
                files.folder / module / "model.safetensors", temporary / module / "model.safetensors"
            )
        known = asdict(files) | {"folder": None}
        content = {"format": _FORMAT, "files": known, "description": asdict(description)}
        (temporary / _ENTRY).write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
        shutil.rmtree(place, ignore_errors=True)
        temporary.rename(place)
        return KnownModel(replace(files, folder=place), description)


def known_failure(files: ModelFiles) -> str:
    """Why this model could not be converted with the packages that are installed; "" if it may be tried."""
    failure = _failure(entry_folder(*files.hashes))
    return str(failure["reason"]) if failure and failure["versions"] == _versions() else ""


def remember_failure(files: ModelFiles, reason: str) -> None:
    """Write down that a conversion failed. A cache that cannot be written to costs only another attempt."""
    entry = {"name": files.name, "weights": files.weights_sha256, "reason": reason, "versions": _versions()}
    folder = entry_folder(*files.hashes)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / _FAILED, json.dumps(entry, ensure_ascii=False, indent=1))


def _versions() -> dict[str, str]:
    import importlib.metadata

    return {package: importlib.metadata.version(package) for package in _PACKAGES}


def _failure(folder: Path) -> dict[str, Any] | None:
    try:
        failure = json.loads((folder / _FAILED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(failure, dict) and {"name", "weights", "reason", "versions"} <= failure.keys()
    return failure if whole else None


def _read(folder: Path) -> KnownModel | None:
    try:
        entry = json.loads((folder / _ENTRY).read_text(encoding="utf-8"))
        if entry["format"] != _FORMAT:
            return None
        files = replace(ModelFiles(**entry["files"]), folder=folder, modules=tuple(entry["files"]["modules"]))
        return KnownModel(files, Description.from_dict(entry["description"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
