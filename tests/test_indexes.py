"""Several indexes that are asked as one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from search import FingerprintMismatch, Index, Indexes, IndexNotFound, InputError
from tests.conftest import Run
from tests.store.damage import segment_file


@pytest.fixture
def indexes(notes: Path, tmp_path: Path, tiny_model: Path) -> Indexes:
    """The indexes of `notes` and `papers`, as one."""
    papers = tmp_path / "papers"
    papers.mkdir()
    for name, text in (
        ("door", "open the door of the water"),
        ("lock", "---\nlang: en\n---\n\nturn the lock"),
    ):
        (papers / f"{name}.md").write_text(text, encoding="utf-8")
    (papers / "long.md").write_text(
        "\n\n".join(f"# Part {n}\n\nthe key of door {n}" for n in range(9)), encoding="utf-8"
    )
    for folder in (notes, papers):
        Index.build(folder, model=str(tiny_model))
    return Indexes.open(["notes", "papers"])


def test_hits_of_all_indexes_rank_by_score(indexes: Indexes) -> None:
    alone = {
        name: Index.open(name).query("open the door", k=50, per_document=0)
        for name in ("notes", "papers")
    }
    hits = indexes.query("open the door", k=50, per_document=0)
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    expected = sorted(
        ((hit.score, name, hit.passage_id) for name in alone for hit in alone[name]),
        key=lambda entry: -entry[0],
    )
    assert [(hit.score, hit.index, hit.passage_id) for hit in hits] == expected
    assert indexes.query("open the door", k=3, offset=2, per_document=0) == hits[2:5]
    assert {hit.index for hit in alone["notes"]} == {""}
    assert indexes.query("open the door", mode="lexical")[0].mode == "lexical"


def test_a_hit_is_explained_by_its_own_index(indexes: Indexes) -> None:
    hits = indexes.query("turn the key", k=6)
    assert {hit.index for hit in hits} == {"notes", "papers"}
    for hit in hits:
        why = indexes.explain("turn the key", hit)
        assert why.score == pytest.approx(hit.score)
        assert indexes.of(hit).path.name == hit.index


def test_hits_of_a_document_are_limited_in_the_merged_list(indexes: Indexes) -> None:
    hits = indexes.query("the key of door", k=50, per_document=2)
    names = [(hit.index, hit.document) for hit in hits]
    beyond = next(place for place, name in enumerate(names) if names[: place + 1].count(name) > 2)
    assert all(names[:place].count(name) >= 2 for place, name in enumerate(names) if place >= beyond)
    assert set(names[beyond:]) <= {("papers", "long.md"), ("notes", "keys.md")}
    groups = indexes.query("the key of door", k=2, per_document=2, group=True)
    assert [hit.rank for hit in groups] == list(range(1, len(groups) + 1))
    assert len({(hit.index, hit.document) for hit in groups}) == 2
    assert indexes.query("the key of door", k=1, offset=1, per_document=2, group=True)[0].rank > 1


def test_indexes_with_different_settings_are_refused(
    indexes: Indexes, tmp_path: Path, other_model: Path
) -> None:
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "a.md").write_text("a door", encoding="utf-8")
    Index.build(tmp_path / "others", model=str(other_model))
    with pytest.raises(FingerprintMismatch, match="indexes 'notes' and 'others' have different settings"):
        Indexes.open(["notes", "others"]).query("door")


def test_an_index_without_the_field_is_left_out_with_a_note(indexes: Indexes) -> None:
    assert {hit.document for hit in indexes.query("door", where="lang=en")} == {"lock.md"}
    assert [note for note in indexes.notes if "skipped index 'notes'" in note]
    with pytest.raises(InputError, match="a field 'nope'"):
        indexes.query("door", where="nope=1")
    assert not indexes.query("door", where="path:nowhere") and not indexes.notes


def test_open_without_names_takes_every_readable_index(indexes: Indexes, own_home: Path) -> None:
    assert [index.path.name for index in Indexes.open().all] == ["notes", "papers"]
    (own_home / "indexes" / "papers" / "index.db").write_bytes(b"no database" * 100)
    readable = Indexes.open()
    assert [index.path.name for index in readable.all] == ["notes"]
    assert "skipped one index" in readable.notes[0]
    with pytest.raises(Exception, match="cannot read"):
        Indexes.open(["notes", "papers"]).query("door")
    with pytest.raises(IndexNotFound):
        Indexes.open(["notes", "nope"])


def test_the_command_queries_named_indexes_or_all(indexes: Indexes, run: Run) -> None:
    code, out, err = run("query", "open the door", "-i", "notes", "-i", "papers", "-k", "3")
    assert code == 0
    assert "  papers\n" in out and "  notes\n" in out
    assert "seewhy explain 'open the door' p" in err
    hits = json.loads(run("query", "open the door", "--all-indexes", "--json")[1])
    assert hits[0]["index"] == indexes.query("open the door", k=1)[0].index
    err = run("query", "open the door", "--all-indexes", "--group")[2]
    assert f"p{hits[0]['passage_id']} --index {hits[0]['index']}" in err
    assert run("query", "door", "--all-indexes", "-C", "1")[0] == 0


def test_a_damaged_index_is_left_out_of_all_and_refused_by_name(indexes: Indexes, run: Run) -> None:
    segment_file(indexes.all[0].path, ".words").write_bytes(b"x")
    code, out, err = run("query", "open the door", "--all-indexes", "--json")
    assert (code, {hit["index"] for hit in json.loads(out)}) == (0, {"papers"})
    assert "skipped index 'notes'" in err
    code, out, err = run("query", "open the door", "-i", "notes", "-i", "papers")
    assert (code, out) == (1, "") and "damaged" in err
