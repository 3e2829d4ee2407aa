"""Lines of ignore files; files by hand, and random ones against git itself."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from .conftest import Skipped, SourceFile, walk

Tree = Callable[[Mapping[str, "str | bytes"]], Path]


def file_paths(root: Path) -> list[str]:
    return [item.path for item in walk(root) if isinstance(item, SourceFile)]


def test_negation_anchors_and_folder_patterns_are_followed(tree: Tree) -> None:
    root = tree(
        {
            ".gitignore": "*.log\n!keep.log\n/top.txt\nbuild/\ndoc/*.txt\n# comment\n\\#odd\n\n",
            "a.log": "",
            "keep.log": "",
            "top.txt": "",
            "sub/top.txt": "",
            "build/keep.log": "",
            "sub/build": "",
            "doc/a.txt": "",
            "doc/deep/a.txt": "",
            "#odd": "",
        }
    )
    assert file_paths(root) == ["doc/deep/a.txt", "keep.log", "sub/build", "sub/top.txt"]


def test_deeper_files_win_and_are_relative_to_their_folder(tree: Tree) -> None:
    root = tree(
        {
            ".gitignore": "*.txt\n",
            "a.txt": "",
            "sub/.gitignore": "!*.txt\n/only.txt\n",
            "sub/a.txt": "",
            "sub/only.txt": "",
            "sub/deep/only.txt": "",
        }
    )
    assert file_paths(root) == ["sub/a.txt", "sub/deep/only.txt"]


def test_ignore_and_seewhyignore_beat_gitignore(tree: Tree) -> None:
    root = tree(
        {
            ".gitignore": "c.txt\nd.txt\n",
            ".ignore": "!c.txt\n",
            ".seewhyignore": "!d.txt\ne.txt\n",
            **{f"{letter}.txt": "" for letter in "cdef"},
        }
    )
    assert file_paths(root) == ["c.txt", "d.txt", "f.txt"]


def test_a_folder_ignored_by_default_can_be_included_again(tree: Tree) -> None:
    root = tree(
        {
            ".seewhyignore": "!venv/\n*.tmp\n",
            "venv/a.txt": "",
            "venv/b.tmp": "",
            "node_modules/a.txt": "",
        }
    )
    assert file_paths(root) == ["venv/a.txt"]


def test_an_ignored_folder_is_one_item(tree: Tree) -> None:
    root = tree({".gitignore": "out\n", "out/a.txt": "", "out/b/c.txt": "", "z.txt": ""})
    assert Skipped("out", "ignored", is_folder=True) in list(walk(root))
    assert file_paths(root) == ["z.txt"]


def test_patterns_are_read_despite_crlf_a_byte_order_mark_and_invalid_lines(tree: Tree) -> None:
    root = tree(
        {
            ".gitignore": b"\xef\xbb\xbf*.log\r\n!\r\nfoo\\\r\n*.tmp",
            "a.log": "",
            "a.tmp": "",
            "a.txt": "",
        }
    )
    assert file_paths(root) == ["a.txt"]


def test_a_folder_whose_ignore_file_cannot_be_read_is_not_entered(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"a/.gitignore": "*.log\n", "a/a.log": "", "b.txt": ""})

    def fails(path: Path, max_bytes: int) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("search.corpus.patterns.regular_bytes", fails)
    first = Skipped("a", "unreadable folder", "Permission denied", is_folder=True)
    assert [item.path if item != first else item for item in walk(root)] == [first, "b.txt"]


NAMES = ["a", "b", "ab", "c.txt", "d.log", "a b"]
PATTERNS = (
    "!*.*|[b-d]*|[^a]*|\\a|a*b|***|a/**/*|**|**/|!**/c.txt|*.*/|a\\|/**/b|a|b|/a|a/|/b/|*|/*|!a|!/a|!b/|!*.txt|"
    "*.txt|*.log|a/b|/a/*|!/a/b|**/b|a/**|a/**/b|!a/**/c.txt|?b|[ab]|[!a]|*b|a*/|!*/|b/*|!ab|a b|a/*/b|[]b]|\\!a"
).split("|")


def random_tree(chance: random.Random, root: Path) -> None:
    for _ in range(25):
        path = root.joinpath(*(chance.choice(NAMES) for _ in range(chance.randint(1, 4))))
        if not any(parent.is_file() for parent in [path, *path.parents]) and not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x")
    folders = [root, *sorted(path for path in root.rglob("*") if path.is_dir())]
    for folder in [root, *chance.sample(folders, min(2, len(folders)))]:
        lines = chance.choices(PATTERNS, k=chance.randint(1, 5))
        (folder / ".gitignore").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("seed", range(12))
def test_files_are_those_that_git_lists(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    random_tree(chance, tmp_path)
    git = ["git", "-c", "core.excludesFile=", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    result = subprocess.run(
        [*git, "ls-files", "-z", "--others", "--exclude-standard"], capture_output=True, check=True
    )
    expected = {name for name in result.stdout.decode().split("\0") if name and ".gitignore" not in name}
    assert set(file_paths(tmp_path)) == expected
