"""Converted models, and conversions that failed, kept on this machine under the hashes of the model's files.

    <cache>/models/<weights>-<tokenizer>-<config>/
        entry.json       what is known of the model, the hashes of its files, and the embedding of a fixed text
        encoder.xml/.bin the model as OpenVINO reads it
        tokenizer.json   N_Dense/   its other files
        compiled/        made by OpenVINO for this machine
        stamps.json      hash, size, times and inode of each file, and of what was compiled, when it was last right
        failed.json      in place of all these: why OpenVINO cannot run it, so that not every process tries again.
                         With another version of a package that converts, it counts no more.

An entry holds all that a query needs, so that asking a question looks at no other file of the model.
`<cache>` is `$SEEWHY_CACHE`, or the platform's folder for caches; anything in it may be deleted.

An entry that is not as it was written is dropped, and made again from the model. To read 180 MB at every start would
take longer than the answer, so files are hashed only where their stamps are not those of the last time. What stamps
cannot tell, the proof does: the embedding of a fixed text, see `search.encoding.engine`. Links are not followed, and
nothing is deleted but files of the names above.
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
from typing import TYPE_CHECKING, Any

from search.encoding.description import Description, KnownModel
from search.encoding.models import ModelFiles
from search.encoding.tokenizer import load_tokenizer
from search.errors import ModelError, first_line, is_of_memory
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

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FORMAT = 5  # raise it when the conversion or the description changes
_ENTRY, _FAILED, _STAMPS, _COMPILED, _WEIGHTS = (
    "entry.json", "failed.json", "stamps.json", "compiled", "model.safetensors",
)  # fmt: skip
_FILES = ("encoder.xml", "encoder.bin", "tokenizer.json")
# What may be deleted of an entry: these and no others, also as a process that was killed has left them.
_OWN = re.compile(
    r"encoder\.(xml|bin)|tokenizer\.json|\.?(entry|failed|stamps)\.json(\.[\d-]+\.part)?"
    r"|compiled(/\d{1,20}\.blob)?|\d{1,2}_\w+(/model\.safetensors)?"
)
_BLOB = re.compile(r"\d{1,20}\.blob")
_PLACE = re.compile(r"[0-9a-f]{24}-[0-9a-f]{12}-[0-9a-f]{12}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PACKAGES = ("openvino", "torch", "transformers")
_DAMAGES = (OSError, ValueError, KeyError, TypeError)  # which reading something damaged ends in

dropped: dict[Path, str] = {}
"""Entries that this process found damaged, and why."""


def entry_folder(weights: str, tokenizer: str, config: str) -> Path:
    """Where the model of these three hashes is kept."""
    return cache_home() / "models" / f"{weights[:24]}-{tokenizer[:12]}-{config[:12]}"


def cached_model(weights: str, tokenizer: str, config: str) -> KnownModel | None:
    """The converted model of these hashes, None when there is none of this format; one that is damaged is dropped."""
    hashes = (weights, tokenizer, config)
    if not all(map(_SHA256.fullmatch, hashes)):
        return None
    place = entry_folder(*hashes)
    try:
        return _sound(place, hashes)
    except _DAMAGES:
        with suppress(OSError), _locked(place):
            try:  # what another process was about to make is whole now
                return _sound(place, hashes)
            except _DAMAGES as error:
                if is_of_memory(error):  # which says nothing of the entry
                    raise MemoryError from error
                _drop(place, _reason(error))
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
    return sorted(filter(None, found), key=lambda model: (bool(model.problem), model.name))


def _listed(place: Path) -> ConvertedModel | None:
    size = sum(path.lstat().st_size for path in place.rglob("*")) if is_folder(place) else 0
    try:
        if entry := _sound(place, stamped=False):
            files, layers = entry.files, entry.description.layers
            return ConvertedModel(files.name, files.weights_sha256, layers, size, str(place))
    except _DAMAGES as error:
        why = f"{_reason(error)}; it is made again when it is needed"
        return ConvertedModel(place.name, place.name[:24], 0, size, str(place), why)
    if failure := _failure(place):
        name, weights, reason = (str(failure[key]) for key in ("name", "weights", "reason"))
        return ConvertedModel(name, weights, 0, 0, str(place), reason)
    return None


def remove(model: ConvertedModel) -> None:
    """Delete a converted model, which is made again when it is needed, or forget that one failed.

    Raises:
        ModelError: it cannot be deleted.
    """
    place = Path(model.folder)
    try:
        with _locked(place):
            _set_aside(place)
    except OSError as error:
        raise ModelError(
            f"'{place}' cannot be removed ({_reason(error)}). Get the right to write there."
        ) from None


def add(model: KnownModel, write: Callable[[Path], NDArray[np.float32]]) -> KnownModel:
    """Put a model into the cache, unless another process was quicker.

    Args:
        write: writes the converted model into a folder, and returns its proof.

    The folder is made beside its place, forced to disk and renamed, under a lock: two processes that convert the same
    model at once do it one after the other, and a killed one leaves nothing that looks like an entry.

    Raises:
        OSError: the cache cannot be written.
    """
    files, description = model.files, model.description
    place = entry_folder(*files.hashes)
    with _locked(place):
        with suppress(*_DAMAGES):
            if entry := _sound(place, files.hashes):
                return entry
        temporary = place.with_name(f"{place.name}.new")
        _set_aside(temporary)
        temporary.mkdir(PRIVATE_FOLDER)
        proof = write(temporary)
        load_tokenizer(files.folder, files.name).save(str(temporary / "tokenizer.json"))
        names = [*_FILES, *(f"{module}/{_WEIGHTS}" for module, _ in description.dense)]
        for name in names[len(_FILES) :]:
            (temporary / name).parent.mkdir(parents=True)
            shutil.copyfile(files.folder / name, temporary / name)
        content = {
            "format": _FORMAT,
            "files": asdict(files) | {"folder": None},
            "description": asdict(description),
            "proof": proof.astype("<f4").tobytes().hex(),
            "sha256": {name: sha256_of(temporary / name) for name in names},
        }
        write_sealed(temporary / _ENTRY, content)
        for name in (*names, _ENTRY):
            (temporary / name).chmod(PRIVATE_FILE)
            _sync(temporary / name)
            sync_folder((temporary / name).parent)
        _set_aside(place)
        temporary.rename(place)
        sync_folder(place.parent)
        return KnownModel(replace(files, folder=place), description, proof=proof)


def drop(model: KnownModel, why: str) -> None:
    """Delete an entry that does not do what it did when it was made."""
    place = entry_folder(*model.files.hashes)
    with suppress(OSError), _locked(place):
        _drop(place, why)


def may_use_compiled(folder: Path) -> bool:
    """Whether an entry has a folder for what OpenVINO compiles; what is in it and not as it was written is deleted."""
    place, noted = folder / _COMPILED, _noted(folder)
    try:
        if not is_folder(place):
            place.unlink(missing_ok=True)
            place.mkdir(PRIVATE_FOLDER)
        for path in _blobs(folder):
            before = noted.get(path.name, [""])
            with suppress(OSError, ValueError):
                if _look(path, before)[0] == before[0]:
                    continue
            _delete(path.rename(_beside(path)))
    except OSError:
        return False
    return True


def note_compiled(folder: Path) -> None:
    """Remember the hashes of what OpenVINO has compiled."""
    noted = _noted(folder)
    with suppress(OSError, ValueError):
        now = {path.name: _look(path, noted.get(path.name, [])) for path in _blobs(folder)}
        if now.items() <= noted.items():
            return
        for name in now:
            _sync(folder / _COMPILED / name)
        write_sealed(folder / _STAMPS, noted | now)


def known_failure(files: ModelFiles) -> str:
    """Why this model could not be converted with the packages that are installed; "" if it may be tried."""
    failure = _failure(entry_folder(*files.hashes))
    return str(failure["reason"]) if failure and failure["versions"] == _versions() else ""


def remember_failure(files: ModelFiles, reason: str) -> None:
    """Write down that a conversion failed. A cache that cannot be written to costs only another attempt."""
    entry = {"name": files.name, "weights": files.weights_sha256, "reason": reason, "versions": _versions()}
    with suppress(OSError):
        place = cache_folder("models") / entry_folder(*files.hashes).name
        if not is_folder(place):
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


def _sound(place: Path, hashes: tuple[str, ...] = (), *, stamped: bool = True) -> KnownModel | None:
    """An entry whose files are as they were written, None where there is none.

    Args:
        hashes: of the model that it must be of.
        stamped: trust files whose stamps are those of the last time.

    Raises:
        OSError, ValueError, KeyError, TypeError: it is damaged.
    """
    if not is_folder(place.parent) or not os.path.lexists(place):
        return None
    if not is_folder(place):
        raise ValueError("it is no folder")
    if not any(os.path.lexists(place / name) for name in (_ENTRY, *_FILES)):
        return None
    entry = read_sealed(place / _ENTRY)
    if entry["format"] != _FORMAT:
        return None
    files = replace(ModelFiles(**entry["files"]), folder=place, modules=tuple(entry["files"]["modules"]))
    if entry_folder(*files.hashes).name != place.name or (hashes and files.hashes != hashes):
        raise ValueError("it is of another model")
    _require_as_written(place, entry["sha256"], stamped)
    import numpy as np

    proof = np.frombuffer(bytes.fromhex(entry["proof"]), dtype="<f4")
    return KnownModel(files, Description.from_dict(entry["description"]), proof=proof)


def _require_as_written(folder: Path, sha256: dict[str, str], stamped: bool) -> None:
    noted = _noted(folder)
    now = {name: _look(folder / name, noted.get(name, []) if stamped else []) for name in sha256}
    for name, (is_now, *_) in now.items():
        if is_now != sha256[name]:
            raise ValueError(f"{name} is not what was written")
    if not now.items() <= noted.items():
        with suppress(OSError):
            write_sealed(folder / _STAMPS, noted | now)


def _noted(folder: Path) -> dict[str, Any]:
    try:
        return read_sealed(folder / _STAMPS)
    except (OSError, ValueError):
        return {}


def _look(path: Path, before: list[Any]) -> list[Any]:
    """The hash of a file and its stamp, which changes when it does; the hash of `before` where the stamp is the same.

    Raises:
        OSError, ValueError: it is no file, or cannot be read.
    """
    seen = path.lstat()
    if not stat.S_ISREG(seen.st_mode):
        raise ValueError(f"{path.name} is no file")
    stamp = [seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino]
    return before if before[1:] == stamp else [sha256_of(path, links=False), *stamp]


def _blobs(folder: Path) -> list[Path]:
    return [path for path in (folder / _COMPILED).iterdir() if _BLOB.fullmatch(path.name)]


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


def _drop(place: Path, why: str) -> None:
    dropped[place] = why
    _set_aside(place)


def _set_aside(place: Path) -> None:
    """Clear a place: what is there is renamed, so that nothing is in the way, and what is ours of it deleted."""
    if not os.path.lexists(place):
        return
    aside = place.rename(_beside(place))
    for path in sorted(aside.rglob("*"), reverse=True) if is_folder(aside) else ():
        if _OWN.fullmatch(path.relative_to(aside).as_posix()):
            _delete(path)
    _delete(aside)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.urandom(4).hex()}")


def _delete(path: Path) -> None:
    """Delete a file, a link itself, or a folder that is empty."""
    with suppress(OSError):
        path.rmdir() if is_folder(path) else path.unlink()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)  # Windows forces nothing to disk that cannot be written
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
