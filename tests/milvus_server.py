"""A Milvus server on this machine: milvus-lite in a process of its own, on loopback and a free port."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path


class MilvusServer:
    """A server that can be killed and started again on what it has written.

    Attributes:
        uri: "milvus://127.0.0.1:PORT"; with "/NAME" behind it, the address of an index.
    """

    def __init__(self, data: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.uri = f"milvus://127.0.0.1:{self.port}"
        self._data = data
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, seconds: float = 60) -> None:
        """Start the server, and wait until it listens."""
        self._data.mkdir(parents=True, exist_ok=True)
        with (self._data.parent / f"{self._data.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "milvus_lite", "server", "--data-dir", str(self._data),
                 "--host", "127.0.0.1", "--port", str(self.port)],
                stdout=log, stderr=log,
            )  # fmt: skip
        end = time.monotonic() + seconds
        while time.monotonic() < end and self._process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)
        raise RuntimeError(f"the Milvus server did not come up: {log.name}")

    def kill(self) -> None:
        """Kill the server at once, as by kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
