"""The number that says whether an answer can still be what it was."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from search import Index


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> Path:
    for path in notes.rglob("*.*"):
        os.utime(path, (1, 1))
    return Index.build(notes, model=str(tiny_model)).path


def generation(index: Path) -> int:
    return Index.open(index).generation


CHANGES: dict[str, Callable[[Path, Path], object]] = {
    "a file changes": lambda notes, _: (notes / "keys.md").write_text(
        "# Other\n\nmy sound\n", encoding="utf-8"
    ),
    "a file gets another name": lambda notes, _: (notes / "keys.md").rename(notes / "doors.md"),
    "a file gets another time": lambda notes, _: os.utime(notes / "keys.md", (9, 9)),
    "token vectors": lambda notes, index: Index.build(notes, index=str(index), token_vectors=True),
    "a rebuild": lambda notes, index: Index.build(notes, index=str(index), rebuild=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_answers_raises_the_generation(change: str, notes: Path, index: Path) -> None:
    before = generation(index)
    CHANGES[change](notes, index)
    Index.build(notes, index=str(index))
    after = generation(index)
    assert after > before > 0
    assert Index.build(notes, index=str(index)).generation == after


def test_a_run_without_changes_and_a_repair_keep_the_generation(notes: Path, index: Path) -> None:
    before = generation(index)
    Index.build(notes, index=str(index))
    shutil.rmtree(index / "ann")
    assert Index.open(index).check(repair=True).ok
    assert generation(index) == before


def test_a_file_that_was_just_written_is_read_again_without_a_change(notes: Path, index: Path) -> None:
    (notes / "new.txt").write_text("a new sound", encoding="utf-8")
    number = Index.build(notes, index=str(index)).generation
    os.utime(notes / "new.txt", (1, 1))  # as two seconds later
    again = Index.build(notes, index=str(index))
    assert again.generation == number
    assert again.report and again.report.unchanged == 4


def test_no_generation_comes_twice_when_a_copy_is_restored(
    notes: Path, index: Path, tmp_path: Path
) -> None:
    shutil.copytree(index, tmp_path / "copy")
    numbers = {generation(index)}
    for text in ("one", "two"):
        (notes / "keys.md").write_text(text, encoding="utf-8")
        numbers.add(Index.build(notes, index=str(index)).generation)
        shutil.rmtree(index)
        shutil.copytree(tmp_path / "copy", index)
    assert len(numbers) == 3
