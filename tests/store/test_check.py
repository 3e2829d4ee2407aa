"""`check` and `check --repair`: what is derived is made again from index.db; a damaged index.db is reported."""

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from search import Index, IndexDamaged, Progress
from tests.conftest import Run
from tests.store import damage
from tests.store.damage import flip, segment_file, truncate

QUERIES = ("turn the key", "a long time", "second sound")


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> Index:
    """An index of old files: the time stamp of a file that was just written is not relied on."""
    for path in notes.rglob("*.*"):
        os.utime(path, (1, 1))
    return Index.build(notes, model=str(tiny_model))


def answers(index: Path) -> list[Any]:
    opened = Index.open(index)
    hits = [
        opened.query(query, k=50, mode=mode)
        for query in QUERIES
        for mode in ("hybrid", "dense", "lexical")
    ]
    assert opened.notes == ()
    return hits


def checked(run: Run, *options: str) -> tuple[int, dict[str, tuple[str, int, str]], Any]:
    """Exit code, severity, count and command of each finding that is not ok, and the whole report."""
    code, out, err = run("check", "-i", "notes", "--json", *options)
    assert err == ""
    report = json.loads(out)
    bad = {
        f["check"]: (f["severity"], f["count"], f["command"])
        for f in report["findings"]
        if f["severity"] != "ok"
    }
    assert report["ok"] == (code == 0)
    return code, bad, report


REPAIR = "seewhy check --repair --index notes"


def test_an_intact_index_is_sound_and_unchanged_by_a_check(run: Run, index: Index) -> None:
    state = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in index.path.rglob("*.*")}
    code, bad, report = checked(run)
    assert (code, bad, report["documents"], report["passages"], report["unchecked"]) == (0, {}, 4, 5, [])
    assert "The index is sound and up to date (4 documents, 5 passages" in run("check")[1]
    assert run("check", "-q") == (0, "", "")
    assert {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in index.path.rglob("*.*")
    } == state
    assert run("check", "--repair", "-q") == (0, "", "")
    updates: list[Progress] = []
    index.check(progress=updates.append)
    assert [(state.stage, state.done) for state in updates] == [("checking", n) for n in range(8)]


HARM: dict[str, tuple[Callable[[Path], object], str]] = {
    "postings flipped": (lambda index: flip(segment_file(index, ".words")), "postings"),
    "postings truncated": (lambda index: truncate(segment_file(index, ".words")), "postings"),
    "postings missing": (lambda index: segment_file(index, ".words").unlink(), "postings"),
    "FAISS file flipped": (lambda index: flip(segment_file(index, ".faiss")), "vectors"),
    "FAISS file missing": (lambda index: segment_file(index, ".faiss").unlink(), "vectors"),
    "all derived files missing": (lambda index: shutil.rmtree(index / "ann"), "vectors"),
}


@pytest.mark.parametrize("name", HARM)
def test_damaged_files_are_repaired(run: Run, index: Index, name: str) -> None:
    harm, check = HARM[name]
    before = answers(index.path)
    harm(index.path)
    if check == "postings":
        with pytest.raises(IndexDamaged, match="check --repair"):
            answers(index.path)
        assert Index.open(index.path).query("key", mode="dense")
    code, bad, _ = checked(run)
    assert (code, bad[check]) == (1, ("damaged", 1, REPAIR))
    assert REPAIR in run("check")[1]
    with FileLock(index.path / "writer.lock"):
        assert "is writing to the index" in run("check", "--repair")[2]
    code, bad, report = checked(run, "--repair")
    assert (code, bad) == (0, {})
    assert check in report["repaired"]
    assert answers(index.path) == before


def test_a_repair_deletes_stray_files_and_keeps_foreign_ones(run: Run, index: Index) -> None:
    before = answers(index.path)
    stray = index.path / "ann" / "g9-0123456789abcdef.faiss"
    stray.write_bytes(b"x")
    (index.path / "ann" / "letter.txt").write_text("Dear", encoding="utf-8")
    assert checked(run)[:2] == (0, {"leftovers": ("stale", 1, REPAIR)})
    holder = index.path / "writer.json"
    holder.write_text("{}", encoding="utf-8")
    with FileLock(index.path / "writer.lock"):  # a run under way may be about to name it
        assert checked(run)[:2] == checked(run, "--repair")[:2] == (0, {})
    holder.unlink()
    assert checked(run, "--repair")[:2] == (0, {})
    assert (stray.exists(), (index.path / "ann" / "letter.txt").exists()) == (False, True)
    assert answers(index.path) == before


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: os.truncate(path / "index.db", (path / "index.db").stat().st_size // 2),
        lambda path: (path / "index.db").write_bytes(b"no database, " * 999),
        lambda path: (path / "index.db").write_bytes(b""),
        lambda path: damage.zero_page_of(path, "passages"),
        damage.sql("DELETE FROM embeddings WHERE passage = 2"),
        damage.sql("DELETE FROM meta WHERE key = 'fingerprint'"),
    ],
)
def test_a_damaged_database_is_rebuilt_and_not_repaired(
    run: Run, index: Index, notes: Path, tiny_model: Path, harm: Callable[[Path], object]
) -> None:
    before = [hit.text for hits in answers(index.path) for hit in hits]
    harm(index.path)
    for options in ((), ("--repair",)):
        code, bad, report = checked(run, *options)
        severity, _, command = bad["database"]
        assert (code, severity, report["repaired"]) == (1, "damaged", [])
        assert command.endswith("--rebuild")
    assert run("index", notes, "--rebuild", "-q", "--model", tiny_model)[0] == 0
    assert [hit.text for hits in answers(index.path) for hit in hits] == before


