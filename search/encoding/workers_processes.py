"""Workers that are processes of this machine.

Each is a new Python, neither forked nor made by `multiprocessing`: that would import the program's own main module in
each, which a script without `if __name__ == "__main__"` does not survive. It is sent pickles through a pipe, whose end
ends it, also where this process was killed.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from search.encoding.openvino_engine import usable_cores
from search.encoding.workers import WorkerLost
from search.errors import ModelError

if TYPE_CHECKING:
    from search.encoding.fingerprint import Fingerprint
    from search.encoding.worker import Answer

# Nothing is imported before the path is this process's: the current folder, which comes first here, may be anybody's.
_MAIN = "import sys; sys.path[:] = sys.argv[1:]; from search.encoding.worker import main; main()"
_SECONDS_TO_DIE = 5.0


class Processes:
    """As many processes as are asked for, which share the cores."""

    def __init__(self, size: int, made: Fingerprint, engine: str) -> None:
        self.size, self._made, self._engine = size, made, engine

    def open(self) -> None:
        if not sys.executable:
            raise ModelError(
                "workers cannot be started, as this Python does not say where it is. Leave --workers out."
            )

    def hire(self) -> ProcessWorker:
        return ProcessWorker(self._made, self._engine, threads=max(1, usable_cores() // self.size))

    def close(self) -> None:
        pass  # each worker is ended by whoever has it


class ProcessWorker:
    """A worker in a process of its own, which Ctrl-C does not reach."""

    def __init__(self, made: Fingerprint, engine: str, threads: int) -> None:
        apart: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        self._made, self._engine = made, engine
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONIOENCODING": "utf-8"},
            **apart,
        )
        self.where = f"this machine, process {self._process.pid}"

    def start(self) -> None:
        self._send((self._made, self._engine))

    def encode(self, texts: Sequence[str]) -> Answer:
        self._send((self._made, texts))
        try:
            return pickle.load(self._process.stdout)  # type: ignore[arg-type]
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            raise WorkerLost(self._why()) from None

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            with suppress(OSError, ValueError):  # nobody reads the pipe, or it was closed already
                stream.close()  # type: ignore[union-attr]

    def _send(self, what: Any) -> None:
        try:
            pickle.dump(what, self._process.stdin)  # type: ignore[arg-type]
            self._process.stdin.flush()  # type: ignore[union-attr]
        except (OSError, ValueError):
            raise WorkerLost(self._why()) from None

    def _why(self) -> str:
        """How it ended, and the last line that it said."""
        try:
            code = self._process.wait(_SECONDS_TO_DIE)
        except subprocess.TimeoutExpired:
            return "its answer makes no sense"
        how = f"exit code {code}"
        if code < 0:
            how = f"killed by {signal.Signals(-code).name}"
        with suppress(OSError, ValueError):
            self._said.seek(0)
            lines = self._said.read().decode("utf-8", "replace").split("\n")
            how = ": ".join([how, *[line for line in lines if line.strip()][-1:]])
        return f"process {self._process.pid}, {how}"
