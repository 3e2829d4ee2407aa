"""Symbolic links inside an index folder: no command follows one, so nothing that they name is changed.

An index may lie where others can write. Every name that the program uses is replaced by a link to a decoy, old files
of which some have the very names that the program deletes; whatever the commands answer, the decoy stays as it was.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from search import Index, IndexDamaged, SearchError
from search.indexing.check import check
from search.indexing.repair import repair
from search.store import database, files, sealing, segments
from search.store.files import (
    DATABASE,
    HOLDER,
    JOURNAL,
    LOCK,
    OWN_NAMES,
    VECTORS,
    WORK,
    is_being_written,
    remove_index,
    writer_lock,
)
from tests.store import damage

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="Windows lets only administrators make symbolic links"
)

FAISS = "g7-0123456789abcdef.faiss"
BESIDE = f"{VECTORS}/{FAISS}"
NAMED = f"{VECTORS}/the one that index.db names"
PLACES = [*sorted(OWN_NAMES), NAMED, BESIDE, *(f"{WORK}/{name}" for name in (DATABASE, JOURNAL, FAISS))]

MAGIC = bytes.fromhex("d9d505f920a163d7")  # of a journal of SQLite

Tree = dict[str, tuple[int, int, int, bytes]]


def tree(top: Path) -> Tree:
    """Everything at and under a path: modes, time stamps, inodes and bytes; links are not followed."""
    found = {}
    for path in [top, *top.rglob("*")] if os.path.lexists(top) else []:
        seen = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(seen.st_mode) else b""
        found[path.relative_to(top).as_posix()] = (seen.st_mode, seen.st_mtime_ns, seen.st_ino, content)
    return found


def aged(top: Path) -> Path:
    """Old, so that whatever is written there shows in a time stamp."""
    for path in sorted(top.rglob("*"), reverse=True):
        os.utime(path, (1, 1))
    os.utime(top, (1, 1))
    return top


def decoy_folder(place: Path, original: Path) -> Path:
    """A folder of all names that the program writes or deletes, and of others; with what was there before."""
    if original.is_dir():
        shutil.copytree(original, place)
    for folder in (place, place / VECTORS, place / WORK, place / "deep" / "deeper"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in (DATABASE, JOURNAL, LOCK, HOLDER, FAISS, "g1-fedcba9876543210.faiss", "private.txt"):
            (folder / name).write_bytes(b"private")
    return aged(place)


def decoy_file(place: Path, original: Path) -> Path:
    """What was there before, else some text."""
    place.write_bytes(original.read_bytes() if original.is_file() else b"private")
    return aged(place)


def nothing(place: Path, original: Path) -> Path:
    """A link to nowhere: a file that was made through it would be there afterwards."""
    return place


def at(index: Path, place: str) -> Path:
    return damage.faiss_file(index) if place == NAMED else index / place


def outside(index: Path) -> Path:
    return index.parent.parent / "outside"


def link(path: Path, decoy: Callable[[Path, Path], Path], place: Path) -> Path:
    """Replace a name by a link to a decoy outside the index, which is returned."""
    path.parent.mkdir(exist_ok=True)
    target = decoy(place, path)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
    return target


def commands(notes: Path, index: Path) -> dict[str, Callable[[], object]]:
    def write() -> None:
        with writer_lock(index):
            pass

    return {
        "status": lambda: Index.open(index).status(),
        "query": lambda: Index.open(index).query("find the key"),
        "check": lambda: check(index, verify=True),
        "check of an open index": lambda: Index.open(index).check(),
        "is a run under way": lambda: is_being_written(index),
        "lock": write,
        "repair, dry": lambda: repair(index, folder=notes, dry_run=True),
        "index": lambda: Index.build(notes, index=str(index)),
        "repair": lambda: repair(index, folder=notes),
        "update": lambda: Index.open(index).update(folder=notes),
        "preview": lambda: Index.preview(notes, index=str(index)),
        "rebuild": lambda: Index.build(notes, index=str(index), rebuild=True),
        "move": lambda: Index.open(index).move(notes),
    }


def all_commands(notes: Path, index: Path) -> dict[str, Callable[[], object]]:
    """Also that behind which there is no index any more."""
    return {**commands(notes, index), "remove": lambda: remove_index(index)}


@pytest.fixture
def own(notes: Path, tiny_model: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A folder, and its index in `kept/index`; a new file makes the next run write."""
    index = tmp_path / "kept" / "index"
    index.parent.mkdir()
    Index.build(notes, model=str(tiny_model), index=str(index))
    (notes / "new.txt").write_text("the first word of a long number", encoding="utf-8")
    return notes, index


