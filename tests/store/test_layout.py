"""The index that a name, a folder or nothing at all means."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from search import Index, IndexDamaged, IndexNotFound, IndexOutdated, InputError
from tests.store import damage


def folder(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "a.txt").write_text("a word", encoding="utf-8")
    return path


def test_an_index_opens_by_name_path_and_folder_and_from_inside_it(
    tmp_path: Path, own_home: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = folder(tmp_path / "one" / "notes")
    index = Index.build(first, model=str(tiny_model)).path
    assert index == own_home / "indexes" / "notes"
    for name in ("notes", str(index), index, first, f"{first}/"):
        assert Index.open(name).path == index
    assert Index.open(None).path == index  # the only one

    second = folder(tmp_path / "two" / "notes")  # another folder of the same name
    second_index = Index.build(second, model=str(tiny_model)).path
    assert second_index.name.startswith("notes-")
    assert (Index.open(first).path, Index.open(second).path) == (index, second_index)
    with pytest.raises(
        IndexNotFound,
        match=rf"which index\? Choose one with --index: notes \({first}\), {second_index.name}",
    ):
        Index.open(None)
    (second / "deep").mkdir()
    monkeypatch.chdir(second / "deep")
    assert Index.open(None).path == second_index
    monkeypatch.setenv("SEEWHY_INDEX", "notes")
    assert Index.open(None).path == index


def test_an_index_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFound, match="no index yet"):
        Index.open(None)
    with pytest.raises(IndexNotFound, match="no index 'nope'. No index yet"):
        Index.open("nope")
    with pytest.raises(IndexNotFound, match="has no index yet. Create one with: seewhy index"):
        Index.open(folder(tmp_path / "notes"))


def test_of_many_indexes_the_first_ten_are_named(
    tmp_path: Path, tiny_model: Path, own_home: Path
) -> None:
    built = Index.build(folder(tmp_path / "notes"), model=str(tiny_model)).path
    for number in range(11):
        shutil.copytree(built, own_home / "indexes" / f"other{number:02}")
    with pytest.raises(IndexNotFound) as error:
        Index.open("nope")
    names = "notes, " + ", ".join(f"other{number:02}" for number in range(9))
    assert (
        str(error.value) == f"no index 'nope'. Choose one with --index: {names} and 2 more: seewhy list"
    )


def test_an_invalid_name_is_refused(tmp_path: Path, tiny_model: Path) -> None:
    with pytest.raises(InputError, match="is not a valid index name"):
        Index.build(folder(tmp_path / "notes"), index="a*b", model=str(tiny_model))


@pytest.mark.parametrize(
    ("version", "error", "message"),
    [
        (
            7,
            IndexOutdated,
            r"has format 7, but this version of seewhy reads format 10. Rebuild it with: "
            r"seewhy index \S*notes --index notes --rebuild",
        ),
        (
            99,
            IndexOutdated,
            r"has format 99, but this version of seewhy reads format 10. Update seewhy, or rebuild .* --rebuild",
        ),
    ],
)
def test_an_index_of_another_format_is_refused_with_the_command_that_rebuilds_it(
    tmp_path: Path, tiny_model: Path, version: int, error: type[Exception], message: str
) -> None:
    notes = folder(tmp_path / "notes")
    index = Index.build(notes, model=str(tiny_model))
    before = index.query("a word")
    damage.execute(
        index.path,
        f"UPDATE meta SET value = '{version}' WHERE key = 'schema_version'",
        "ALTER TABLE passages DROP COLUMN hidden",
    )
    for command in (lambda: Index.open(index.path), lambda: Index.build(notes, model=str(tiny_model))):
        with pytest.raises(error, match=message):
            command()
    again = Index.build(notes, model=str(tiny_model), rebuild=True).query("a word")
    assert [hit.score for hit in again] == [hit.score for hit in before]
    assert not {hit.passage_id for hit in again} & {hit.passage_id for hit in before}, (
        "an id is used twice"
    )


def test_databases_of_other_programs_are_damaged_indexes(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "index.db")) as connection:
        connection.execute("CREATE TABLE t (a)")
    with pytest.raises(IndexDamaged, match="cannot read"):
        Index.open(tmp_path)
    (tmp_path / "index.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(IndexDamaged, match="cannot read"):
        Index.open(tmp_path)


def test_an_unreadable_index_of_a_folder_is_an_error_and_not_replaced(
    tmp_path: Path, tiny_model: Path
) -> None:
    root = folder(tmp_path / "notes")
    index = Index.build(root, model=str(tiny_model)).path
    (index / "index.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(IndexDamaged, match="cannot read"):
        Index.open(root)
    with pytest.raises(IndexDamaged, match="cannot read"):
        Index.build(root, model=str(tiny_model))
