"""Atomic writes, reads of regular files only, hashes of files, and the cache folder.

The cache has only files that can be recreated. It may be damaged or tampered with, so links in it are not followed,
and its JSON files carry their own hash.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from search.errors import InputError

WINDOWS = os.name == "nt"

# Permissions of folders and files that contain the user's text; the umask restricts them further.
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


def make_private(folder: Path) -> None:
    """Create a folder, and missing parents, that only the user can read; an existing folder stays as it is."""
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(PRIVATE_FOLDER, exist_ok=True)


def create(path: Path, content: bytes | memoryview = b"", mode: int = PRIVATE_FILE) -> None:
    """Create a new file; raise FileExistsError if a file or link of that name exists."""
    flags = (
        os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    )
    with os.fdopen(os.open(path, flags, mode), "wb") as stream:
        stream.write(content)


def write_whole(path: Path, content: str | bytes | memoryview, mode: int = 0o666) -> None:
    """Write a file atomically: a concurrent reader sees the old content or the new one.

    Args:
        mode: permissions, restricted by the user's umask.

    Raises:
        OSError: the file cannot be written; the old content stays.
    """
    with whole_file(path, content.encode("utf-8") if isinstance(content, str) else content, mode):
        pass


@contextmanager
def whole_file(path: Path, content: bytes | memoryview = b"", mode: int = 0o666) -> Iterator[Path]:
    """Yield a new file beside `path`, to be written to; it takes the place of `path` if no error is raised.

    Args:
        content: content of the new file.
        mode: permissions, restricted by the user's umask.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        beside.unlink(missing_ok=True)
        create(beside, content, mode)
        yield beside
        patiently(lambda: beside.replace(path))
    finally:
        beside.unlink(missing_ok=True)


def patiently(change: Callable[[], object]) -> None:
    """Rename or delete a file; on Windows try again for a second, because others may have it open for a moment."""
    for _ in range(20 if WINDOWS else 0):
        with suppress(PermissionError):
            change()
            return
        time.sleep(0.05)
    change()


def sync_folder(folder: Path) -> None:
    """Force a rename in a folder to disk; does nothing on Windows, where this is not needed."""
    if WINDOWS:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_file(path: Path, *, links: bool = True) -> BinaryIO:
    """Open a regular file for reading, never a pipe or a device, which could block or be endless.

    Args:
        links: True to follow a symbolic link.

    Raises:
        OSError: the path is not a regular file, or cannot be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags if links else flags | getattr(os, "O_NOFOLLOW", 0))
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def read_file(path: Path, most: int, *, links: bool = True) -> bytes:
    """Return the content of a file of at most `most` bytes.

    Raises:
        OSError: the file is longer, is not a regular file, or cannot be read.
    """
    with open_file(path, links=links) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"larger than {most:,} bytes", str(path))
    return content


def sha256_of(*paths: Path) -> str:
    """Return the SHA-256 of the concatenated files, in hexadecimal; errors as for `open_file`."""
    digest = hashlib.sha256()
    for path in paths:
        with open_file(path) as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


_MOST_SEALED = 16 << 20


def write_sealed(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON object together with its hash; raise OSError if it cannot be written."""
    write_whole(path, json.dumps({"seal": _seal(content), **content}, indent=1), PRIVATE_FILE)


def read_sealed(path: Path) -> dict[str, Any]:
    """Read a JSON object that `write_sealed` wrote.

    Raises:
        OSError: the file does not exist or cannot be read.
        ValueError: its content does not match its hash.
    """
    try:
        content = json.loads(read_file(path, _MOST_SEALED, links=False))
        sealed = content.pop("seal") == _seal(content)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        sealed = False
    if not sealed:
        raise ValueError(f"{path.name} was changed or damaged")
    return dict(content)


def _seal(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def home() -> Path:
    """Folder of this user's data: `$SEEWHY_HOME`, or the platform's default."""
    chosen = os.environ.get("SEEWHY_HOME")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("seewhy", appauthor=False)


def cache_home() -> Path:
    """Return the cache folder, which has only files that can be recreated."""
    chosen = os.environ.get("SEEWHY_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("seewhy", appauthor=False)


def cache_folder(name: str) -> Path:
    """Return a folder of the cache; it is created if it does not exist.

    Raises:
        OSError: it cannot be created, or is a link.
    """
    folder = cache_home() / name
    if not is_folder(folder):
        if folder.is_symlink():
            raise OSError(errno.ELOOP, "is a link", str(folder))
        make_private(folder)
    return folder


def bytes_in(folder: Path) -> int:
    """Return the total size of the files in a folder; links are not followed."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += Path(place, name).lstat().st_size
    return size


def is_folder(path: Path) -> bool:
    """Return True if a path is a folder and not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def toml(text: str, where: str) -> dict[str, Any]:
    """Parse TOML; `where` names the file in messages.

    Raises:
        InputError: invalid TOML.
    """
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[import-not-found,no-redef,unused-ignore]
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not valid TOML: {error}. Correct or delete it.") from None
