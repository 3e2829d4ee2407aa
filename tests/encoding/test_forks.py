"""Processes that fork, under a time limit: never a hang, never a crash."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from search import Encoder
from tests.conftest import REPOSITORY

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")

# A child that is forked by `in_child` runs functions, ends as Python ends, and its exit code is shown.
PRELUDE = """
import os, sys, threading, time
from search import Encoder, SearchError

TEXTS = ["find the key", "time and water and the long way", "a"] * 20

def in_child(*functions):
    child = os.fork()
    if not child:
        for work in functions:
            try:
                work()
            except SearchError as error:
                print("refused:", error, flush=True)
        sys.exit(0)
    print("exit code", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)

def encoder(engine="auto"):
    return Encoder(sys.argv[1], engine=engine, device="cpu" if engine == "torch" else None, offline=True)
"""


def run(model: str, code: str) -> str:
    process = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, model],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=REPOSITORY,
        encoding="utf-8",
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@needs_fork
def test_a_model_belongs_to_the_process_that_loaded_it(tiny: Encoder) -> None:
    """A model loaded after the fork works, even if its encoder is older and the tokenizer has used its threads.

    A model loaded before is refused, also with an encoder that the child creates. Whatever the child does, it ends.
    """
    tiny.encode(["key"])  # so that it is in the cache
    code = """
own = encoder()
own.tokenizer.encode_batch_fast(TEXTS * 100)
in_child(lambda: print(own.encode(TEXTS).shape, flush=True))
expected = own.encode(TEXTS)
in_child(lambda: own.encode(TEXTS), lambda: encoder().encode(TEXTS))
in_child(lambda: globals().pop("own"))
assert abs(own.encode(TEXTS) - expected).max() < 1e-6
"""
    shape, status, first, second, *statuses = run(tiny.model, code).splitlines()
    assert (shape, status) == ("(60, 32)", "exit code 0")
    for line in (first, second):
        assert line.startswith("refused: the parent of this process")
        assert "after forking" in line
        assert "spawn" in line
    assert statuses == ["exit code 0"] * 2


@needs_fork
def test_a_fork_while_another_thread_encodes_is_refused(tiny_model: Path) -> None:
    code = """
own = encoder()
def work():
    for _ in range(200): own.encode(TEXTS)
busy = threading.Thread(target=work)
busy.start()
while not own._loading.locked(): time.sleep(0.001)
for _ in range(5):
    in_child(lambda: own.encode(TEXTS))
    time.sleep(0.1)
busy.join()
"""
    out = run(str(tiny_model), code)
    assert out.count("refused: the parent of this process") == 5
    assert out.count("exit code 0") == 5


@pytest.mark.parametrize("engine", ["openvino", "torch"])
def test_eight_threads_share_one_encoder(tiny_model: Path, engine: str) -> None:
    """Each with texts of its own, from the moment at which nothing is loaded."""
    encoder = Encoder(str(tiny_model), engine=engine, device="cpu" if engine == "torch" else None)
    words = "find the key and turn it in the door of time".split()
    texts = [[" ".join(words[: 1 + (i + j) % 10]) for j in range(7)] for i in range(8)]
    embeddings: dict[int, list[np.ndarray]] = {}
    start = threading.Barrier(8)

    def ask(number: int) -> None:
        start.wait()
        embeddings[number] = [encoder.encode(texts[number]) for _ in range(10)]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reference = Encoder(str(tiny_model))
    for number in range(8):
        for vectors in embeddings[number]:
            np.testing.assert_allclose(vectors, reference.encode(texts[number]), atol=1e-6)


def test_workers_that_are_spawned_load_the_model_themselves(tiny_model: Path, tmp_path: Path) -> None:
    script = tmp_path / "workers.py"
    script.write_text(
        "import multiprocessing, sys\n"
        "from search import Encoder\n"
        "def shape(model):\n    return Encoder(model, offline=True).encode(['key']).shape\n"
        "if __name__ == '__main__':\n"
        "    shape(sys.argv[1])\n"
        "    with multiprocessing.get_context('spawn').Pool(2) as pool:\n"
        "        print(pool.map(shape, [sys.argv[1]] * 2))\n",
        encoding="utf-8",
    )
    process = subprocess.run(
        [sys.executable, script, tiny_model],
        capture_output=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        encoding="utf-8",
    )
    assert (process.returncode, process.stdout.strip()) == (0, "[(1, 32), (1, 32)]"), process.stderr