@pytest.mark.parametrize("decoy", [decoy_folder, decoy_file, nothing])
@pytest.mark.parametrize("place", PLACES)
def test_no_command_follows_a_link(
    own: tuple[Path, Path], tiny_model: Path, place: str, decoy: Callable[[Path, Path], Path]
) -> None:
    notes, index = own
    path = at(index, place)
    target = link(path, decoy, outside(index))
    before = tree(target)
    for name, command in all_commands(notes, index).items():
        with suppress(SearchError):
            command()
        assert tree(target) == before, name
        if place in OWN_NAMES:
            assert path.is_symlink(), name
        elif not os.path.lexists(path):  # the link itself was deleted: it is put back for the next command
            path.parent.mkdir(exist_ok=True, parents=True)
            path.symlink_to(target)
    path.unlink()
    Index.build(notes, index=str(index), model=str(tiny_model), rebuild=True)
    assert check(index).ok
    assert tree(target) == before


@pytest.mark.parametrize("place", sorted(OWN_NAMES))
def test_who_would_write_is_told_which_name_is_a_link(own: tuple[Path, Path], place: str) -> None:
    notes, index = own
    link(index / place, decoy_folder if place in (VECTORS, WORK) else decoy_file, outside(index))
    for name in ("lock", "index", "repair", "update", "rebuild", "move", "remove"):
        with pytest.raises(IndexDamaged, match=rf"{place}' is a link"):
            all_commands(notes, index)[name]()


@pytest.mark.parametrize("linked", [True, False])
def test_the_index_folder_itself_may_be_a_link(own: tuple[Path, Path], tmp_path: Path, linked: bool) -> None:
    notes, index = own
    decoy_folder(index.parent / VECTORS, Path("nowhere"))
    decoy_folder(index.parent / WORK, Path("nowhere"))
    for name in (DATABASE, JOURNAL, LOCK, HOLDER, FAISS):
        (index.parent / name).write_bytes(b"private")
    way = tmp_path / "ways" / "link"
    shutil.copytree(index.parent, way.parent, ignore=shutil.ignore_patterns("index"))
    way.symlink_to(index, target_is_directory=True)
    around = [aged(path) for top in (index.parent, way.parent) for path in top.iterdir() if path != index]
    before = [tree(path) for path in around if path != way]
    names = [sorted(path.name for path in top.iterdir()) for top in (index.parent, way.parent)]
    for command in commands(notes, way if linked else index).values():
        command()
    assert [tree(path) for path in around if path != way] == before
    assert [sorted(path.name for path in top.iterdir()) for top in (index.parent, way.parent)] == names
    assert way.is_symlink()


