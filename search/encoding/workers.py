"""Workers: other processes that encode for one index, on this machine or on a Ray cluster.

A thread for each worker hands it one batch at a time, so it is known which batch a worker died over. That batch is
encoded again by a new worker; if it kills that one, too, its texts are encoded one by one, and a text that kills a
worker by itself ends the run with its name.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from search.errors import InputError, ModelError, SearchError, first_line

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import numpy as np
    from numpy.typing import NDArray

    from search.encoding.encoder import Encoder
    from search.encoding.fingerprint import Fingerprint

    Embeddings: TypeAlias = NDArray[np.float32]

_STARTS = 3  # attempts to start a worker before giving up
# Largest difference between components of embeddings of length 1. Less exact arithmetic varies more by processor.
_SAME, _COMPARABLE, _COMPARABLE_ROUGHLY = 1e-6, 1e-4, 0.05
_PROBE = ("Café 27", "Many people say that time is long; to find the key, they look for a door with a lock.")


class WorkerDied(Exception):
    """A worker is gone or could not be started; the text says why."""


class Worker(Protocol):
    """An encoder in another process.

    Attributes:
        name: machine and process, for messages.
    """

    name: str

    def encode(self, texts: Sequence[str]) -> Embeddings | str:
        """Embeddings (n, d), or an error message.

        Raises:
            WorkerDied: the worker is gone.
        """

    def kill(self) -> None:
        """End the worker, also in the middle of its work. May be called twice."""


class RemoteEncoder:
    """What runs in a worker: an encoder that returns errors as text, since not every exception can be pickled.

    Args:
        fingerprint: of the embeddings to compute; its model is looked for on the worker's machine only.
        engine: as for `Encoder`.
        files: the model's files by name, for a machine that lacks the model.
    """

    def __init__(
        self, fingerprint: Fingerprint, engine: str, files: Mapping[str, bytes] | None = None
    ) -> None:
        self._fingerprint, self._engine, self._files = fingerprint, engine, files
        self._encoder: Encoder | None = None

    def encode(self, texts: Sequence[str]) -> Embeddings | str:
        try:
            self._encoder = self._encoder or self._load()
            return self._encoder.encode(texts, role="document")
        except SearchError as error:
            return str(error)
        except Exception as error:
            return f"{type(error).__name__}: {first_line(error)}"

    def _load(self) -> Encoder:
        try:
            return self._find(None)
        except ModelError:
            if not self._files:
                raise
        with tempfile.TemporaryDirectory() as folder:
            for name, content in self._files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            encoder = self._find(folder)
            encoder.encode(_PROBE)  # reads all files
            return encoder

    def _find(self, model: str | None) -> Encoder:
        from search.encoding.encoder import Encoder

        return Encoder.of(self._fingerprint, model=model, offline=True, engine=self._engine, many=True)

    def name(self) -> str:
        return f"{socket.gethostname()}, process {os.getpid()}"


class ProcessWorker:
    """A worker that is a process of this machine; it ends with this process."""

    def __init__(self, fingerprint: Fingerprint, engine: str, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, fingerprint, engine, threads), name="seewhy-worker", daemon=True
        )
        self._process.start()
        theirs.close()  # so that the connection breaks when the process ends
        self.name = f"this machine, process {self._process.pid}"

    def encode(self, texts: Sequence[str]) -> Embeddings | str:
        try:
            self._connection.send(texts)
            answer: Embeddings | str = self._connection.recv()
            return answer
        except (OSError, EOFError):
            self._process.join(5)
            raise WorkerDied(f"process {self._process.pid}, exit code {self._process.exitcode}") from None

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


def _serve(connection: Connection, fingerprint: Fingerprint, engine: str, threads: int) -> None:
    """Encode what comes through a connection, until it is closed."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    encoder = RemoteEncoder(fingerprint, engine)
    with suppress(EOFError, OSError):
        while True:
            connection.send(encoder.encode(connection.recv()))


