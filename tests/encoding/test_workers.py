"""Workers: the same index as without them, even if some die; and the end of them all."""

import multiprocessing
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from search import Encoder, Index, InputError, ModelError, OptionalDependency, Progress
from search.encoding import workers
from search.encoding.workers import RemoteEncoder, WorkerDied, Workers
from tests.conftest import WORDS
from tests.indexing.test_update import content


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A folder of 60 short files, two of them alike, close together."""
    choose = random.Random(0)
    folder = tmp_path / "many"
    folder.mkdir()
    texts = [" ".join(choose.choices(WORDS, k=30)) + "." for _ in range(59)]
    for number, text in enumerate([*texts[:5], texts[0], *texts[5:]]):
        (folder / f"{number:02}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.indexing.read.PASSAGES_IN_A_BATCH", 4)


@pytest.fixture
def two_at_work(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when two workers have started."""
    running, both, start = [], threading.Event(), Workers._started

    def count(self: Workers) -> workers.Worker:
        running.append(start(self))
        if len(running) == 2:
            both.set()
        return running[-1]

    monkeypatch.setattr(Workers, "_started", count)
    return both


def assert_alike(first: Path, second: Path) -> None:
    """Assert that two indexes hold the same passages in order, with the same embeddings but for rounding."""
    first_rows, second_rows = content(first), content(second)
    assert [row[:-1] for row in first_rows] == [row[:-1] for row in second_rows]
    for row, other in zip(first_rows, second_rows, strict=True):
        np.testing.assert_allclose(
            np.frombuffer(row[-1], "<f4"), np.frombuffer(other[-1], "<f4"), atol=1e-6
        )


def test_workers_build_the_same_index_even_if_they_are_killed(
    many: Path, tiny_model: Path, tmp_path: Path, small_batches: None, two_at_work: threading.Event
) -> None:
    pids: list[int] = []

    def progress(state: Progress) -> None:
        if state.stage == "encoding" and state.passages and not pids and two_at_work.wait(60):
            for victim in multiprocessing.active_children():
                pids.append(victim.pid or 0)
                victim.kill()

    alone = Index.build(many, model=str(tiny_model), index=str(tmp_path / "alone"))
    parallel = Index.build(
        many, model=str(tiny_model), index=str(tmp_path / "parallel"), workers=2, progress=progress
    )
    assert_alike(alone.path, parallel.path)
    assert alone.report and parallel.report and pids
    assert parallel.report.passages == alone.report.passages
    assert (parallel.report.encoded, parallel.report.reused) == (
        alone.report.encoded,
        alone.report.reused,
    )
    assert "their batches were encoded again" in " ".join(parallel.report.notes)
    assert multiprocessing.active_children() == []
    first, second = alone.query("search the door"), parallel.query("search the door")
    assert [(hit.passage_id, hit.path) for hit in first] == [(hit.passage_id, hit.path) for hit in second]

    (many / "60.txt").write_text("A key.", encoding="utf-8")
    report = parallel.update(workers="1")
    assert (report.added, report.encoded, report.notes) == (1, 1, ())


class LocalWorker:
    """A worker in this process, which dies where a function of the texts says so."""

    def __init__(self, encoder: Encoder, dies: Callable[[Sequence[str]], bool]) -> None:
        self._encoder, self._dies = encoder, dies

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        if self._dies(texts):
            raise WorkerDied("out of memory")
        return self._encoder.encode(texts)

    def kill(self) -> None: ...


def test_a_text_that_kills_two_workers_is_named(tiny: Encoder) -> None:
    pool = Workers(2, lambda: LocalWorker(tiny, lambda texts: "poison" in texts))
    well = pool.submit(["key", "door"])
    ill = pool.submit(["key", "door", "poison", "lock", "water"], "text {} of five".format)
    with pytest.raises(ModelError, match="every worker died on text 2 of five .* --exclude"):
        ill.result(20)
    np.testing.assert_array_equal(well.result(20), tiny.encode(["key", "door"]))
    pool.close()
    assert "workers died 2 times" in pool.notes[0]


def test_a_batch_that_is_too_large_for_workers_is_divided(tiny: Encoder) -> None:
    pool = Workers(2, lambda: LocalWorker(tiny, lambda texts: len(texts) > 2))
    texts = ["key", "door", "lock", "water", "people"]
    np.testing.assert_allclose(pool.submit(texts).result(20), tiny.encode(texts), atol=1e-6)
    pool.close()


def test_an_index_names_the_document_of_a_text_that_kills_workers(
    notes: Path, tiny_model: Path, tiny: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = LocalWorker(
        tiny, lambda texts: any("Many people say that time is long.\nIt" in t for t in texts)
    )
    monkeypatch.setattr(workers, "ProcessWorker", lambda *_: worker)
    with pytest.raises(ModelError, match="died on the passage in lines 1 to 2 of 'deep/time.txt'"):
        Index.build(notes, model=str(tiny_model), workers=2)


def test_workers_that_cannot_start_are_an_error(tiny: Encoder) -> None:
    pool = Workers(2, lambda: LocalWorker(tiny, lambda _: True))
    for _ in range(2):
        with pytest.raises(ModelError, match="cannot start a worker: out of memory.*__main__"):
            pool.submit(["key"]).result(20)
    pool.close()


def test_a_worker_with_other_arithmetic_is_refused(tiny: Encoder) -> None:
    probe = workers._probed(tiny)
    for difference in (1e-5, 1e-3):
        worker = workers.ProcessWorker(
            RemoteEncoder(tiny.fingerprint, "auto", probe + np.float32(difference)), 1
        )
        if difference == 1e-3:
            with pytest.raises(
                ModelError, match="process .* embeddings differ from this machine.* by 1.0e-03"
            ):
                worker.encode([])
        else:
            np.testing.assert_allclose(worker.encode(["key"]), tiny.encode(["key"]), atol=1e-6)
        worker.kill()


@pytest.mark.parametrize("bad", [0, True, "two", "9" * 5000], ids=lambda bad: repr(bad)[:9])
def test_a_bad_number_of_workers_is_refused(notes: Path, bad: int | str) -> None:
    with pytest.raises(InputError, match="workers is .* number of processes"):
        Index.build(notes, workers=bad)


def test_ray_needs_its_extra(notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.encoding.workers.importlib.util.find_spec", lambda _: None)
    with pytest.raises(OptionalDependency, match=r"--workers ray needs .* pip install 'seewhy\[ray\]'"):
        Index.build(notes, model=str(tiny_model), workers="ray")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal like Ctrl-C for one process")
def test_ctrl_c_ends_all_workers(many: Path, tiny_model: Path) -> None:
    program = f"""
import multiprocessing, signal, threading, search.indexing.read
search.indexing.read.PASSAGES_IN_A_BATCH = 4
interrupt = lambda state: state.passages and signal.raise_signal(signal.SIGINT)
try:
    search.Index.build({str(many)!r}, model={str(tiny_model)!r}, workers=2, progress=interrupt)
except KeyboardInterrupt:
    print(multiprocessing.active_children(), [thread.name for thread in threading.enumerate()])
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert process.stdout == "[] ['MainThread']\n", process.stderr
