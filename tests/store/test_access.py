"""Files of an index that the system refuses to give or to write, and files that are overwritten while they are open."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from search import Index
from tests.cli.test_surroundings import shell
from tests.conftest import REPOSITORY, Run, skip_or_fail

pytestmark = pytest.mark.skipif(os.name != "posix", reason="these are rights and limits of POSIX")


def test_files_of_a_large_index_are_mapped(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hits = Index.open(indexed).query("turn the key")
    monkeypatch.setattr("search.store.files._MAX_READ", 0)
    assert Index.open(indexed).query("turn the key") == hits


def as_a_user(command: str) -> str:
    """A command that the rights of files bind, who may be the superuser here."""
    if os.geteuid() != 0:
        return command
    if not shutil.which("setpriv"):
        skip_or_fail("the superuser needs the program setpriv")
    return command.replace("seewhy", f"setpriv --bounding-set=-all {sys.executable} -m search")


@pytest.mark.parametrize("file", ["index.db", "ann/*.faiss", "ann/*.words"])
def test_an_unreadable_file_is_an_error_that_names_it(indexed: Path, file: str) -> None:
    index = Index.open(indexed).path
    (path,) = index.glob(file)
    path.chmod(0)
    for command in (
        "seewhy check",
        "seewhy check --repair",
        *(["seewhy query key"] if "faiss" not in file else []),
    ):
        code, out, err = shell(as_a_user(command))
        assert (code, out) == (1, "")
        assert f"'{path}': Permission denied. You need read access to the folder '{index}'" in err


@pytest.mark.parametrize("read_only", [".", "writer.lock"])
def test_a_read_only_index_answers_and_refuses_to_be_changed(indexed: Path, read_only: str) -> None:
    index = Index.open(indexed).path
    (index / read_only).chmod(0o500 if read_only == "." else 0o400)
    try:
        assert shell(as_a_user("seewhy query key"))[0] == 0
        code, _, err = shell(as_a_user("seewhy index -i notes"))
    finally:
        index.chmod(0o700)
    assert code == 1
    assert f"Permission denied. You need read access to the folder '{index}'" in err
    assert "write access to change it. Ask its owner, or build your own: seewhy index" in err


QUERY_TWICE = """
import os, sys
import search
index = search.Index.open(sys.argv[1])
before = index.query("turn the key")
for path in index.path.glob("ann/*"):
    os.truncate(path, 0)
assert index.query("turn the key") == before
assert index.query("a long sound")[0].document == "table.csv#2"
"""


def test_files_truncated_while_open_crash_no_process(indexed: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-c", QUERY_TWICE, indexed], capture_output=True, text=True, cwd=REPOSITORY
    )
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python does not tell how SQLite failed")
def test_a_limit_of_file_sizes_is_named_and_the_index_stays_sound(run: Run, indexed: Path) -> None:
    for number in range(30):
        (indexed / f"{number}.txt").write_text(f"The door is number {number}. " * 400, encoding="utf-8")
    code, _, err = shell("ulimit -f 600; seewhy index -q -i notes")
    assert (code, err.count("\n")) == (1, 1)
    assert "cannot write '" in err and "index.db'" in err
    assert "Free some space" in err
    assert run("check", "-i", "notes")[0] == 0
