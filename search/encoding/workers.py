"""Several workers that encode: batches of texts are handed out, and handed out again where a worker dies.

worker.py             what runs in another process
workers_processes.py  it is one of this machine
workers_ray.py        it is an actor of a Ray cluster
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from queue import Empty, PriorityQueue, SimpleQueue
from typing import TYPE_CHECKING, Protocol

import numpy as np

from search.encoding.worker import PROBE
from search.errors import InputError, ModelError, SearchError, first_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.encoding.encoder import Encoder
    from search.encoding.worker import Answer

_PATIENCE = 3  # deaths over one batch before it is taken apart; starts that fail before there is no hope
# Between components of embeddings of length 1. Less exact arithmetic differs more from one processor to another.
_SAME, _COMPARABLE, _COMPARABLE_ROUGHLY = 1e-6, {"fp32": 1e-4}, 0.05
_LONGEST_WAIT = 30.0  # seconds between attempts to start a worker


class WorkerLost(Exception):
    """A worker is no more, or did not come to be; the text says why."""


class Worker(Protocol):
    """An encoder elsewhere.

    Attributes:
        where: the machine and the process, for people to read; known once it was started.
    """

    where: str

    def start(self) -> None:
        """Wait until it is there; WorkerLost if there is no room for it, or it is no more."""
        ...

    def encode(self, texts: Sequence[str]) -> Answer:
        """Embeddings, (n, d), or what is wrong; WorkerLost if it is no more."""
        ...

    def end(self) -> None:
        """End it, also while it starts or works, which then fails with WorkerLost. May be called twice."""
        ...


class Crew(Protocol):
    """What workers are made of.

    Attributes:
        size: how many there can be at a time; known once it was opened.
    """

    size: int

    def open(self) -> None: ...

    def hire(self) -> Worker:
        """A new worker, which is still to be started."""
        ...

    def close(self) -> None: ...


class _Batch:
    """Texts that were handed out together, and what came back of them so far."""

    def __init__(self, texts: Sequence[str], named: Callable[[int], str], dimension: int) -> None:
        self.texts, self.named = texts, named
        self.future: Future[NDArray[np.float32]] = Future()
        self._found = np.empty((len(texts), dimension), dtype=np.float32)
        self._left, self._lock = len(texts), threading.Lock()

    def put(self, start: int, stop: int, found: NDArray[np.float32]) -> None:
        with self._lock:
            self._found[start:stop] = found
            self._left -= stop - start
            if not self._left:
                self.future.set_result(self._found)

    def fail(self, error: Exception) -> None:
        with self._lock:
            if not self.future.done():
                self.future.set_exception(error)


@dataclass(order=True)
class _Task:
    """Texts of a batch that one worker is to encode; earlier ones come first. None of a batch: stop working."""

    number: int
    start: int = 0
    stop: int = field(default=0, compare=False)
    batch: _Batch | None = field(default=None, compare=False)
    deaths: int = field(default=0, compare=False)


class Workers:
    """Workers for one fingerprint, started when the first batches come.

    A thread for each worker takes a batch at a time, so that it is known which one a worker died over. That batch goes
    to the next worker that is free, and another worker is started, as often as it takes. But one passage may be what
    kills them (a defect of a library, more memory than there is), and would for ever: a batch over which three workers
    died in a row is taken apart, and a passage that kills one by itself in the end is named in an error.

    Args:
        encoder: what the same texts would be encoded with here; workers must agree with it.
    """

    def __init__(self, crew: Crew, encoder: Encoder) -> None:
        self._crew, self._encoder = crew, encoder
        self._tasks: PriorityQueue[_Task] = PriorityQueue()
        self._numbers = count(1)
        self._threads: list[threading.Thread] = []
        self._living: set[Worker] = set()
        self._at_work: set[Worker] = set()
        self._open: set[_Batch] = set()
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._failure: SearchError | None = None
        self._warnings: SimpleQueue[str] = SimpleQueue()
        self._deaths, self._off = 0, 0.0

    @property
    def ahead(self) -> int:
        """How many batches may well wait besides the one that is asked for next."""
        return 2 * len(self._threads)

    def submit(
        self, texts: Sequence[str], named: Callable[[int], str] = "text {}".format
    ) -> Future[NDArray[np.float32]]:
        """Have texts encoded, as passages; (n, d) in the end.

        Args:
            named: what to call a text by its position, where an error is about it.

        The result fails with a ModelError if workers compute something else than this process, or cannot be started,
        or a text kills them.
        """
        if not self._threads:
            self._probe = self._encoder.encode(PROBE, role="document")
            self._crew.open()
        batch = _Batch(texts, named, self._encoder.dimension)
        with self._lock:
            self._open.add(batch)
        batch.future.add_done_callback(lambda _: self._open.discard(batch))
        self._tasks.put(_Task(next(self._numbers), 0, len(texts), batch))
        if self._failure:
            batch.fail(self._failure)
        elif len(self._threads) < self._crew.size:
            thread = threading.Thread(target=self._work, name="seewhy-worker", daemon=True)
            self._threads.append(thread)
            thread.start()
        return batch.future

    def warnings(self) -> Iterator[str]:
        """What happened to workers since this was last asked."""
        while True:
            try:
                yield self._warnings.get_nowait()
            except Empty:
                return

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the workers, for a report."""
        died = f"workers died {self._deaths} times; their batches were encoded again"
        off = f"workers compute a little otherwise than this machine: embeddings differ by up to {self._off:.1e}"
        return (*([died] if self._deaths else ()), *([off] if self._off > _SAME else ()))

    def close(self) -> None:
        """End all workers, also in the middle of their work."""
        self._closed.set()
        for _ in self._threads:
            self._tasks.put(_Task(0))
        with self._lock:
            living = list(self._living)
        for worker in living:
            worker.end()
        for thread in self._threads:
            thread.join()
        self._crew.close()

    def _work(self) -> None:
        """What the thread of one worker does."""
        try:
            while worker := self._started():
                try:
                    while batch := (task := self._tasks.get()).batch:
                        self._encode(worker, task, batch)
                except WorkerLost as lost:
                    self._again(task, batch, lost)
                finally:
                    self._dismiss(worker)
        except SearchError as error:
            self._fail(error)
        except Exception as error:  # whatever it is, nobody may wait for ever
            self._fail(ModelError(f"a worker cannot be used: {type(error).__name__}: {first_line(error)}"))

    def _started(self) -> Worker | None:
        """A worker that computes what this process does; None when none is wanted any more.

        Raises:
            ModelError: it computes something else; or none can be started, and none is left.
        """
        failures = 0
        while not self._closed.is_set():
            worker = self._crew.hire()
            with self._lock:
                self._living.add(worker)
            try:
                if not self._closed.is_set():  # else whoever closed may not have seen it
                    worker.start()
                    self._check(worker)
                    self._at_work.add(worker)
                return worker
            except WorkerLost as lost:
                failures += 1
                self._dismiss(worker)
                if self._closed.is_set():
                    return None
                if failures >= _PATIENCE and not self._at_work:
                    raise ModelError(
                        f"no worker is left, and none can be started: {lost}. What was done is kept; leave --workers "
                        "out to go on in this process alone."
                    ) from None
                self._warnings.put(f"a worker could not be started ({lost})")
                self._closed.wait(min(2.0**failures, _LONGEST_WAIT))
        return None

    def _dismiss(self, worker: Worker) -> None:
        with self._lock:
            self._living.discard(worker)
            self._at_work.discard(worker)
        worker.end()

    def _check(self, worker: Worker) -> None:
        answer = worker.encode(PROBE)
        if isinstance(answer, str):
            raise ModelError(f"the worker on {worker.where} cannot encode: {answer}")
        off = float(np.abs(answer - self._probe).max()) if answer.shape == self._probe.shape else np.inf
        most = _COMPARABLE.get(self._encoder.precision, _COMPARABLE_ROUGHLY)
        if not off <= most:
            raise ModelError(
                f"the worker on {worker.where} computes something else than this machine: the embedding of a fixed "
                f"text is off by {off:.1e}, where {most:.0e} is allowed. Use the same versions and engine on all "
                "machines, or leave that one out."
            )
        self._off = max(self._off, off)

    def _encode(self, worker: Worker, task: _Task, batch: _Batch) -> None:
        if batch.future.done():
            return
        answer = worker.encode(batch.texts[task.start : task.stop])
        if isinstance(answer, str):
            batch.fail(ModelError(f"the worker on {worker.where} cannot encode: {answer}"))
        else:
            batch.put(task.start, task.stop, answer)

    def _again(self, task: _Task, batch: _Batch | None, lost: WorkerLost) -> None:
        """Put a task back over which a worker died, in halves if it was not the first one."""
        if self._closed.is_set() or batch is None:
            return
        self._deaths += 1
        self._warnings.put(f"a worker died ({lost}); its batch goes to another one")
        start, stop, deaths = task.start, task.stop, task.deaths + 1
        if deaths < _PATIENCE:
            self._tasks.put(_Task(task.number, start, stop, batch, deaths))
        elif stop - start > 1:
            half = (start + stop) // 2
            for one, other in ((start, half), (half, stop)):
                self._tasks.put(_Task(task.number, one, other, batch, _PATIENCE - 1))
        else:
            batch.fail(
                ModelError(
                    f"{batch.named(start)} kills every worker that encodes it, by itself in the end ({lost}). What was "
                    "done is kept; leave the file out with --exclude, or change it."
                )
            )

    def _fail(self, error: SearchError) -> None:
        self._failure = error
        with self._lock:
            batches = list(self._open)
        for batch in batches:
            batch.fail(error)


