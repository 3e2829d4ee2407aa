"""Bringing an index up to date: what is encoded, kept, forgotten, and what is refused."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import (
    Encoder,
    FingerprintMismatch,
    Index,
    IndexNotFound,
    InputError,
    Report,
    StorageFull,
)
from search.index import searcher_of
from tests.cli.test_surroundings import shell
from tests.conftest import Run
from tests.store import damage
from tests.store.test_access import as_a_user


def build(folder: Path, model: Path, **options: Any) -> Report:
    report = Index.build(folder, model=str(model), **options).report
    assert report is not None
    return report


def content(index: Path) -> list[tuple[Any, ...]]:
    """Everything that a query could return, without ids."""
    with closing(sqlite3.connect(index / "index.db")) as connection:
        return connection.execute(
            """SELECT files.path, record, title, metadata, start, "end", line_start, line_end,
                      heading, context, text, n_tokens, vector
               FROM passages JOIN documents ON documents.id = document JOIN files ON files.id = file
               JOIN embeddings ON passage = passages.id ORDER BY 1, 2, 5"""
        ).fetchall()


def assert_same_as_rebuilt(folder: Path, model: Path, index: Path, other: Path) -> None:
    build(folder, model, index=str(other))
    actual, expected = content(index), content(other)
    assert [row[:-1] for row in actual] == [row[:-1] for row in expected]
    for left, right in zip(actual, expected, strict=True):
        np.testing.assert_allclose(
            np.frombuffer(left[-1], "<f4"), np.frombuffer(right[-1], "<f4"), atol=1e-6
        )


def test_a_first_run_adds_all_and_a_second_changes_nothing(notes: Path, tiny_model: Path) -> None:
    first = build(notes, tiny_model)
    assert (first.added, first.changed, first.removed, first.unchanged) == (3, 0, 0, 0)
    assert (first.documents, first.passages) == (4, 5)
    assert first.encoded == first.passages
    assert first.truncated_tokens == 0
    second = build(notes, tiny_model)
    assert second.nothing_changed
    assert (second.unchanged, second.encoded, second.documents, second.passages) == (3, 0, 4, 5)


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no time of the last change beside mtime")
def test_content_that_changes_behind_size_mtime_and_inode_is_read_again(
    notes: Path, tiny_model: Path, run: Run
) -> None:
    path = notes / "deep" / "time.txt"
    os.utime(path, (1, 1))
    index = Index.build(notes, model=str(tiny_model))
    before = path.stat()
    with path.open("r+b") as stream:
        stream.write(b"Some")  # in the place of "Many"
    os.utime(path, (1, 1))
    after = path.stat()
    assert (before.st_size, before.st_mtime_ns, before.st_ino) == (
        after.st_size,
        after.st_mtime_ns,
        after.st_ino,
    )
    assert "deep/time.txt (changed)" in run("check", "-i", "notes")[1]
    assert searcher_of(index).pending_update() == "small"
    assert Index.preview(notes).changed == ("deep/time.txt",)
    report = index.update()
    assert (report.changed, report.encoded) == (1, 1)
    assert index.query("some people", mode="lexical")[0].document == "deep/time.txt"


def test_files_that_did_not_change_since_the_last_walk_are_not_read(
    notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in notes.rglob("*.*"):
        os.utime(path, (1, 1))
    index = Index.build(notes, model=str(tiny_model))
    in_an_hour = time.time_ns() + 3_600 * 10**9
    damage.execute(index.path, f"UPDATE meta SET value = '{in_an_hour}' WHERE key = 'walked_ns'")
    monkeypatch.setattr("search.indexing.read.load", None)
    assert index.update().unchanged == 3


def test_another_model_or_pooling_is_refused_with_both_named(
    notes: Path, tiny_model: Path, other_model: Path
) -> None:
    build(notes, tiny_model)
    for attempt in (
        lambda: Index.build(notes, model=str(other_model)),
        lambda: Index.open(notes, model=str(other_model)),
    ):
        with pytest.raises(FingerprintMismatch) as error:
            attempt()
        assert str(tiny_model) in str(error.value)
        assert str(other_model) in str(error.value)
    with pytest.raises(FingerprintMismatch, match="the index has 'mean', you asked for 'cls'"):
        Index.open(notes, pooling="cls")


def test_a_rebuild_replaces_the_model(notes: Path, tiny_model: Path, other_model: Path) -> None:
    index = Path(build(notes, tiny_model).index)
    old = {path.name for path in (index / "ann").iterdir()}
    report = build(notes, other_model, rebuild=True)
    assert (report.added, report.encoded) == (3, 5)
    opened = Index.open(notes)
    assert opened.encoder.model == str(other_model)
    assert opened.query("key")
    assert opened.notes == ()
    assert not old & {path.name for path in (index / "ann").iterdir()}


def test_options_of_the_first_run_are_remembered(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model, pooling="max", include=["*.md"], max_tokens=32)
    again = Index.build(notes)
    assert again.report is not None
    assert again.report.nothing_changed
    assert (again.report.documents, again.encoder.pooling, again.encoder.max_tokens) == (1, "max", 32)
    more = Index.build(notes, include=["*.md", "*.txt"])
    assert more.report is not None
    assert more.report.added == 1


def test_a_folder_without_text_is_refused(tmp_path: Path, tiny_model: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    with pytest.raises(InputError, match="skipped: nothing"):
        build(folder, tiny_model, index=str(tmp_path / "index"))
    (folder / "a.png").write_bytes(b"\x89PNG")
    (folder / "b.txt").write_bytes(b"\x00\x01\x02" * 50)
    with pytest.raises(InputError, match=r"\(skipped: 2 binary\)"):
        build(folder, tiny_model, index=str(tmp_path / "index"))
    assert not (tmp_path / "index").exists()
    with pytest.raises(InputError, match="is a file. Give the folder"):
        build(folder / "a.png", tiny_model)


def test_no_index_is_created_among_other_files(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "full" / "tmp").mkdir(parents=True)
    (tmp_path / "full" / "thesis.doc").write_text("precious", encoding="utf-8")
    (tmp_path / "full" / "tmp" / "precious").write_text("too", encoding="utf-8")
    with pytest.raises(InputError, match=r"contains other files \(thesis.doc\)"):
        build(notes, tiny_model, index=str(tmp_path / "full"))
    assert (tmp_path / "full" / "tmp" / "precious").read_text(encoding="utf-8") == "too"


def test_an_index_inside_its_folder_does_not_index_itself(notes: Path, tiny_model: Path) -> None:
    report = build(notes, tiny_model, index=str(notes / "deep" / "index"))
    again = build(notes, tiny_model, index=str(notes / "deep" / "index"))
    assert again.nothing_changed
    assert report.skipped == again.skipped == ()


def test_an_index_of_another_folder_is_not_taken_over(
    notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    build(notes, tiny_model, index="mine")
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    (other_folder / "a.txt").write_text("a word", encoding="utf-8")
    with pytest.raises(InputError, match="belongs to the folder"):
        build(other_folder, tiny_model, index="mine")


def test_progress_goes_from_nothing_to_all(notes: Path, tiny_model: Path) -> None:
    updates = []
    build(notes, tiny_model, progress=updates.append)
    assert list(dict.fromkeys(state.stage for state in updates)) == ["reading", "encoding", "saving"]
    read = [state for state in updates if state.stage == "reading"]
    encoded = [state for state in updates if state.stage == "encoding"]
    for states in (read, encoded):
        done = [state.done for state in states]
        assert done == sorted(done) and done[0] == 0 and done[-1] == states[-1].total
        assert states[-1].passages == 5
    assert read[-1].total == sum(p.stat().st_size for p in notes.rglob("*") if p.is_file())


def test_progress_counts_parts_of_a_file(
    notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.indexing.read.PASSAGES_IN_A_BATCH", 10)
    rows = [f"the key of the door number {n}" for n in range(100)]
    (notes / "rows.csv").write_text("\n".join(["text", *rows]))
    updates: list[Any] = []
    build(notes, tiny_model, progress=updates.append)
    read = [state for state in updates if state.stage == "reading"]
    counts = [state.done for state in read]
    assert counts == sorted(counts) and counts[-1] == read[-1].total
    assert max(b - a for a, b in pairwise(counts)) < 0.3 * counts[-1]


def test_another_text_field_reads_the_records_again(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model)
    report = build(notes, tiny_model, text_field="name")
    assert (report.changed, report.unchanged, report.encoded) == (1, 2, 2)
    assert "second" in {hit.text for hit in Index.open(notes).query("key", k=100)}
    assert build(notes, tiny_model).nothing_changed


def test_a_file_that_cannot_be_read_keeps_its_passages_and_is_tried_again(
    notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(notes, tiny_model)
    (notes / "keys.md").write_text("# Keys\n\nAnother word.\n", encoding="utf-8")
    real_open = os.open

    def deny(path: Any, *args: Any, **options: Any) -> int:
        if str(path).endswith("keys.md"):
            raise PermissionError(13, "Permission denied", str(path))
        return real_open(path, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", deny)
        report = build(notes, tiny_model)
        assert (report.changed, report.removed, report.passages) == (0, 0, 5)
        assert [group.reason for group in report.skipped] == ["permission denied"]
        assert build(notes, tiny_model).passages == 5
    report = build(notes, tiny_model)
    assert (report.changed, report.passages, report.skipped) == (1, 4, ())


def test_a_folder_that_cannot_be_listed_loses_nothing(
    notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(notes, tiny_model)
    scandir = os.scandir

    def deny(path: Any) -> Any:
        if os.fspath(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", deny)
        report = build(notes, tiny_model)
        assert (report.removed, report.documents, report.passages) == (0, 4, 5)
        assert [group.reason for group in report.skipped] == ["unreadable folder"]
        assert "deep/time.txt" in {hit.document for hit in Index.open(notes).query("time", k=9)}
    (notes / "deep" / "time.txt").unlink()
    assert build(notes, tiny_model).removed == 1


@pytest.mark.skipif(os.name != "posix", reason="these are permissions of POSIX")
def test_a_folder_without_read_permission_loses_nothing(run: Run, indexed: Path) -> None:
    """By the system's own refusal, as a user whom permissions bind."""
    (indexed / "deep").chmod(0)
    try:
        code, out, err = shell(as_a_user("seewhy index -i notes --json"))
    finally:
        (indexed / "deep").chmod(0o755)
    report = json.loads(out)
    assert (code, report["removed"], report["documents"]) == (0, 0, 4), err
    assert [(group["reason"], group["examples"]) for group in report["skipped"]] == [
        ("unreadable folder", ["deep (Permission denied)"])
    ]
    assert "deep/time.txt" in {hit["document"] for hit in json.loads(run("query", "time", "--json")[1])}