def test_an_interrupted_run_is_stale(run: Run, index: Index) -> None:
    damage.execute(index.path, "UPDATE meta SET value = 'false' WHERE key = 'complete'")
    code, bad, _ = checked(run)
    assert (code, bad) == (
        0,
        {"run": ("stale", 1, f"seewhy index {index.status().folder} --index notes")},
    )
    index.update()
    assert checked(run)[:2] == (0, {})


def test_changed_files_are_named(run: Run, index: Index, notes: Path) -> None:
    os.utime(notes / "deep" / "time.txt", (5, 5))  # which alone is no change
    (notes / "keys.md").write_text("# Other\n", encoding="utf-8")
    (notes / "new\x1b[31m.txt").write_text("new", encoding="utf-8")
    (notes / "table.csv").unlink()
    code, bad, report = checked(run)
    assert (code, bad) == (0, {"sources": ("stale", 3, f"seewhy index {notes} --index notes")})
    assert report["findings"][-1]["examples"] == [
        "keys.md (changed)",
        "new\x1b[31m.txt (new)",
        "table.csv (deleted)",
    ]
    assert "\x1b" not in run("check", "--color", "never")[1]


def test_a_folder_that_is_gone_is_no_damage(run: Run, index: Index, notes: Path) -> None:
    notes.rename(notes.with_name("away"))
    assert checked(run)[:2] == (0, {"sources": ("stale", 1, "")})


def test_a_damaged_vector_file_is_noted_once(index: Index) -> None:
    before = index.query("a key", mode="dense")
    segment_file(index.path, ".faiss").write_bytes(b"x")
    opened = Index.open(index.path)
    for _ in range(2):
        assert opened.query("a key", mode="dense") == before
        (note,) = opened.notes
        assert "damaged" in note and "seewhy check --repair" in note


def test_a_check_beside_a_writer_takes_nothing_for_damage(notes: Path, index: Index) -> None:
    finished, failures = threading.Event(), list[BaseException]()

    def write() -> None:
        try:
            for number in range(5):
                for name in ("keys.md", f"{number}.txt"):
                    text = f"# Number {number}\n\nThe key number {number}.\n"
                    (notes / name).write_text(text, encoding="utf-8")
                if number > 2:
                    (notes / f"{number - 2}.txt").unlink()
                Index.build(notes)
        except BaseException as error:  # handed to the thread that asserts
            failures.append(error)
        finally:
            finished.set()

    thread = threading.Thread(target=write)
    thread.start()
    reports = [index.check()]
    while not finished.is_set():
        reports.append(index.check())
    thread.join()
    assert failures == []
    damaged = [[f for f in report.findings if f.severity == "damaged"] for report in reports]
    assert damaged == [[]] * len(reports)


@pytest.mark.parametrize("content", [b"", b"x"], ids=repr)
def test_an_emptied_database_is_damage(run: Run, index: Index, content: bytes) -> None:
    (index.path / "index.db").write_bytes(content)
    code, _, err = run("check", "-i", "notes")
    assert code == 1 and err.count("\n") <= 2
    assert run("query", "key", "-i", "notes")[0] == 1
    assert (index.path / "index.db").read_bytes() == content


def test_an_index_that_does_not_exist_is_named(run: Run) -> None:
    code, out, err = run("check", "-i", "nope")
    assert (code, out) == (1, "")
    assert "no index 'nope'" in err


def test_a_folder_in_place_of_the_database_is_one_line_of_error(
    run: Run, notes: Path, index: Index
) -> None:
    (index.path / "index.db").unlink()
    (index.path / "index.db").mkdir()
    for command in (("query", "the key", "-i", index.path), ("index", notes, "-i", index.path)):
        code, out, err = run(*command)
        assert (code, out, err.count("\n")) == (1, "", 1), command
    assert list((index.path / "index.db").iterdir()) == []


def test_a_journal_of_random_bytes_does_no_harm(run: Run, index: Index) -> None:
    before = run("query", "the key", "--json", "-i", "notes")
    (index.path / "index.db-journal").write_bytes(os.urandom(4096))
    assert run("query", "the key", "--json", "-i", "notes") == before


@pytest.mark.timeout(60)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("suffix", [".faiss", ".words"])
def test_a_pipe_in_place_of_a_file_is_damage_and_never_waited_for(
    run: Run, index: Index, suffix: str
) -> None:
    before = run("query", "the key", "--json", "-i", "notes")
    file = segment_file(index.path, suffix)
    file.unlink()
    os.mkfifo(file)
    code, out, err = run("query", "the key", "--json", "-i", "notes")
    if suffix == ".faiss":
        assert (code, json.loads(out)) == (0, json.loads(before[1]))
    else:
        assert (code, "damaged or missing" in err) == (1, True)
    assert run("check", "-i", "notes")[0] == 1
    assert run("check", "-i", "notes", "--repair")[0] == 0
    assert run("query", "the key", "--json", "-i", "notes") == before
