"""Bringing an index up to date: what is encoded, kept, forgotten, and what is refused."""

import json
import os
import shutil
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import (
    FingerprintMismatch,
    Index,
    IndexDamaged,
    IndexNotFound,
    InputError,
    ReadError,
    Report,
)
from search.corpus.files import Reason
from search.encoding import Encoder
from search.indexing.update import update
from search.store.database import connect_to_write, read_meta, reading
from search.store.layout import DATABASE
from search.store.segments import named_files, read_segments
from search.store.settings import PassageSettings, Source
from search.store.writer import create


def build(folder: Path, model: Path, **options: Any) -> Report:
    report = Index.build(folder, model=str(model), **options).report
    assert report is not None
    return report


def content(index: Path) -> list[tuple[Any, ...]]:
    """Everything that a query could return, without ids."""
    with reading(index / DATABASE) as connection:
        return connection.execute(
            """SELECT files.path, record, title, metadata, start, "end", line_start, line_end,
                      heading, context, text, n_tokens, vector
               FROM passages JOIN documents ON documents.id = document JOIN files ON files.id = file
               JOIN embeddings ON passage = passages.id ORDER BY 1, 2, 5"""
        ).fetchall()


def assert_same_as_rebuilt(folder: Path, model: Path, index: Path, other: Path) -> None:
    build(folder, model, index=str(other))
    mine, fresh = content(index), content(other)
    assert [row[:-1] for row in mine] == [row[:-1] for row in fresh]
    for one, two in zip(mine, fresh, strict=True):
        np.testing.assert_allclose(np.frombuffer(one[-1], "<f4"), np.frombuffer(two[-1], "<f4"), atol=1e-6)


def test_first_run_and_second_run(notes: Path, tiny_model: Path) -> None:
    first = build(notes, tiny_model)
    assert (first.added, first.changed, first.removed, first.unchanged) == (3, 0, 0, 0)
    assert (first.documents, first.passages) == (4, 5)
    assert first.encoded == first.passages
    assert first.truncated_tokens == 0
    second = build(notes, tiny_model)
    assert second.nothing_changed
    assert (second.unchanged, second.encoded, second.documents, second.passages) == (3, 0, 4, 5)


def test_stored_passages_are_those_of_the_files(notes: Path, tiny_model: Path) -> None:
    report = build(notes, tiny_model)
    for path, record, *_, start, end, first, last, _heading, _context, text, n_tokens, _ in content(
        Path(report.index)
    ):
        source = (notes / os.fsdecode(path)).read_text(encoding="utf-8")
        assert text in "\n".join(source.split("\n")[first - 1 : last])
        assert n_tokens <= 64
        if not record:
            assert source[start:end] == text


