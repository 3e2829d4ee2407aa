"""The command line: results on stdout, the rest on stderr, exit codes, messages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from search.cli.app import commands
from tests.conftest import Run, leaves


def test_index_says_what_it_did_and_then_that_nothing_changed(run: Run, indexed: Path) -> None:
    code, out, err = run("index", indexed)
    assert (code, err) == (0, "")
    assert "Nothing changed in" in out
    assert "truncated: 0" in out
    code, out, _ = run("index", indexed, "--json")
    assert (code, json.loads(out)["unchanged"]) == (0, 3)
    assert run("index", indexed, "-q")[:2] == (0, "")


def test_query_prints_hits_on_stdout_and_a_hint_on_stderr(run: Run, indexed: Path) -> None:
    code, out, err = run("query", "find the key")
    assert code == 0
    assert re.search(r"^ 1  -?\d\.\d{3}  .*:\d", out)
    assert "Explain hit 1: seewhy explain" in err
    assert run("query", "find the key", "-q")[2] == ""
    code, out, err = run("query", "find the key", "-k", "2", "--json")
    hits = json.loads(out)
    assert (code, err, [hit["rank"] for hit in hits]) == (0, "", [1, 2])
    assert Path(hits[0]["path"]).is_file()
    code, out, _ = run("query", "find the key", "--jsonl")
    assert [json.loads(line)["rank"] for line in out.splitlines()] == [1, 2, 3, 4, 5]


def test_a_path_is_explained_by_its_best_passage(run: Run, indexed: Path) -> None:
    hits = json.loads(run("query", "find the key", "--json")[1])
    best = next(hit for hit in hits if hit["path"].endswith("table.csv"))
    by_path, by_id = (
        run("explain", "find the key", target) for target in ("table.csv", f"p{best['passage_id']}")
    )
    assert by_path == by_id and by_path[0] == 0


def test_a_query_needs_no_quotes(run: Run, indexed: Path) -> None:
    assert run("query", "find", "the", "key", "-k", "2")[1] == run("query", "find the key", "-k", "2")[1]


def test_commands_are_listed_in_groups(run: Run) -> None:
    out = run("--help")[1]
    assert re.findall(r"^╭─ (\w+)", out, re.M) == [
        "Options", "Search", "Why", "Indexes", "Measure", "Laboratory",
    ]  # fmt: skip
    lines = out.splitlines()
    assert lines[lines.index(next(line for line in lines if "─ Why" in line)) + 1].startswith(
        "│ explain "
    )


def test_status_and_list_show_the_index(run: Run, indexed: Path, tiny_model: Path) -> None:
    code, out, _ = run("status")
    assert code == 0
    for expected in (str(indexed), str(tiny_model), "mean pooling", "32 dimensions"):
        assert "".join(expected.split()) in "".join(out.split())
    assert json.loads(run("status", "--json")[1])["passages"] == 5
    assert json.loads(run("list", "--json")[1])[0]["name"] == "notes"
    assert "notes" in run("list")[1]


def test_list_says_that_there_is_no_index(run: Run) -> None:
    assert run("list", "--json")[:2] == (0, "[]\n")
    assert "There is no index yet" in run("list")[1]


def test_output_has_colour_on_request_and_respects_no_color(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b" not in run("query", "key")[1]
    assert "\x1b[" in run("query", "key", "--color", "always")[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("query", "key")[1]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["index", "no-such-folder"], 1, "no folder 'no-such-folder'"),
        (["index", "BINARIES"], 1, "(skipped: 2 binary)"),
        (["query", "key", "--index", "nope"], 1, "no index 'nope'. Choose one with --index: notes."),
        (["query", "key", "--index", "note"], 1, "no index 'note'. Did you mean 'notes'? Choose one with"),
        (["index", "NOTES", "--index", "new", "--model", "no-such-model", "--offline"], 1, "no model 'no-such-model'"),
        (["query", "key", "-k", "0"], 2, "'-k': Input should be greater than or equal to 1. Help: seewhy query -"),
        (["query", "key", "--mode", "best"], 2, "'best' is not one of 'hybrid', 'dense', 'lexical'."),
        (["query", ""], 1, "the query is empty"),
        (["query", "word " * 300], 1, "the query has 302 tokens, but the model reads at most 64. Shorten it"),
        (["query"], 2, "Missing argument 'TEXT'"),
        (["explain", "key", "99"], 1, "there is no rank 99"),
        (["explain", "key", "0"], 1, "there is no rank 0: the query has 5 hits"),
        (["quary", "key"], 2, "No such command 'quary'. Did you mean 'query'? Help: seewhy --help"),
        (["lab", "inspekt"], 2, "No such command 'inspekt'. Did you mean 'inspect'? Help: seewhy lab --help"),
        (["query", "key", "--limit", "3"], 2, "option: --limit"),
        (["explain", "find", "the", "key", "1"], 2, "unexpected extra argument"),
    ],
)  # fmt: skip
def test_failures_name_the_thing_and_the_remedy(
    run: Run, indexed: Path, tmp_path: Path, args: list[str], code: int, message: str
) -> None:
    (tmp_path / "binaries").mkdir()
    (tmp_path / "binaries" / "a.png").write_bytes(b"\x89PNG")
    (tmp_path / "binaries" / "b.txt").write_bytes(bytes(range(256)))
    places = {"BINARIES": tmp_path / "binaries", "NOTES": indexed}
    actual, out, err = run(*(places.get(arg, arg) for arg in args))
    assert actual == code
    assert out == ""
    assert message in " ".join(err.split())
    assert "Traceback" not in err


def test_every_command_and_option_has_help(run: Run) -> None:
    leaf_commands = list(leaves(commands()))
    assert len(leaf_commands) == 35
    for names, command in leaf_commands:
        summary = command.get_short_help_str(80)
        code, text, _ = run(*names, "--help")
        assert (code, names[-1] in run(*names[:-1], "--help")[1]) == (0, True)
        command.load()
        assert command.get_short_help_str(80).startswith(summary.rstrip("."))
        for param in command.params:
            assert param.help, f"{names} {param.name} has no help"
            if param.param_type_name == "option":
                assert re.search(rf"│ .*{param.opts[-1]}[ ,]", text), f"{names} {param.opts[-1]} is cut"
    assert re.match(
        r"seewhy \d+\.\d+\.\d+\nPython \d.*\nopenvino \d.*\n(?s:.*)numpy \d", run("--version")[1]
    )


def test_ctrl_c_keeps_finished_work(
    run: Run, notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from search import Encoder

    def stop(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Encoder, "encode", stop)
        code, _, err = run("index", notes, "--model", tiny_model)
    assert code == 130
    assert "stopped. Finished work is saved" in err
    assert run("index", notes, "--model", tiny_model)[0] == 0


def test_status_has_the_engine_and_an_unknown_one_is_refused(run: Run, indexed: Path) -> None:
    assert json.loads(run("status", "--json")[1])["engine"] == "openvino on cpu, fp32"
    assert run("query", "key", "--engine", "torch")[0] == 0
    code, _, err = run("query", "key", "--engine", "onnx")
    assert (code, "'onnx' is not one of" in err) == (2, True)


def test_a_dry_run_lists_what_would_change_and_changes_nothing(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (indexed / "keys.md").rename(indexed / "locks.md")
    (indexed / "table.csv").unlink()
    (indexed / "new\x1b[31m.txt").write_text("a word", encoding="utf-8")
    code, out, err = run("index", indexed, "--dry-run")
    assert (code, err) == (0, "")
    *lines, last = out.splitlines()
    assert lines == ["+ new\\x1b[31m.txt", "> keys.md > locks.md", "- table.csv"]
    assert (
        last == f"{indexed}: would add 1 file, rename 1 file, remove 1 file (1 file unchanged, 0 skipped)"
    )
    code, out, _ = run("index", indexed, "--dry-run", "--json")
    assert json.loads(out)["renamed"] == [["keys.md", "locks.md"]]
    code, out, err = run("index", indexed, "--dry-run", "--watch")
    assert (code, out) == (2, "")
    assert "cannot be combined with --rebuild or --watch" in err
    code, out, _ = run("index", indexed)
    assert "1 file added, 1 renamed, 1 removed" in out
    (indexed / "empty.txt").touch()
    monkeypatch.chdir(indexed)
    out = run("index", ".", "--dry-run")[1]
    assert out == f"{indexed}: no changes (3 files unchanged, 1 skipped)\n  empty: empty.txt\n"


def test_an_exclusion_is_kept_until_it_is_lifted(run: Run, indexed: Path) -> None:
    for options in (("--exclude", "table.csv"), ()):
        out = run("index", indexed, *options)[1]
        assert ("1 file removed." in out) is bool(options)
        assert "  excluded: table.csv" in out
    out = run("index", indexed, "--include", "", "--exclude", "")[1]
    assert "1 file added." in out and "excluded" not in out
    assert "Nothing changed" in run("index", indexed)[1]


def test_watching_prints_a_line_for_every_update(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changes(*_: object) -> Any:
        yield
        (indexed / "new.txt").write_text("a word", encoding="utf-8")
        yield
        (indexed / "keys.md").unlink()
        yield
        raise KeyboardInterrupt

    monkeypatch.setattr("search.indexing.watch.changes", changes)
    code, out, err = run("index", indexed, "--watch")
    assert code == 0
    addition, removal = out.splitlines()[-2:]
    assert re.fullmatch(r"\d\d:\d\d:\d\d  1 file added; 1 passage encoded in \S+ s", addition)
    assert re.fullmatch(r"\d\d:\d\d:\d\d  1 file removed; 0 passages encoded in \S+ s", removal)
    assert "Watching for changes" in err and "Stopped watching." in err
