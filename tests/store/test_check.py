"""`check` on indexes that are sound: it must find nothing, disturb nobody and change nothing."""

import os
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from search import CheckReport, Index, Progress
from search.errors import ModelError, quoted
from search.indexing.check import check
from search.indexing.repair import repair
from search.store import health
from search.store.files import writer_lock
from search.store.health import CHECKS, Examination
from tests.store import damage


@pytest.fixture
def own(notes: Path, tiny_model: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A folder of old files, and its index."""
    for path in notes.rglob("*.*"):
        os.utime(path, (1, 1))
    Index.build(notes, model=str(tiny_model), index=str(tmp_path / "index"))
    return notes, tmp_path / "index"


def not_ok(report: CheckReport) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {f.check: (f.severity, f.examples) for f in report.findings if f.severity != "ok"}


def test_a_sound_index_has_no_finding(own: tuple[Path, Path]) -> None:
    report = check(own[1], verify=True)
    assert report.ok
    assert [(f.check, f.severity, f.count, f.command) for f in report.findings] == [
        (name, "ok", 0, "") for name in CHECKS
    ]
    assert (report.documents, report.passages, report.unchecked, report.folder) == (4, 5, (), str(own[0]))


def test_edits_are_stale_and_named(own: tuple[Path, Path]) -> None:
    notes, index = own
    (notes / "keys.md").write_text("# Other\n", encoding="utf-8")
    (notes / "new.txt").write_text("new", encoding="utf-8")
    (notes / "table.csv").unlink()
    report = check(index)
    assert report.ok
    changes = ("keys.md (changed)", "new.txt (new)", "table.csv (gone)")
    assert not_ok(report) == {"sources": ("stale", changes)}
    assert all("seewhy index" in f.command for f in report.findings if f.severity == "stale")
    Index.build(notes, index=str(index))
    assert not_ok(check(index)) == {}


def test_a_new_time_stamp_alone_is_no_change(own: tuple[Path, Path]) -> None:
    os.utime(own[0] / "keys.md", (5, 5))
    assert not_ok(check(own[1])) == {}


def test_content_that_changed_secretly_is_found_by_reading(own: tuple[Path, Path]) -> None:
    path = own[0] / "keys.md"
    before = path.stat()
    data = path.read_bytes()
    with path.open("r+b") as stream:  # the same file
        stream.write(data.replace(b"key", b"cat"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not_ok(check(own[1])) == {}
    report = check(own[1], verify=True)
    assert not_ok(report) == {"sources": ("stale", ("keys.md (changed)",))}
    (finding,) = (f for f in report.findings if f.check == "sources")
    assert finding.command.endswith("--verify")


def test_a_folder_that_is_not_there_is_no_damage(own: tuple[Path, Path]) -> None:
    own[0].rename(own[0].with_name("away"))
    report = check(own[1])
    assert report.ok
    ((severity, (said,)),) = not_ok(report).values()
    assert severity == "stale"
    assert f"{own[0]} does not exist" in said
    assert report.findings[-1].command == ""


def test_sound_after_edits_and_removals(own: tuple[Path, Path]) -> None:
    """With tombstones and passages that the FAISS file does not hold yet."""
    notes, index = own
    for i in range(30):
        (notes / f"{i}.txt").write_text(f"number {i}", encoding="utf-8")
    Index.build(notes, index=str(index))
    (notes / "3.txt").unlink()
    (notes / "more.txt").write_text("some more", encoding="utf-8")
    Index.build(notes, index=str(index))
    with closing(sqlite3.connect(index / "index.db")) as connection:
        assert connection.execute("SELECT count(*) FROM tombstones").fetchone() == (1,)
    assert not_ok(check(index)) == {}


def test_a_run_under_way_is_no_fault(own: tuple[Path, Path]) -> None:
    """Neither its lock, nor its files, nor its open transaction."""
    _, index = own
    damage.execute(
        index,
        "UPDATE meta SET value = 'false' WHERE key = 'complete'",
        "UPDATE meta SET checksum = row_checksum(key, value)",
    )
    with writer_lock(index), closing(sqlite3.connect(index / "index.db", isolation_level=None)) as writer:
        (index / "tmp").mkdir()
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM passages WHERE id = 2")
        report = check(index)
        writer.execute("ROLLBACK")
    assert not_ok(report) == {}
    assert not_ok(check(index)) == {"leftovers": ("stale", ("tmp",)), "run": ("stale", ("its end",))}


def test_beside_a_writer_nothing_is_taken_for_damage(
    own: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "ROWS_AT_ONCE", 1)  # so that commits fall between the pieces
    notes, index = own
    done = threading.Event()
    failures: list[BaseException] = []

    def write() -> None:
        try:
            for i in range(6):
                for name in ("keys.md", f"{i}.txt"):
                    (notes / name).write_text(f"# Number {i}\n\nThe key number {i}.\n", encoding="utf-8")
                if i > 2:
                    (notes / f"{i - 2}.txt").unlink()
                Index.build(notes, index=str(index))
        except BaseException as error:  # handed to the thread that asserts
            failures.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=write)
    thread.start()
    reports = [check(index)]
    while not done.is_set():
        reports.append(check(index))
    thread.join()
    assert failures == []
    assert [not_ok(report) for report in reports if not report.ok] == []
    assert not_ok(check(index)) == {}


def test_a_check_changes_nothing(own: tuple[Path, Path]) -> None:
    _, index = own

    def state() -> dict[str, tuple[bytes, int]]:
        files = (path for path in index.rglob("*") if path.is_file())
        return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}

    before = state()
    check(index, verify=True)
    assert state() == before


def test_every_row_is_in_exactly_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "ROWS_AT_ONCE", 3)
    ids = [-5, 0, 1, 2, 3, 10, 11, 2**62]
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        connection.executemany("INSERT INTO t VALUES (?)", [(id_,) for id_ in ids])
        seen, ticks = [], []
        for above, upto in health.pieces(connection, "t", tick=ticks.append):
            assert connection.in_transaction
            seen += connection.execute("SELECT id FROM t WHERE id > ? AND id <= ?", (above, upto)).fetchall()
        assert not connection.in_transaction
    assert [id_ for (id_,) in seen] == ids
    assert ticks == [3, 3, 2]


def test_progress_goes_to_the_end(own: tuple[Path, Path]) -> None:
    seen: list[Progress] = []
    check(own[1], progress=seen.append)
    assert {state.stage for state in seen} == {"checking"}
    assert [state.done for state in seen] == sorted(state.done for state in seen)
    assert seen[-1].done == seen[-1].total == 3 + 4 + 5
    assert seen[-1].passages == 5


@pytest.mark.parametrize("content", [b"no database, " * 999, bytes(8192)])
def test_what_cannot_be_opened_is_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "index.db").write_bytes(content)
    report = check(tmp_path)
    assert not report.ok
    assert (report.findings[0].check, report.findings[0].severity) == ("database", "damaged")
    assert report.findings[0].command.endswith("--rebuild")
    assert report.unchecked == tuple(CHECKS)[1:-1]  # the sample was not asked for


def test_an_index_that_was_emptied_was_not_just_begun(own: tuple[Path, Path]) -> None:
    for content in (b"", b"x"):  # both are empty databases to SQLite
        (own[1] / "index.db").write_bytes(content)
        report = check(own[1])
        said = ("damaged", ("it is empty, though there was an index",))
        assert (report.ok, not_ok(report)) == (False, {"database": said})


def test_commands_name_the_index_as_it_is_to_be_typed(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    usual = Index.build(notes, model=str(tiny_model))
    damage.flip_faiss(usual.path)
    (notes / "new.txt").write_text("x", encoding="utf-8")
    commands = {f.command for f in usual.check().findings if f.command}
    assert commands == {"seewhy repair --index notes", f"seewhy index {notes}"}
    other = Index.build(notes, model=str(tiny_model), index=str(tmp_path / "my place"))
    (notes / "newer.txt").write_text("x", encoding="utf-8")
    (command,) = (f.command for f in other.check().findings if f.command)
    assert command == f"seewhy index {notes} --index {quoted(tmp_path / 'my place')}"


def test_what_is_wrong_is_counted_and_the_first_few_are_named(tmp_path: Path) -> None:
    found = Examination(tmp_path)
    for row in range(1200):
        found.add("documents", f"p{row}")
    ways = {"repair": "seewhy repair", "index": "", "rebuild": ""}
    (finding,) = found.findings(ways)
    assert finding.message == CHECKS["documents"].wrong
    assert (finding.count, finding.examples, finding.command) == (
        1200, ("p0", "p1", "p2", "p3", "p4"), "seewhy repair",
    )  # fmt: skip
    assert {check.way_out for check in CHECKS.values()} == set(ways)


def test_an_index_that_a_wrong_model_filled_is_found_by_encoding_again(
    own: tuple[Path, Path], other_model: Path
) -> None:
    """All checksums are right, and so is the fingerprint."""
    notes, index = own
    Index.build(notes, model=str(other_model), index=str(index.with_name("other")))
    with closing(sqlite3.connect(index.with_name("other") / "index.db")) as connection:
        vectors = connection.execute("SELECT vector, checksum, content FROM embeddings").fetchall()
    with closing(sqlite3.connect(index / "index.db")) as connection, connection:
        connection.executemany("UPDATE embeddings SET (vector, checksum) = (?, ?) WHERE content = ?", vectors)
    (index / "ann").rename(index / "away")
    assert "sample" not in not_ok(check(index))
    report = check(index, verify=True)
    (finding,) = (f for f in report.findings if f.check == "sample")
    assert (report.ok, finding.severity, finding.count) == (False, "damaged", 5)
    assert finding.command.endswith("--rebuild")
    for dry_run in (True, False):
        mended = repair(index, folder=notes, dry_run=dry_run).check
        assert (mended.ok, "sample" in not_ok(mended)) == (False, True)
    Index.build(notes, index=str(index), rebuild=True)
    assert check(index, verify=True).ok


def test_without_the_model_no_sample_is_compared(
    notes: Path, tmp_path: Path, own_cache: Path, tiny_model: Path
) -> None:
    model = tmp_path / "model"
    shutil.copytree(tiny_model, model)
    Index.build(notes, model=str(model), index=str(tmp_path / "index"), engine="torch")
    shutil.rmtree(model)
    report = check(tmp_path / "index", verify=True)
    assert (report.ok, report.unchecked) == (True, ("sample",))


def test_a_model_that_cannot_be_loaded_is_no_damage_of_the_index(
    own: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ModelError("the tokenizer cannot be loaded")

    monkeypatch.setattr("search.encoding.encoder.load_tokenizer", fails)
    for report in (check(own[1], verify=True), repair(own[1], folder=own[0]).check):
        assert (report.ok, report.unchecked) == (True, ("sample",))
