"""An index of documents from memory is their only copy: it is exported, converted and rebuilt, and never replaced."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from search import Document, Index, IndexDamaged, IndexOutdated, InputError, StorageFull
from search.records.memory_document import DamagedDocument
from search.store import contents
from tests.conftest import WORDS, Run
from tests.store import damage

DOCUMENTS = [
    Document(
        f"d{n}",
        " ".join(WORDS[(n + i) % len(WORDS)] for i in range(12)),
        title=f"Title {n}" if n % 2 else "",
        metadata={"number": n, "text": "a field may have any name"} if n % 3 else {},
        kind="markdown" if n % 5 == 0 else "text",
    )
    for n in range(60)
]


@pytest.fixture
def index(tiny_model: Path, own_home: Path) -> Index:
    index = Index.create("mem", model=str(tiny_model))
    index.upsert(DOCUMENTS)
    return index


def earlier_format(index: Path) -> None:
    damage.execute(
        index,
        "UPDATE meta SET value = '8' WHERE key = 'schema_version'",
        *damage.FORMAT_9,
        "ALTER TABLE embeddings DROP COLUMN near_key",
    )


def answers(index: Index) -> list[Any]:
    hits = [index.query(query, k=20, all_copies=True) for query in WORDS[:8]]
    return [[(hit.document, round(hit.score, 6), hit.text) for hit in ranking] for ranking in hits]


def export_all(place: Path | str) -> tuple[list[Document], list[DamagedDocument]]:
    damaged: list[DamagedDocument] = []
    return list(Index.export(place, on_damage=damaged.append)), damaged


def test_exported_documents_can_be_upserted_again(index: Index, run: Run, tmp_path: Path) -> None:
    assert export_all("mem") == (DOCUMENTS, [])
    code, out, err = run("export", "-i", "mem")
    assert (code, err) == (0, "")
    assert [Document.of(json.loads(line)) for line in out.splitlines()] == DOCUMENTS
    (tmp_path / "out.jsonl").write_text(out, encoding="utf-8")
    assert json.loads(run("upsert", "-i", "mem", tmp_path / "out.jsonl", "--json")[1])["unchanged"] == 60


def test_a_folder_is_not_exported(indexed: Path, run: Run) -> None:
    code, out, err = run("export", "-i", "notes")
    assert (code, out) == (1, "")
    assert "belongs to the folder" in err and "Its texts are in its files" in err


def test_every_format_is_exported(index: Index) -> None:
    for change in (
        earlier_format,
        damage.sql("UPDATE meta SET value = '99'"),
        damage.sql("DROP TABLE meta"),
    ):
        change(index.path)
        assert export_all(index.path) == (DOCUMENTS, [])


def test_an_earlier_format_answers_and_is_converted_by_the_first_write(index: Index) -> None:
    before, stored_at = answers(index), times(index.path)
    earlier_format(index.path)
    content = (index.path / "index.db").read_bytes()
    opened, second = Index.open("mem"), Index.open("mem")
    assert answers(opened) == before
    assert "has an earlier format and is read through a temporary copy" in opened.notes[0]
    assert (index.path / "index.db").read_bytes() == content, "a reader changed the index"
    report = opened.upsert([Document("new", "the new document")])
    assert (report.added, report.encoded) == (1, 1)
    assert opened.notes == ()
    stored = times(index.path)
    assert {id_: stored[id_] for id_ in stored_at} == stored_at
    assert export_all("mem") == ([*DOCUMENTS, Document("new", "the new document")], [])
    assert Index.open("mem").check().ok
    assert {hit.document for hit in second.query("the new document", k=1)} == {"new"}, (
        "another process still reads the copy"
    )


def times(index: Path) -> dict[bytes, int]:
    with closing(sqlite3.connect(index / "index.db")) as connection:
        return dict(connection.execute("SELECT path, mtime_ns FROM files").fetchall())


def test_documents_of_an_earlier_format_are_deleted(index: Index) -> None:
    earlier_format(index.path)
    assert Index.open("mem").delete(["d3"]).removed == 1
    assert export_all("mem") == ([doc for doc in DOCUMENTS if doc.id != "d3"], [])


def test_a_conversion_names_what_it_leaves_behind(index: Index, run: Run, tmp_path: Path) -> None:
    earlier_format(index.path)
    damage.execute(
        index.path,
        "INSERT INTO annotators VALUES ('ner', '{}', '[]')",
        "UPDATE contents SET content = '{' WHERE file = 8",
    )
    (tmp_path / "new.jsonl").write_text('{"id": "new", "text": "one more"}', encoding="utf-8")
    code, out, err = run("upsert", "-i", "mem", tmp_path / "new.jsonl")
    assert (code, "1 document added" in out) == (0, True)
    assert "damaged document 'd7'" in err and "index.db.old" in err
    assert "tags and labels are not taken over: ner" in err
    assert Index.open("mem").notes == ()


def test_a_rebuild_encodes_no_known_text_again(index: Index, run: Run) -> None:
    before = answers(index)
    code, out, err = run("upsert", "-i", "mem", "--rebuild", "--json")
    report = json.loads(out)
    assert (code, err) == (0, "")
    assert (report["documents"], report["encoded"], report["reused"]) == (60, 0, 60)
    assert report["folder"] == "documents from memory"
    assert answers(Index.open("mem")) == before
    assert sorted(path.name for path in index.path.iterdir()) == ["ann", "index.db", "writer.lock"]


def test_a_rebuild_with_another_model_encodes_all(index: Index, other_model: Path) -> None:
    rebuilt = Index.create("mem", rebuild=True, model=str(other_model))
    assert rebuilt.report is not None
    assert (rebuilt.report.encoded, rebuilt.report.reused) == (60, 0)
    assert rebuilt.fingerprint.model == str(other_model)
    with pytest.raises(InputError, match="exists already"):
        Index.create("mem", model=str(other_model))


def test_a_later_format_is_neither_read_nor_converted(index: Index) -> None:
    damage.execute(index.path, "UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    for action in (lambda: Index.open("mem"), lambda: Index.create("mem", rebuild=True)):
        with pytest.raises(
            IndexOutdated, match="Update seewhy. To save its documents, run: seewhy export"
        ):
            action()


def test_a_changed_document_is_named_and_its_database_kept(index: Index, run: Run) -> None:
    damage.execute(
        index.path,
        "UPDATE contents SET content = replace(content, 'Title 3\"', 'Title 4\"') WHERE file = 4",
        "UPDATE contents SET content = '{' WHERE file = 8",
        "DELETE FROM contents WHERE file = 9",
    )
    documents, damaged = export_all("mem")
    assert [item.id for item in damaged] == ["d3", "d7", "d8"]
    assert [bool(item.document) for item in damaged] == [True, False, False]
    assert len(documents) == 58
    with pytest.raises(IndexDamaged, match="damaged document 'd3': it is not what was stored"):
        list(Index.export("mem"))
    code, _, err = run("export", "-i", "mem")
    assert code == 1
    assert "'d3': it is not what was stored (its hash differs); printed as it is" in err
    assert "'d8': its content is missing; left out" in err
    code, out, err = run("upsert", "-i", "mem", "--rebuild")
    assert (code, "from its 58 documents" in out) == (0, True)
    for part in ("damaged document 'd7'", "the old database is kept as", "index.db.old"):
        assert part in err
    with closing(sqlite3.connect(index.path / "index.db.old")) as connection:
        assert connection.execute("SELECT count(*) FROM contents").fetchone() == (59,)
    assert Index.open("mem").check().ok
    Index.open("mem").remove()
    assert not index.path.exists()


def test_removing_documents_from_memory_warns_that_it_is_the_only_copy(index: Index, run: Run) -> None:
    code, _, err = run("remove", "mem")
    assert (code, "its documents from memory, of which it is the only copy" in err) == (1, True)
    assert export_all("mem") == (DOCUMENTS, [])
    assert run("remove", "mem", "--yes")[0] == 0
    assert not index.path.exists()


def pages(database: Path) -> int:
    return database.stat().st_size // 4096


def test_whatever_page_is_lost_every_document_is_exported_or_named(index: Index, tmp_path: Path) -> None:
    original = (index.path / "index.db").read_bytes()
    by_id = {document.id: document for document in DOCUMENTS}
    damages = refused = 0
    for page in range(1, len(original) // 4096):  # the first one is the header and the schema
        place = tmp_path / "damaged"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        content = bytearray(original)
        content[page * 4096 : (page + 1) * 4096] = bytes(4096)
        (place / "index.db").write_bytes(content)
        try:
            documents, damaged = export_all(place)
        except IndexDamaged:  # the schema
            refused += 1
            continue
        assert all(by_id[document.id] == document for document in documents)
        missing = by_id.keys() - {document.id for document in documents} - {item.id for item in damaged}
        unknown = [item for item in damaged if item.id.startswith("row")]
        assert not missing or unknown, f"page {page} loses {missing} without a word"
        damages += bool(damaged)
    assert (damages > 3, refused <= 2) == (True, True)  # two pages of the schema


def test_a_database_that_cannot_be_read_is_kept_beside_the_new_one(
    notes: Path, tiny_model: Path, own_home: Path, run: Run
) -> None:
    index = Index.build(notes, model=str(tiny_model)).path
    for name in ("index.db.old", "index.db.old2"):
        (index / "index.db").write_bytes(b"no database, " * 999)
        code, _, err = run("index", notes, "--rebuild", "--model", tiny_model)
        assert (code, f"it was kept as '{index / name}'" in err) == (0, True)
        assert (index / name).read_bytes() == b"no database, " * 999
    assert run("check", "-i", "notes")[0] == 0


def test_a_folder_does_not_take_the_place_of_documents_from_memory(
    index: Index, notes: Path, tiny_model: Path
) -> None:
    """Also under its own name, and where the settings of the index are gone."""
    index.path.rename(index.path.with_name("notes"))
    damage.execute(index.path.with_name("notes"), "DELETE FROM meta")
    folder_index = Index.build(notes, model=str(tiny_model), rebuild=True)
    assert folder_index.path.name.startswith("notes-")
    for rebuild in (False, True):
        with pytest.raises(InputError, match="It is their only copy"):
            Index.build(notes, index="notes", model=str(tiny_model), rebuild=rebuild)
    assert export_all(index.path.with_name("notes")) == (DOCUMENTS, [])


CHANGES = {
    "markup": "UPDATE passages SET hidden = '[[2 4]]' WHERE id = 1",
    "a span of markup": "UPDATE passages SET hidden = '[[2]]' WHERE id = 1",
    "metadata": "UPDATE documents SET metadata = '{\"a\" 1}' WHERE id = 1",
    "metadata of another kind": "UPDATE documents SET metadata = '[]' WHERE id = 1",
    "random pairs": "UPDATE baseline SET pairs = x'00'",
    "a short vector": "UPDATE embeddings SET vector = substr(vector, 1, 8) WHERE passage = 1",
    "a vector of zeros": "UPDATE embeddings SET vector = zeroblob(length(vector)) WHERE passage = 1",
    "a vector that is not a number": "UPDATE embeddings SET vector = "
    "CAST(substr(vector, 1, length(vector) - 4) || x'0000c07f' AS BLOB) WHERE passage = 1",
    "no document": "UPDATE passages SET document = 999 WHERE id = 1",
    "a passage gone": "DELETE FROM passages WHERE id = 1",
    "text": "UPDATE passages SET text = replace(text, 'a', 'o') WHERE id = 1",
    "a longer text": "UPDATE passages SET text = text || ' and more' WHERE id = 1",
    "context": "UPDATE passages SET context = 'other' WHERE id = 1",
    "span": "UPDATE passages SET start = start + 1 WHERE id = 1",
    "lines": "UPDATE passages SET line_start = 9 WHERE id = 1",
    "content": "UPDATE contents SET content = replace(content, 'the', 'tho') WHERE file = 1",
    "fingerprint": "UPDATE meta SET value = '{' WHERE key = 'fingerprint'",
    "fingerprint of another kind": "UPDATE meta SET value = '12' WHERE key = 'fingerprint'",
    "source": "UPDATE meta SET value = '12' WHERE key = 'source'",
    "passages": "UPDATE meta SET value = '\"x\"' WHERE key = 'passages'",
    "root": "UPDATE meta SET value = '12' WHERE key = 'root'",
    "generation": "UPDATE meta SET value = 'null' WHERE key = 'generation'",
    "annotations": "INSERT INTO annotators VALUES ('ner', '{}', '[\"person\"]')",
}
UNHARMED = ("text", "a longer text", "content", "lines", "random pairs")  # a query does not read these


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_value_is_no_traceback_and_check_finds_it(index: Index, run: Run, name: str) -> None:
    damage.execute(index.path, CHANGES[name])
    if name == "annotations":
        damage.execute(index.path, "INSERT INTO annotations VALUES (1, 'ner', '{', '[')")
    for mode in ("hybrid", "lexical"):
        code, out, err = run("query", DOCUMENTS[0].text, "-i", "mem", "--mode", mode, "-k", "60")
        assert code in (0, 1)
        assert (code == 0) == bool(out), err
        if code:
            assert "To see what is wrong, run: seewhy check --index mem" in err
    for command in (["duplicates"], ["map"], ["status"], ["similar", "p2"], ["explain", "a word", "1"]):
        assert run(*command, "-i", "mem")[0] in (0, 1)
    code, out, _ = run("check", "-i", "mem")
    assert (code, "seewhy upsert --index mem --rebuild" in out) == (1, True), out
    if name in ("markup", "metadata"):
        assert "'d0'" in out + run("query", DOCUMENTS[0].text, "-i", "mem")[2]
    code, _, err = run("upsert", "--index", "mem", "--rebuild")
    assert code == 0, err
    assert ("the model of the index could not be read" in err) == name.startswith("fingerprint")
    assert run("check", "-i", "mem")[0] == 0
    expected = {document.id for document in DOCUMENTS}
    assert {document.id for document in export_all("mem")[0]} == expected


def test_a_full_disk_has_an_error_of_its_own(
    index: Index, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, size = sqlite3.connect, pages(index.path / "index.db")

    def connect_with_limit(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.execute(f"PRAGMA max_page_count = {size if 'tmp' not in str(args[0]) else 4}")
        return connection

    more = [Document(f"more{n}", f"number {n} of {' '.join(WORDS)}") for n in range(100)]
    actions: tuple[Callable[[], object], ...] = (
        lambda: index.upsert(more),
        lambda: Index.create("mem", rebuild=True),
    )
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect_with_limit)
        for action in actions:
            with pytest.raises(StorageFull, match="database or disk is full.*Free some space"):
                action()
    assert export_all("mem") == (DOCUMENTS, [])
    assert index.check().ok
    assert index.upsert(more).added == 100


class DamagedUpTo:
    """A connection to a table whose rows up to a key cannot be read."""

    def __init__(self, last_damaged: int) -> None:
        self.last_damaged = last_damaged

    def execute(self, _: str, values: tuple[int]) -> DamagedUpTo:
        if values[0] <= self.last_damaged:
            raise sqlite3.DatabaseError("database disk image is malformed")
        return self

    def fetchone(self) -> None:
        return None


@pytest.mark.parametrize("last_damaged", range(1, 16))
def test_the_first_row_after_damage_is_found_exactly(last_damaged: int) -> None:
    """One row too late would lose a document that can be read."""
    connection: Any = DamagedUpTo(last_damaged)
    assert contents._first_readable(connection, "", failed=1, good=16) == last_damaged + 1
