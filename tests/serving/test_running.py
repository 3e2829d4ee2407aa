"""The command through a running server: the same bytes, or the usual way."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from search import Index
from search.cli.running import ask
from search.serving import local, nearby
from search.serving.app import application
from search.serving.life import configured
from search.serving.nearby import found_here, local_time, sockets
from search.serving.served import Served
from search.serving.settings import Settings
from tests.conftest import REPOSITORY, Run

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no such sockets")

QUERY = ("query", "turn the key")


class Running:
    """A server of this user; `answered` says how many queries of the command it has answered."""

    def __init__(self, served: Served) -> None:
        self.served, self.answered = served, 0


@pytest.fixture
def running(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.chdir(indexed)
    running = Running(Served.open([str(indexed)]))
    running.served.warm()
    answer = local._answer

    def counted(*asked: Any) -> bytes:
        found = answer(*asked)
        running.answered += 1
        return found

    monkeypatch.setattr(local, "_answer", counted)
    settings = Settings(token="some-token-that-is-long-enough")
    server = uvicorn.Server(configured(application(running.served, settings)))
    with found_here() as listening:
        thread = threading.Thread(target=server.run, args=(listening,))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield running
        server.should_exit = True
        thread.join(10)
    assert not sockets()


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--json",),
        ("--jsonl", "-k", "2"),
        ("--format", "csv"),
        ("--format", "md"),
        ("-l",),
        ("--format", "grep"),
        ("--format", "vimgrep"),
        ("--context", "2"),
        ("--context", "1", "--json"),
        ("--color", "always"),
        ("--mode", "lexical", "--json"),
        ("--mode", "dense", "--group", "--json"),
        ("--weight", "0.3", "--offset", "1"),
        ("--where", "path:*.md", "--since", "7d"),
        ("--where", "path:nowhere/**"),
        ("--min-score", "0.99"),
        ("--per-document", "1", "--all-copies", "-q"),
        ("--rerank", "late", "--json"),
        ("--index", "notes", "--fail-if-nothing"),
    ],
    ids=" ".join,
)
def test_the_bytes_are_the_same(options: tuple[str, ...], running: Running, run: Run) -> None:
    through = run(*QUERY, *options)
    assert through == run(*QUERY, *options, "--no-server")
    assert running.answered == 1


def test_what_changed_is_said_the_same(running: Running, run: Run, indexed: Path) -> None:
    (indexed / "keys.md").write_text("# Keys\n\nNothing of that is left.\n", encoding="utf-8")
    (indexed / "deep" / "time.txt").unlink()
    through = run(*QUERY)
    assert "since they were indexed" in through[2]
    assert through == run(*QUERY, "--no-server")
    assert running.answered == 1


def test_names_and_texts_that_are_hard_to_write(running: Running, run: Run, indexed: Path) -> None:
    name = os.fsdecode(b"k\xffey \xe2\x80\xae.md")
    (indexed / name).write_bytes("# Über\x1b[31m\n\nTurn the key \U0001f511 and \u2028 the lock.\n".encode())
    Index.open(indexed).update()
    assert run("query", "key 🔑", "--json") == run("query", "key 🔑", "--json", "--no-server")
    assert run("query", "key 🔑") == run("query", "key 🔑", "--no-server")
    assert running.answered == 2


def test_an_update_is_seen(running: Running, run: Run, indexed: Path) -> None:
    run(*QUERY)
    (indexed / "new.md").write_text("# Sun\n\nThe sun is over the water.\n", encoding="utf-8")
    Index.open(indexed).update()
    through = run("query", "the sun over the water", "--json")
    assert "new.md" in through[1]
    assert through == run("query", "the sun over the water", "--json", "--no-server")
    assert running.answered == 2


@pytest.mark.parametrize(
    "options",
    [
        ("--explain",),
        ("--matrices", "--json"),
        ("--and", "door"),
        ("--like", "keys.md"),
        ("--all-indexes",),
        ("--engine", "openvino"),
        ("--update",),
        ("--no-server",),
        ("--where", "path:"),
        ("--index", "none"),
    ],
    ids=" ".join,
)
def test_the_rest_goes_the_usual_way(options: tuple[str, ...], running: Running, run: Run) -> None:
    assert run(*QUERY, *options) == run(*QUERY, *options, "--no-server")
    assert running.answered == 0


def test_it_can_be_refused_for_good(running: Running, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("config", "no_server", "true")
    run(*QUERY)
    run("config", "--unset", "no_server")
    monkeypatch.setenv("SEEWHY_NO_SERVER", "1")
    run(*QUERY)
    assert running.answered == 0


def test_a_server_that_cannot_say_the_same_is_not_listened_to(
    running: Running, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_model: Path
) -> None:
    usual = run(*QUERY, "--json", "--no-server")
    with monkeypatch.context() as patch:
        patch.setattr("search.cli.running.__version__", "0.0.9")
        assert run(*QUERY, "--json") == usual
    with monkeypatch.context() as patch:
        patch.setattr(nearby, "local_time", lambda: ["America/Havana", *local_time()[1:]])
        assert run(*QUERY, "--json") == usual
    with monkeypatch.context() as patch:
        patch.setitem(running.served.failed, "notes", RuntimeError())
        assert run(*QUERY, "--json") == usual
    with monkeypatch.context() as patch:
        patch.setattr(Index, "notes", ("something is wrong",))
        assert "something is wrong" in run(*QUERY)[2]
    with monkeypatch.context() as patch:
        patch.setattr("search.cli.running._SECONDS", 0.0001)
        assert run(*QUERY, "--json") == usual
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.md").write_text("# Key\n\nTurn it.\n", encoding="utf-8")
    Index.build(tmp_path / "b", model=str(tiny_model))
    assert str(tmp_path / "b") in run(*QUERY, "--index", str(tmp_path / "b"))[1]
    assert running.answered <= 1  # that which came too late


def test_what_lies_about_of_servers_does_no_harm(indexed: Path, run: Run, own_home: Path) -> None:
    usual = run(*QUERY, "--json")
    folder = own_home / "servers"
    folder.mkdir(0o700)
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(folder / "1-dead.socket"))
    dead.close()
    (folder / "2-text.socket").write_text("no socket", encoding="utf-8")
    assert run(*QUERY, "--json") == usual
    with found_here() as listening:
        assert len(listening) == 1
        names = {path.name for path in sockets()}
        assert "1-dead.socket" not in names
        assert "2-text.socket" in names
        assert run(*QUERY, "--json") == usual  # nobody answers there
    assert {path.name for path in folder.iterdir()} == {"2-text.socket"}


def test_an_answer_that_is_nested_too_deeply_is_none(indexed: Path, run: Run) -> None:
    usual = run(*QUERY, "--json")
    with found_here() as listening:
        listening[0].listen()

        def answer() -> None:
            connection, _ = listening[0].accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                connection.recv(1 << 16)
                connection.sendall(b'HTTP/1.1 200 OK\r\n\r\n{"hits":' + b"[" * 100_000)

        thread = threading.Thread(target=answer)
        thread.start()
        assert run(*QUERY, "--json") == usual
        thread.join(10)
        assert not thread.is_alive()


def test_servers_that_hang_are_not_waited_for_one_by_one(indexed: Path) -> None:
    with found_here(), found_here(), found_here():
        began = time.monotonic()
        assert ask(str(indexed), "turn the key", {}, marks=False, lines=None) is None
        assert time.monotonic() - began < 0.9  # three of 0.3 seconds


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="no zones to be set")
def test_zones_of_the_same_names_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for zone in ("America/Chicago", "America/Havana"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        seen.append((time.tzname, local_time()[1:]))
    monkeypatch.undo()
    time.tzset()
    if len(set(seen[0][1])) == 1:
        pytest.skip("no zones are installed")
    assert seen[0][0] == seen[1][0] and seen[0][1] != seen[1][1]


def test_a_folder_that_others_may_look_into_is_not_trusted(
    indexed: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with found_here() as listening:
        assert listening and len(sockets()) == 1
        assert stat.S_IMODE((own_home / "servers").stat().st_mode) == 0o700
        (own_home / "servers").chmod(0o755)
        assert sockets() == []
        with found_here() as second:
            assert second == []
        (own_home / "servers").chmod(0o700)
        monkeypatch.setattr(nearby.os, "getuid", lambda: 12345)
        assert sockets() == []
        monkeypatch.undo()


def test_a_path_that_is_too_long_for_a_socket_is_no_failure(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEEWHY_HOME", str(own_home / ("long" * 30)))
    with found_here() as listening:
        assert listening == []


def test_neither_the_library_nor_numpy_is_loaded(running: Running, indexed: Path) -> None:
    code = """
import sys
from search.cli.app import main
sys.argv = ["seewhy", "query", "turn the key"]
try:
    main()
finally:
    print(sorted({"numpy", "search.index", "http.client", "ssl", "asyncio"} & sys.modules.keys()), file=sys.stderr)
"""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert running.answered == 1
    assert done.stderr.splitlines()[-1] == "[]"
