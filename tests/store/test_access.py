"""Files of an index that the system refuses to give or to write, and files that are overwritten while they are open."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from search import Index
from tests.cli.test_surroundings import shell
from tests.conftest import skip_or_fail

pytestmark = pytest.mark.skipif(os.name != "posix", reason="these are rights and limits of POSIX")


def test_files_of_a_large_index_are_mapped(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Index.open(indexed).query("turn the key")
    monkeypatch.setattr("search.store.files._MAX_READ", 0)
    assert Index.open(indexed).query("turn the key") == read


def as_a_user(command: str) -> str:
    """A command that the rights of files bind, who may be the superuser here."""
    if os.geteuid() != 0:
        return command
    if not shutil.which("setpriv"):
        skip_or_fail("the superuser needs the program setpriv")
    return command.replace("seewhy", f"setpriv --bounding-set=-all {sys.executable} -m search")


@pytest.mark.parametrize("file", ["index.db", "ann/*.faiss", "ann/*.words"])
def test_files_that_may_not_be_read(indexed: Path, file: str) -> None:
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
def test_an_index_that_may_only_be_read(indexed: Path, read_only: str) -> None:
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
