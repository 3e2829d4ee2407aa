"""Workers: the same index as without, whoever dies meanwhile; and what ends them all."""

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from search import Index, InputError, ModelError, OptionalDependency
from search.encoding import Encoder, workers
from search.encoding.models import model_files
from search.encoding.worker import PROBE, Answer, EncodingWorker
from search.encoding.workers import Worker, WorkerLost, Workers
from search.records.reports import Progress
from tests.conftest import WORDS, Run
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
    monkeypatch.setattr("search.indexing.batches.PASSAGES_IN_A_BATCH", 4)


@pytest.fixture
def two_at_work(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when two workers have been looked at, and can be given batches."""
    seen, both, check = [], threading.Event(), Workers._check

    def checked(self: Workers, worker: Worker) -> None:
        check(self, worker)
        seen.append(worker)
        if len(seen) == 2:
            both.set()

    monkeypatch.setattr(Workers, "_check", checked)
    return both


def assert_alike(one: Path, other: Path) -> None:
    """Two indexes hold the same passages in the same order, with the same embeddings but for rounding."""
    mine, theirs = content(one), content(other)
    assert [row[:-1] for row in mine] == [row[:-1] for row in theirs]
    for ours, fresh in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(np.frombuffer(ours[-1], "<f4"), np.frombuffer(fresh[-1], "<f4"), atol=1e-6)


def processes() -> list[psutil.Process]:
    """The workers of this process."""
    return [
        child
        for child in psutil.Process().children()
        if any("search.encoding.worker" in word for word in child.cmdline())
    ]


def test_processes_make_the_index_that_one_makes_also_if_they_are_killed(
    many: Path, tiny_model: Path, tmp_path: Path, small_batches: None, two_at_work: threading.Event
) -> None:
    warnings: list[str] = []
    killed: list[int] = []

    def progress(state: Progress) -> None:
        if state.warning:
            warnings.append(state.warning)
        if state.passages and not killed and two_at_work.wait(60):
            for victim in processes():
                killed.append(victim.pid)
                victim.kill()

    alone = Index.build(many, model=str(tiny_model), index=str(tmp_path / "alone"))
    helped = Index.build(
        many, model=str(tiny_model), index=str(tmp_path / "helped"), workers=2, progress=progress
    )
    assert_alike(alone.path, helped.path)
    assert alone.report and helped.report
    assert helped.report.passages == alone.report.passages
    assert helped.report.encoded == alone.report.encoded
    assert helped.report.reused == alone.report.reused
    assert 1 <= len(warnings) <= len(killed) == 2
    assert all("a worker died (process" in warning for warning in warnings)
    assert f"workers died {len(warnings)} times; their batches were encoded again" in helped.report.notes
    assert processes() == []
    one, other = alone.query("search the door"), helped.query("search the door")
    assert [(hit.passage_id, hit.path) for hit in one] == [(hit.passage_id, hit.path) for hit in other]

    (many / "60.txt").write_text("A key.", encoding="utf-8")
    report = helped.update(workers="1")
    assert (report.added, report.encoded, report.notes) == (1, 1, ())


class Hand:
    """A worker in this process, which dies over a text with a word in it, or while a function says so."""

    def __init__(self, encoder: Encoder, dies: Callable[[Sequence[str]], bool], off: float = 0.0) -> None:
        self.where, self._encoder, self._dies, self._off = "here", encoder, dies, off

    def start(self) -> None: ...

    def encode(self, texts: Sequence[str]) -> Answer:
        if self._dies(texts):
            raise WorkerLost("it fell ill")
        return self._encoder.encode(texts) + self._off

    def end(self) -> None: ...


class Hands:
    """A crew of such workers."""

    def __init__(
        self, encoder: Encoder, dies: Callable[[Sequence[str]], bool] = lambda _: False, off: float = 0.0
    ) -> None:
        self.size, self.hired = 2, 0
        self._encoder, self._dies, self._off = encoder, dies, off

    def open(self) -> None: ...

    def close(self) -> None: ...

    def hire(self) -> Hand:
        self.hired += 1
        return Hand(self._encoder, self._dies, self._off)


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_LONGEST_WAIT", 0.0)


def test_a_text_that_kills_workers_is_found_and_named(tiny: Encoder) -> None:
    crew = Hands(tiny, lambda texts: "poison" in texts)
    pool = Workers(crew, tiny)
    well = pool.submit(["key", "door"])
    ill = pool.submit(["key", "door", "poison", "lock", "water"], "text {} of five".format)
    with pytest.raises(ModelError, match="text 2 of five kills every worker .* --exclude"):
        ill.result(20)
    np.testing.assert_array_equal(well.result(20), tiny.encode(["key", "door"]))
    pool.close()
    # Over all five three, then one over each of two, or three, and over the text itself.
    assert 5 <= len(list(pool.warnings())) <= 6


def test_a_batch_that_is_too_much_for_workers_is_taken_apart(tiny: Encoder) -> None:
    pool = Workers(Hands(tiny, lambda texts: len(texts) > 2), tiny)
    texts = ["key", "door", "lock", "water", "people"]
    np.testing.assert_allclose(pool.submit(texts).result(20), tiny.encode(texts), atol=1e-6)
    pool.close()


def test_an_index_names_the_document_of_such_a_text(
    notes: Path, tiny_model: Path, tiny: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew = Hands(tiny, lambda texts: any("Many people say" in text for text in texts if text not in PROBE))
    monkeypatch.setattr("search.encoding.workers_processes.Processes", lambda *_: crew)
    with pytest.raises(ModelError, match="passage in lines 1 to 2 of 'deep/time.txt' kills"):
        Index.build(notes, model=str(tiny_model), workers=2)


def test_no_worker_can_be_started(tiny: Encoder, no_waiting: None) -> None:
    pool = Workers(Hands(tiny, lambda _: True), tiny)
    with pytest.raises(ModelError, match="no worker is left, and none can be started: it fell ill"):
        pool.submit(["key"]).result(20)
    with pytest.raises(ModelError, match="no worker is left"):
        pool.submit(["key"]).result(20)
    pool.close()


class Late(Hand):
    """A worker that is still being started when nobody wants it any more."""

    ended = threading.Event()

    def start(self) -> None:
        self.ended.wait(60)
        raise WorkerLost("nobody wants it")

    def end(self) -> None:
        self.ended.set()


def test_nobody_waits_for_a_worker_that_is_being_started(tiny: Encoder) -> None:
    crew = Hands(tiny)
    pool = Workers(crew, tiny)
    pool.submit(["key"]).result(20)
    crew.hire = lambda: Late(tiny, lambda _: False)  # type: ignore[method-assign]
    pool.submit(["door"]).result(20)
    pool.close()
    assert Late.ended.is_set() and list(pool.warnings()) == []


@pytest.mark.parametrize(("off", "said"), [(1e-7, ""), (1e-5, "differ by up to 1.0e-05"), (1e-3, "refused")])
def test_workers_that_compute_otherwise(tiny: Encoder, off: float, said: str) -> None:
    pool = Workers(Hands(tiny, off=off), tiny)
    encoded = pool.submit(["key"])
    if said == "refused":
        with pytest.raises(ModelError, match="worker on here computes something else .* off by 1.0e-03"):
            encoded.result(20)
    else:
        encoded.result(20)
        assert said in " ".join(pool.notes) and bool(said) == bool(pool.notes)
    pool.close()


def test_a_worker_refuses_another_fingerprint(tiny: Encoder, other_model: Path) -> None:
    worker = EncodingWorker(tiny.fingerprint, "auto")
    answer = worker.encode(Encoder(str(other_model)).fingerprint, ["key"])
    assert isinstance(answer, str) and "what it would encode with is something else" in answer
    assert str(other_model) in answer


def test_a_machine_without_the_model_is_sent_it(tiny: Encoder, own_cache: Path) -> None:
    worker = EncodingWorker(replace(tiny.fingerprint, model="nobody/has-it"), "torch")
    lacking = worker.encode(replace(tiny.fingerprint, model="nobody/has-it"), PROBE)
    assert isinstance(lacking, str) and "no model 'nobody/has-it'" in lacking
    np.testing.assert_allclose(worker.take(model_files(tiny.whole.files)), tiny.encode(PROBE), atol=1e-6)
    np.testing.assert_allclose(worker.encode(tiny.fingerprint, ["key"]), tiny.encode(["key"]), atol=1e-6)


@pytest.mark.parametrize(
    "asked", [0, -1, True, "", "two", "-1", "ray:/", "rays", pytest.param("9" * 5000, id="9...")]
)
def test_what_workers_can_be(notes: Path, asked: int | str) -> None:
    with pytest.raises(InputError, match="workers is .* how many processes"):
        Index.build(notes, workers=asked)


def test_ray_is_an_extra(notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.encoding.workers_ray.importlib.util.find_spec", lambda _: None)
    with pytest.raises(OptionalDependency, match=r"--workers ray needs .* pip install 'seewhy\[ray\]'"):
        Index.build(notes, model=str(tiny_model), workers="ray")


def test_a_script_needs_no_main_and_the_current_folder_is_not_imported(
    notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / "pickle.py").write_text("print('trapped'); raise SystemExit", encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom search import Index\n"
        f"print(Index.build({str(notes)!r}, model={str(tiny_model)!r}, workers=1).report.encoded)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script)], cwd=trap, capture_output=True, encoding="utf-8", timeout=120
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "5", "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal like Ctrl-C for one process")
def test_ctrl_c_ends_all_workers(many: Path, tiny_model: Path, small_batches: None) -> None:
    def interrupt(state: Progress) -> None:
        if state.passages:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            Index.build(many, model=str(tiny_model), workers=2, progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert processes() == []
    assert not [thread for thread in threading.enumerate() if thread.name == "seewhy-worker"]


def test_the_command_warns_of_a_death(
    notes: Path, tiny_model: Path, tiny: Encoder, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaths = iter([False, True])
    crew = Hands(tiny, lambda texts: next(deaths, False))
    monkeypatch.setattr("search.encoding.workers_processes.Processes", lambda *_: crew)
    code, out, err = run("index", notes, "--model", tiny_model, "--workers", "2")
    assert code == 0 and "5 encoded" in out
    assert err.splitlines() == [
        "a worker died (it fell ill); its batch goes to another one",
        "note: workers died 1 times; their batches were encoded again",
    ]
