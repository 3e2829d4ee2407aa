"""Workers that are actors of a Ray cluster, or of Ray on this machine. Ray restarts nothing itself: `Workers` does."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from search.encoding.models import model_files
from search.encoding.openvino_engine import usable_cores
from search.encoding.workers import RemoteEncoder, WorkerDied
from search.errors import ModelError, OptionalDependency, first_line

if TYPE_CHECKING:
    from search.encoding.encoder import Encoder
    from search.encoding.workers import Embeddings

_CORES = 4  # of one worker, at most; with more, Python would be what limits it
_SECONDS_FOR_ROOM = 60.0  # for the cluster to start a worker
_SECONDS_TO_CONNECT = 10.0
_OBJECTS = 256 * 2**20  # bytes of Ray's object store, where it is started here

# Read when Ray is imported: it neither reports its use nor, started here, listens to other machines.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


class RayCluster:
    """One worker for up to four cores of each node.

    Args:
        address: "ray" for the cluster this program is connected to, else that of RAY_ADDRESS, else one started on this
            machine; or "ray://HOST:PORT" of a Ray Client server.

    Raises:
        OptionalDependency: Ray is not installed.
        ModelError: the cluster cannot be reached or has no cores.
    """

    def __init__(self, address: str, encoder: Encoder, engine: str) -> None:
        if importlib.util.find_spec("ray") is None:
            raise OptionalDependency("ray", "ray", f"--workers {address}")
        named = address if address != "ray" else os.environ.get("RAY_ADDRESS", "")
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        import ray

        self._ray, self._started = ray, not ray.is_initialized()
        if self._started:
            _connect(ray, named)
            ray._private.worker._worker_logs_enabled = (
                False  # or it prints the logs of lost nodes on standard output
            )
        cores = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
        cores = [n for n in cores if n]
        if not cores:
            raise ModelError("no node of the Ray cluster has a CPU. Add one with: ray start")
        self._cores = min(_CORES, *cores)
        self.size = sum(n // self._cores for n in cores)
        self._arguments = (encoder.fingerprint, engine, ray.put(model_files(encoder.whole.files)))

    def start(self) -> RayWorker:
        """A new worker, once the cluster has room for it."""
        options = {"num_cpus": self._cores, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        return RayWorker(
            self._ray, self._ray.remote(RemoteEncoder).options(**options).remote(*self._arguments)
        )

    def close(self) -> None:
        if self._started:
            self._ray.shutdown()


class RayWorker:
    """A worker that is a Ray actor."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor
        self.name = self._result(actor.name.remote(), _SECONDS_FOR_ROOM)

    def encode(self, texts: Sequence[str]) -> Embeddings | str:
        answer: Embeddings | str = self._result(self._actor.encode.remote(texts))
        return answer

    def kill(self) -> None:
        with suppress(Exception):  # the cluster may be gone
            self._ray.kill(self._actor)

    def _result(self, reference: Any, timeout: float | None = None) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference, timeout=timeout)
        except errors.GetTimeoutError:
            self.kill()
            raise WorkerDied(f"the cluster had no room for it in {timeout:.0f} s") from None
        except (errors.RayError, ConnectionError) as error:
            hint = ". Every node needs this version of seewhy" if "creation task" in str(error) else ""
            raise WorkerDied(f"{first_line(error)}{hint}") from None


def _connect(ray: Any, address: str) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if not address:
        options |= {"include_dashboard": False, "object_store_memory": _OBJECTS, "num_cpus": usable_cores()}
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if host and port.isdecimal():  # Ray would wait for minutes
            socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_CONNECT).close()
        ray.init(address or "local", **options)
    except Exception as error:  # of many kinds
        what = f"the Ray cluster at '{address}' cannot be used" if address else "Ray cannot be started here"
        raise ModelError(
            f"{what}: {first_line(error)}. Check that it runs and has the same versions of Ray and Python, or use "
            "--workers with a number."
        ) from None
    finally:
        if threading.current_thread() is threading.main_thread() and on_sigterm is not None:
            signal.signal(signal.SIGTERM, on_sigterm)  # Ray has installed its own
