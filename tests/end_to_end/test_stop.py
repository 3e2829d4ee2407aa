"""Ctrl-C: the real command in a process of its own, stopped in the middle of its work."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from search import Encoder
from tests.conftest import REPOSITORY, WORDS, Run

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no signal that is sent to one process like Ctrl-C"
)

SECONDS_TO_STOP = 30  # on a machine that is very busy; otherwise it takes less than one


@pytest.fixture(autouse=True)
def ctrl_c_is_not_ignored() -> Iterator[None]:
    """A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def long_work(tmp_path: Path) -> Path:
    """A folder that the tiny model needs many seconds for, in many batches."""
    choose = random.Random(0)
    folder = tmp_path / "long"
    folder.mkdir()
    for number in range(80):
        paragraphs = [" ".join(choose.choices(WORDS, k=40)) + "." for _ in range(100)]
        (folder / f"{number:03}.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")
    return folder


class Command:
    """`python -m search ARGS...`, running."""

    def __init__(self, home: Path, *args: object) -> None:
        environment = {**os.environ, "SEEWHY_HOME": str(home), "PYTHONIOENCODING": "utf-8"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "search", *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            cwd=REPOSITORY,
            env=environment,
        )

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition that must come true while the command runs."""
        end = time.monotonic() + 120
        while not condition():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end, "it did not come about"
            time.sleep(0.02)

    def interrupt(self) -> tuple[int, str, str]:
        """Send Ctrl-C; exit code, stdout, stderr."""
        assert self.process.poll() is None, "the command ended before it could be stopped"
        self.process.send_signal(signal.SIGINT)
        try:
            out, err = self.process.communicate(timeout=SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            self.process.kill()
            pytest.fail(
                f"still running {SECONDS_TO_STOP} s after Ctrl-C: {self.process.communicate()[1]}"
            )
        return self.process.returncode, out, err


def row_count(index: Path, table: str) -> int:
    """Number of committed rows of a table; 0 while there is no database."""
    try:
        with closing(sqlite3.connect(f"{(index / 'index.db').as_uri()}?mode=ro", uri=True)) as db:
            return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_a_stopped_run_keeps_its_work_and_the_next_one_goes_on(
    run: Run, tmp_path: Path, long_work: Path, tiny: Encoder
) -> None:
    tiny.encode(["key"])  # so that it is in the cache
    home, index = tmp_path / "home", tmp_path / "index"
    arguments = ("index", long_work, "--index", index, "--model", tiny.model, "--offline")
    first = Command(home, *arguments)
    first.wait_for(lambda: row_count(index, "embeddings") >= 500)
    code, out, err = first.interrupt()
    assert code == 130
    assert out == ""
    assert (
        "stopped. Finished work is saved, and can be asked for; to continue, run the same command again."
        in err
    )
    assert "Traceback" not in err
    assert 500 <= row_count(index, "embeddings") < row_count(index, "passages")
    assert "Not all passages are encoded. Continue with:" in run("status", "--index", index)[1]
    assert run("query", "key", "--index", index, "--pending", "20", "--offline")[1]

    for path in sorted(long_work.iterdir())[20:]:  # enough is left to do
        path.unlink()
    code, out, err = run(*arguments, "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["pending"] == 0 < report["encoded"] < report["passages"]
    assert row_count(index, "embeddings") == report["passages"] == row_count(index, "passages")


def test_a_run_that_is_stopped_while_a_model_is_converted_can_be_repeated(
    run: Run, tmp_path: Path, long_work: Path, tiny_model: Path, own_cache: Path
) -> None:
    home, index = tmp_path / "home", tmp_path / "index"
    arguments = ("index", long_work, "--index", index, "--model", tiny_model, "--offline")
    command = Command(home, *arguments)
    command.wait_for((index / "writer.json").exists)  # the lock is held, nothing has been encoded
    code, out, err = command.interrupt()
    assert (code, out) == (130, ""), err
    assert "run the same command again" in err
    assert "Traceback" not in err

    for path in sorted(long_work.iterdir())[1:]:
        path.unlink()
    code, out, err = run(*arguments)
    assert (code, "1 file added" in out) == (0, True), err
    assert "PyTorch encodes" not in err
    assert row_count(index, "passages") > 0


def test_ctrl_c_stops_in_the_middle_of_a_very_long_document(
    tmp_path: Path, long_work: Path, tiny: Encoder
) -> None:
    tiny.encode(["key"])
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(long_work.iterdir())[:50])
    for path in sorted(long_work.iterdir())[10:]:
        path.unlink()
    (long_work / "zzz.txt").write_text(text * 10, encoding="utf-8")
    home, index = tmp_path / "home", tmp_path / "index"
    command = Command(home, "index", long_work, "--index", index, "--model", tiny.model, "--offline")
    command.wait_for(lambda: row_count(index, "passages") >= 500)
    code, _, err = command.interrupt()
    assert (code, "Traceback" in err) == (130, False)
