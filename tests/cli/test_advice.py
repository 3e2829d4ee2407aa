"""Every index state x (folder, memory) x every command: the advice that is printed is carried out literally.

Nothing is lost, and following the advice leads to an index that works, without going in circles.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from filelock import FileLock

from search import Index, SearchError
from search.cli.app import commands as command_line
from tests.conftest import Run
from tests.store import damage

DOCUMENTS = {
    "keys": "rotate the key of the door",
    "web/water": "people call the water of the side",
    "time": "many people say that time is long",
}
QUESTION = "the door"
_ADVICE = re.compile(r"(?:: |^ *)(seewhy (?:'[^']*'|[^\s.,]|[.,](?=\S)| (?! ))+)", re.MULTILINE)
_MOST_STEPS = 4

Where = Callable[[], Any]  # opens the context in which the commands run


class World:
    """A user's data folder with one index, its folder, and the documents that it must not lose."""

    def __init__(self, run: Run, home: Path, folder: Path, place: Path, kind: str, model: Path) -> None:
        self.run, self.home, self.folder, self.place, self.kind = run, home, folder, place, kind
        self.model = model
        self.name = "notes" if kind == "folder" else "mem"
        self.index = home / "indexes" / self.name
        self.file = place / "documents.jsonl"
        lines = (json.dumps({"id": id_, "text": text}) for id_, text in DOCUMENTS.items())
        self.file.write_text("\n".join(lines), encoding="utf-8")

    def keep(self) -> None:
        shutil.copytree(self.home, self.place / "state")

    def restore(self) -> None:
        shutil.rmtree(self.home)
        shutil.copytree(self.place / "state", self.home)

    def commands(self) -> list[list[str]]:
        """All commands that work on an index, as a user types them."""
        option = ["--index", self.name]
        everywhere = [
            ["query", QUESTION, *option],
            ["query", QUESTION, "--mode", "lexical", *option],
            ["explain", QUESTION, "1", *option],
            ["similar", "p1", *option],
            ["why-not", QUESTION, "keys", *option],
            ["duplicates", *option],
            ["map", *option],
            ["status", *option],
            ["list"],
            ["check", *option],
            ["check", "--repair", *option],
            ["export", *option],
            ["upsert", "--rebuild", *option],
            ["upsert", *option, str(self.file)],
            ["index", str(self.folder), *option],
            ["index", str(self.folder), *option, "--rebuild"],
            ["index", str(self.folder), "--dry-run", *option],
            ["move", self.name, str(self.folder)],
        ]
        return everywhere if self.kind == "memory" else [*everywhere, ["index", *option]]

    def arguments_of(self, advice: str) -> list[str]:
        """The words of a command in a message, with the placeholders filled in."""
        values = {
            "FOLDER": str(self.folder),
            "NEW_FOLDER": str(self.folder),
            "INDEX": self.name,
            "MODEL": str(self.model),
            "FILE.jsonl": str(self.place / "out"),
        }
        return [values.get(word, word) for word in shlex.split(advice)[1:]]

    def lost(self) -> list[str]:
        """Ids of the documents that no file of the index, and no export, holds any more."""
        if self.kind == "folder":
            return []
        texts = set[str]()
        for database in self.index.glob("index.db*"):
            with suppress(SearchError, sqlite3.DatabaseError):
                copy = self.place / "copy"
                shutil.rmtree(copy, ignore_errors=True)
                copy.mkdir()
                shutil.copy(database, copy / "index.db")
                texts |= {doc.text for doc in Index.export(copy, on_damage=lambda _: None)}
        return [id_ for id_, text in DOCUMENTS.items() if text not in texts]

    def advice(self, command: list[str], context: Where = nullcontext) -> tuple[int, list[str]]:
        """Run a command: its exit code, and the commands that its output advises."""
        out_file = command[command.index(">") + 1] if ">" in command else ""
        words = command[: command.index(">")] if out_file else command
        with context():
            code, out, err = self.run(
                *words, *([] if words[0] in ("export", "move") else ["--offline"] * 0)
            )
        assert "Traceback" not in err
        assert code in (0, 1, 2), (command, err)
        if out_file:
            Path(out_file).write_text(out, encoding="utf-8")
        assert code == 0 or out + err, f"{command} fails without a word"
        names = {name for name, _ in command_line().commands.items()}
        matches = [match.strip() for match in _ADVICE.findall(f"{out}\n{err}")]
        return code, [text for text in matches if text.split()[1] in names]


