"""Child processes: started ahead of time, spoken to in lines of JSON, killed by their own id."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
_PATIENCE = 120.0  # seconds, for a child on a busy machine


class Child:
    """A Python module of this folder in a process of its own.

    It prints a line of JSON when it is ready. What it says on stderr is kept for the report.
    """

    def __init__(self, module: str, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the child)
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.child", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", **(environment or {})},
        )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def say(self, **message: Any) -> None:
        """Send one line; a child that is gone already is found out by `hear`."""
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def hear(self, patience: float = _PATIENCE) -> dict[str, Any] | None:
        """The next line; None when the child has ended.

        Raises:
            TimeoutError: it says nothing, and lives.
        """
        try:
            line = self._lines.get(timeout=patience)
        except queue.Empty:
            raise TimeoutError(f"no word from process {self._process.pid} for {patience:.0f} s") from None
        return None if line is None else json.loads(line)

    def finish(self) -> dict[str, Any] | None:
        """Close its stdin, by which it is told to end, and hear what it has to say."""
        assert self._process.stdin
        self._process.stdin.close()
        return self.hear()

    def kill(self) -> None:
        """SIGKILL, or what Windows has for it."""
        self._process.kill()
        self.wait()

    def wait(self) -> int:
        """The exit status, once the child has ended."""
        status = self._process.wait(_PATIENCE)
        self._listener.join(_PATIENCE)
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                with contextlib.suppress(OSError):  # what was not sent yet to a child that is gone
                    stream.close()
        return status

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def last_words(self) -> str:
        """The end of what it said on stderr."""
        self._stderr.seek(0)
        return self._stderr.read()[-300:].decode("utf-8", "replace").strip()


class Workers:
    """Children of one kind, the next one started while the one before is used."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._start = lambda: Child(module, *arguments)
        self._next = self._start()

    def take(self) -> Child:
        child, self._next = self._next, self._start()
        if child.hear() is None:
            raise RuntimeError(f"a child did not start: {child.last_words()}")
        return child

    def close(self) -> None:
        self._next.kill()
