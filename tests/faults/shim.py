"""shim.c from Python: compiled where there is a C compiler, and armed in a process that was started with it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

_SOURCE = Path(__file__).with_name("shim.c")


def compiled(folder: Path) -> Path | None:
    """The shim as a library in `folder`; None where it cannot be made (only Linux has what it needs)."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not sys.platform.startswith("linux") or compiler is None:
        return None
    library = folder / "shim.so"
    process = subprocess.run(
        [compiler, "-O1", "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl"], capture_output=True
    )
    return library if process.returncode == 0 else None


class Shim:
    """The copy that was loaded into this process before everything else."""

    def __init__(self, library: Path) -> None:
        if str(library) not in os.environ.get("LD_PRELOAD", ""):
            raise RuntimeError("the process was not started with the shim in LD_PRELOAD")
        self._library = ctypes.CDLL(str(library))
        self._library.shim_disarm.restype = ctypes.c_long
        self._library.shim_failed.restype = ctypes.c_char_p

    def arm(
        self, folder: Path, number: int = 0, errno: int = 0, *, again: bool = False, log: int = -1
    ) -> None:
        """Let the `number`-th call that changes something below a folder fail; 0 lets none fail.

        Args:
            again: what needs room goes on failing, as on a full disk.
            log: a file descriptor that every call is written to.
        """
        self._library.shim_arm(os.fsencode(folder), ctypes.c_long(number), errno, int(again), log)

    def disarm(self) -> int:
        """Number of calls since `arm`."""
        return int(self._library.shim_disarm())

    def failed(self) -> str:
        """The path of the call that failed first."""
        return os.fsdecode(self._library.shim_failed())