@pytest.fixture(params=["folder", "memory"])
def world(
    request: pytest.FixtureRequest,
    run: Run,
    own_home: Path,
    notes: Path,
    tiny_model: Path,
    tmp_path: Path,
) -> World:
    """An index with the default model of the configuration, which is the tiny one."""
    world = World(run, own_home, notes, tmp_path, request.param, tiny_model)
    assert run("config", "model", tiny_model)[0] == 0
    if request.param == "folder":
        assert run("index", notes, "-q")[0] == 0
    else:
        assert run("upsert", "-i", "mem", world.file, "-q")[0] == 0
    return world


def version(number: int) -> Callable[[World], None]:
    def change(world: World) -> None:
        damage.execute(world.index, f"UPDATE meta SET value = '{number}' WHERE key = 'schema_version'")
        if number == 8:  # which has no such column
            damage.execute(
                world.index,
                *damage.FORMAT_9,
                "ALTER TABLE embeddings DROP COLUMN near_key",
            )

    return change


def page(table: str) -> Callable[[World], None]:
    return lambda world: damage.zero_page_of(world.index, table)


def sql(statement: str) -> Callable[[World], None]:
    return lambda world: damage.execute(world.index, statement)


def garbage(world: World) -> None:
    (world.index / "index.db").write_bytes(b"no database, " * 999)


def move_folder(world: World) -> None:
    world.folder = world.folder.rename(world.folder.with_name("elsewhere"))


def nothing_stored(world: World) -> None:
    """A first run that was killed: tables, or not even these."""
    for path in (world.index / "ann").glob("*"):
        path.unlink()
    (world.index / "index.db").write_bytes(b"")


STATES: dict[str, Callable[[World], None]] = {
    "sound": lambda world: None,
    "of an earlier format": version(8),
    "of a later format": version(99),
    "meta damaged": page("meta"),
    "fingerprint missing": sql("DELETE FROM meta WHERE key = 'fingerprint'"),
    "fingerprint unreadable": sql("UPDATE meta SET value = '{' WHERE key = 'fingerprint'"),
    "passages damaged": page("passages"),
    "files damaged": page("files"),
    "embeddings damaged": page("embeddings"),
    "a value unreadable": sql("UPDATE documents SET metadata = '{\"a\" 1}' WHERE id = 1"),
    "a passage astray": sql("UPDATE passages SET document = 99 WHERE id = 1"),
    "no database": garbage,
    "nothing stored": nothing_stored,
}
OF_FOLDERS = {"folder moved": move_folder}
UNREADABLE = ("no database", "nothing stored")


def problems_of(world: World, command: list[str], earlier: set[str]) -> list[str]:
    """Run a command and everything that it advises; return what is wrong.

    Args:
        earlier: advice of earlier commands that failed, and so changed nothing; each is carried out once.
    """
    world.restore()
    problems = []
    code, advice = world.advice(command)
    if lost := world.lost():
        problems.append(f"{command} lost {lost}")
    new = [text for text in dict.fromkeys(advice) if text not in earlier]
    earlier.update(new if code else ())
    for text in new:
        world.restore()
        world.advice(command)
        problems += [f"{command}: {problem}" for problem in follow(world, text, [], _MOST_STEPS)]
        if lost := world.lost():
            problems.append(f"{command}, then '{text}' lost {lost}")
    return problems


def follow(world: World, text: str, before: list[str], steps: int) -> list[str]:
    """Carry out a piece of advice and, if it fails, the advice that it prints; return what is wrong."""
    if text in before or steps == 0:
        return [f"a circle: {[*before, text]}"]
    code, advice = world.advice(world.arguments_of(text))
    if code == 0:
        return []
    others = [command for command in dict.fromkeys(advice) if command not in before]
    if not others:
        return [f"'{text}' fails, and advises nothing"]
    return follow(world, others[0], [*before, text], steps - 1)


