"""The number that says whether an answer can still be what it was."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from search import Index
from search.indexing.check import check
from search.records.documents import Annotation
from search.store import segments
from search.store.annotating import annotating, remove_annotator
from search.store.layout import DATABASE
from search.store.writer import put_choice, writing
from tests.store.damage import sql


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> Path:
    for path in notes.rglob("*.*"):
        os.utime(path, (1, 1))
    return Index.build(notes, model=str(tiny_model)).path


def generation(index: Path) -> int:
    return Index.open(index).generation


def annotate(index: Path) -> None:
    with annotating(index, "ner", {"task": "ner"}, ["city"]) as run:
        run.put([Annotation(id_, {"city": ["Key"]}) for id_ in run.todo])


CHANGES: dict[str, Callable[[Path, Path], object]] = {
    "a file changes": lambda notes, _: (notes / "keys.md").write_text(
        "# Other\n\nmy sound\n", encoding="utf-8"
    ),
    "a file goes": lambda notes, _: (notes / "keys.md").unlink(),
    "a file gets another name": lambda notes, _: (notes / "keys.md").rename(notes / "doors.md"),
    "a file gets another time": lambda notes, _: os.utime(notes / "keys.md", (9, 9)),
    "annotations": lambda _, index: annotate(index),
    "a weight is chosen": lambda _, index: put_choice(index, {"weight": 0.5}),
    "token vectors": lambda notes, index: Index.build(notes, index=str(index), token_vectors=True),
    "a rebuild": lambda notes, index: Index.build(notes, index=str(index), rebuild=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_can_change_an_answer_raises_it(change: str, notes: Path, index: Path) -> None:
    before = generation(index)
    CHANGES[change](notes, index)
    Index.build(notes, index=str(index))
    after = generation(index)
    assert after > before > 0
    assert Index.build(notes, index=str(index)).generation == after


def test_what_no_answer_is_made_of_leaves_it(notes: Path, index: Path) -> None:
    before = generation(index)
    Index.build(notes, index=str(index), verify=True)  # touches every file
    with writing(index / DATABASE) as writer:
        segments.seal_anew(writer, index, Index.open(index).encoder.dimension)
    check(index, repair=True)  # deletes the old files
    assert generation(index) == before


def test_a_file_that_was_just_written_is_read_again_without_a_change(notes: Path, index: Path) -> None:
    (notes / "new.txt").write_text("a new sound", encoding="utf-8")
    changed = Index.build(notes, index=str(index)).generation
    os.utime(notes / "new.txt", (1, 1))  # as two seconds later
    again = Index.build(notes, index=str(index))
    assert again.generation == changed
    assert again.report and again.report.unchanged == 4


def test_it_goes_with_annotations_and_comes_back_with_none(index: Path) -> None:
    annotate(index)
    before = generation(index)
    remove_annotator(index, "ner")
    assert generation(index) > before


def test_no_number_comes_twice_when_a_copy_is_put_back(
    notes: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(index, tmp_path / "copy")
    put_choice(index, {"weight": 0.5})
    given = generation(index)
    shutil.rmtree(index)
    shutil.copytree(tmp_path / "copy", index)
    monkeypatch.setattr("search.store.tables.time.time_ns", lambda: (given + 5) * 1_000_000)
    put_choice(index, {"weight": 0.25})
    assert generation(index) > given


def test_an_index_that_was_never_counted_has_the_number_0(notes: Path, index: Path) -> None:
    sql("DELETE FROM meta WHERE key = 'generation'")(index)
    assert check(index).ok
    assert generation(index) == 0
    put_choice(index, {"weight": 0.5})
    assert generation(index) > 0


def test_hits_say_the_number_of_their_document(index: Path) -> None:
    hits = Index.open(index).query("the key in the water", k=5)
    numbers = {hit.document: hit.document_id for hit in hits}
    assert len(set(numbers.values())) == len(numbers) == 4
    with Index.open(index)._store.reading() as snapshot:
        assert snapshot.documents([hits[0].passage_id]) == {hits[0].passage_id: hits[0].document_id}
