"""Conversions that failed, so that a model that OpenVINO cannot run is not tried by every new process.

    <cache>/models/<weights>-<tokenizer>-<config>/failed.json

It lies where the converted model would lie, which takes its place if a later attempt succeeds. With another
version of one of the packages that convert, it counts no more.
"""

from __future__ import annotations

import importlib.metadata
import json
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from search.encoding.cache import entry_folder
from search.files import cache_home, write_whole
from search.records.tokens import ConvertedModel

if TYPE_CHECKING:
    from search.encoding.models import ModelFiles

_FILE = "failed.json"
_PACKAGES = ("openvino", "torch", "transformers")


@dataclass(frozen=True)
class FailedConversion:
    """One model that could not be converted, and what was said."""

    folder: Path
    name: str
    weights: str
    reason: str
    versions: dict[str, str]

    def record(self) -> ConvertedModel:
        """What a list of models shows of it."""
        return ConvertedModel(self.name, self.weights, 0, 0, str(self.folder), self.reason)


def known_failure(files: ModelFiles) -> str | None:
    """Why this model could not be converted with the packages that are installed; None if it may be tried."""
    found = _read(_folder(files))
    return found.reason if found and found.versions == _versions() else None


def remember_failure(files: ModelFiles, reason: str) -> None:
    """Write down that a conversion failed. A cache that cannot be written to costs only another attempt."""
    folder = _folder(files)
    entry = {
        "name": files.name,
        "weights": files.weights_sha256,
        "reason": reason,
        "versions": _versions(),
    }
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / _FILE, json.dumps(entry, ensure_ascii=False, indent=1))


def all_failures() -> list[FailedConversion]:
    """Every model that could not be converted, by name."""
    folder = cache_home() / "models"
    found = [_read(path) for path in folder.iterdir()] if folder.is_dir() else []
    return sorted((entry for entry in found if entry), key=lambda entry: entry.name)


def forget_failure(entry: FailedConversion) -> None:
    """Let the next use of the model try again."""
    shutil.rmtree(entry.folder)


def _folder(files: ModelFiles) -> Path:
    return entry_folder(files.weights_sha256, files.tokenizer_sha256, files.config_sha256)


def _versions() -> dict[str, str]:
    return {package: importlib.metadata.version(package) for package in _PACKAGES}


def _read(folder: Path) -> FailedConversion | None:
    try:
        entry = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return FailedConversion(
            folder, str(entry["name"]), str(entry["weights"]), str(entry["reason"]), dict(entry["versions"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
