"""Cache of converted models and failed conversions, named by the hashes of the model's files.

    <cache>/models/<weights>-<tokenizer>-<config>/
        entry.json       the manifest: the model, its description, size and SHA-256 of each file; or the reason why
                         OpenVINO cannot run it, so that the conversion is not repeated
        encoder.xml/.bin the model in OpenVINO's format
        parameters.*     see `search.encoding.parameters`; only of the BERT family
        tokenizer.json   N_Dense/   its other files
        *.blob           the model compiled by OpenVINO, see `search.encoding.openvino_engine`

An entry contains everything a query needs. `<cache>` is `$SEEWHY_CACHE`, or the platform's cache folder; anything in it
may be deleted. An entry is written to a temporary folder and renamed. File sizes are checked when an entry is opened,
checksums when a file is read (`encoder.xml` and `encoder.bin`: when they are compiled). A damaged entry is replaced.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from search.encoding.description import Description, KnownModel
from search.encoding.models import DEFAULT_MODEL, ModelFiles
from search.encoding.tokenizer import load_tokenizer
from search.encoding.used import short_hashes
from search.files import (
    PRIVATE_FOLDER,
    cache_folder,
    cache_home,
    patiently,
    read_sealed,
    sha256_of,
    write_sealed,
)

_FORMAT = 10  # raise it when the conversion or the description changes
_ENTRY, _WEIGHTS = "entry.json", "model.safetensors"
_TO_COMPILE = ("encoder.xml", "encoder.bin")
_PACKAGES = ("openvino", "torch", "transformers")
DAMAGE = (OSError, ValueError, KeyError, TypeError)
"""Errors of reading a damaged entry."""


def entry_folder(weights: str, tokenizer: str, config: str) -> Path:
    """Return the cache folder of the model whose weights, tokenizer and configuration have these hashes."""
    return cache_home() / "models" / short_hashes(weights, tokenizer, config)


def cached_model(weights: str, tokenizer: str, config: str) -> KnownModel | None:
    """Return the converted model with these hashes; None if there is none or it is damaged."""
    with suppress(*DAMAGE):
        return _entry(entry_folder(weights, tokenizer, config))
    return None


def packaged(name: str) -> KnownModel | None:
    """Return the default model as the package `seewhy_model` contains it, converted; None without that package.

    Its entry is copied into the cache, where OpenVINO can store what it compiles.
    """
    package = find_spec("seewhy_model") if name == DEFAULT_MODEL else None
    for folder in (package.submodule_search_locations or ()) if package else ():
        for source in Path(folder).glob("*-*-*"):
            entry_path = cache_home() / "models" / source.name
            with suppress(*DAMAGE):
                return _entry(entry_path)
            with suppress(*DAMAGE), _locked(entry_path):
                with _replacing(entry_path) as new:
                    shutil.copytree(source, new, dirs_exist_ok=True)
                return _entry(entry_path)
            return _entry(source)
    return None


def add(model: KnownModel, convert: Callable[[KnownModel, Path], list[str]]) -> KnownModel:
    """Return the converted model; convert it first unless the cache has an intact entry.

    If two processes convert the same model, the second one waits. A killed process leaves no incomplete entry.

    Args:
        convert: writes the converted model into a folder; returns the names of the files besides encoder.xml/.bin.

    Raises:
        ModelError: the model cannot be converted, or its original files are not on this machine.
        OSError: the cache cannot be written.
    """
    entry_path = entry_folder(*model.files.hashes)
    with _locked(entry_path):
        with suppress(*DAMAGE):
            entry = _entry(entry_path)
            require_intact(entry_path)
            return entry
        with _replacing(entry_path) as folder:
            _write(model.whole(), convert, folder)
        return _entry(entry_path)


def _write(model: KnownModel, convert: Callable[[KnownModel, Path], list[str]], folder: Path) -> None:
    files, description = model.files, model.description
    others = convert(model, folder)
    tokenizer = load_tokenizer(files.inputs_folder, files.name).to_str()
    (folder / "tokenizer.json").write_bytes(tokenizer.encode())
    names = [*_TO_COMPILE, "tokenizer.json", *others]
    for module, _ in description.dense:
        (folder / module).mkdir(parents=True)
        shutil.copyfile(files.folder / module / _WEIGHTS, folder / module / _WEIGHTS)
        names.append(f"{module}/{_WEIGHTS}")
    contents = {name: [(folder / name).stat().st_size, sha256_of(folder / name)] for name in names}
    _write_manifest(folder, files, description=asdict(description), contents=contents)


def _write_manifest(folder: Path, files: ModelFiles, problem: str = "", **rest: Any) -> None:
    inside = replace(files, inputs="", of_queries=None)  # the tokenizer is in the entry's folder
    about = {"format": _FORMAT, "problem": problem, "files": asdict(inside) | {"folder": None}}
    write_sealed(folder / _ENTRY, about | rest)


def _manifest(entry_path: Path) -> dict[str, Any]:
    manifest = read_sealed(entry_path / _ENTRY)
    if manifest["format"] != _FORMAT:
        raise ValueError(f"it has format {manifest['format']}")
    return manifest


def require_intact(folder: Path, names: tuple[str, ...] = _TO_COMPILE) -> None:
    """Raise OSError or ValueError if a file of an entry is missing or changed."""
    contents = _manifest(folder)["contents"]
    for name in names:
        if sha256_of(folder / name) != contents[name][1]:
            raise ValueError(f"{name} was changed or damaged")


def known_failure(files: ModelFiles) -> str:
    """Return why the installed packages cannot convert this model; "" if no failure is known."""
    with suppress(*DAMAGE):
        manifest = _manifest(entry_folder(*files.hashes))
        return str(manifest["problem"]) if manifest["versions"] == _versions() else ""
    return ""


def remember_failure(files: ModelFiles, reason: str) -> None:
    """Store why a conversion failed. If the cache is not writable, the conversion is tried again next time."""
    entry_path = entry_folder(*files.hashes)
    with suppress(OSError), _locked(entry_path):
        if cached_model(*files.hashes) is None:
            with _replacing(entry_path) as folder:
                _write_manifest(folder, files, reason, versions=_versions())


def _versions() -> dict[str, str]:
    import importlib.metadata

    return {package: importlib.metadata.version(package) for package in _PACKAGES}


def _entry(entry_path: Path) -> KnownModel:
    """Open an entry; check the sizes of all files and the checksums of the small ones.

    Raises:
        OSError, ValueError, KeyError, TypeError: there is no entry, or it is damaged.
    """
    entry = _manifest(entry_path)
    files = replace(
        ModelFiles(**entry["files"]), folder=entry_path, modules=tuple(entry["files"]["modules"])
    )
    if entry_folder(*files.hashes).name != entry_path.name:
        raise ValueError("belongs to another model")
    for name, (size, _) in entry["contents"].items():
        if (entry_path / name).stat().st_size != size:
            raise ValueError(f"{name} was changed or damaged")
    require_intact(entry_path, tuple(entry["contents"].keys() - set(_TO_COMPILE)))
    return KnownModel(files, Description.from_dict(entry["description"]))


@contextmanager
def _locked(entry_path: Path) -> Iterator[None]:
    """Hold the lock of an entry; raise OSError if the cache is not writable."""
    from filelock import FileLock

    with FileLock(cache_folder("models") / f"{entry_path.name}.lock"):
        yield


@contextmanager
def _replacing(entry_path: Path) -> Iterator[Path]:
    """Yield a new folder to fill; at the end it replaces the entry."""
    folder = entry_path.with_suffix(".new")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(PRIVATE_FOLDER)
    try:
        yield folder
        shutil.rmtree(entry_path, ignore_errors=True)
        patiently(lambda: folder.rename(entry_path))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