@pytest.mark.parametrize("state", [*STATES, *OF_FOLDERS])
def test_all_advice_works_and_loses_nothing(world: World, state: str) -> None:
    if state in OF_FOLDERS and world.kind == "memory":
        pytest.skip("documents from memory have no folder")
    (STATES | OF_FOLDERS)[state](world)
    if state in UNREADABLE:
        world.lost = list  # type: ignore[method-assign]  # nothing can be read, so nothing can be lost
    world.keep()
    earlier = set[str]()
    problems = [
        problem for command in world.commands() for problem in problems_of(world, command, earlier)
    ]
    assert problems == []


@contextmanager
def lock(world: World) -> Iterator[None]:
    with FileLock(world.index / "writer.lock"):
        yield


@contextmanager
def full(world: World) -> Iterator[None]:
    """No database can grow, as on a full disk."""
    connect, pages = sqlite3.connect, (world.index / "index.db").stat().st_size // 4096

    def connect_with_limit(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.execute(f"PRAGMA max_page_count = {pages if 'tmp' not in str(args[0]) else 3}")
        return connection

    with mock.patch("sqlite3.connect", connect_with_limit):
        yield


@contextmanager
def read_only(world: World) -> Iterator[None]:
    """The system refuses to write the index, as on a read-only drive."""
    create = os.open

    def refuse(path: Any, flags: int, *args: Any, **options: Any) -> int:
        inside = str(path).startswith(str(world.index))
        if inside and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return create(path, flags, *args, **options)

    with mock.patch("os.open", refuse):
        yield


REFUSALS = {
    "locked": (lock, "Try again when it has finished"),
    "full": (full, "run the command again"),
    "read-only": (read_only, "write access"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_of_the_system_is_not_called_damage_and_the_command_works_later(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, advice = REFUSALS[name]
    monkeypatch.setattr("search.indexing.memory._PATIENCE", 0.1)
    refusals = set()
    lines = (json.dumps({"id": f"n{n}", "text": f"number {n} of the words"}) for n in range(300))
    world.file.write_text("\n".join(lines), encoding="utf-8")
    if world.kind == "folder":
        shutil.copy(world.file, world.folder / "more.jsonl")
    world.keep()
    for command in world.commands():
        world.restore()
        with context(world):
            code, out, err = world.run(*command)
        assert "damaged" not in out + err, (command, out, err)
        if (
            code == 1
            and "from a folder" not in err
            and "belongs to" not in err
            and "belong to" not in err
        ):
            assert advice in err, (command, err)
            assert str(world.index) in err, (command, err)
            assert world.run(*command)[0] == 0, command
            refusals.add(command[0])
        assert world.lost() == []
    assert refusals >= ({"index"} if world.kind == "folder" else {"upsert"})


def test_an_index_without_passages_answers_and_can_be_filled(world: World) -> None:
    if world.kind == "folder":
        for path in sorted(world.folder.rglob("*.*")):
            path.unlink()
        (world.folder / "blank.md").write_text(" ", encoding="utf-8")
        assert world.run("index", world.folder, "--index", "notes")[0] == 1
        assert "no text to index" in world.run("index", "--index", "notes")[2]
        (world.folder / "new.md").write_text("# New\n\nThe door.\n", encoding="utf-8")
    else:
        Index.open("mem").delete(DOCUMENTS)
    world.keep()
    earlier = set[str]()
    problems = [
        problem for command in world.commands() for problem in problems_of(world, command, earlier)
    ]
    assert [problem for problem in problems if " lost " not in problem] == []


@pytest.mark.parametrize("state", [*STATES, *OF_FOLDERS])
def test_check_leads_to_an_index_that_answers(world: World, state: str) -> None:
    """`check` names the command; after it, a query is answered and the check is clean."""
    if state in OF_FOLDERS and world.kind == "memory":
        pytest.skip("documents from memory have no folder")
    if state == "of a later format":
        pytest.skip("only another version of seewhy helps")
    (STATES | OF_FOLDERS)[state](world)
    _, advice = world.advice(["check", "--index", world.name])
    for text in advice:
        assert follow(world, text, [], _MOST_STEPS) == []
    if state == "folder moved":
        assert world.advice(["move", world.name, str(world.folder)])[0] == 0
        world.name = world.folder.name
    assert world.advice(["check", "--index", world.name]) == (0, [])
    code, out, _ = world.run("query", QUESTION, "--index", world.name, "-q")
    assert code == 0
    if state not in UNREADABLE or world.kind == "folder":
        assert "door" in out
