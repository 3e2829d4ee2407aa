"""Files: written whole or not at all, their hashes, and where those are kept that can be made again."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, or leave what is there: whoever reads it meanwhile sees the old one or the new one.

    Raises:
        OSError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        beside.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a rename durable. Windows has no such call and does not need it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_of(*paths: Path) -> str:
    """The SHA-256 of the content of files, one after the other, in hexadecimal."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def cache_home() -> Path:
    """The folder of everything that can be made again."""
    chosen = os.environ.get("SEEWHY_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("seewhy", appauthor=False)