class Workers:
    """A pool of workers for one fingerprint; each is started when the first batch for it comes.

    Args:
        size: number of workers.
        start: starts a worker; WorkerDied if it cannot.
        encoder: this process's encoder, with which workers must agree.
    """

    def __init__(self, size: int, start: Callable[[], Worker], encoder: Encoder) -> None:
        self.ahead = 2 * size  # batches that may wait besides the one that is stored next
        self._start, self._encoder = start, encoder
        self._threads = ThreadPoolExecutor(size, "seewhy-worker")
        self._local = threading.local()
        self._lock, self._running, self._closed = threading.Lock(), set[Worker](), False
        self._probe: Embeddings | None = None
        self._deaths, self._difference = 0, 0.0

    def submit(
        self, texts: Sequence[str], describe: Callable[[int], str] = "text {}".format
    ) -> Future[Embeddings]:
        """Have passages encoded; the result has shape (n, d).

        Args:
            describe: names a text by its position, for an error about it.

        The result is a ModelError if workers cannot be started, disagree with this process, or a text kills them.
        """
        if self._probe is None:
            self._probe = self._encoder.encode(_PROBE, role="document")
        return self._threads.submit(self._encode, texts, describe)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the workers, for a report."""
        died = f"workers died {self._deaths} times; their batches were encoded again"
        off = f"embeddings of workers differ from this machine's by up to {self._difference:.1e}"
        return (*([died] if self._deaths else ()), *([off] if self._difference > _SAME else ()))

    def close(self) -> None:
        """Kill all workers, also in the middle of their work."""
        with self._lock:
            self._closed = True
        for worker in tuple(self._running):
            worker.kill()
        self._threads.shutdown(cancel_futures=True)

    def _encode(self, texts: Sequence[str], describe: Callable[[int], str]) -> Embeddings:
        for _ in range(2):
            with suppress(WorkerDied):
                return self._ask(texts)
        import numpy as np

        rows = []
        for position, text in enumerate(texts):
            try:
                rows.append(self._ask([text]))
            except WorkerDied as error:
                raise ModelError(
                    f"{describe(position)} kills every worker that encodes it ({error}). What was encoded before is "
                    "kept; leave the file out with --exclude, or change it."
                ) from None
        return np.concatenate(rows)

    def _ask(self, texts: Sequence[str]) -> Embeddings:
        """Have this thread's worker encode texts; WorkerDied if it dies over them."""
        worker = getattr(self._local, "worker", None) or self._started()
        try:
            answer = worker.encode(texts)
        except WorkerDied:
            self._dismiss(worker)
            self._deaths += not self._closed
            raise
        if isinstance(answer, str):
            raise ModelError(f"the worker on {worker.name} cannot encode: {answer}")
        return answer

    def _started(self) -> Worker:
        """A new worker for this thread, after its arithmetic was compared with this process's.

        Raises:
            ModelError: it computes something else, or cannot be started.
        """
        reason = ""
        for _ in range(_STARTS):
            try:
                worker = self._start()
            except WorkerDied as error:
                reason = str(error)
                continue
            with self._lock:
                self._running.add(worker)
                if self._closed:
                    worker.kill()
            try:
                self._check(worker)
            except WorkerDied as error:
                reason = str(error)
                self._dismiss(worker)
                if self._closed:
                    break
            else:
                self._local.worker = worker
                return worker
        raise ModelError(
            f'no worker can be started: {reason}. In a script, call this under `if __name__ == "__main__":`. What was '
            "encoded before is kept; leave --workers out to go on in this process alone."
        )

    def _dismiss(self, worker: Worker) -> None:
        self._local.worker = None
        with self._lock:
            self._running.discard(worker)
        worker.kill()

    def _check(self, worker: Worker) -> None:
        import numpy as np

        assert self._probe is not None
        answer = worker.encode(_PROBE)
        if isinstance(answer, str):
            raise ModelError(f"the worker on {worker.name} cannot encode: {answer}")
        off = float(np.abs(answer - self._probe).max()) if answer.shape == self._probe.shape else np.inf
        limit = _COMPARABLE if self._encoder.precision == "fp32" else _COMPARABLE_ROUGHLY
        if not off <= limit:
            raise ModelError(
                f"the worker on {worker.name} computes other embeddings than this machine: they differ by {off:.1e} "
                f"({limit:.0e} is allowed). Use the same versions and engine on all machines, or leave that one out."
            )
        self._difference = max(self._difference, off)


def parse_workers(workers: int | str | None) -> int | str | None:
    """Validate `workers`: a number of processes, "ray", or "ray://HOST:PORT".

    Raises:
        InputError: it is something else.
    """
    if isinstance(workers, str) and re.fullmatch("[0-9]{1,9}", workers):
        workers = int(workers)
    if workers is None or workers == "ray" or (isinstance(workers, str) and workers.startswith("ray://")):
        return workers
    if type(workers) is not int or workers < 1:
        raise InputError(
            f"workers is {workers!r:.80}. Give a number of processes (2), 'ray', or the address of a Ray cluster "
            "(ray://HOST:10001)."
        )
    return workers


@contextmanager
def start_workers(workers: int | str | None, encoder: Encoder, engine: str) -> Iterator[Workers | None]:
    """A pool of workers for an encoder, closed at the end; None for no workers.

    Args:
        workers: a number of processes; "ray" or the address of a Ray cluster.
        engine: that they encode with; see `Encoder`.

    Raises:
        InputError: `workers` is none of these.
        OptionalDependency: Ray is not installed.
        ModelError: the cluster cannot be used.
    """
    workers = parse_workers(workers)
    if workers is None:
        yield None
        return
    if isinstance(workers, int):
        from search.encoding.openvino_engine import usable_cores

        threads = max(1, usable_cores() // workers)
        pool = Workers(workers, lambda: ProcessWorker(encoder.fingerprint, engine, threads), encoder)
        with closing(pool):
            yield pool
    else:
        from search.encoding.workers_ray import RayCluster

        with (
            closing(RayCluster(workers, encoder, engine)) as cluster,
            closing(Workers(cluster.size, cluster.start, encoder)) as pool,
        ):
            yield pool
