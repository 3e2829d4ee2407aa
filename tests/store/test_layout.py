"""Which index a name, a folder or nothing at all means."""

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


def test_by_name_path_folder_and_place(
    tmp_path: Path, own_home: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = folder(tmp_path / "one" / "notes")
    index = Index.build(one, model=str(tiny_model)).path
    assert index == own_home / "indexes" / "notes"
    for what in ("notes", str(index), index, one, f"{one}/"):
        assert Index.open(what).path == index
    assert Index.open(None).path == index  # the only one

    two = folder(tmp_path / "two" / "notes")  # another folder of the same name
    other = Index.build(two, model=str(tiny_model)).path
    assert other.name.startswith("notes-")
    assert (Index.open(one).path, Index.open(two).path) == (index, other)
    with pytest.raises(
        IndexNotFound, match=rf"which index\? Choose one with --index: notes \({one}\), {other.name}"
    ):
        Index.open(None)
    (two / "deep").mkdir()
    monkeypatch.chdir(two / "deep")
    assert Index.open(None).path == other
    monkeypatch.setenv("SEEWHY_INDEX", "notes")
    assert Index.open(None).path == index


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFound, match="no index yet"):
        Index.open(None)
    with pytest.raises(IndexNotFound, match="no index 'nope'. No index yet"):
        Index.open("nope")
    with pytest.raises(IndexNotFound, match="has no index yet. Create one with: seewhy index"):
        Index.open(folder(tmp_path / "notes"))


def test_a_bad_name(tmp_path: Path, tiny_model: Path) -> None:
    with pytest.raises(InputError, match="is not a valid index name"):
        Index.build(folder(tmp_path / "notes"), index="a*b", model=str(tiny_model))


@pytest.mark.parametrize(
    ("version", "error", "message"),
    [
        (
            7,
            IndexOutdated,
            r"has format 7, but this version of seewhy reads format 9. Rebuild it with: "
            r"seewhy index \S*notes --index notes --rebuild",
        ),
        (
            99,
            IndexOutdated,
            r"has format 99, but this version of seewhy reads format 9. Update seewhy, or rebuild .* --rebuild",
        ),
    ],
)
def test_an_index_of_another_format_is_refused_with_the_command_that_makes_it_again(
    tmp_path: Path, tiny_model: Path, version: int, error: type[Exception], message: str
) -> None:
    notes = folder(tmp_path / "notes")
    built = Index.build(notes, model=str(tiny_model))
    before = built.query("a word")
    damage.execute(
        built.path,
        f"UPDATE meta SET value = '{version}' WHERE key = 'schema_version'",
        "ALTER TABLE passages DROP COLUMN hidden",
    )
    for command in (lambda: Index.open(built.path), lambda: Index.build(notes, model=str(tiny_model))):
        with pytest.raises(error, match=message):
            command()
    again = Index.build(notes, model=str(tiny_model), rebuild=True).query("a word")
    assert [hit.score for hit in again] == [hit.score for hit in before]
    assert not {hit.passage_id for hit in again} & {hit.passage_id for hit in before}, (
        "an id is used twice"
    )


def test_databases_of_other_programs(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "index.db")) as connection:
        connection.execute("CREATE TABLE t (a)")
    with pytest.raises(IndexDamaged, match="cannot read"):
        Index.open(tmp_path)
    (tmp_path / "index.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(IndexDamaged, match="cannot read"):
        Index.open(tmp_path)


def test_an_unreadable_index_of_a_folder_is_named_and_not_passed_over(
    tmp_path: Path, tiny_model: Path
) -> None:
    root = folder(tmp_path / "notes")
    index = Index.build(root, model=str(tiny_model)).path
    (index / "index.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(IndexDamaged, match="cannot read"):
        Index.open(root)
    with pytest.raises(IndexDamaged, match="cannot read"):
        Index.build(root, model=str(tiny_model))
