"""Hits as the command prints them: groups, pages, several parts, formats; `similar` and `duplicates`."""

import json
import re
import shlex
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

import search
from search.store.files import writer_lock
from tests.conftest import Run

KEY = "find the key"


def hits(run: Run, *args: Any) -> list[dict[str, Any]]:
    code, out, err = run(*args, "--json")
    assert (code, err) == (0, "")
    records: list[dict[str, Any]] = json.loads(out)
    return records


def test_the_format_line_shows_a_sentence_and_not_the_number_of_a_list(run: Run, indexed: Path) -> None:
    (indexed / "list.md").write_text("# Steps\n\n1. Zebra.\n2. Turn.\n", encoding="utf-8")
    assert "1 file added" in run("index", indexed)[1]
    lines = run("query", "nothing of this", "--mode", "dense", "-f", "line")[1]
    assert re.search(r"list\.md:3  -?\d\.\d{3}  Zebra\.$", lines, re.MULTILINE)


def test_the_hint_explains_the_first_hit_of_the_list(run: Run, indexed: Path) -> None:
    for options in (["--offset", "1"], ["--group", "--offset", "1"], ["-i", "notes"]):
        first = hits(run, "query", KEY, *options)[0]
        err = run("query", KEY, *options)[2]
        command = shlex.split(err.split("seewhy ", 1)[1])
        why = json.loads(run(*command, "--json")[1])
        assert why["hit"]["passage_id"] == first["passage_id"]
        assert why["score"] == pytest.approx(first["score"], abs=1e-9)
        assert abs(why["residual"]) < 1e-5


def test_context_prints_surrounding_lines_while_the_file_is_unchanged(run: Run, indexed: Path) -> None:
    out = run("query", KEY, "--context", 2)[1]
    assert re.search(r"^   6$", out, re.MULTILINE)
    hits_with_context = hits(run, "query", KEY, "--context", 1)
    assert all(hit["surroundings"]["note"] == "" for hit in hits_with_context)
    assert "surroundings" not in hits(run, "query", KEY)[0]
    (indexed / "keys.md").write_text("other", encoding="utf-8")
    assert "keys.md has changed since it was indexed" in run("query", KEY, "--context", 1)[1]


