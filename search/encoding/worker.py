"""One worker: an encoder in another process, which is sent batches of texts and answers with their embeddings."""

from __future__ import annotations

import os
import pickle
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from search.encoding.encoder import Encoder
from search.encoding.fingerprint import Fingerprint
from search.errors import FingerprintMismatch, SearchError, first_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Answer: TypeAlias = "NDArray[np.float32] | str"
"""Embeddings, or what is wrong: not every exception can be sent to another process."""

PROBE = ("Café 27", "Many people say that time is long; to find the key, they look for a door with a lock.")
"""Texts that tell how a worker computes."""


class EncodingWorker:
    """An encoder that is found when it is first asked.

    Args:
        made: what embeddings it shall make. The model of this fingerprint is looked for on this machine only.
        engine: as for `Encoder`.
    """

    def __init__(self, made: Fingerprint, engine: str) -> None:
        self._made, self._engine = made, engine

    def encode(self, made: Fingerprint, texts: Sequence[str]) -> Answer:
        """Embeddings of texts, (n, d).

        Args:
            made: what these texts are to be encoded for; nothing is, if that is not what this worker makes.
        """
        try:
            self._made.require_equal(made)
            return self._encoder.encode(texts, role="document")
        except FingerprintMismatch as error:
            named = "; ".join(
                f"{name}: '{mine}', asked for '{asked}'" for name, mine, asked in error.differences
            )
            return f"what it would encode with is something else ({named})"
        except SearchError as error:
            return str(error)
        except Exception as error:
            return f"{type(error).__name__}: {first_line(error)}"

    def where(self) -> str:
        """The machine and the process, for people to read."""
        return f"{socket.gethostname()}, process {os.getpid()}"

    def take(self, files: Mapping[str, bytes]) -> Answer:
        """Use the model of these files, by name, where it is not on this machine; the embeddings of the probe."""
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            try:
                self._encoder = self._found(folder)
            except SearchError as error:
                return str(error)
            return self.encode(self._made, PROBE)  # which loads all of it

    @cached_property
    def _encoder(self) -> Encoder:
        return self._found(None)

    def _found(self, folder: str | None) -> Encoder:
        return Encoder.of(self._made, model=folder, offline=True, engine=self._engine, many=True)


def main() -> None:
    """Answer on standard output what comes on standard input, to its end, which is that of the process that asks."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    requests = sys.stdin.buffer
    worker = EncodingWorker(*pickle.load(requests))
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        pickle.dump(worker.encode(*request), answers)
        answers.flush()
