"""Converted models, kept on this machine under the hashes of their files.

    <cache>/models/<weights>-<tokenizer>-<config>/
        entry.json       what is known of the model; written last, so a folder without it is no entry
        encoder.xml/.bin the model as OpenVINO reads it
        tokenizer.json   N_Dense/   its other files
        compiled/        made by OpenVINO for this machine

An entry holds all that a query needs, so that asking a question looks at no other file of the model.
`<cache>` is `$SEEWHY_CACHE`, or the platform's folder for caches; anything in it may be deleted.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from search.encoding.description import Description
from search.encoding.models import ModelFiles
from search.encoding.tokenizer import load_tokenizer
from search.files import cache_home
from search.records.tokens import ConvertedModel

_FORMAT = 3  # raise it when the conversion changes
_ENTRY = "entry.json"


@dataclass(frozen=True)
class CachedModel:
    """One converted model."""

    folder: Path
    files: ModelFiles
    description: Description

    def record(self) -> ConvertedModel:
        """What a list of models shows of it."""
        files = self.files
        return ConvertedModel(
            files.name, files.weights_sha256, self.description.layers, self.bytes, str(self.folder)
        )

    @property
    def bytes(self) -> int:
        """Size on disk."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())


def entry_folder(weights: str, tokenizer: str, config: str) -> Path:
    """Where the model of these three hashes is kept."""
    return cache_home() / "models" / f"{weights[:24]}-{tokenizer[:12]}-{config[:12]}"


def cached_model(weights: str, tokenizer: str, config: str) -> CachedModel | None:
    """The converted model of these hashes, None when there is none of this format."""
    return _read(entry_folder(weights, tokenizer, config))


def all_cached() -> list[CachedModel]:
    """Every converted model, by name."""
    folder = cache_home() / "models"
    found = [_read(path) for path in folder.iterdir()] if folder.is_dir() else []
    return sorted((entry for entry in found if entry), key=lambda entry: entry.files.name)


def add(files: ModelFiles, description: Description, write: Callable[[Path], None]) -> CachedModel:
    """Put a model into the cache, unless another process was quicker.

    Args:
        write: writes the converted model into a folder.

    The folder is made beside its place and renamed, under a lock: two processes that convert the same model
    at once do it one after the other, and a killed one leaves nothing that looks like an entry.
    """
    from filelock import FileLock

    place = entry_folder(files.weights_sha256, files.tokenizer_sha256, files.config_sha256)
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.parent / f"{place.name}.lock"):
        found = _read(place)
        if found:
            return found
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
        entry = {"format": _FORMAT, "files": known, "description": asdict(description)}
        (temporary / _ENTRY).write_text(json.dumps(entry, ensure_ascii=False, indent=1), encoding="utf-8")
        shutil.rmtree(place, ignore_errors=True)
        temporary.rename(place)
    found = _read(place)
    assert found is not None
    return found


def remove(entry: CachedModel) -> None:
    """Delete a converted model; it is made again when it is needed."""
    shutil.rmtree(entry.folder)


def _read(folder: Path) -> CachedModel | None:
    try:
        entry = json.loads((folder / _ENTRY).read_text(encoding="utf-8"))
        if entry["format"] != _FORMAT:
            return None
        files = replace(ModelFiles(**entry["files"]), folder=folder, modules=tuple(entry["files"]["modules"]))
        return CachedModel(folder, files, Description.from_dict(entry["description"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
