"""Converted models, and conversions that failed, kept on this machine under the hashes of the model's files.

    <cache>/models/<weights>-<tokenizer>-<config>/
        entry.json       the manifest: the model, its description, and the size and SHA-256 of each of its files;
                         or why OpenVINO cannot run it, so that not every process tries again
        encoder.xml/.bin the model as OpenVINO reads it
        tokenizer.json   N_Dense/   its other files
        *.blob           the model as OpenVINO compiled it, see `search.encoding.openvino_engine`

An entry holds all that a query needs. `<cache>` is `$SEEWHY_CACHE`, or the platform's folder for caches; anything in it
may be deleted. A folder is written beside its target and renamed. Sizes are compared when an entry is opened, checksums
when a file is read: of `encoder.xml` and `encoder.bin` when they are compiled. A damaged entry is replaced.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from search.encoding.description import Description, KnownModel
from search.encoding.models import ModelFiles
from search.encoding.tokenizer import load_tokenizer
from search.errors import first_line
from search.files import (
    PRIVATE_FOLDER,
    bytes_in,
    cache_folder,
    cache_home,
    read_sealed,
    sha256_of,
    write_sealed,
)
from search.records.tokens import ConvertedModel

_FORMAT = 6  # raise it when the conversion or the description changes
_ENTRY, _WEIGHTS = "entry.json", "model.safetensors"
_TO_COMPILE = ("encoder.xml", "encoder.bin")
_PACKAGES = ("openvino", "torch", "transformers")
DAMAGE = (OSError, ValueError, KeyError, TypeError)
"""Errors of reading a damaged entry."""


def entry_folder(weights: str, tokenizer: str, config: str) -> Path:
    """The folder of the model with these three hashes."""
    return cache_home() / "models" / f"{weights[:24]}-{tokenizer[:12]}-{config[:12]}"


def cached_model(weights: str, tokenizer: str, config: str) -> KnownModel | None:
    """The converted model of these hashes; None where there is none, or a damaged one."""
    with suppress(*DAMAGE):
        return _entry(entry_folder(weights, tokenizer, config))
    return None


def name_here(weights: str, tokenizer: str, config: str) -> str:
    """Name under which the model of these hashes was used here, converted or not; "" if it never was."""
    try:
        return str(_manifest(entry_folder(weights, tokenizer, config))["files"]["name"])
    except DAMAGE:
        return ""


def listed() -> list[ConvertedModel]:
    """Every converted model, and those that could not be converted or are damaged, with the reason; by name."""
    places = [path for path in (cache_home() / "models").glob("*-*-*") if path.suffix == ""]
    return sorted(map(_listed, places), key=lambda model: (bool(model.problem), model.name))


def _listed(place: Path) -> ConvertedModel:
    try:
        manifest = _manifest(place)
        name, weights = manifest["files"]["name"], manifest["files"]["weights_sha256"]
        if manifest["problem"]:
            return ConvertedModel(name, weights, 0, 0, str(place), manifest["problem"])
        layers = _entry(place).description.layers
        require_intact(place)
        return ConvertedModel(name, weights, layers, bytes_in(place), str(place))
    except DAMAGE as error:
        why = f"{first_line(error)}; it is made again when it is needed"
        return ConvertedModel(place.name, place.name[:24], 0, bytes_in(place), str(place), why)


def remove(model: ConvertedModel) -> None:
    """Delete a converted model, which is converted again when it is needed, or forget that one failed."""
    place = Path(model.folder)
    with _locked(place):
        shutil.rmtree(place)


def add(model: KnownModel, convert: Callable[[KnownModel, Path], None]) -> KnownModel:
    """The converted model, converted now unless the cache has a sound one.

    Args:
        convert: writes the converted model into a folder.

    Two processes that convert the same model at once do it one after the other, and a killed one leaves nothing that
    looks like an entry.

    Raises:
        ModelError: it cannot be converted, or its own files are not here.
        OSError: the cache cannot be written.
    """
    place = entry_folder(*model.files.hashes)
    with _locked(place):
        with suppress(*DAMAGE):
            entry = _entry(place)
            require_intact(place)
            return entry
        with _replacing(place) as folder:
            _write(model.whole(), convert, folder)
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
    contents = {name: [(folder / name).stat().st_size, sha256_of(folder / name)] for name in names}
    _write_manifest(folder, files, description=asdict(description), contents=contents)


def _write_manifest(folder: Path, files: ModelFiles, problem: str = "", **rest: Any) -> None:
    about = {"format": _FORMAT, "problem": problem, "files": asdict(files) | {"folder": None}}
    write_sealed(folder / _ENTRY, about | rest)


def _manifest(place: Path) -> dict[str, Any]:
    manifest = read_sealed(place / _ENTRY)
    if manifest["format"] != _FORMAT:
        raise ValueError(f"it has format {manifest['format']}")
    return manifest


def require_intact(folder: Path, names: tuple[str, ...] = _TO_COMPILE) -> None:
    """Raise OSError or ValueError if a file of an entry was changed."""
    contents = _manifest(folder)["contents"]
    for name in names:
        if sha256_of(folder / name) != contents[name][1]:
            raise ValueError(f"{name} is not what was written")


def known_failure(files: ModelFiles) -> str:
    """Reason why the installed packages cannot convert this model; "" if it may be tried."""
    with suppress(*DAMAGE):
        manifest = _manifest(entry_folder(*files.hashes))
        return str(manifest["problem"]) if manifest["versions"] == _versions() else ""
    return ""


def remember_failure(files: ModelFiles, reason: str) -> None:
    """Write down that a conversion failed. A cache that cannot be written to costs only another attempt."""
    place = entry_folder(*files.hashes)
    with suppress(OSError), _locked(place):
        if cached_model(*files.hashes) is None:
            with _replacing(place) as folder:
                _write_manifest(folder, files, reason, versions=_versions())


def _versions() -> dict[str, str]:
    import importlib.metadata

    return {package: importlib.metadata.version(package) for package in _PACKAGES}


def _entry(place: Path) -> KnownModel:
    """An entry whose files have their sizes, and the small ones their checksums.

    Raises:
        OSError, ValueError, KeyError, TypeError: there is none, or it is damaged.
    """
    entry = _manifest(place)
    files = replace(ModelFiles(**entry["files"]), folder=place, modules=tuple(entry["files"]["modules"]))
    if entry_folder(*files.hashes).name != place.name:
        raise ValueError("it is of another model")
    for name, (size, _) in entry["contents"].items():
        if (place / name).stat().st_size != size:
            raise ValueError(f"{name} is not what was written")
    require_intact(place, tuple(entry["contents"].keys() - set(_TO_COMPILE)))
    return KnownModel(files, Description.from_dict(entry["description"]))


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    """Hold the place of an entry; OSError where the cache cannot be written."""
    from filelock import FileLock

    with FileLock(cache_folder("models") / f"{place.name}.lock"):
        yield


@contextmanager
def _replacing(place: Path) -> Iterator[Path]:
    """A new folder that replaces an entry at the end."""
    folder = place.with_suffix(".new")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(PRIVATE_FOLDER)
    try:
        yield folder
        shutil.rmtree(place, ignore_errors=True)
        folder.rename(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