def test_edits_and_removals_equal_a_clean_rebuild(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    index = Path(build(notes, tiny_model).index)
    keys = (notes / "keys.md").read_text(encoding="utf-8").replace("## Rotate", "## New")
    (notes / "keys.md").write_text(keys, encoding="utf-8")
    (notes / "deep" / "time.txt").unlink()
    (notes / "new.txt").write_text("Some people come and go.", encoding="utf-8")
    report = build(notes, tiny_model)
    assert (report.added, report.changed, report.removed, report.unchanged) == (1, 1, 1, 1)
    assert report.encoded == 2  # the new section and the new file; the old section is known already
    assert report.reused == 1
    assert_same_as_rebuilt(notes, tiny_model, index, tmp_path / "fresh")


def test_one_changed_record_of_a_table_is_encoded_alone(
    notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    index = Path(build(notes, tiny_model).index)
    (notes / "table.csv").write_text(
        "name,text\nfirst,the first side of the door\nsecond,a new sound\nthird,word\n", encoding="utf-8"
    )
    report = build(notes, tiny_model)
    assert (report.changed, report.encoded, report.documents) == (1, 2, 5)
    assert_same_as_rebuilt(notes, tiny_model, index, tmp_path / "fresh")


def test_a_new_time_stamp_alone_changes_nothing(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model)
    os.utime(notes / "keys.md", ns=(1, 1))
    assert build(notes, tiny_model).nothing_changed
    assert build(notes, tiny_model).unchanged == 3


def test_a_file_that_becomes_ignored_is_forgotten(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model)
    (notes / ".gitignore").write_text("deep/\n", encoding="utf-8")
    report = build(notes, tiny_model)
    assert (report.removed, report.documents) == (1, 3)
    assert {group.reason for group in report.skipped} == {"ignored", "hidden"}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs an account that can be denied")
def test_what_cannot_be_read_is_kept(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model)
    (notes / "deep").chmod(0)
    try:
        report = build(notes, tiny_model)
    finally:
        (notes / "deep").chmod(0o755)
    assert (report.removed, report.documents) == (0, 4)


def test_an_unlisted_folder_loses_nothing() -> None:
    from search.corpus import Skipped, SourceFile
    from search.corpus.files import Reason
    from search.indexing.plan import compare
    from search.store.status import FileState

    stored = FileState(1, 1, 1, "x", "indexed")
    plan = compare(
        dict.fromkeys(("a.txt", "deep/b.txt", "deeper.txt"), stored),
        [SourceFile("a.txt", Path("a.txt"), 1, 1, 1)],
        [Skipped("deep", Reason.UNREADABLE_FOLDER, is_folder=True)],
    )
    assert (list(plan.gone), plan.changed, plan.unchanged) == (["deeper.txt"], [], 1)


class Stopped(Exception):
    pass


def stop_after(n: int) -> Callable[[Sequence[str]], None]:
    calls = 0

    def hook(texts: Sequence[str]) -> None:
        nonlocal calls
        calls += 1
        if calls > n:
            raise Stopped

    return hook


def test_a_stopped_run_goes_on_where_it_was(
    tmp_path: Path, tiny: Encoder, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.indexing.batches.PASSAGES_IN_A_BATCH", 4)
    folder = tmp_path / "records"
    folder.mkdir()
    lines = [json.dumps({"text": f"word {i} of many"}) for i in range(30)]
    (folder / "all.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "b.txt").write_text("open the door", encoding="utf-8")
    index = tmp_path / "index"

    class Stopping(Encoder):
        hook = staticmethod(stop_after(3))

        def encode(self, texts: Sequence[str], **options: Any) -> Any:
            self.hook(texts)
            return super().encode(texts, **options)

    options: dict[str, Any] = {"settings": PassageSettings(), "source": Source()}
    with pytest.raises(Stopped):
        update(folder, index, Stopping(str(tiny_model)), **options)
    assert len(content(index)) == 12  # three batches were committed
    opened = Index.open(index)
    assert len(opened.query("word", k=100)) == 12  # and answer, without a FAISS file
    assert not opened.status().complete

    report = update(folder, index, tiny, **options)
    assert (report.encoded, report.documents) == (19, 31)
    assert opened.status().complete
    assert_same_as_rebuilt(folder, tiny_model, index, tmp_path / "fresh")


def test_another_model_or_pooling_is_refused_with_both_named(
    notes: Path, tiny_model: Path, other_model: Path
) -> None:
    build(notes, tiny_model)
    for attempt in (
        lambda: Index.build(notes, model=str(other_model)),
        lambda: Index.open(notes, model=str(other_model)),
    ):
        with pytest.raises(FingerprintMismatch) as caught:
            attempt()
        assert str(tiny_model) in str(caught.value)
        assert str(other_model) in str(caught.value)
    with pytest.raises(FingerprintMismatch, match="the index has 'mean', you asked for 'cls'"):
        Index.open(notes, pooling="cls")


def test_rebuild_puts_another_model_in_place(notes: Path, tiny_model: Path, other_model: Path) -> None:
    index = Path(build(notes, tiny_model).index)
    with reading(index / DATABASE) as connection:
        (old,) = read_segments(connection)
    report = build(notes, other_model, rebuild=True)
    assert (report.added, report.encoded) == (3, 5)
    opened = Index.open(notes)
    assert opened.encoder.model == str(other_model)
    assert opened.query("key")
    assert opened.notes == ()
    with reading(index / DATABASE) as connection:
        (new,) = read_segments(connection)
        assert {f"ann/{path.name}" for path in (index / "ann").iterdir()} == named_files(connection)
    assert new.file != old.file


def test_a_rebuild_that_fails_leaves_the_old_index(notes: Path, tiny: Encoder, tmp_path: Path) -> None:
    class Broken(Encoder):
        def encode(self, *args: Any, **options: Any) -> Any:
            raise Stopped

    options: dict[str, Any] = {"settings": PassageSettings(), "source": Source()}
    index = tmp_path / "index"
    update(notes, index, tiny, **options)
    before = content(index)
    with pytest.raises(Stopped):
        update(notes, index, Broken(tiny.model), rebuild=True, **options)
    assert content(index) == before
    assert update(notes, index, tiny, **options).nothing_changed


def test_options_of_the_first_run_are_remembered(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model, pooling="max", include=["*.md"], max_tokens=32)
    again = Index.build(notes)
    assert again.report is not None
    assert again.report.nothing_changed
    assert (again.report.documents, again.encoder.pooling, again.encoder.max_tokens) == (1, "max", 32)
    more = Index.build(notes, include=["*.md", "*.txt"])
    assert more.report is not None
    assert more.report.added == 1


def test_nothing_to_index(tmp_path: Path, tiny_model: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    with pytest.raises(InputError, match="it is empty"):
        build(folder, tiny_model, index=str(tmp_path / "index"))
    (folder / "a.png").write_bytes(b"\x89PNG")
    (folder / "b.txt").write_bytes(b"\x00\x01\x02" * 50)
    with pytest.raises(InputError, match=r"everything was left out \(2 binary\)"):
        build(folder, tiny_model, index=str(tmp_path / "index"))
    assert not (tmp_path / "index").exists()
    with pytest.raises(InputError, match="is a file, not a folder"):
        build(folder / "a.png", tiny_model)


def test_an_index_is_never_made_among_other_things(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "full" / "tmp").mkdir(parents=True)
    (tmp_path / "full" / "thesis.doc").write_text("precious", encoding="utf-8")
    (tmp_path / "full" / "tmp" / "precious").write_text("too", encoding="utf-8")
    with pytest.raises(InputError, match=r"holds other things \(thesis.doc\)"):
        build(notes, tiny_model, index=str(tmp_path / "full"))
    assert (tmp_path / "full" / "tmp" / "precious").read_text(encoding="utf-8") == "too"


def test_an_index_inside_its_folder_does_not_index_itself(notes: Path, tiny_model: Path) -> None:
    report = build(notes, tiny_model, index=str(notes / "deep" / "index"))
    again = build(notes, tiny_model, index=str(notes / "deep" / "index"))
    assert again.nothing_changed
    assert report.skipped == again.skipped == ()


def test_an_index_of_another_folder_is_not_taken_over(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    build(notes, tiny_model, index="mine")
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("a word", encoding="utf-8")
    with pytest.raises(InputError, match="is of the folder"):
        build(other, tiny_model, index="mine")


def test_progress_goes_from_nothing_to_all(notes: Path, tiny_model: Path) -> None:
    seen = []
    build(notes, tiny_model, progress=seen.append)
    assert [state.done for state in seen] == sorted(state.done for state in seen)
    assert seen[-1].stage == "saving"
    assert seen[-1].done == seen[-1].total == sum(p.stat().st_size for p in notes.rglob("*") if p.is_file())
    assert seen[-1].passages == 5


def test_progress_counts_parts_of_a_file(
    notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.indexing.batches.PASSAGES_IN_A_BATCH", 10)
    rows = [f"the key of the door number {n}" for n in range(100)]
    (notes / "rows.csv").write_text("\n".join(["text", *rows]))
    seen: list[Any] = []
    build(notes, tiny_model, progress=seen.append)
    done = [state.done for state in seen]
    assert done == sorted(done) and done[-1] == seen[-1].total
    assert max(b - a for a, b in pairwise(done)) < 0.3 * done[-1]


def test_segments_are_made_of_what_is_new_and_made_anew_where_much_is_gone(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.store.segments.LONGEST_TAIL", 5)
    folder = tmp_path / "many"
    folder.mkdir()

    def with_files(first: int, last: int) -> list[int]:
        for i in range(first, last):
            (folder / f"{i}.txt").write_text(f"word {i}", encoding="utf-8")
        index = Path(build(folder, tiny_model).index)
        hits = Index.open(folder).query("word", k=100, all_copies=True)
        assert {hit.document for hit in hits} == {path.name for path in folder.iterdir()}
        with reading(index / DATABASE) as connection:
            return [segment.count for segment in read_segments(connection)]

    assert with_files(0, 40) == [40]
    assert with_files(40, 45) == [40]  # the rest is the tail
    assert with_files(45, 46) == [40, 6]
    assert with_files(46, 56) == [40, 16]  # with the one before, which is no larger
    for i in range(10):
        (folder / f"{i}.txt").unlink()
    assert with_files(56, 56) == [46]  # with its neighbour
    assert with_files(56, 80) == [46, 24]


def test_a_damaged_file_of_a_segment_is_mended_by_the_next_run(notes: Path, tiny_model: Path) -> None:
    index = Path(build(notes, tiny_model).index)
    for kind in ("faiss", "words"):
        (file,) = (index / "ann").glob(f"*.{kind}")
        file.write_bytes(b"x")
        opened = Index.open(notes)
        if kind == "words":
            with pytest.raises(
                IndexDamaged, match=r"\.words' of the index is damaged or missing.*check --repair"
            ):
                opened.query("key")
        assert len(opened.query("key", mode="dense")) == 5
        assert build(notes, tiny_model).nothing_changed
        again = Index.open(notes)
        assert len(again.query("key")) == 5
        assert again.notes == ()
        assert again.check().ok


@pytest.mark.parametrize("begun", ["empty file", "tables only"])
def test_an_index_that_was_begun_and_never_filled(
    notes: Path, tiny_model: Path, own_home: Path, begun: str
) -> None:
    place = own_home / "indexes" / "notes"
    place.mkdir(parents=True)
    (place / DATABASE).touch()
    if begun == "tables only":
        connection = connect_to_write(place / DATABASE)
        create(connection)
        connection.close()
    with pytest.raises(IndexNotFound, match="begun and never filled. Go on with: seewhy index"):
        Index.open(place)
    assert build(notes, tiny_model).passages == 5


def test_another_text_field_reads_the_records_again(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model)
    report = build(notes, tiny_model, text_field="name")
    assert (report.changed, report.unchanged, report.encoded) == (1, 2, 2)
    assert "second" in {hit.text for hit in Index.open(notes).query("key", k=100)}
    assert build(notes, tiny_model).nothing_changed


def test_a_file_that_cannot_be_read_keeps_its_passages_and_is_tried_again(
    notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from search.corpus import load

    build(notes, tiny_model)
    (notes / "keys.md").write_text("# Keys\n\nAnother word.\n", encoding="utf-8")

    def denied(file: Any) -> Any:
        if file.path == "keys.md":
            raise ReadError(file.path, Reason.PERMISSION_DENIED)
        return load(file)

    with monkeypatch.context() as patch:
        patch.setattr("search.indexing.batches.load", denied)
        report = build(notes, tiny_model)
        assert (report.changed, report.removed, report.passages) == (0, 0, 5)
        assert [group.reason for group in report.skipped] == ["permission denied"]
        assert build(notes, tiny_model).passages == 5
    report = build(notes, tiny_model)
    assert (report.changed, report.passages, report.skipped) == (1, 4, ())


def test_a_rebuild_over_a_killed_writers_journal(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    index = Path(build(notes, tiny_model, index=str(tmp_path / "index")).index)
    writer = connect_to_write(index / DATABASE)
    writer.execute("PRAGMA cache_size = 1")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE passages SET text = hex(randomblob(20000))")  # spills: the journal is hot
    half = {p.name: p.read_bytes() for p in index.glob("index.db*")}
    assert len(half) == 2
    writer.execute("ROLLBACK")
    writer.close()
    for name, data in half.items():
        (index / name).write_bytes(data)
    build(notes, tiny_model, index=str(index), rebuild=True)
    assert len(Index.open(index).query("key", k=100)) == 5
    assert not list(index.glob("*-journal"))


def test_naming_the_same_model_is_no_mismatch(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model, max_tokens=32)
    assert Index.open(notes, model=str(tiny_model)).encoder.max_tokens == 32


def test_a_rebuild_keeps_what_the_index_was_made_with(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model, pooling="max", include=["*.md"])
    again = Index.build(notes, rebuild=True)
    assert (again.encoder.pooling, again.encoder.model) == ("max", str(tiny_model))
    assert again.status().documents == 1


def test_an_open_index_follows_a_rebuild_and_a_killed_writer(
    notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    place = Path(build(notes, tiny_model, index=str(tmp_path / "index")).index)
    opened = Index.open(place)
    before = {hit.passage_id for hit in opened.query("key", k=100)}
    build(notes, tiny_model, index=str(place), rebuild=True)
    after = {hit.passage_id for hit in opened.query("key", k=100)}
    assert len(after) == len(before) == 5
    assert not after & before

    writer = connect_to_write(place / DATABASE)
    writer.execute("PRAGMA cache_size = 1")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE passages SET text = hex(randomblob(20000))")
    half = {path: path.read_bytes() for path in place.glob("index.db*")}
    writer.execute("ROLLBACK")
    writer.close()
    for path, data in half.items():
        path.write_bytes(data)
    assert {hit.text for hit in opened.query("key", k=100)} == {
        hit.text for hit in Index.open(place).query("key", k=100)
    }
    assert {hit.passage_id for hit in opened.query("key", k=100)} == after


def test_naming_the_same_model_inherits_layer_and_dimension(notes: Path, tiny_model: Path) -> None:
    build(notes, tiny_model, layer=-2, dim=8)
    encoder = Index.open(notes, model=str(tiny_model), pooling="mean").encoder
    assert (encoder.layer, encoder.dimension) == ("-2", 8)


def passage_ids(index: Path) -> dict[str, list[int]]:
    with reading(index / DATABASE) as connection:
        rows = connection.execute(
            """SELECT files.path, passages.id FROM passages JOIN documents ON documents.id = document
               JOIN files ON files.id = file ORDER BY passages.id"""
        ).fetchall()
    found: dict[str, list[int]] = {}
    for path, id_ in rows:
        found.setdefault(os.fsdecode(path), []).append(id_)
    return found


def test_a_new_name_that_changes_the_kind_is_read_anew(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
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


def test_a_swap_of_names(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    (notes / "other.md").write_text("# Other\n\nMore words come.\n", encoding="utf-8")
    index = Path(build(notes, tiny_model).index)
    (notes / "keys.md").rename(notes / "x.md")
    (notes / "other.md").rename(notes / "keys.md")
    (notes / "x.md").rename(notes / "other.md")
    report = build(notes, tiny_model)
    assert (report.changed, report.encoded) == (2, 0)
    assert_same_as_rebuilt(notes, tiny_model, index, tmp_path / "other")


def same_stat(path: Path, text: str) -> None:
    """Change a file without a trace in its size, time stamp and inode."""
    before = path.stat()
    assert len(text.encode()) == before.st_size
    with path.open("r+", encoding="utf-8") as stream:
        stream.write(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_verify_finds_a_change_that_left_no_trace(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    file = notes / "deep" / "time.txt"
    os.utime(file, ns=(10**18, 10**18))
    index = Path(build(notes, tiny_model).index)
    same_stat(file, file.read_text(encoding="utf-8")[::-1])
    assert build(notes, tiny_model).nothing_changed
    report = build(notes, tiny_model, verify=True)
    assert (report.changed, report.unchanged) == (1, 2)
    assert_same_as_rebuilt(notes, tiny_model, index, tmp_path / "other")
    report = build(notes, tiny_model, verify=True)
    assert report.nothing_changed and report.unchanged == 3


def test_a_file_that_changes_twice_within_one_tick_of_the_clock_is_not_missed(
    notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    file = notes / "deep" / "time.txt"
    file.write_text("The time has come.", encoding="utf-8")
    index = Path(build(notes, tiny_model).index)
    same_stat(file, "The time had come.")
    assert build(notes, tiny_model).changed == 1
    assert_same_as_rebuilt(notes, tiny_model, index, tmp_path / "other")


def test_without_the_extra_what_it_once_read_is_kept(
    notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openpyxl")
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["the water is over the door"])
    book.save(notes / "table.xlsx")
    index = Path(build(notes, tiny_model).index)
    monkeypatch.setattr("search.corpus.files.find_spec", lambda _: None)
    report = build(notes, tiny_model)
    assert (report.removed, report.changed) == (0, 0)
    assert {group.reason for group in report.skipped} == {"needs seewhy[documents]"}
    assert "table.xlsx" in passage_ids(index)


def test_an_index_cut_in_another_way_goes_on_as_it_was_until_it_is_rebuilt(
    notes: Path, tiny_model: Path, tmp_path: Path, tiny: Encoder
) -> None:
    """A new version may have other defaults; that is no reason to refuse an old index."""

    def contexts(index: Path) -> set[str]:
        return {hit.context for hit in Index.open(str(index)).query("door", k=99) if hit.path.endswith(".md")}

    index = tmp_path / "index"
    old = PassageSettings(passage_tokens=20, heading_context=False)
    update(notes, index, tiny, settings=old, source=Source())
    (notes / "new.md").write_text("# New\n\n" + "A door and a lock and a key. " * 20, encoding="utf-8")
    report = build(notes, tiny_model, index=str(index))
    assert (report.added, report.unchanged) == (1, 3)
    fingerprint = read_meta(index / DATABASE)["fingerprint"]
    assert PassageSettings.from_json(fingerprint["passages"]) == old
    assert contexts(index) == {""}
    build(notes, tiny_model, index=str(index), rebuild=True)
    fingerprint = read_meta(index / DATABASE)["fingerprint"]
    assert PassageSettings.from_json(fingerprint["passages"]) == PassageSettings()
    assert contexts(index) > {""}


def test_what_a_full_disk_left_is_deleted_by_the_next_run(
    notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Path(build(notes, tiny_model).index)

    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    for _ in range(3):
        with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
            patch.setattr("search.store.segments.sync_folder", full)
            build(notes, tiny_model, rebuild=True)
        assert len(list((index / "ann").iterdir())) == 4  # the old ones, and those of the last try
    build(notes, tiny_model, rebuild=True)
    assert len(list((index / "ann").iterdir())) == 2