def checked(workers: int | str | None) -> int | str | None:
    """How many processes, or which Ray: a positive number, "ray", or "ray://HOST:PORT".

    Raises:
        InputError: it is something else.
    """
    if isinstance(workers, str) and re.fullmatch("[0-9]{1,9}", workers):
        workers = int(workers)
    if workers is None or workers == "ray" or (isinstance(workers, str) and workers.startswith("ray://")):
        return workers
    if type(workers) is not int or workers < 1:
        raise InputError(
            f"workers is {workers!r:.80}. Give how many processes shall encode, 2 for instance, or 'ray', or the "
            "address of a Ray cluster, ray://HOST:10001."
        )
    return workers


@contextmanager
def hired(workers: int | str | None, encoder: Encoder, engine: str) -> Iterator[Workers | None]:
    """Workers for an encoder, all ended in the end; None where none are asked for.

    Args:
        workers: how many processes; or "ray", or the address of a Ray cluster.
        engine: what they encode with; see `Encoder`.

    Raises:
        InputError: `workers` is none of these.
        OptionalDependency: Ray is asked for and not installed.
    """
    workers = checked(workers)
    if workers is None:
        yield None
        return
    crew: Crew
    if isinstance(workers, int):
        from search.encoding.workers_processes import Processes

        crew = Processes(workers, encoder.fingerprint, engine)
    else:
        from search.encoding.workers_ray import RayActors

        crew = RayActors(workers, encoder, engine)
    hands = Workers(crew, encoder)
    try:
        yield hands
    finally:
        hands.close()
