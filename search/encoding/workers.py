"""Workers: other processes that encode for an index, on this machine or on a Ray cluster.

Each worker has a thread that gives it one batch at a time, so it is known which batch killed a worker. A new worker
encodes the texts of that batch one by one; if a text kills it too, the run ends with an error that names the text.
"""

from __future__ import annotations

import importlib.util
import logging
import multiprocessing
import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from search.encoding.encoder import Encoder
from search.encoding.openvino_engine import usable_cores
from search.errors import InputError, ModelError, OptionalDependency, first_line

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from numpy.typing import NDArray

    from search.records.fingerprint import Fingerprint
    from search.records.options import EngineName

    Embeddings: TypeAlias = NDArray[np.float32]

_STARTS = 3  # attempts to start a worker before giving up
# Maximum of one worker; more would not help, because Python becomes the bottleneck.
_RAY_CORES = 4
_RAY_SECONDS = 60.0  # for the cluster to find room for a worker
_RAY_OBJECTS = 256 * 2**20  # bytes of Ray's object store, if Ray is started here

# Ray reads these on import: no usage reports, and a cluster that is started here accepts no other machines. Ray would
# write the logs of lost nodes to standard output, and gRPC its own to standard error; the last two silence them.
RAY_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": "^",
    "GRPC_VERBOSITY": "NONE",
}
# Maximum difference between components of unit vectors.
_COMPARABLE = {"fp32": 1e-4, "bf16": 0.05, "fp16": 0.05}
_PROBE = (
    "Café 27",
    "Many people say that time is long; to find the key, they look for a door with a lock.",
)


class WorkerDied(Exception):
    """A worker died or could not be started; the message says why."""


class Worker(Protocol):
    """An encoder in another process."""

    def encode(self, texts: Sequence[str]) -> Embeddings:
        """Return embeddings (n, d).

        Raises:
            WorkerDied: the worker died.
            ModelError: the worker cannot encode, or its embeddings differ from those of this process.
        """

    def kill(self) -> None:
        """Kill the worker, even while it works. May be called twice."""


@dataclass
class RemoteEncoder:
    """The encoder that runs in a worker.

    Attributes:
        fingerprint: fingerprint of the embeddings to compute; its model must be on the worker's machine.
        engine: engine of the worker, as for `Encoder`.
        probe: embeddings of the texts in `_PROBE`, from the process that stores embeddings; the worker's must agree.
    """

    fingerprint: Fingerprint
    engine: EngineName
    probe: Embeddings
    _encoder: Encoder | None = None

    def encode(self, texts: Sequence[str]) -> Embeddings:
        try:
            self._encoder = self._encoder or self._checked()
            return self._encoder.encode(texts, role="document")
        except Exception as error:  # not every exception can be pickled
            worker = f"the worker on {socket.gethostname()}, process {os.getpid()},"
            raise ModelError(f"{worker} cannot encode: {first_line(error)}") from None

    def _checked(self) -> Encoder:
        """Return the encoder, after comparing its embeddings with those of the process that stores them."""
        encoder = Encoder.of(self.fingerprint, offline=True, engine=self.engine, many=True)
        off = float(np.abs(_probed(encoder) - self.probe).max())
        if not off <= (limit := _COMPARABLE[encoder.precision]):
            raise InputError(
                f"its embeddings differ from this machine's by {off:.1e} (at most {limit:.0e} is "
                "allowed). Use the same versions and engine on all machines."
            )
        return encoder


def _probed(encoder: Encoder) -> Embeddings:
    return encoder.encode(_PROBE, role="document")


