"""Workers that are actors of a Ray cluster, or of Ray on this machine.

Ray starts no actor again and repeats no call: it would repeat for ever what kills a worker, and not say so. `Workers`
does both. Ray Data is not used.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from search.encoding.models import model_files
from search.encoding.openvino_engine import usable_cores
from search.encoding.worker import PROBE, EncodingWorker
from search.encoding.workers import WorkerLost
from search.errors import ModelError, OptionalDependency

if TYPE_CHECKING:
    from search.encoding.encoder import Encoder
    from search.encoding.worker import Answer

_MOST_CORES = 4  # of one worker; more would wait for its Python, which reads texts and pools vectors
_SECONDS_FOR_ROOM = 60.0  # until a cluster has room for a worker, and has started it
_SECONDS_TO_ANSWER = 10.0  # of a cluster, when it is first asked
_OBJECTS = 256 * 2**20  # bytes of memory that Ray on this machine may keep objects in

# Read when Ray is imported: it neither reports its use nor, started here, listens to other machines.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0"}
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


class RayActors:
    """One actor for up to four cores of each node, as many as there is room for when the first batch comes.

    Args:
        address: "ray" for what this program is connected to, else the cluster that RAY_ADDRESS names, else one that is
            started on this machine, and ended again; "ray://HOST:PORT" for the cluster of a Ray Client server.

    Raises:
        OptionalDependency: Ray is not installed.
    """

    def __init__(self, address: str, encoder: Encoder, engine: str) -> None:
        if importlib.util.find_spec("ray") is None:
            raise OptionalDependency("ray", "ray", f"--workers {address}")
        self._address, self._encoder, self._engine = address, encoder, engine
        self.made = encoder.fingerprint
        self._own = False
        self._shipping = threading.Lock()

    def open(self) -> None:
        named = self._address if self._address != "ray" else os.environ.get("RAY_ADDRESS", "")
        for name, value in (_QUIET if named else _QUIET | _LOOPBACK).items():
            os.environ.setdefault(name, value)
        import ray

        self._ray = ray
        if not ray.is_initialized():
            self._connect(named)
        nodes = ray.nodes()  # type: ignore[no-untyped-call]
        cores = [int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]]
        cores = [n for n in cores if n]
        if not cores:
            raise ModelError("no node of the Ray cluster has a core to compute with. Add one: ray start")
        self._cores = min(_MOST_CORES, *cores)
        self.size = sum(n // self._cores for n in cores)

    def _connect(self, named: str) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
        if not named:
            options |= {
                "include_dashboard": False,
                "object_store_memory": _OBJECTS,
                "num_cpus": usable_cores(),
            }
        asked_to_end = signal.getsignal(signal.SIGTERM)
        try:
            _require_answer(named)
            self._ray.init(named or "local", **options)
        except Exception as error:  # of many kinds
            what = f"the Ray cluster at '{named}' cannot be used" if named else "Ray cannot be started here"
            raise ModelError(
                f"{what}: {_said(error)}. Check that it runs and has the same versions of Ray and Python, or use "
                "--workers with a number."
            ) from None
        finally:
            if threading.current_thread() is threading.main_thread() and asked_to_end is not None:
                signal.signal(signal.SIGTERM, asked_to_end)  # Ray has put its own there
        self._own = True
        self._chatty(False)

    def hire(self) -> RayWorker:
        return RayWorker(self)

    def close(self) -> None:
        if self._own:
            self._ray.shutdown()
            self._chatty(True)

    def _chatty(self, yes: bool) -> None:
        """Let Ray print what it has to say of nodes that die, or not, on standard output; no option does that."""
        self._ray._private.worker._worker_logs_enabled = yes

    def actor(self) -> Any:
        """A new actor, which may wait for room."""
        remote = self._ray.remote(EncodingWorker)
        options = {"num_cpus": self._cores, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        return remote.options(**options).remote(self.made, self._engine)

    def kill(self, actor: Any) -> None:
        self._ray.kill(actor)

    def result(self, reference: Any, timeout: float | None = None) -> Any:
        """What an actor's method returns; WorkerLost if the actor is no more, or does not answer in time."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference, timeout=timeout)
        except errors.GetTimeoutError:
            raise WorkerLost(f"the cluster had no room for it in {timeout:.0f} s") from None
        except (errors.RayError, ConnectionError) as error:
            raise WorkerLost(_why(error)) from None

    @property
    def shipped(self) -> Any:
        """The model's files, sent to the cluster once, when the first node lacks them."""
        with self._shipping:
            return self._shipped

    @cached_property
    def _shipped(self) -> Any:
        return self._ray.put(model_files(self._encoder.whole.files))


class RayWorker:
    """A worker that is an actor; it is sent the model where its node does not have it."""

    def __init__(self, actors: RayActors) -> None:
        self._actors, self._actor = actors, actors.actor()
        self.where = "Ray"

    def start(self) -> None:
        self.where = self._actors.result(self._actor.where.remote(), _SECONDS_FOR_ROOM)
        lacks = self.encode(PROBE)
        if isinstance(lacks, str):
            answer = self._actors.result(self._actor.take.remote(self._actors.shipped))
            if isinstance(answer, str):
                raise ModelError(f"the worker on {self.where} cannot encode: {answer} (of its own: {lacks})")

    def encode(self, texts: Sequence[str]) -> Answer:
        return self._actors.result(self._actor.encode.remote(self._actors.made, texts))

    def end(self) -> None:
        with suppress(Exception):  # it is no more, or the cluster is not
            self._actors.kill(self._actor)


def _require_answer(address: str) -> None:
    """Raise OSError if nobody listens at "[ray://]HOST:PORT"; Ray would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_ANSWER).close()


def _why(error: Exception) -> str:
    """What happened to an actor, in a line: of what its own Python raised, the last one."""
    if "creation task" in str(error):
        return f"{_said(error)}. Every node needs seewhy, of this version"
    return _said(error)


def _said(error: Exception) -> str:
    """The line of an error that tells most: the last one where the first only introduces it."""
    first, *others = [line.strip() for line in str(error).splitlines() if line.strip()] or [
        type(error).__name__
    ]
    return others[-1] if others and ("creation task" in first or first.endswith(":")) else first.rstrip(".")
