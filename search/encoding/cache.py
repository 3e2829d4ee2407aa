"""Converted models, and conversions that failed, kept on this machine under the hashes of the model's files.

    <cache>/models/<weights>-<tokenizer>-<config>/
        entry.json       the manifest: the model, its description, and the size and SHA-256 of each of its files
        encoder.xml/.bin the model as OpenVINO reads it
        tokenizer.json   N_Dense/   its other files
        *.blob           the model as OpenVINO compiled it, see `search.encoding.openvino_engine`
        failed.json      in place of all these: why OpenVINO cannot run the model, so that not every process tries
                         again; it expires when a package that converts has another version

An entry holds all that a query needs. `<cache>` is `$SEEWHY_CACHE`, or the platform's folder for caches; anything in it
may be deleted.

Every load compares the sizes of all files and the checksums of the small ones. `encoder.xml` and `encoder.bin` are read
only to compile them, so their checksums are compared then. Under the lock, and only there, a damaged entry is replaced.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from search.encoding.description import Description, KnownModel
from search.encoding.models import ModelFiles
from search.encoding.tokenizer import load_tokenizer
from search.errors import ModelError, first_line
from search.files import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    cache_folder,
    cache_home,
    is_folder,
    read_sealed,
    sha256_of,
    sync_folder,
    write_sealed,
)
from search.records.tokens import ConvertedModel

_FORMAT = 5  # raise it when the conversion or the description changes
_ENTRY, _FAILED, _WEIGHTS = "entry.json", "failed.json", "model.safetensors"
_TO_COMPILE = ("encoder.xml", "encoder.bin")
_PLACE = re.compile(r"[0-9a-f]{24}-[0-9a-f]{12}-[0-9a-f]{12}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PACKAGES = ("openvino", "torch", "transformers")
_DAMAGES = (OSError, ValueError, KeyError, TypeError)  # which reading something damaged ends in


def entry_folder(weights: str, tokenizer: str, config: str) -> Path:
    """Where the model of these three hashes is kept."""
    return cache_home() / "models" / f"{weights[:24]}-{tokenizer[:12]}-{config[:12]}"


def cached_model(weights: str, tokenizer: str, config: str) -> KnownModel | None:
    """The converted model of these hashes; None where there is none, or a damaged one."""
    hashes = (weights, tokenizer, config)
    if all(map(_SHA256.fullmatch, hashes)):
        with suppress(*_DAMAGES):
            return _entry(entry_folder(*hashes))
    return None


def name_here(weights: str, tokenizer: str, config: str) -> str:
    """The name by which the model of these hashes was asked for here, converted or not; "" if it never was."""
    place = entry_folder(weights, tokenizer, config)
    with suppress(*_DAMAGES):
        return str(read_sealed(place / _ENTRY)["files"]["name"])
    return str((_failure(place) or {}).get("name", ""))


def listed() -> list[ConvertedModel]:
    """Every converted model, and those that could not be converted or are damaged, with the reason; by name."""
    models = cache_home() / "models"
    places = models.iterdir() if is_folder(models) else ()
    found = [_listed(place) for place in places if _PLACE.fullmatch(place.name)]
    return sorted(found, key=lambda model: (bool(model.problem), model.name))


def _listed(place: Path) -> ConvertedModel:
    if failure := _failure(place):
        name, weights, reason = (str(failure[key]) for key in ("name", "weights", "reason"))
        return ConvertedModel(name, weights, 0, 0, str(place), reason)
    size = sum(path.lstat().st_size for path in place.rglob("*")) if is_folder(place) else 0
    try:
        entry = _entry(place)
        require_intact(place, _TO_COMPILE)
    except _DAMAGES as error:
        why = f"{_reason(error)}; it is made again when it is needed"
        return ConvertedModel(place.name, place.name[:24], 0, size, str(place), why)
    return ConvertedModel(
        entry.files.name, entry.files.weights_sha256, entry.description.layers, size, str(place)
    )


def remove(model: ConvertedModel) -> None:
    """Delete a converted model, which is made again when it is needed, or forget that one failed.

    Raises:
        ModelError: it cannot be deleted.
    """
    place = Path(model.folder)
    try:
        with _locked(place):
            _delete(place)
    except OSError as error:
        raise ModelError(
            f"'{place}' cannot be removed ({_reason(error)}). Get the right to write there."
        ) from None


def add(model: KnownModel, convert: Callable[[KnownModel, Path], None]) -> KnownModel:
    """The converted model, made now unless the cache has a sound one.

    Args:
        convert: writes the converted model into a folder.

    Under a lock the folder is made beside its place, forced to disk and renamed: two processes that convert the same
    model at once do it one after the other, and a killed one leaves nothing that looks like an entry.

    Raises:
        ModelError: it cannot be converted, or its own files are not here.
        OSError: the cache cannot be written.
    """
    place = entry_folder(*model.files.hashes)
    with _locked(place):
        with suppress(*_DAMAGES):
            entry = _entry(place)
            require_intact(place, _TO_COMPILE)
            return entry
        temporary = place.with_name(f"{place.name}.new")
        _delete(temporary)
        temporary.mkdir(PRIVATE_FOLDER)
        try:
            _write(model.whole(), convert, temporary)
            _delete(place)
            temporary.rename(place)
        finally:
            _delete(temporary)
        sync_folder(place.parent)
        return _entry(place)


def _write(model: KnownModel, convert: Callable[[KnownModel, Path], None], folder: Path) -> None:
    files, description = model.files, model.description
    convert(model, folder)
    tokenizer = load_tokenizer(files.folder, files.name).to_str()
    (folder / "tokenizer.json").write_bytes(tokenizer.encode())
    names = [*_TO_COMPILE, "tokenizer.json"]
    for module, _ in description.dense:
        (folder / module).mkdir(parents=True)
        shutil.copyfile(files.folder / module / _WEIGHTS, folder / module / _WEIGHTS)
        names.append(f"{module}/{_WEIGHTS}")
    content = {
        "format": _FORMAT,
        "files": asdict(files) | {"folder": None},
        "description": asdict(description),
        "contents": {name: [(folder / name).stat().st_size, sha256_of(folder / name)] for name in names},
    }
    write_sealed(folder / _ENTRY, content)
    for name in (*names, _ENTRY):
        (folder / name).chmod(PRIVATE_FILE)
        _sync(folder / name)
        sync_folder((folder / name).parent)


def require_intact(folder: Path, names: tuple[str, ...] = _TO_COMPILE) -> None:
    """Raise OSError or ValueError if a file of an entry is not what was written."""
    contents = read_sealed(folder / _ENTRY)["contents"]
    for name in names:
        if sha256_of(folder / name, links=False) != contents[name][1]:
            raise ValueError(f"{name} is not what was written")


def known_failure(files: ModelFiles) -> str:
    """Why this model could not be converted with the packages that are installed; "" if it may be tried."""
    failure = _failure(entry_folder(*files.hashes))
    return str(failure["reason"]) if failure and failure["versions"] == _versions() else ""


def remember_failure(files: ModelFiles, reason: str) -> None:
    """Write down that a conversion failed. A cache that cannot be written to costs only another attempt."""
    entry = {"name": files.name, "weights": files.weights_sha256, "reason": reason, "versions": _versions()}
    place = entry_folder(*files.hashes)
    with suppress(OSError), _locked(place):
        if cached_model(*files.hashes) is None:
            _delete(place)
            place.mkdir(PRIVATE_FOLDER)
            write_sealed(place / _FAILED, entry)


def _versions() -> dict[str, str]:
    import importlib.metadata

    return {package: importlib.metadata.version(package) for package in _PACKAGES}


def _failure(folder: Path) -> dict[str, Any] | None:
    try:
        failure = read_sealed(folder / _FAILED)
    except (OSError, ValueError):
        return None
    return failure if {"name", "weights", "reason", "versions"} <= failure.keys() else None


def _entry(place: Path) -> KnownModel:
    """An entry whose files have their sizes, and the small ones their checksums.

    Raises:
        OSError, ValueError, KeyError, TypeError: there is none, or it is damaged.
    """
    if not is_folder(place.parent) or not is_folder(place):  # links are not followed
        raise ValueError("it is no folder")
    entry = read_sealed(place / _ENTRY)
    if entry["format"] != _FORMAT:
        raise ValueError(f"it has format {entry['format']}")
    files = replace(ModelFiles(**entry["files"]), folder=place, modules=tuple(entry["files"]["modules"]))
    if entry_folder(*files.hashes).name != place.name:
        raise ValueError("it is of another model")
    for name, (size, _) in entry["contents"].items():
        seen = (place / name).lstat()
        if not stat.S_ISREG(seen.st_mode) or seen.st_size != size:
            raise ValueError(f"{name} is not what was written")
    require_intact(place, tuple(entry["contents"].keys() - set(_TO_COMPILE)))
    return KnownModel(files, Description.from_dict(entry["description"]))


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{Path(error.filename).name}: {error.strerror}"
    return first_line(error)


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    """Hold the place of an entry; OSError where the cache cannot be written."""
    from filelock import FileLock

    file = cache_folder("models") / f"{place.name}.lock"
    if os.path.lexists(file) and not stat.S_ISREG(file.lstat().st_mode):
        _delete(file)
    with FileLock(file, mode=PRIVATE_FILE):
        yield


def _delete(path: Path) -> None:
    """Delete a folder, a file, or a link itself; a folder is renamed first, so that it vanishes at once."""
    if is_folder(path):
        aside = path.rename(path.with_name(f"{path.name}.{os.urandom(4).hex()}"))
        shutil.rmtree(aside, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)  # Windows forces nothing to disk that cannot be written
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
