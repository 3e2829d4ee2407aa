from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from search.errors import InputError

from .conftest import Skipped, SourceFile, walk

Tree = Callable[[Mapping[str, "str | bytes"]], Path]

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX names, modes or links")
not_root = pytest.mark.skipif(
    getattr(os, "geteuid", lambda: 1)() == 0, reason="permissions do not bind the superuser"
)


def verdicts(root: Path, **options: object) -> dict[str, str]:
    """Path to "found", or to the reason; a slash behind folders."""
    return {
        item.path + ("/" if isinstance(item, Skipped) and item.is_folder else ""): (
            item.reason if isinstance(item, Skipped) else "found"
        )
        for item in walk(root, **options)  # type: ignore[arg-type]
    }


def test_order_is_by_name_bytes_with_folders_in_their_place(tree: Tree) -> None:
    root = tree(
        {
            "b/z.txt": "",
            "b/a.txt": "",
            "b.txt": "",
            "B.txt": "",
            "é.txt": "",
            "a/x/1.txt": "",
            "c.txt": "",
        }
    )
    paths = [item.path for item in walk(root)]
    assert paths == ["B.txt", "a/x/1.txt", "b/a.txt", "b/z.txt", "b.txt", "c.txt", "é.txt"]


def test_files_are_left_out_by_name_with_a_reason(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.corpus.sources.find_spec", lambda name: name)
    root = tree(
        {
            ".gitignore": "*.log\n",
            "a.log": "",
            "a.md": "",
            "a.pdf": "",
            "a.doc": "",
            "a.png": "",
            "big.txt": "0123456789",
            ".hidden/x.txt": "",
            ".env": "",
            "__pycache__/a.py": "",
            "node_modules/a/b.js": "",
            ".venv/a.py": "",
            "key.pem": "",
        }
    )
    assert verdicts(root, max_bytes=9) == {
        ".env": "secret",
        ".gitignore": "hidden",
        ".hidden/": "hidden",
        ".venv/": "ignored",
        "__pycache__/": "ignored",
        "a.log": "ignored",
        "a.md": "found",
        "a.pdf": "found",
        "a.doc": "document format",
        "a.png": "binary",
        "big.txt": "too large",
        "key.pem": "secret",
        "node_modules/": "ignored",
    }
    details = {item.path: item.detail for item in walk(root, max_bytes=9) if isinstance(item, Skipped)}
    assert details["big.txt"] == "10 bytes; the limit is 9"
    assert details["a.doc"] == "unsupported format; save it as .docx"


def test_include_and_exclude_select_by_pattern(tree: Tree) -> None:
    root = tree(
        {"a.md": "", "a.txt": "", "docs/b.md": "", "docs/old/c.md": "", "x/docs/d.md": "", "img.png": ""}
    )
    assert verdicts(root, include=["*.md"], exclude=["old/"]) == {
        "a.md": "found",
        "a.txt": "excluded",
        "docs/b.md": "found",
        "docs/old/": "excluded",
        "img.png": "excluded",
        "x/docs/d.md": "found",
    }
    assert verdicts(root, include=["/docs/**/*.md"])["x/docs/d.md"] == "excluded"
    assert verdicts(root, include=["docs/"])["docs/old/c.md"] == "found"


@posix_only
def test_generated_files_are_left_out_unless_their_names_are_included(tree: Tree) -> None:
    names = [
        "searchindex.js",
        "genindex-all.html",
        "A.min.css",
        "ca.CRT",
        "poetry.lock",
        "go.sum",
        "a.rst.txt",
    ]
    names += ["jquery.js"]
    root = tree({f"docs/{name}": "" for name in [*names, "index.js", "minutes.html"]})
    assert {name: verdicts(root)[f"docs/{name}"] for name in names} == dict.fromkeys(names, "generated")
    details = [item.detail for item in walk(root) if isinstance(item, Skipped)]
    assert sorted(set(details)) == [
        "certificate", "index of names", "lock file", "minified", "script of a website", "search index",
        "source of a page",
    ]  # fmt: skip
    kept = [name for name in verdicts(root, include=["docs/"]).values() if name == "found"]
    assert len(kept) == 2
    assert verdicts(root, include=["*.lock", "*.html"])["docs/poetry.lock"] == "found"
    assert verdicts(root, include=["*.lock", "*.html"])["docs/genindex-all.html"] == "found"


def test_links_and_pipes_are_left_out_and_names_beyond_utf8_are_read(tree: Tree) -> None:
    root = tree({"real.txt": "x", "folder/a.txt": "x"})
    (root / "link.txt").symlink_to("real.txt")
    (root / "loop").symlink_to(root)
    (root / "dangling").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    expected = {
        "dangling": "symbolic link",
        "folder/a.txt": "found",
        "link.txt": "symbolic link",
        "loop": "symbolic link",
        "pipe": "not a regular file",
        "real.txt": "found",
    }
    if sys.platform == "linux":
        (root / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"x")
        expected["caf\udce9.txt"] = "found"
    assert verdicts(root) == expected


def failing(monkeypatch: pytest.MonkeyPatch, function: str, name: str, error: OSError) -> None:
    """Make one function of `os` fail for paths that end in `name`, as a disk or another user would."""
    real = getattr(os, function)

    def fails(path: str | os.PathLike[str], **more: object) -> object:
        if os.fspath(path).endswith(name):
            raise error
        return real(path, **more)

    monkeypatch.setattr(os, function, fails)


def test_a_folder_that_cannot_be_listed_is_named(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"locked/a.txt": "x", "z.txt": "x"})
    with monkeypatch.context() as patch:
        failing(patch, "scandir", "locked", PermissionError(13, "Permission denied"))
        first = next(iter(walk(root)))
    assert first == Skipped("locked", "unreadable folder", "Permission denied", is_folder=True)