class ProcessWorker:
    """A worker process on this machine; it ends with this process.

    Raises:
        WorkerDied: the process cannot be started.
    """

    def __init__(self, remote: RemoteEncoder, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(remote, threads, other_end), daemon=True)
        self._killing = threading.Lock()
        with other_end:  # the worker has its own copy: if it dies, the last one is closed
            try:
                self._process.start()
            except (OSError, RuntimeError) as error:  # RuntimeError: the main script is being imported
                raise WorkerDied(first_line(error)) from None

    def encode(self, texts: Sequence[str]) -> Embeddings:
        try:
            self._connection.send(list(texts))
            answer: Embeddings | ModelError = self._connection.recv()
        except (OSError, EOFError):
            self.kill()
            raise WorkerDied(f"exit code {self._process.exitcode}") from None
        if isinstance(answer, ModelError):
            raise answer
        return answer

    def kill(self) -> None:
        with self._killing:
            self._process.kill()
            self._process.join()


def _serve(remote: RemoteEncoder, threads: int, connection: Connection) -> None:
    """Run a worker process, which answers lists of texts with their embeddings, or with an error."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    begin_child()
    with suppress(EOFError, OSError):  # the parent has ended
        while True:
            texts = connection.recv()
            try:
                connection.send(remote.encode(texts))
            except ModelError as error:
                connection.send(error)


def begin_child() -> None:
    """Prepare a process: Ctrl-C is for its parent, and it ends when its parent does, even if that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


class RayWorker:
    """A worker that is a Ray actor."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor
        self._get(actor.__ray_ready__.remote(), _RAY_SECONDS)

    def encode(self, texts: Sequence[str]) -> Embeddings:
        embeddings: Embeddings = self._get(self._actor.encode.remote(texts))
        return embeddings

    def kill(self) -> None:
        with suppress(Exception):  # the cluster may be gone
            self._ray.kill(self._actor)

    def _get(self, reference: Any, timeout: float | None = None) -> Any:
        try:
            return self._ray.get(reference, timeout=timeout)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.GetTimeoutError:
            self.kill()
            raise WorkerDied(f"the cluster had no free CPU within {timeout:.0f} s") from None
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            raise WorkerDied(first_line(error)) from None


@contextmanager
def _ray_workers(address: str, encoder: Encoder, engine: EngineName) -> Iterator[Workers]:
    """Start workers on a Ray cluster, each with up to four cores of a node.

    Args:
        address: "ray://HOST:PORT" of a Ray Client server; or "ray", which uses the cluster that this program is
            connected to, otherwise that of RAY_ADDRESS, otherwise a new one on this machine.
    """
    if importlib.util.find_spec("ray") is None:
        raise OptionalDependency("ray", "ray", f"--workers {address}")
    os.environ.update(RAY_ENVIRONMENT | os.environ)
    import ray

    started = not ray.is_initialized()
    if started:
        _connect(ray, os.environ.get("RAY_ADDRESS", "") if address == "ray" else address)
    try:
        nodes = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
        cores = min(_RAY_CORES, *filter(None, nodes)) if any(nodes) else 0
        if not cores:
            raise ModelError("no node of the Ray cluster has a CPU. Add a node with: ray start")
        actor = ray.remote(num_cpus=cores, max_restarts=0, scheduling_strategy="SPREAD")(RemoteEncoder)
        arguments = (encoder.fingerprint, engine, _probed(encoder))
        size = sum(n // cores for n in nodes)
        with closing(Workers(size, lambda: RayWorker(ray, actor.remote(*arguments)))) as pool:
            yield pool
    finally:
        if started:
            ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if not address:
        options |= {
            "include_dashboard": False,
            "object_store_memory": _RAY_OBJECTS,
            "num_cpus": usable_cores(),
        }
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if host and port.isdecimal():  # test the port first, because Ray would wait for minutes
            socket.create_connection((host.strip("[]"), int(port)), 10).close()
        ray.init(address or "local", **options)
    except Exception as error:  # Ray raises errors of any class
        problem = f"cannot connect to the Ray cluster at '{address}'" if address else "cannot start Ray"
        raise ModelError(
            f"{problem}: {first_line(error)}. Check that Ray is running, with the same versions of Ray and Python."
        ) from None
    finally:
        if threading.current_thread() is threading.main_thread() and on_sigterm is not None:
            signal.signal(signal.SIGTERM, on_sigterm)  # replaces Ray's handler


class Workers:
    """A pool of workers for one fingerprint; a worker starts when it gets its first batch.

    Args:
        size: number of workers.
        start: starts a worker; raises WorkerDied if it cannot.
    """

    def __init__(self, size: int, start: Callable[[], Worker]) -> None:
        self.ahead = 2 * size  # batches that may wait besides the one that is stored next
        self._start = start
        self._threads, self._local = ThreadPoolExecutor(size, "seewhy-worker"), threading.local()
        self._running: list[Worker] = []
        self._closed, self._deaths = False, 0

    def submit(
        self, texts: Sequence[str], describe: Callable[[int], str] = "text {}".format
    ) -> Future[Embeddings]:
        """Encode passages in a worker; the future's result has shape (n, d).

        Args:
            describe: returns a name for a text by its position, for errors.

        The future raises ModelError if workers cannot be started, give other embeddings than this process, or a text
        kills them.
        """
        return self._threads.submit(self._encode, texts, describe)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about the workers, for a report."""
        died = f"workers died {self._deaths} times; their batches were encoded again"
        return (died,) if self._deaths else ()

    def close(self) -> None:
        """Kill all workers, even while they work."""
        self._closed = True
        for worker in tuple(self._running):
            worker.kill()
        self._threads.shutdown(cancel_futures=True)

    def _encode(self, texts: Sequence[str], describe: Callable[[int], str]) -> Embeddings:
        with suppress(WorkerDied):
            return self._ask(texts)
        rows = []
        for position, text in enumerate(texts):
            try:
                rows.append(self._ask([text]))
            except WorkerDied as error:
                raise ModelError(
                    f"every worker died on {describe(position)} ({error}). Leave that file out with --exclude."
                ) from None
        return np.concatenate(rows)

    def _ask(self, texts: Sequence[str]) -> Embeddings:
        """Encode texts with this thread's worker; raise WorkerDied if it dies."""
        worker = self._local.__dict__.pop("worker", None) or self._started()
        try:
            embeddings = worker.encode(texts)
        except WorkerDied:
            worker.kill()
            self._deaths += 1
            raise
        self._local.worker = worker
        return embeddings

    def _started(self) -> Worker:
        """Start a worker and load its model."""
        reason = "interrupted"
        for _ in range(_STARTS):
            try:
                worker = self._start()
                self._running.append(worker)
                if self._closed:
                    worker.kill()
                worker.encode([])
                return worker
            except WorkerDied as error:
                reason = str(error)
        raise ModelError(
            f"cannot start a worker: {reason}. Leave --workers out to encode in this process. In "
            'a script, put the call under `if __name__ == "__main__":`.'
        )


