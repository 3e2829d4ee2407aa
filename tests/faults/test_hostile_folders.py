"""Folders that nobody would make on purpose, or that somebody made to do harm, indexed by the real command.

Each test asks the same: does it end with the right exit code and without a traceback, is everything that was
left out counted under a reason with its name escaped, and are the other files found all the same?
"""

import json
import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from search import Index
from search.cli.app import main
from search.corpus import Contents, SourceFile, load

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX names, pipes or links")
linux_only = pytest.mark.skipif(
    sys.platform != "linux", reason="needs a file system that takes any bytes"
)

GOOD = "The key is in the water."
OLD_NS = 10**18  # a time stamp long enough ago to be trusted


class Folder:
    """A folder with one good file, the command that indexes it, and what that said."""

    def __init__(self, path: Path, model: Path, capsys: pytest.CaptureFixture[str], patch: Any) -> None:
        self.path, self.model, self._capsys, self._patch = path, model, capsys, patch
        path.mkdir()
        self.write("good.md", GOOD)

    def write(self, name: str, content: str | bytes) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        os.utime(file, ns=(OLD_NS, OLD_NS))
        return file

    def command(self, *args: Any) -> tuple[int, str, str]:
        self._capsys.readouterr()
        self._patch.setattr("sys.argv", ["seewhy", *map(str, args)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err
        for text in (out, err):
            assert not any(ord(character) < 32 and character not in "\n\t" for character in text)
        return code, out, err

    def index(self) -> dict[str, Any]:
        """Index it; the good file must be found, and what the report says is what `status` says."""
        code, out, err = self.command("index", self.path, "--model", self.model, "--json")
        assert (code, err) == (0, "")
        report: dict[str, Any] = json.loads(out)
        code, out, err = self.command("status", "-i", self.path, "--json")
        assert (code, err) == (0, "")
        assert json.loads(out)["skipped"] == report["skipped"]
        for command in (
            ["status", "-i", self.path],
            ["index", self.path],
            ["query", "key", "-i", self.path],
        ):
            code, out, err = self.command(*command)
            assert code == 0
        assert str(self.path / "good.md") in self.hit_paths(GOOD)
        return report

    def hit_paths(self, question: str, k: int = 20) -> list[str]:
        code, out, _ = self.command("query", question, "-i", self.path, "-k", k, "--json", "--all-copies")
        assert code == 0
        return [hit["path"] for hit in json.loads(out)]


def reasons(report: dict[str, Any]) -> dict[str, list[str]]:
    """Reason -> the examples, without their details."""
    examples = {}
    for group in report["skipped"]:
        assert len(group["examples"]) == min(group["count"], 5)
        examples[group["reason"]] = [example.split(" (")[0] for example in group["examples"]]
    return examples


@pytest.fixture
def folder(
    tmp_path: Path,
    tiny_model: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Folder:
    return Folder(tmp_path / "hostile", tiny_model, capsys, monkeypatch)


def test_contents_that_are_no_text_are_skipped_with_a_reason(folder: Folder) -> None:
    for name, content in {
        "nothing.txt": b"",
        "blank.md": b" \n\t\r\n ",
        "mark.txt": b"\xef\xbb\xbf",
        "mark16.txt": b"\xff\xfe",
        "nul.txt": b"a text with a \0 in it",
        "picture.txt": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 8,
        "program.md": b"\x7fELF\x02\x01\x01" + bytes(64),
        "controls.txt": bytes(range(1, 32)) * 10,
        "broken.txt": "größer ".encode() * 30 + b"\xff\xfe\xfa\x80 \x81\x8d\x8f\x90\x9d" * 20,
    }.items():
        folder.write(name, content)
    report = folder.index()
    examples = reasons(report)
    assert examples["empty"] == ["blank.md", "mark.txt", "mark16.txt", "nothing.txt"]
    assert set(examples["binary"]) >= {"nul.txt", "picture.txt", "program.md", "controls.txt"}
    assert report["documents"] == 1 + 9 - sum(group["count"] for group in report["skipped"])


def test_a_single_long_line_is_cut_into_passages(folder: Folder) -> None:
    folder.write("long.csv", "text\n" + "the door and the lock " * 5_000)
    report = folder.index()
    assert (report["skipped"], report["truncated_tokens"]) == ([], 0)
    assert report["passages"] > 250


def test_damaged_records_are_skipped_and_the_others_found(folder: Folder) -> None:
    long_name = "k" * 100_000
    folder.write("half.jsonl", '{"\\ud800": "the key \\udfff"}\n{"\\ud800": ""}\n')
    folder.write(
        "long.jsonl", json.dumps({long_name: "water"}) + f"\n{json.dumps({long_name: 1.5})}\n[]\n{{"
    )
    folder.write("deep.jsonl", "[" * 200_000)
    folder.write(
        "number.jsonl", '{"text": "sound", "n": ' + "1" * 10_000 + "}\n" + '{"text": "sound", "n": NaN}'
    )
    folder.write("wide.csv", "x\t" * 100_000)
    folder.write("quotes.csv", "a,b\n" + 'x","\n' * 5_000 + '"\n')
    report = folder.index()
    for group in report["skipped"]:
        for example in group["examples"]:
            assert len(example) < 300
    assert {group["reason"]: group["count"] for group in report["skipped"]}["damaged"] > 3
    assert any("half.jsonl" in path for path in folder.hit_paths("key"))


def indexed_passages(folder: Folder, name: str) -> list[str]:
    """The passages of a file as they are in the index."""
    hits = Index.open(folder.path).query("text", k=1000)
    return [hit.text for hit in sorted(hits, key=lambda hit: hit.start) if Path(hit.path).name == name]


# What is no file.


@posix_only
@pytest.mark.timeout(60)
def test_pipes_sockets_and_devices_are_never_opened(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [".gitignore", "pipe.txt", "socket.txt"]
    for name in names[:2]:
        os.mkfifo(folder.path / name)
    monkeypatch.chdir(folder.path)  # the path of a socket is a hundred bytes at most
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.txt")
        if hasattr(os, "mknod") and os.geteuid() == 0:
            try:
                os.mknod("zero.txt", stat.S_IFCHR | 0o666, os.makedev(1, 5))
                names.append("zero.txt")
            except PermissionError:  # a container that is not allowed to
                pass
        assert reasons(folder.index()) == {"not a regular file": names}


@pytest.mark.timeout(60)
def test_hostile_ignore_patterns_are_matched_in_time(folder: Folder) -> None:
    folder.write(".gitignore", "*a" * 60 + "*b\n" + "**/a/" * 30 + "b\n" + "?*" * 50 + "b\n*.log\n")
    folder.write("a" * 200 + ".txt", "some text")
    folder.write("a/" * 60 + "c.txt", "more text")
    folder.write("a.log", "a log")
    report = folder.index()
    assert reasons(report) == {"hidden": [".gitignore"], "ignored": ["a.log"]}


@posix_only
def test_links_are_not_followed(folder: Folder) -> None:
    outside = folder.path.parent / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("the key of the door", encoding="utf-8")
    for name, target in {
        "loop": ".",
        "self.md": "self.md",
        "ping": "pong",
        "pong": "ping",
        "out": outside,
        "file.md": outside / "secret.md",
        "dangling.md": "nowhere",
        "zero.txt": "/dev/zero",
    }.items():
        (folder.path / name).symlink_to(target)
    report = folder.index()
    assert (report["documents"], [group["count"] for group in report["skipped"]]) == (1, [8])
    assert set(reasons(report)) == {"symbolic link"}
    assert folder.hit_paths("the key of the door") == [str(folder.path / "good.md")]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(13, "Permission denied"), "permission denied"),
        (OSError(5, "I/O error"), "unreadable file"),
    ],
)
def test_an_unreadable_file_is_skipped_and_keeps_its_passages(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, error: OSError, reason: str
) -> None:
    folder.write("closed.txt", "the door is open")
    folder.index()
    folder.write("closed.txt", "the door is shut now")
    real = os.open

    def deny(path: Any, *args: Any, **options: Any) -> int:
        if Path(os.fsdecode(path)).name == "closed.txt":
            raise error
        return real(path, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr("search.corpus.sources.os.open", deny)
        assert reasons(folder.index()) == {reason: ["closed.txt"]}
        assert indexed_passages(folder, "closed.txt") == ["the door is open"]
    assert folder.index()["skipped"] == []
    assert indexed_passages(folder, "closed.txt") == ["the door is shut now"]


# Names.


def strange_names() -> Iterator[bytes]:
    yield b"new\nline.txt"
    yield b"\x1b[31mred\x1b]0;title\x07.txt"
    yield b"\xff\xfe lone \xed\xa0\x80.txt"
    yield "\u202etxt.drowssap.txt".encode()
    yield b"-rf --all.txt"
    yield b" space .txt "
    yield b"dot.txt."
    yield b"back\\slash.txt"
    yield b"hash#3.txt"
    yield b"%00'\";--.txt"
    yield b"[bold]markup[].txt"
    yield b"c\rarriage.txt"
    yield b"x" * 251 + b".txt"


@linux_only
def test_files_of_every_name_are_indexed(folder: Folder) -> None:
    names = list(strange_names())
    place = os.fsencode(folder.path) + b"/"
    for number, name in enumerate(names):
        content = f"the door number {number}".encode() if number % 2 else b"no\0text"
        Path(os.fsdecode(place + name)).write_bytes(content)
    report = folder.index()
    assert report["documents"] == 1 + len(names) // 2
    assert sum(group["count"] for group in report["skipped"]) == len(names) - len(names) // 2
    paths = {os.fsencode(path) for path in folder.hit_paths("the door number", 100)}
    assert paths == {place + name for name in (b"good.md", *names[1::2])}
    for folder_name in (b"sub\n\x1b[2J\xff", "\u202eback".encode()):
        sub = Path(os.fsdecode(place + folder_name))
        sub.mkdir()
        (sub / "a.txt").write_text("the model and the token", encoding="utf-8")
    assert folder.index()["added"] == 2


def during(folder: Folder, monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[], Any]) -> None:
    """Have `change` happen between the walk and the reading of a file, once."""
    changes = [change]

    def load_after(file: SourceFile) -> Contents:
        if file.path == name and changes:
            changes.pop()()
        return load(file)

    monkeypatch.setattr("search.indexing.read.load", load_after)


@pytest.mark.parametrize("text", ["short", "same size, xxxxx"])
def test_a_file_that_changes_before_it_is_read_has_its_new_text(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    file = folder.write("a.txt", "as it was at 1st")
    during(folder, monkeypatch, "a.txt", lambda: file.write_text(text, encoding="utf-8"))
    folder.index()
    folder.index()
    assert indexed_passages(folder, "a.txt") == [text]
    assert folder.index()["unchanged"] == 2


def test_a_file_that_changes_after_it_was_read_is_read_again(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, writes = folder.write("a.txt", "as it was at 1st"), []

    def load_before(source: SourceFile) -> Contents:
        contents = load(source)
        if source.path == "a.txt" and not writes:
            writes.append(file.write_text("and later, words", encoding="utf-8"))
        return contents

    monkeypatch.setattr("search.indexing.read.load", load_before)
    code, _, _ = folder.command("index", folder.path, "--model", folder.model)
    assert (code, indexed_passages(folder, "a.txt")) == (0, ["as it was at 1st"])
    folder.index()
    assert indexed_passages(folder, "a.txt") == ["and later, words"]


def test_a_file_that_vanishes_for_a_moment_is_kept(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, aside = folder.write("a.txt", "the door is open"), folder.path.parent / "aside"
    folder.index()
    os.utime(file, ns=(OLD_NS + 1, OLD_NS + 1))
    during(folder, monkeypatch, "a.txt", lambda: file.rename(aside))
    code, out, _ = folder.command("index", folder.path, "--json")
    assert (code, reasons(json.loads(out))) == (0, {"vanished": ["a.txt"]})
    assert indexed_passages(folder, "a.txt") == ["the door is open"]
    aside.rename(file)  # with the time stamp, size and inode that it had
    assert folder.index()["skipped"] == []
    assert indexed_passages(folder, "a.txt") == ["the door is open"]
    file.unlink()
    assert folder.index()["removed"] == 1


def test_a_new_file_that_vanishes_for_a_moment_is_read_when_it_is_back(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, aside = folder.write("a.txt", "the door is open"), folder.path.parent / "aside"
    during(folder, monkeypatch, "a.txt", lambda: file.rename(aside))
    code, out, _ = folder.command("index", folder.path, "--json", "--model", folder.model)
    assert (code, reasons(json.loads(out))) == (0, {"vanished": ["a.txt"]})
    aside.rename(file)
    folder.index()
    assert indexed_passages(folder, "a.txt") == ["the door is open"]


@posix_only
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("kind", "reason"),
    [("pipe", "not a regular file"), ("link", "symbolic link"), ("folder", "unreadable file")],
)
def test_a_file_that_becomes_something_else_before_it_is_read_is_skipped(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, kind: str, reason: str
) -> None:
    file, outside = folder.write("a.txt", "the door is open"), folder.path.parent / "secret.txt"
    outside.write_text("a secret", encoding="utf-8")
    make: dict[str, Callable[[], Any]] = {
        "pipe": lambda: os.mkfifo(file),
        "link": lambda: file.symlink_to(outside),
        "folder": file.mkdir,
    }
    during(folder, monkeypatch, "a.txt", lambda: (file.unlink(), make[kind]()))
    code, out, _ = folder.command("index", folder.path, "--json", "--model", folder.model)
    assert (code, reasons(json.loads(out))) == (0, {reason: ["a.txt"]})
    assert indexed_passages(folder, "a.txt") == []
    if kind == "folder":
        file.rmdir()
    else:
        file.unlink()
    folder.write("a.txt", "the door is open")
    assert folder.index()["skipped"] == []


@posix_only
@pytest.mark.timeout(60)
def test_a_pipe_in_place_of_an_ignore_file_is_not_read(folder: Folder) -> None:
    folder.write("deep/a.txt", "the door is open")
    os.mkfifo(folder.path / "deep" / ".gitignore")
    assert reasons(folder.index()) == {"not a regular file": ["deep/.gitignore"]}


@linux_only
@pytest.mark.parametrize("name", [b"caf\xe9", b"new\n\x1b[31mline"])
def test_a_root_with_a_strange_name_is_indexed(folder: Folder, name: bytes) -> None:
    root = folder.path.parent / os.fsdecode(name)
    folder.path.rename(root)
    folder.path = root
    assert folder.index()["documents"] == 1


@posix_only
def test_a_path_that_is_too_long_for_the_system_is_skipped_and_counted(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.path)
    for _ in range(20):
        Path("d" * 250).mkdir()
        os.chdir("d" * 250)
    Path("deep.txt").write_text("never reached", encoding="utf-8")
    os.chdir(folder.path)
    report = folder.index()
    assert report["documents"] == 1
    assert [(group["reason"], group["count"]) for group in report["skipped"]] == [("unreadable file", 1)]