def test_naming_the_same_model_is_no_mismatch(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model, max_tokens=32)
    assert Index.open(notes, model=str(tiny_model)).encoder.max_tokens == 32


def same_stat(path: Path, text: str) -> None:
    """Change a file without a trace in its size, time stamp and inode."""
    before = path.stat()
    assert len(text.encode()) == before.st_size
    with path.open("r+", encoding="utf-8") as stream:
        stream.write(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_file_that_changes_twice_within_one_tick_of_the_clock_is_not_missed(
    notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    file = notes / "deep" / "time.txt"
    file.write_text("The time has come.", encoding="utf-8")
    index = Path(build(notes, tiny_model).index)
    same_stat(file, "The time had come.")
    assert build(notes, tiny_model).changed == 1
    assert_same_as_rebuilt(notes, tiny_model, index, tmp_path / "other")


def test_an_index_on_this_machine_is_built_and_updated_without_the_modules_for_a_server(
    notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    script = f"""
import sys
from search import Index
Index.build({str(notes)!r}, model={str(tiny_model)!r}, index={str(tmp_path / "index")!r}).update()
print(*(name for name in sys.modules if "milvus" in name))"""
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True
    )
    assert process.stdout.split() == []


def test_a_file_that_becomes_ignored_is_forgotten(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model)
    (notes / ".gitignore").write_text("deep/\n", encoding="utf-8")
    report = build(notes, tiny_model)
    assert (report.removed, report.documents) == (1, 3)
    assert {group.reason for group in report.skipped} == {"ignored", "hidden"}


def test_one_changed_record_of_a_table_is_encoded_alone(
    notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    index = Path(build(notes, tiny_model).index)
    (notes / "table.csv").write_text(
        "name,text\nfirst,the first side of the door\nsecond,a new sound\nthird,word\n", encoding="utf-8"
    )
    report = build(notes, tiny_model)
    assert (report.changed, report.encoded, report.documents) == (1, 2, 5)
    assert_same_as_rebuilt(notes, tiny_model, index, tmp_path / "other")


def test_a_rebuild_keeps_model_pooling_and_patterns(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model, pooling="max", include=["*.md"])
    again = Index.build(notes, rebuild=True)
    assert (again.encoder.pooling, again.encoder.model) == ("max", str(tiny_model))
    assert again.status().documents == 1


def test_the_same_model_keeps_layer_and_dimension_of_the_index(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model, layer=-2, dim=8)
    encoder = Index.open(notes, model=str(tiny_model), pooling="mean").encoder
    assert (encoder.layer, encoder.dimension) == ("-2", 8)


def test_a_new_name_that_changes_the_kind_is_read_again(
    notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    index = Path(build(notes, tiny_model).index)
    (notes / "keys.md").rename(notes / "keys.txt")
    report = build(notes, tiny_model)
    assert (report.renamed, report.added, report.removed) == (1, 0, 0)
    assert_same_as_rebuilt(notes, tiny_model, index, tmp_path / "other")


def test_of_two_equal_files_one_is_renamed_and_one_removed(
    notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    shutil.copy(notes / "keys.md", notes / "copy.md")
    index = Path(build(notes, tiny_model).index)
    (notes / "keys.md").rename(notes / "a.md")
    (notes / "copy.md").unlink()
    report = build(notes, tiny_model)
    assert (report.renamed, report.added, report.removed) == (1, 0, 1)
    assert_same_as_rebuilt(notes, tiny_model, index, tmp_path / "other")


def test_files_that_swap_their_names_swap_their_passages(
    notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    (notes / "other.md").write_text("# Other\n\nMore words come.\n", encoding="utf-8")
    index = Path(build(notes, tiny_model).index)
    (notes / "keys.md").rename(notes / "x.md")
    (notes / "other.md").rename(notes / "keys.md")
    (notes / "x.md").rename(notes / "other.md")
    report = build(notes, tiny_model)
    assert (report.changed, report.encoded) == (2, 0)
    assert_same_as_rebuilt(notes, tiny_model, index, tmp_path / "other")


def test_documents_are_kept_while_their_extra_is_missing(
    notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openpyxl")
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["the water is over the door"])
    book.save(notes / "table.xlsx")
    index = Path(build(notes, tiny_model).index)
    monkeypatch.setattr("search.corpus.sources.find_spec", lambda _: None)
    report = build(notes, tiny_model)
    assert (report.removed, report.changed) == (0, 0)
    assert {group.reason for group in report.skipped} == {"needs seewhy[documents]"}
    assert b"table.xlsx" in {row[0] for row in content(index)}


@pytest.mark.parametrize("state", ["an empty file", "tables alone"])
def test_an_empty_or_unfinished_index_is_filled_by_the_next_run(
    notes: Path, tiny_model: Path, own_home: Path, state: str
) -> None:
    place = own_home / "indexes" / "notes"
    place.mkdir(parents=True)
    if state == "an empty file":
        (place / "index.db").touch()
        with pytest.raises(IndexNotFound):
            Index.open(place)
    else:

        def stop(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Encoder, "encode", stop)
            build(notes, tiny_model)
        assert Index.open(place).query("key", mode="lexical")
    assert build(notes, tiny_model).passages == 5
    assert Index.open(place).query("key")


def test_a_rebuild_over_the_journal_of_a_killed_writer_gives_a_sound_index(
    notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    index = Path(build(notes, tiny_model, index=str(tmp_path / "index")).index)
    opened = Index.open(index)
    before = {hit.text for hit in opened.query("key", k=100)}
    with closing(sqlite3.connect(index / "index.db", isolation_level=None)) as writer:
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE passages SET text = hex(randomblob(20000))")  # spills: the journal is hot
        half = {path: path.read_bytes() for path in index.glob("index.db*")}
        writer.execute("ROLLBACK")
    assert len(half) == 2
    for path, data in half.items():
        path.write_bytes(data)
    assert {hit.text for hit in opened.query("key", k=100)} == before
    for path, data in half.items():
        path.write_bytes(data)
    build(notes, tiny_model, index=str(index), rebuild=True)
    assert {hit.text for hit in Index.open(index).query("key", k=100)} == before
    assert not list(index.glob("*-journal"))
    assert Index.open(index).check().ok


def test_leftovers_of_a_full_disk_are_deleted_by_the_next_run(
    notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Path(build(notes, tiny_model).index)
    before = {path.name for path in (index / "ann").iterdir()}

    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    for _ in range(3):
        with monkeypatch.context() as patch, pytest.raises(StorageFull, match="No space left"):
            patch.setattr("search.store.segments.sync_folder", full)
            build(notes, tiny_model, rebuild=True)
        assert Index.open(index).query("key")
        assert len(list((index / "ann").iterdir())) <= 2 * len(before)
    build(notes, tiny_model, rebuild=True)
    assert len(list((index / "ann").iterdir())) == len(before)
