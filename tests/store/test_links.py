"""Symbolic links inside an index folder: no command writes or deletes through one.

Every name that the program uses is replaced by a link to a decoy: old files of which some have the very names that the
program deletes. Whatever the commands answer, the decoy stays as it was.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from search import Index, IndexDamaged, SearchError

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="Windows lets only administrators make symbolic links"
)

DATABASE, JOURNAL, LOCK, HOLDER = "index.db", "index.db-journal", "writer.lock", "writer.json"
VECTORS, WORK = "ann", "tmp"
OWN_NAMES = {DATABASE, JOURNAL, LOCK, HOLDER, VECTORS, WORK}
FAISS = "g7-0123456789abcdef.faiss"
PLACES = [
    *sorted(OWN_NAMES),
    f"{VECTORS}/{FAISS}",
    *(f"{WORK}/{name}" for name in (DATABASE, JOURNAL, FAISS)),
]

Tree = dict[str, tuple[int, int, int, bytes]]


def tree(top: Path) -> Tree:
    """Everything at and under a path: modes, time stamps, inodes and bytes; links are not followed."""
    paths = {path: path.lstat() for path in [top, *top.rglob("*")]}
    return {
        path.relative_to(top).as_posix(): (
            status.st_mode,
            status.st_mtime_ns,
            status.st_ino,
            path.read_bytes() if stat.S_ISREG(status.st_mode) else b"",
        )
        for path, status in paths.items()
    }


def decoy(place: Path, original: Path) -> Path:
    """A folder of all names that the program writes or deletes, or a file; with what was there before."""
    if original.name not in (VECTORS, WORK):
        place.write_bytes(original.read_bytes() if original.is_file() else b"private")
        os.utime(place, (1, 1))
        return place
    if original.is_dir():
        shutil.copytree(original, place)
    place.mkdir(exist_ok=True)
    for name in (DATABASE, JOURNAL, LOCK, HOLDER, FAISS, "g1-fedcba9876543210.words", "private.txt"):
        (place / name).write_bytes(b"private")
    for path in (*place.iterdir(), place):
        os.utime(path, (1, 1))
    return place


def link(path: Path, outside: Path) -> Path:
    """Replace a name by a link to a decoy outside the index, which is returned."""
    path.parent.mkdir(exist_ok=True)
    target = decoy(outside, path)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
    return target


def readers(notes: Path, index: Path) -> dict[str, Callable[[], object]]:
    return {
        "status": lambda: Index.open(index).status(),
        "query": lambda: Index.open(index).query("find the key"),
        "check": lambda: Index.open(index).check(),
        "preview": lambda: Index.preview(notes, index=str(index)),
    }


def writers(notes: Path, index: Path) -> dict[str, Callable[[], object]]:
    return {
        "index": lambda: Index.build(notes, index=str(index)),
        "repair": lambda: Index.open(index).check(repair=True),
        "rebuild": lambda: Index.build(notes, index=str(index), rebuild=True),
        "move": lambda: Index.open(index).move(notes),
        "remove": lambda: Index.open(index).remove(),
    }


@pytest.fixture
def own(notes: Path, tiny_model: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A folder, and its index; a new file makes the next run write."""
    index = tmp_path / "index"
    Index.build(notes, model=str(tiny_model), index=str(index))
    (notes / "new.txt").write_text("the first word of a long number", encoding="utf-8")
    return notes, index


@pytest.mark.parametrize("place", PLACES)
def test_no_command_follows_a_link(own: tuple[Path, Path], tiny_model: Path, place: str) -> None:
    notes, index = own
    path = index / place
    target = link(path, index.with_name("outside"))
    before = tree(target)
    for name, command in {**readers(notes, index), **writers(notes, index)}.items():
        with suppress(SearchError):
            command()
        assert tree(target) == before, name
        if not os.path.lexists(path):  # the link itself was deleted: it is put back for the next command
            path.parent.mkdir(exist_ok=True, parents=True)
            path.symlink_to(target)
    path.unlink()
    assert Index.build(notes, index=str(index), model=str(tiny_model), rebuild=True).check().ok
    assert tree(target) == before


@pytest.mark.parametrize("place", sorted(OWN_NAMES - {JOURNAL}))
def test_commands_that_write_name_the_link(own: tuple[Path, Path], place: str) -> None:
    notes, index = own
    link(index / place, index.with_name("outside"))
    for name in ("index", "rebuild", "remove"):
        with pytest.raises(IndexDamaged, match=rf"{place}' is a symbolic link"):
            writers(notes, index)[name]()


def test_the_index_folder_itself_may_be_a_link(own: tuple[Path, Path], tmp_path: Path) -> None:
    notes, index = own
    (tmp_path / "way").symlink_to(index, target_is_directory=True)
    for commands in (readers, writers):
        for command in commands(notes, tmp_path / "way").values():
            command()
    assert (tmp_path / "way").is_symlink()


@pytest.mark.parametrize(("place", "command"), [(VECTORS, "repair"), (WORK, "index")])
def test_the_decoys_change_where_links_are_not_looked_for(
    own: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, place: str, command: str
) -> None:
    """A planted defect: without the look at links the same decoys are changed."""
    notes, index = own
    target = link(index / place, index.with_name("outside"))
    before = tree(target)
    for module in ("files", "segments"):
        monkeypatch.setattr(f"search.store.{module}.require_no_link", lambda path: None)
    with suppress(SearchError, OSError):
        writers(notes, index)[command]()
    assert tree(target) != before