def test_jsonl_and_paths_have_the_hits_of_json(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(indexed)
    records = hits(run, "query", KEY)
    assert [json.loads(line) for line in run("query", KEY, "--jsonl")[1].splitlines()] == records
    names = list(dict.fromkeys(str(Path(hit["path"]).relative_to(indexed)) for hit in records))
    assert len(names) < len(records)
    assert run("query", KEY, "-f", "paths")[1].splitlines() == names


def test_formats_for_programs_are_empty_without_hits(run: Run, indexed: Path) -> None:
    nothing = ("query", KEY, "--min-score", 5)
    assert run(*nothing, "--json")[1] == "[]\n"
    assert [run(*nothing, *form)[1] for form in (["--jsonl"], ["-f", "paths"])] == [""] * 2


@pytest.mark.parametrize(("constant", "says"), [(9, "Answered (100 %)"), (-9, "Probably not here (0 %)")])
def test_the_verdict_is_printed_after_the_hits(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch, constant: int, says: str
) -> None:
    weights = search.Index.open(indexed).fingerprint.weights
    constants = {
        "DEFAULT_WEIGHTS": weights,
        "DEFAULT_DIMENSION": "32",
        "FIRST_HITS": 1,
        "CONSTANT": constant,
        "EXCESS": 0,
        "COVERAGE": 0,
    }
    for name, value in constants.items():
        monkeypatch.setattr(f"search.ranking.verdict.{name}", value)
    exit_code, out, _ = run("query", KEY)
    assert (exit_code, out.splitlines()[-1].startswith(says)) == (0, True)
    quiet = run("query", KEY, "-q")[1]
    assert out.startswith(quiet.rstrip()) and says not in quiet
    verdict = hits(run, "query", KEY)[0]["verdict"]
    assert verdict.keys() == {
        "says",
        "probability",
        "score",
        "coverage",
        "evidence",
        "identifiers",
    }


def test_hits_of_changed_and_deleted_files_say_so(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(indexed)
    text = (indexed / "keys.md").read_text(encoding="utf-8")
    (indexed / "keys.md").write_text("new\n" * 5 + text.replace("people", "men"), encoding="utf-8")
    (indexed / "deep" / "time.txt").unlink()
    code, out, err = run("query", KEY)
    assert code == 0
    notice = "current lines; the file has changed since indexing"
    assert re.search(rf"keys\.md:12-14  p\d\n    {notice}\n", out)
    assert re.search(r"keys\.md:\d-\d  p\d\s+changed since indexing$", out, re.MULTILINE)
    assert re.search(r"time\.txt:1-2  p\d\s+gone$", out, re.MULTILINE)
    monkeypatch.setenv("COLUMNS", "100")
    assert re.search(rf"keys\.md:12-14  p\d\s+{notice}\n", run("query", KEY)[1])
    update = "seewhy index --index notes"
    note = f"note: 2 of these files have changed or been deleted since indexing. Update with: {update}"
    assert note in err
    records = json.loads(run("query", KEY, "--json")[1])
    assert {hit["changed"] for hit in records} == {"", "moved", "changed", "gone"}
    passage = next(hit["passage_id"] for hit in records if hit["changed"] == "gone")
    assert f"(p{passage}, gone)" in run("explain", KEY, f"p{passage}")[1]
    assert "1 file changed, 1 removed" in run(*update.split()[1:])[1]
    assert "since indexing" not in run("query", KEY)[2]


def test_a_missing_folder_is_reported_with_the_command_to_move_the_index(run: Run, indexed: Path) -> None:
    new = indexed.rename(indexed.with_name("moved notes"))
    err = run("query", KEY, "-i", "notes")[2]
    assert f"note: '{indexed}' is gone. If you moved it, run: seewhy move notes NEW_FOLDER" in err
    assert "seewhy index" not in err
    assert run("move", "notes", new)[0] == 0
    assert "gone" not in "".join(run("query", KEY)[1:])


def test_each_index_with_changed_files_is_named(
    run: Run, indexed: Path, tmp_path: Path, tiny_model: Path
) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        (folder / f"{folder.name}.md").write_text("Turn the key of the door.", encoding="utf-8")
    assert run("index", *folders, "--model", tiny_model)[0] == 0
    (indexed / "keys.md").write_text("Nothing is left.", encoding="utf-8")
    shutil.rmtree(folders[1])
    err = run("query", KEY, "-i", "notes", "-i", "one+two", "--no-update")[2]
    assert "Update with: seewhy index --index notes\n" in err
    move = "seewhy move one+two NEW_FOLDER NEW_FOLDER"
    assert f"note: '{folders[1]}' is gone. If you moved it, run: {move}\n" in err


def test_an_update_of_a_missing_folder_is_reported(run: Run, indexed: Path) -> None:
    indexed.rename(indexed.with_name("moved"))
    code, out, err = run("query", KEY, "--update", "-i", "notes")
    assert code == 0 and "gone" in out
    assert f"the index could not be updated: the folder '{indexed}' is gone." in err


def test_words_that_count_are_highlighted(run: Run, indexed: Path) -> None:
    records = hits(run, "query", "the people of the water")
    words = {hit["text"][start:end] for hit in records for start, end in hit["highlights"]}
    assert {"people", "water"} <= words <= {"people", "water", "People", "of", "the"}
    assert {tuple(hit["highlights"]) for hit in hits(run, "query", KEY, "--mode", "dense")} == {()}
    assert {tuple(hit["highlights"]) for hit in hits(run, "similar", "p1")} == {()}
    assert "\x1b[1;32mpeople\x1b[0m" in run("query", "the people", "--color", "always")[1]
    assert "\x1b" not in run("query", "the people")[1]


def test_a_query_brings_a_small_index_up_to_date(
    run: Run, indexed: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SEEWHY_UPDATE")
    assert "encoded" not in run("query", KEY)[2]
    new = indexed / "new.txt"
    new.write_text("The key was found.\n", encoding="utf-8")
    code, out, err = run("query", KEY, "--json")
    assert (code, "1 file added; 1 passage encoded" in err) == (0, True)
    assert "new.txt" in {Path(hit["path"]).name for hit in json.loads(out)}
    assert "encoded" not in run("query", KEY)[2]
    new.write_text("The key was lost.\n", encoding="utf-8")
    code, out, err = run("query", KEY, "-q", "-k", "50")
    assert ("key was lost" in out, "changed" in out, err) == (True, False, "")
    (indexed / "big.txt").write_text("the key of the door " * 5_000, encoding="utf-8")
    new.write_text("The key is here.\n", encoding="utf-8")
    _, _, err = run("query", KEY)  # too much for a second
    assert "1 of these files has changed" in err
    command = f"seewhy index {indexed} --index notes"
    assert f"the folder has changed since it was indexed. To update the index, run: {command}" in err
    (indexed / "big.txt").unlink()
    assert "1 of these files has changed" in run("query", KEY, "--no-update")[2]
    with writer_lock(own_home / "indexes" / "notes"):
        code, out, err = run("query", KEY)
        assert (code, "1 of these files has changed" in err) == (0, True)
        assert "note: the index could not be updated: process" in err
    run("config", "update", "off")
    assert "1 of these files has changed" in run("query", KEY)[2]
    run("config", "--unset", "update")
    assert "1 file changed; 1 passage encoded" in run("query", KEY)[2]


def test_slow_imports_do_not_keep_a_query_from_updating(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time limit of a small update counts the walk of the folder, and not the imports before it."""
    from search.indexing import update_check

    monkeypatch.delenv("SEEWHY_UPDATE")
    monkeypatch.setattr(
        update_check, "_seems_changed", lambda *_: time.sleep(2 * update_check._SECONDS) or True
    )
    (indexed / "new.txt").write_text("The key was found.\n", encoding="utf-8")
    assert "1 file added; 1 passage encoded" in run("query", KEY)[2]
    monkeypatch.setattr(update_check, "_SECONDS", 0.0)
    (indexed / "new.txt").write_text("The key was lost.\n", encoding="utf-8")
    assert "the folder has changed since it was indexed" in run("query", KEY)[2]


def test_the_option_update_updates_before_the_query(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (indexed / "deep" / "time.txt").unlink()
    (indexed / "new.txt").write_text("The key was found.\n", encoding="utf-8")
    code, out, err = run("query", KEY, "--update")
    assert (code, "new.txt:1" in out, "time.txt" in out) == (0, True, False)
    assert "1 file added, 1 removed; 1 passage encoded" in err
    assert "1 file" not in run("query", KEY, "--update")[2]
    monkeypatch.setenv("SEEWHY_UPDATE", "1")
    (indexed / "new.txt").write_text("The key was found by me.\n", encoding="utf-8")
    assert "1 file changed" in run("query", KEY)[2]
    (indexed / "new.txt").write_text("The key was lost.\n", encoding="utf-8")
    assert "1 of these files has changed" in run("query", KEY, "--no-update")[2]
    indexed.rename(indexed.with_name("elsewhere"))
    code, out, err = run("query", KEY)
    assert (code, "  gone" in out, "note: the index could not be updated: " in err) == (
        0,
        True,
        True,
    )


def test_offset_and_minimum_score_select_parts_of_the_list(run: Run, indexed: Path) -> None:
    all_hits = hits(run, "query", KEY)
    assert hits(run, "query", KEY, "-k", 2, "--offset", 2) == all_hits[2:4]
    assert hits(run, "query", KEY, "--min-score", all_hits[2]["score"]) == all_hits[:3]
    out = run("query", KEY, "--offset", 2, "-k", 2)[1]
    assert re.findall(r"^ *(\d)  -?\d\.\d{3}  ", out, re.MULTILINE) == ["3", "4"]


def test_duplicates_are_printed_in_clusters(run: Run, indexed: Path) -> None:
    assert run("duplicates", "-t", 1, "--json")[1] == "[]\n"
    text = (indexed / "deep" / "time.txt").read_text(encoding="utf-8")
    (indexed / "copy.txt").write_text(text, encoding="utf-8")
    run("index", indexed)
    (cluster,) = json.loads(run("duplicates", "-t", 1, "--json")[1])
    assert {copy["document"] for copy in cluster["passages"]} == {"deep/time.txt", "copy.txt"}
    assert cluster["exact"]
    out = run("duplicates", "-t", 1)[1]
    assert "copy.txt:1-2" in out and "time.txt:1-2" in out
    assert run("duplicates", "-t", 0)[0] == 1