def test_a_folder_that_vanishes_is_left_out(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"gone/a.txt": "x", "z.txt": "x"})
    with monkeypatch.context() as patch:
        failing(patch, "scandir", "gone", FileNotFoundError(2, "No such file"))
        assert verdicts(root) == {"gone/": "vanished", "z.txt": "found"}


def test_a_file_that_vanishes_or_is_out_of_reach_is_left_out(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"a.txt": "x", "b.txt": "x"})
    with monkeypatch.context() as patch:
        failing(patch, "lstat", "a.txt", FileNotFoundError(2, "No such file"))
        assert verdicts(root) == {"a.txt": "vanished", "b.txt": "found"}
    failing(monkeypatch, "lstat", "a.txt", PermissionError(13, "Permission denied"))
    assert verdicts(root) == {"a.txt": "permission denied", "b.txt": "found"}


def test_a_root_that_is_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot list the folder '.*nowhere': No such file"):
        walk(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot list the folder '.*file': Not a directory"):
        walk(tmp_path / "file")


def test_a_string_for_a_list_of_patterns_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a list of patterns"):
        walk(tmp_path, include="*.md")


def test_a_file_has_the_size_time_and_inode_that_the_system_says(tree: Tree) -> None:
    root = tree({"a/b.txt": b"12345"})
    status = (root / "a" / "b.txt").stat()
    (file,) = walk(root)
    assert isinstance(file, SourceFile)
    assert (file.path, Path(file.absolute)) == ("a/b.txt", root / "a" / "b.txt")
    assert (file.size, file.mtime_ns, file.inode) == (5, status.st_mtime_ns, status.st_ino)


def test_a_relative_root_gives_absolute_files(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"docs/a.txt": "x"})
    monkeypatch.chdir(root)
    (file,) = walk(Path("docs"))
    assert isinstance(file, SourceFile)
    assert Path(file.absolute) == root / "docs" / "a.txt"


@posix_only
def test_a_root_that_is_a_link_is_followed(tree: Tree) -> None:
    root = tree({"real/a.txt": "x"})
    (root / "link").symlink_to("real")
    assert verdicts(root / "link") == {"a.txt": "found"}


def test_folders_nested_deeper_than_the_recursion_limit_are_walked(tree: Tree) -> None:
    depth = 60
    root = tree({"/".join(["d"] * depth) + "/a.txt": "x"})
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 50)
    try:
        assert [item.path.count("/") for item in walk(root)] == [depth]
    finally:
        sys.setrecursionlimit(limit)
