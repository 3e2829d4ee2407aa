"""The two phases of a run: what is stored is found, what is pending is encoded once, and nothing is left of it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import Index, InputError, export
from search.indexing.compare import newest_first
from search.indexing.encode_pending import in_order_of_encoding
from search.indexing.update_check import pending_update
from search.ranking.rank import ranked as rank
from search.records.reports import Progress
from search.store.files import writer_lock


@pytest.fixture
def doors(tmp_path: Path) -> Path:
    """A folder of 60 files, of one passage each."""
    folder = tmp_path / "doors"
    folder.mkdir()
    for number in range(60):
        text = f"The key of door {number} is in the water, people say. " * (1 + number % 3)
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
        os.utime(folder / f"{number}.txt", (1e9, 1e9))  # files that have just changed are read again
    return folder


def build(folder: Path, model: Path, **options: Any) -> Index:
    return Index.build(folder, model=str(model), **options)


def stop_at(stage: str, passages: int) -> Any:
    """A callback that stops a run like Ctrl-C."""

    def stop(state: Progress) -> None:
        if state.stage == stage and state.passages >= passages:
            raise KeyboardInterrupt

    return stop


def rows(index: Index, select: str) -> list[Any]:
    with closing(sqlite3.connect(index.path / "index.db")) as connection:
        return connection.execute(select).fetchall()


def content(index: Index) -> dict[str, Any]:
    """All of an index but its names, numbers of states and times."""
    tables = [
        name for (name,) in rows(index, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
    ]
    stored = {table: rows(index, f"SELECT * FROM {table}") for table in tables}
    stored["meta"] = sorted(
        (key, value) for key, value in stored["meta"] if key not in ("generation", "updated", "walked_ns")
    )
    stored["segments"] = [(*row[2:],) for row in stored["segments"]]
    files = (index.path / "ann").iterdir()
    return stored | {"files": sorted((path.suffix, path.read_bytes()) for path in files)}


def assert_alike(index: Index, other: Index) -> None:
    """Assert that two indexes are the same but for the rounding of embeddings, and what is made of them."""
    ours, theirs = content(index), content(other)
    for part in ("embeddings", "baseline", "segments", "files"):
        assert len(ours[part]) == len(theirs[part])
        del ours[part], theirs[part]
    assert ours == theirs
    np.testing.assert_allclose(index.embeddings()[1], other.embeddings()[1], atol=1e-6)


def test_a_lazy_index_that_was_completed_is_the_same_byte_for_byte(
    doors: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build(doors, tiny_model, index="whole")
    lazy = build(doors, tiny_model, index="lazy", lazy=True)
    assert lazy.report and lazy.report.pending == lazy.report.passages == 60 and lazy.report.encoded == 0
    assert lazy.status().lazy and lazy.status().complete and lazy.status().pending == 60
    again = build(doors, tiny_model, index="lazy")
    assert again.report and (again.report.encoded, again.report.pending) == (60, 0)
    assert content(again) == content(whole)


def test_hits_are_of_the_state_whose_coverage_they_report(
    doors: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, rankings = build(doors, tiny_model, index="lazy", lazy=True), []

    def ranked(*options: Any) -> Any:
        rankings.append(options)
        if (
            len(rankings) == 2
        ):  # a writer is faster than the reader, between what it encodes and what it ranks
            (doors / "0.txt").write_text("A key of another door is in the water.", encoding="utf-8")
            build(doors, tiny_model, index="lazy", lazy=True)
        return rank(*options)

    monkeypatch.setattr("search.searcher.ranked", ranked)
    hits = index.query("the key of door 3", k=100, per_document=0, mode="dense", pending=100)
    assert len(rankings) == 3
    assert len(hits) == 60 and hits.coverage is None


def test_a_run_that_was_stopped_in_either_phase_is_completed_by_the_next(
    doors: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.indexing.read.PASSAGES_IN_A_BATCH", 8)
    whole = build(doors, tiny_model, index="whole")
    for stage, passages in (("reading", 16), ("encoding", 24)):
        with pytest.raises(KeyboardInterrupt):
            build(doors, tiny_model, index=stage, progress=stop_at(stage, passages))
        stopped = Index.open(stage)
        status = stopped.status()
        assert not status.complete and status.command
        assert status.pending == (16 if stage == "reading" else 60 - 24)
        hits = stopped.query("the key of door 3", k=100, per_document=0, pending=5)
        assert hits.coverage and hits.coverage.for_query == 5
        assert hits.coverage.unread == (60 - 16 if stage == "reading" else 0)
        assert hits.coverage.expected == (60 if stage == "reading" else 0)
        about = "of about 60 passages" if stage == "reading" else f"of {hits.coverage.passages} passages"
        assert about in hits.coverage.sentence
        assert len(hits) == hits.coverage.encoded
        done = build(doors, tiny_model, index=stage)
        assert done.report and done.report.encoded == 60 - hits.coverage.encoded
        assert_alike(done, whole)


def test_an_index_on_demand_has_the_scores_of_the_complete_one(doors: Path, tiny_model: Path) -> None:
    whole = build(doors, tiny_model, index="whole")
    lazy = build(doors, tiny_model, index="lazy", lazy=True)
    for query in ("the key of door 7", "water", "what do people say"):
        scores = {hit.document: hit.score for hit in whole.query(query, k=60)}
        hits = lazy.query(query, k=10, pending=12)
        assert len(hits) == 10
        for hit in hits:
            assert hit.score == pytest.approx(scores[hit.document], abs=1e-6)
            why = lazy.explain(query, hit)
            assert abs(why.residual) < 1e-6
    assert 60 - 36 <= lazy.status().pending < 60


def test_what_was_encoded_for_a_query_is_kept_and_the_generation_stays(
    doors: Path, tiny_model: Path
) -> None:
    lazy = build(doors, tiny_model, lazy=True)
    generation = lazy.generation
    lazy.query("water", pending=30)
    assert lazy.generation == generation
    assert Index.open(lazy.path).status().pending == 30
    lazy.query("water", pending=100)
    assert Index.open(lazy.path).status().pending == 0
    assert "pending" not in [name for (name,) in rows(lazy, "SELECT name FROM sqlite_master")]
    assert lazy.query("water").coverage is None


def test_beside_a_writer_embeddings_stay_in_memory(doors: Path, tiny_model: Path) -> None:
    lazy = build(doors, tiny_model, lazy=True)
    with writer_lock(lazy.path):
        first, second = lazy.query("water", pending=10), lazy.query("water", pending=10)
        assert first.coverage and second.coverage
        assert (first.coverage.encoded, second.coverage.encoded) == (10, 20)
        (_, vectors) = lazy.embeddings([second[0].passage_id])
        assert vectors.shape == (1, 32)
        assert Index.open(lazy.path).status().pending == 60
    lazy.query("water", pending=10)
    assert Index.open(lazy.path).status().pending == 30


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_an_index_that_cannot_be_written_answers(doors: Path, tiny_model: Path) -> None:
    lazy = build(doors, tiny_model, lazy=True)
    lazy.path.chmod(0o500)
    try:
        assert lazy.query("water", pending=10)
    finally:
        lazy.path.chmod(0o700)


def test_files_are_changed_deleted_and_renamed_while_passages_are_pending(
    doors: Path, tiny_model: Path
) -> None:
    lazy = build(doors, tiny_model, lazy=True)
    lazy.query("water", pending=20)
    (doors / "3.txt").write_text("An orchard of apples.", encoding="utf-8")
    (doors / "4.txt").unlink()
    (doors / "5.txt").rename(doors / "moved.txt")
    report = lazy.update()
    assert (report.changed, report.removed, report.renamed, report.encoded) == (1, 1, 1, 0)
    assert lazy.status().lazy and 0 < lazy.status().pending < 60
    assert lazy.query("orchard apples", k=1)[0].document == "3.txt"
    documents = {hit.document for hit in lazy.query("the key of the door", k=100, pending=100)}
    assert "moved.txt" in documents and not {"4.txt", "5.txt"} & documents
    build(doors, tiny_model)
    assert not lazy.status().pending and len(lazy.embeddings()[0]) == 59


def test_equal_contents_are_encoded_once(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.indexing.read.PASSAGES_IN_A_BATCH", 4)
    folder = tmp_path / "copies"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number}.txt").write_text(f"The key number {number % 3}.", encoding="utf-8")
    report = build(folder, tiny_model).report
    assert report and (report.passages, report.encoded, report.reused) == (12, 3, 9)


def test_what_needs_all_embeddings_is_refused_with_the_command_to_run(
    doors: Path, tiny_model: Path, tmp_path: Path
) -> None:
    lazy = build(doors, tiny_model, lazy=True)
    for work in (lazy.duplicates, lambda: export.to_numpy(lazy, tmp_path / "a.npy")):
        with pytest.raises(InputError, match=r"60 passages are not encoded yet.*Run first: seewhy index"):
            work()
    assert len(lazy.embeddings()[0]) == 0
    assert not lazy._searcher.map().points


def test_a_small_update_of_an_incomplete_index_encodes_nothing_else(
    notes: Path, tiny_model: Path
) -> None:
    index = build(notes, tiny_model, lazy="once")
    assert not index.status().complete and not index.status().lazy
    (notes / "new.txt").write_text("A new orchard.", encoding="utf-8")
    assert pending_update(index.path, index._searcher.store.facts) == "small"
    assert index.update(lazy="once").encoded == 0
    assert index.query("orchard", mode="lexical")
    assert index.update().encoded == 6


def test_other_encoders_are_asked_on_demand_too(doors: Path) -> None:
    calls: list[int] = []

    def encode(texts: list[str]) -> np.ndarray:
        calls.append(len(texts))
        return np.array([[len(text), text.count("7") + 1.0] for text in texts])

    index = Index.build(doors, encoder=encode, encoder_name="lengths", lazy=True)
    calls.clear()
    assert index.query("door 7", k=3, pending=10)
    assert sum(calls) == 11


def test_files_that_changed_last_are_read_first() -> None:
    from search.corpus import SourceFile

    now, day = 10**18, 86_400 * 10**9
    ages = {"a": 400 * day, "b": 2 * day, "c": 3 * day, "d": 0, "e": 20 * day}
    files = [(SourceFile(name, Path(name), 1, now - age, 0), None) for name, age in ages.items()]
    assert [file.path for file, _ in newest_first(files, now)] == ["d", "b", "c", "e", "a"]


def test_the_first_passages_to_encode_are_spread_over_the_index() -> None:
    order = in_order_of_encoding(np.arange(1, 100_001))
    assert sorted(order.tolist()) == list(range(1, 100_001))
    for count in (100, 500, 2000):
        counts, _ = np.histogram(order[:count], bins=4, range=(1, 100_001))
        assert counts.min() > count / 8
    assert (np.diff(order[3000:]) > 0).all()
