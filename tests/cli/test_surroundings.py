"""Odd surroundings of a command: full streams, arguments that are no text, no memory, no home, no folder."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, Run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="these are surroundings of POSIX")


def shell(script: str, cwd: Path = REPOSITORY, **environment: str) -> tuple[int, str, str]:
    """Run a script in which "seewhy" is the real command: exit code, stdout, stderr."""
    python = f'seewhy() {{ {shlex.quote(sys.executable)} -m search "$@"; }}\n'
    paths = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.run(
        ["sh", "-c", python + script],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1", **environment},
        capture_output=True,
        timeout=120,
    )
    out, err = process.stdout.decode(), process.stderr.decode()
    assert "Traceback" not in err, err
    assert "Exception ignored" not in err, err
    return process.returncode, out, err


def test_a_query_of_invalid_bytes_is_refused_in_one_line(run: Run, indexed: Path) -> None:
    odd = os.fsdecode(b"ab\xff")
    for command in (
        ("query", odd), ("query", odd, "-m", "lexical"), ("explain", odd),
        ("similarity", "a", odd),
    ):  # fmt: skip
        code, out, err = run(*command)
        assert (code, out) == (1, ""), command
        assert "contains bytes that are not valid text. Remove them." in err
        assert err.count("\n") == 1


def test_a_file_with_the_name_of_the_package_does_not_shadow_it(
    run: Run, indexed: Path, tmp_path: Path
) -> None:
    (tmp_path / "search.py").write_text("raise SystemExit('shadowed')", encoding="utf-8")
    command = Path(sys.executable).with_name("seewhy")
    if not command.is_file():
        pytest.skip("the command is not installed")
    code, out, err = shell(f"{shlex.quote(str(command))} query key --json", tmp_path)
    assert (code, err) == (0, "") and json.loads(out)


def test_too_little_memory_is_reported_in_one_line(run: Run, indexed: Path) -> None:
    code, out, err = shell("ulimit -c 0; ulimit -v 256000 && seewhy query key")
    assert (code, out) == (1, ""), err
    assert "seewhy: not enough memory. Close other programs, or raise the limit" in err
    assert err.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    ("script", "code"), [("seewhy list >/dev/full", 1), ("seewhy list 2>/dev/full", 0)]
)
def test_a_full_stream_is_reported_in_one_line_or_ignored(script: str, code: int) -> None:
    exit_code, _, err = shell(script)
    assert exit_code == code
    assert ("No space left on device" in err) == (code == 1)


def test_an_unusable_home_is_reported_in_one_line(
    run: Run, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    places = {str(file): "Not a directory", "~nobody-here/x": "invalid argument"}
    if Path("/proc/self").is_dir():
        places["/proc/x"] = "No such file"
    for place, problem in places.items():
        monkeypatch.setenv("SEEWHY_HOME", place)
        for command in (("index", notes), ("query", "key"), ("list",), ("status",), ("check",)):
            code, _, err = run(*command)
            assert code in ((1,) if command[0] != "list" else (0, 1)), command
            assert command[0] != "index" or problem in err
            assert err.count("\n") <= 1
    assert file.read_text(encoding="utf-8") == "mine"
    monkeypatch.setenv("SEEWHY_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HOME", raising=False)
    assert run("list")[0] == 0
    code, _, err = run("query", "key", "--index", "~nobody-here/x")
    assert (code, err.count("\n")) == (1, 1)


@pytest.mark.parametrize("environment", [{"COLUMNS": "9" * 30}, {"TERM": "dumb"}], ids=str)
def test_an_odd_terminal_gets_the_hits(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    (indexed / "new.txt").write_text("a word", encoding="utf-8")
    with monkeypatch.context() as patch:  # pytest itself prints to such a terminal otherwise
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr("sys.stderr.isatty", lambda: True)
        assert run("index", indexed)[0] == 0
        patch.setattr("sys.stdout.isatty", lambda: True)
        code, out, _ = run("query", "key")
    assert (code, "keys.md" in out) == (0, True)
    assert environment.get("TERM") != "dumb" or "\x1b" not in out


@pytest.mark.parametrize(
    "text", ["key\x1b]0;owned\x07", "it's $(a) `key` \"b \\x1b !", "key\n\tnew"], ids=repr
)
def test_the_hint_is_harmless_and_can_be_copied(run: Run, indexed: Path, text: str) -> None:
    code, _, err = run("query", "--", text)
    assert code == 0
    assert err.replace("\n", "").isprintable()
    hint = err[err.index("seewhy explain") :].strip()
    if not shutil.which("bash"):
        pytest.skip("there is no bash to read it")
    process = subprocess.run(
        ["bash", "-c", hint.replace("seewhy", "printf '%s\\0'", 1)],
        capture_output=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},  # elsewhere bash leaves \\u escapes as they are
    )
    if not text.isprintable():  # it is shown with escapes
        return
    command, *rest = process.stdout.decode().split("\0")[:-1]
    assert text in rest
    code, out, _ = run(command, "--json", *rest)
    assert (code, json.loads(out)["query"]) == (0, text)


def test_a_deleted_current_folder_stops_only_commands_that_need_it(
    run: Run, indexed: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    code, out, err = shell(
        f"rmdir {shlex.quote(str(folder))}; seewhy status --json && seewhy index .", folder
    )
    assert json.loads(out)["passages"] == 5
    assert (code, err.count("\n"), "No such file or directory" in err) == (1, 1, True)


def test_an_unexpected_argument_is_repeated_with_escapes(run: Run) -> None:
    code, out, err = run("list", "\x1b]0;owned\x07")
    assert (code, out) == (2, "")
    assert "\\x1b]0;owned\\x07" in err
    assert err.replace("\n", "").isprintable()


def test_impossible_numbers_and_names_are_reported_in_one_line(run: Run, indexed: Path) -> None:
    for command in (
        ("contrast", "key", "9" * 5000, 1),
        ("explain", "key", "9" * 5000),
        ("explain", "key", "p" + "9" * 5000),
        ("explain", "key", "1", "--layer", "9" * 5000),
        ("similar", "\ud800"),
    ):
        code, out, err = run(*command)
        assert (code, out, err.count("\n")) == (1, "", 1), command


def test_metadata_beyond_json_are_indexed_and_printed(run: Run, notes: Path, tiny_model: Path) -> None:
    def nested(levels: int) -> str:
        return '{"a":' * levels + "1" + "}" * levels

    rows = ['{"text": "the key", "a": NaN, "b": -Infinity, "c": 1e999}'] + [
        f'{{"text": "the key {n}", "more": {nested(n)}}}' for n in (10, 900, 100_000)
    ]
    (notes / "odd.jsonl").write_text("\n".join(rows), encoding="utf-8")
    fronts = {
        "nan": "a: .nan\nb: .inf",
        "deep": f"a: {'[' * 300}{']' * 300}",
        "bool": "a: !!bool x",
        "int": 'a: !!int ""',
        "date": "a: !!timestamp x",
        "self": "a: &a [*a]",
        "hex": f"a: 0x{'f' * 9000}",
        "float": 'a: !!float ""',
    }
    for name, front in fronts.items():
        (notes / f"{name}.md").write_text(
            f"---\n{front}\n---\n\n# Key {name}\n\nThe key.\n", encoding="utf-8"
        )
    (notes / "nan.csv").write_text("text,a\nthe key,NaN\nthe key,1e999\n", encoding="utf-8")
    code, _, err = run("index", notes, "--model", tiny_model)
    assert code == 0, err
    code, out, err = run("query", "the key", "-k", 100, "--per-document", 0, "--all-copies", "--json")
    assert code == 0, err
    documents = {hit["document"]: hit["metadata"] for hit in json.loads(out)}
    assert {f"{name}.md" for name in fronts} <= documents.keys()
    assert {"odd.jsonl#1", "odd.jsonl#2"} <= documents.keys()
    assert documents["odd.jsonl#1"] == {"a": "nan", "b": "-inf", "c": "inf"}
    for command in (("query", "key"), ("query", "key", "--where", "a=1"), ("status",), ("check",)):
        assert run(*command)[0] == 0, command


def test_characters_that_an_encoding_lacks_are_escaped(run: Run, indexed: Path) -> None:
    (indexed / "new.txt").write_text("the kéy 🙂", encoding="utf-8")
    assert "1 file added" in run("index", indexed)[1]
    code, out, _ = shell("seewhy query 'kéy 🙂'", PYTHONIOENCODING="ascii", LC_ALL="C", LANG="C")
    assert code == 0
    assert "the kéy 🙂" in out or "the k\\xe9y \\U0001f642" in out