def test_an_index_folder_that_is_a_link_to_nowhere(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with suppress(SearchError):
        Index.build(notes, model=str(tiny_model), index=str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()


def test_a_folder_with_the_name_of_a_faiss_file_is_no_leftover_to_delete(own: tuple[Path, Path]) -> None:
    notes, index = own
    inside = decoy_folder(index / BESIDE, Path("nowhere"))
    before = tree(inside)
    for command in commands(notes, index).values():
        command()
    assert tree(inside) == before
    assert check(index).ok


def left_by_a_killed_writer(index: Path, victim: Path) -> bytes:
    """A journal that SQLite rolls back, and that names a file as SQLite does in a transaction over several."""
    code = """if True:
        import os, sqlite3, sys
        connection = sqlite3.connect(sys.argv[1], isolation_level=None)
        connection.executescript("PRAGMA cache_size = 1; BEGIN; CREATE TABLE many (a);")
        connection.executemany("INSERT INTO many VALUES (?)", [("x" * 3000,)] * 99)
        connection.execute("UPDATE files SET size = size + 1")
        connection.execute("UPDATE many SET a = 'y' || a")
        os._exit(0)"""
    subprocess.run([sys.executable, "-c", code, index / DATABASE], check=True)
    journal, name = (index / JOURNAL).read_bytes(), os.fsencode(victim)
    assert journal.startswith(MAGIC)
    page = struct.unpack(">H", (index / DATABASE).read_bytes()[16:18])[0]
    end = struct.pack(">II", len(name), sum(byte - 256 * (byte > 127) for byte in name) % 2**32)
    return journal + struct.pack(">I", 0x40000000 // page + 1) + name + end + MAGIC


@pytest.mark.parametrize("command", ["status", "query", "check", "index", "repair", "rebuild"])
def test_a_journal_that_names_a_file_deletes_nothing(own: tuple[Path, Path], command: str) -> None:
    notes, index = own
    victim = outside(index)
    victim.write_bytes(b"private\0")
    before = tree(victim)
    (index / JOURNAL).write_bytes(left_by_a_killed_writer(index, victim))
    with suppress(SearchError):
        commands(notes, index)[command]()
    assert tree(victim) == before
    if command == "rebuild":
        assert check(index).ok
    else:
        with pytest.raises(IndexDamaged, match="names another file"):
            Index.open(index)


def test_that_journal_would_delete_it(own: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    _, index = own
    victim = outside(index)
    victim.write_bytes(b"private\0")
    (index / JOURNAL).write_bytes(left_by_a_killed_writer(index, victim))
    monkeypatch.setattr(database, "_names_a_file", lambda journal: False)
    Index.open(index).status()
    assert not victim.exists()


@pytest.mark.parametrize(("place", "command"), [(VECTORS, "repair"), (WORK, "index")])
def test_the_decoys_would_show_it(
    own: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, place: str, command: str
) -> None:
    """A planted defect: without the look at links the same decoys are changed."""
    notes, index = own
    target = link(index / place, decoy_folder, outside(index))
    before = tree(target)
    links_trusted(monkeypatch)
    monkeypatch.setattr(files, "_CAN_HOLD", False)
    with suppress(SearchError, OSError):
        commands(notes, index)[command]()
    assert tree(target) != before


def links_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (files, sealing, segments):
        monkeypatch.setattr(module, "require_no_link", lambda path, **_: None)
    monkeypatch.setattr(files, "require_own_names", lambda index: None)


@pytest.mark.parametrize("place", [VECTORS, WORK])
@pytest.mark.parametrize("can_hold", [True, False])
def test_a_link_that_is_put_there_after_the_look_deletes_nothing(
    own: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, place: str, can_hold: bool
) -> None:
    """Where the system can hold a folder open; elsewhere the decoys show that it can be done."""
    _, index = own
    target = link(index / place, decoy_folder, outside(index))
    before = tree(target)
    links_trusted(monkeypatch)
    monkeypatch.setattr(files, "_CAN_HOLD", files._CAN_HOLD and can_hold)
    with suppress(OSError):
        files.delete_leftovers(index, ())
    assert (tree(target) == before) == can_hold


def test_a_journal_that_grows_while_it_is_looked_at_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer may go on with it between the look at its size and at its end."""
    from search.store import database

    journal = tmp_path / "index.db-journal"
    journal.write_bytes(b"\0" * 100)
    before = journal.stat()
    journal.write_bytes(b"\0" * 300)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", lambda _: before)
        assert not database._names_a_file(journal)
