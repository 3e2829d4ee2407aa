"""What every benchmark prints first: where and with what it ran. And what a process takes."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def headline(*packages: str) -> str:
    """Machine, versions, commit."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        encoding="utf-8",
    ).stdout.strip()
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    return (
        f"{processor()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}; "
        f"{versions}; commit {commit or 'unknown'}"
    )


def processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def process(command: Sequence[str], *, family: bool = False, told: bool = False) -> dict[str, Any]:
    """Run a process to its end: "wall", its seconds, "cpu", those of the processor, and "mb", its peak memory.

    Args:
        family: its children count as well, which are looked at every 20 ms.
        told: the last line that it prints is JSON, whose values are returned, too.

    Raises:
        RuntimeError: it failed; with what it said.
    """
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
    ):
        started = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=errors)
        held = _Held(child.pid) if family else None
        try:
            _, status, used = os.wait4(child.pid, 0)
        finally:
            by_family = held.most() if held else 0
        seconds, child.returncode = time.perf_counter() - started, os.waitstatus_to_exitcode(status)
        most = max(by_family, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
        out.seek(0)
        errors.seek(0)
        if child.returncode:
            raise RuntimeError(
                f"{' '.join(command)}\nended with {child.returncode}:\n{errors.read()[-3000:]}"
            )
        values = json.loads(out.read().splitlines()[-1]) if told else {}
    return {"wall": seconds, "cpu": used.ru_utime + used.ru_stime, "mb": most / 2**20, **values}


class _Held:
    """The bytes that a process and its children hold."""

    def __init__(self, pid: int) -> None:
        import psutil

        self._root, self._most, self._done = psutil.Process(pid), 0, threading.Event()
        self._gone = psutil.Error
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._done.wait(0.02):
            try:
                family = [self._root, *self._root.children(recursive=True)]
                self._most = max(self._most, sum(one.memory_info().rss for one in family))
            except self._gone:
                pass

    def most(self) -> int:
        self._done.set()
        self._thread.join()
        return self._most