def parse_workers(workers: int | str | None) -> int | str | None:
    """Validate `workers`: a number of processes, "ray", or "ray://HOST:PORT".

    Raises:
        InputError: `workers` is something else.
    """
    if workers is None or workers == "ray" or str(workers).startswith("ray://"):
        return workers
    if not re.fullmatch("[1-9][0-9]{0,3}", str(workers)):
        raise InputError(
            f"workers is {workers!r:.80}. Give a number of processes, 'ray', or ray://HOST:10001."
        )
    return int(workers)


@contextmanager
def start_workers(
    workers: int | str | None, encoder: Encoder, engine: EngineName
) -> Iterator[Workers | None]:
    """Open a pool of workers for an encoder and close it at the end; None for no workers.

    Args:
        workers: a number of processes; "ray" or the address of a Ray cluster.
        engine: engine of the workers; see `Encoder`.

    Raises:
        InputError: `workers` is none of these.
        OptionalDependency: Ray is not installed.
        ModelError: the cluster cannot be used.
    """
    workers = parse_workers(workers)
    if workers is None:
        yield None
    elif isinstance(workers, str):
        with _ray_workers(workers, encoder, engine) as pool:
            yield pool
    else:
        threads = max(1, usable_cores() // workers)
        remote = cache(lambda: RemoteEncoder(encoder.fingerprint, engine, _probed(encoder)))
        with closing(Workers(workers, lambda: ProcessWorker(remote(), threads))) as pool:
            yield pool
