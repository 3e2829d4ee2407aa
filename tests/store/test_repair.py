"""Damage of every kind: `check` names it, `repair` heals it, and queries answer as from a clean build."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from search import Index, IndexDamaged, IndexLocked, IndexNotFound, SearchError
from search.encoding import Encoder
from search.indexing.check import check
from search.indexing.repair import repair
from search.records.reports import RepairReport
from search.store.files import writer_lock
from tests.store import damage
from tests.store.damage import NAN, flip_in_database, sql
from tests.store.test_schema import as_format

QUERIES = ("find the key", "a long time", "the sound of water", "number 7")


def write_notes(folder: Path) -> None:
    (folder / "deep").mkdir(parents=True)
    (folder / "keys.md").write_text(
        "# Keys\n\n## Rotate\n\nTo rotate the key, open the door and turn the lock. "
        "Then turn the key, open the lock, and look for the people of the other side of the door.\n\n"
        "## Find\n\nThe key is in the water.\n",
        encoding="utf-8",
    )
    (folder / "deep" / "time.txt").write_text(
        "Many people say that time is long.\nIt is not.\n", encoding="utf-8"
    )
    rows = "".join(f"name {i},word number {i} of the long sound\n" for i in range(60))
    (folder / "table.csv").write_text(f"name,text\n{rows}", encoding="utf-8")
    for path in folder.rglob("*.*"):
        os.utime(path, (1, 1))  # long ago: the time stamp of a file that was just written is not relied on


@pytest.fixture(autouse=True)
def _indexes_are_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of others are in test_foreign.py."""
    monkeypatch.setattr("search.store.layout.is_own", lambda index: True)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> tuple[Path, Path]:
    """A folder and its index, neither to be changed."""
    place = tmp_path_factory.mktemp("clean")
    write_notes(place / "notes")
    Index.build(place / "notes", model=str(tiny_model), index=str(place / "index"))
    return place / "notes", place / "index"


@pytest.fixture
def index(clean: tuple[Path, Path], tmp_path: Path) -> Path:
    """A copy of that index, to be damaged."""
    return Path(shutil.copytree(clean[1], tmp_path / "index"))


@pytest.fixture
def own(tmp_path: Path, tiny_model: Path) -> tuple[Path, Path]:
    """A folder and its index that may both be changed."""
    write_notes(tmp_path / "notes")
    Index.build(tmp_path / "notes", model=str(tiny_model), index=str(tmp_path / "own"))
    return tmp_path / "notes", tmp_path / "own"


def answers(index: Path, mode: str = "hybrid") -> list[list[tuple[str, str, float]]]:
    opened = Index.open(index)
    found = []
    for query in QUERIES:
        hits = opened.query(query, k=100, mode=mode)
        found.append(sorted((hit.document, hit.text, round(hit.score, 4)) for hit in hits))
    assert opened.notes == ()
    return found


def content(index: Path) -> list[tuple[object, ...]]:
    """Everything that answers are made of, without the numbers of passages."""
    with closing(sqlite3.connect(index / "index.db")) as connection:
        rows = connection.execute(
            """SELECT files.path, record, title, metadata, start, "end", line_start, line_end, context, text, vector
               FROM passages JOIN documents ON documents.id = document JOIN files ON files.id = file
               JOIN embeddings ON passage = passages.id ORDER BY 1, 2, 5"""
        ).fetchall()
    return [(*row, np.frombuffer(vector, "<f4").round(4).tolist()) for *row, vector in rows]


def kinds(index: Path) -> set[str]:
    """The checks that found something."""
    return {finding.check for finding in check(index).findings if finding.severity != "ok"}


DAMAGES: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "vector flipped": (
        sql("UPDATE embeddings SET vector = begun_with(x'00', vector) WHERE passage = 2"),
        {"documents"},
    ),
    "vector checksum": (sql("UPDATE embeddings SET checksum = 7 WHERE passage < 4"), {"documents"}),
    "vector too short": (
        sql("UPDATE embeddings SET vector = substr(vector, 5) WHERE passage = 2"),
        {"documents"},
    ),
    "vector NaN": (
        sql(
            f"UPDATE embeddings SET vector = begun_with(x'{NAN}', vector) WHERE passage = 3",
            "UPDATE embeddings SET checksum = crc32(vector) WHERE passage = 3",
        ),
        {"documents"},
    ),
    "vector zero": (
        sql("UPDATE embeddings SET vector = zeroblob(128), checksum = crc32(zeroblob(128)) WHERE passage = 3"),
        {"documents"},
    ),
    "vector of another text": (
        sql("UPDATE embeddings SET content = (SELECT content FROM embeddings WHERE passage = 1) WHERE passage = 5"),
        {"documents"},
    ),
    "embedding missing": (sql("DELETE FROM embeddings WHERE passage = 4"), {"documents"}),
    "all embeddings missing": (sql("DELETE FROM embeddings"), {"documents"}),
    "text flipped": (sql("UPDATE passages SET text = upper(text) WHERE id = 1"), {"documents"}),
    "text no UTF-8": (
        sql("UPDATE passages SET text = CAST(begun_with(x'ff', CAST(text AS BLOB)) AS TEXT) WHERE id = 1"),
        {"documents"},
    ),
    "passage of another document": (sql("UPDATE passages SET document = 1 WHERE id = 20"), {"documents"}),
    "lines flipped": (sql("UPDATE passages SET line_start = 900 WHERE id = 2"), {"documents"}),
    "span with the right checksum": (
        sql(
            'UPDATE passages SET "end" = start WHERE id = 2',
            'UPDATE passages SET checksum = row_checksum(id, document, start, "end", line_start, line_end, '
            "heading, context, text, n_tokens, page) WHERE id = 2",
        ),
        {"documents"},
    ),
    "document missing": (sql("DELETE FROM documents WHERE id = 2"), {"documents"}),
    "title flipped": (sql("UPDATE documents SET title = 'x' WHERE id = 2"), {"documents"}),
    "metadata no JSON": (
        sql(
            "UPDATE documents SET metadata = '{' WHERE id = 2",
            "UPDATE documents SET checksum = row_checksum(id, file, record, kind, title, metadata, encoding, sha256)",
        ),
        {"documents"},
    ),
    "document of another file": (sql("UPDATE documents SET file = 1 WHERE id = 30"), {"documents"}),
    "path flipped": (sql("UPDATE files SET path = x'6b6579' WHERE id = 1"), {"documents", "sources"}),
    "path out of the folder": (
        sql("UPDATE files SET path = CAST('../../x' AS BLOB), checksum = row_checksum(1, CAST('../../x' AS BLOB)) "
            "WHERE id = 1"),
        {"documents", "sources"},
    ),
    "file missing": (sql("DELETE FROM files WHERE id = 2"), {"documents", "sources"}),
    "file without documents": (
        sql(
            "DELETE FROM documents WHERE file = 1",
            "UPDATE meta SET value = (SELECT count(*) FROM passages) WHERE key = 'passages'",
            "UPDATE meta SET checksum = row_checksum(key, value) WHERE key = 'passages'",
            links=True,
        ),
        {"documents"},
    ),
    "settings: complete": (sql("UPDATE meta SET value = 'tru' WHERE key = 'complete'"), {"settings"}),
    "settings: updated": (sql("UPDATE meta SET value = '\"x\"' WHERE key = 'updated'"), {"settings"}),
    "settings: count gone": (sql("DELETE FROM meta WHERE key = 'passages'"), {"settings"}),
    "settings: words": (sql("UPDATE meta SET checksum = 1 WHERE key = 'words'"), {"settings", "words"}),
    "number given twice": (
        sql(
            "UPDATE meta SET value = 3, checksum = row_checksum('last_passage', '3') WHERE key = 'last_passage'"
        ),
        {"settings"},
    ),
    "numbers forgotten": (sql("DELETE FROM meta WHERE key = 'last_passage'"), {"settings"}),
    "FAISS file missing": (lambda index: damage.faiss_file(index).unlink(), {"vectors"}),
    "FAISS file truncated": (damage.truncate_faiss, {"vectors"}),
    "FAISS file flipped": (damage.flip_faiss, {"vectors"}),
    "FAISS file of other vectors": (damage.other_vectors, {"vectors"}),
    "file of words missing": (lambda index: damage.file_of_words(index).unlink(), {"words"}),
    "file of words truncated": (damage.truncate_words, {"words"}),
    "file of words flipped": (damage.flip_words, {"words"}),
    "segment flipped": (sql("UPDATE segments SET count = count - 1"), {"vectors"}),
    "segment gone": (sql("DELETE FROM segments"), {"run", "leftovers", "words"}),
    "tombstone of a passage that is there": (sql("INSERT INTO tombstones VALUES (2, row_checksum(2))"), {"vectors"}),
    "tombstone of nothing": (sql("INSERT INTO tombstones VALUES (9999, row_checksum(9999))"), {"vectors", "settings"}),
    "leftover file": (damage.another_faiss_file, {"leftovers"}),
    "leftover folder": (lambda index: (index / "tmp").mkdir(), {"leftovers"}),
    "bytes of a text on disk": (flip_in_database(b"open the door and", b"open the dxxr and"), {"documents"}),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named_and_healed(name: str, index: Path, clean: tuple[Path, Path]) -> None:
    harm, expected = DAMAGES[name]
    harm(index)
    found = kinds(index)
    assert expected <= found
    assert found - expected <= {"vectors", "words"}
    report = repair(index)
    assert report.steps
    assert any("lie about" in step.message for step in report.steps) == ("leftovers" in found)
    assert report.lost == ()
    bad = [finding for finding in report.check.findings if finding.severity != "ok"]
    assert bad == [] or {finding.check for finding in bad} == {"run"}
    assert answers(index) == answers(clean[1])
    assert repair(index).steps == ()


def test_passages_that_were_not_touched_keep_their_numbers(index: Path) -> None:
    def numbers() -> dict[int, str]:
        with closing(sqlite3.connect(index / "index.db")) as connection:
            return dict(connection.execute("SELECT id, text FROM passages"))

    before = numbers()
    damage.execute(index, "UPDATE passages SET text = upper(text) WHERE id = 1")
    repair(index)
    after = numbers()
    assert {id_: text for id_, text in before.items() if id_ > 3}.items() <= after.items()
    assert 1 not in after
    assert max(after) > max(before)


def test_only_what_is_damaged_is_encoded(index: Path) -> None:
    damage.execute(index, "UPDATE embeddings SET checksum = 0 WHERE passage IN (3, 9)")
    assert repair(index).encoded == 3  # one of the two documents has two passages
    damage.execute(index, "UPDATE passages SET line_end = 77 WHERE id = 30")
    assert repair(index).encoded <= 3
    damage.flip_faiss(index)
    assert repair(index).encoded == 0


def test_without_the_folder_only_what_is_damaged_is_lost(own: tuple[Path, Path]) -> None:
    notes, index = own
    before, meanings = answers(index), answers(index, "dense")
    notes.rename(notes.with_name("away"))
    (other,) = {hit.document for hit in Index.open(index).query("number", k=100) if hit.passage_id == 5}
    damage.execute(
        index,
        "UPDATE embeddings SET checksum = 0 WHERE passage = 5",
        "UPDATE passages SET text = upper(text) WHERE document = (SELECT id FROM documents WHERE record = 7)",
        "UPDATE documents SET title = 'x' WHERE record = 9",
        "UPDATE files SET checksum = 5 WHERE path = CAST('keys.md' AS BLOB)",
    )
    report = repair(index)
    gone = (other, "keys.md", "table.csv#7", "table.csv#9")
    assert report.lost == tuple(sorted(gone))
    assert report.check.ok
    # What a word counts depends on all passages, a cosine on none but its own.
    assert answers(index, "dense") == [[hit for hit in hits if hit[0] not in gone] for hits in meanings]
    notes.with_name("away").rename(notes)
    Index.build(notes, index=str(index))  # they come back
    assert answers(index) == before
    assert kinds(index) == set()


HOPELESS: dict[str, Callable[[Path], None]] = {
    "no root": sql("DELETE FROM meta WHERE key = 'root'"),
    "root flipped": sql("UPDATE meta SET value = '\"/no/such/folder\"' WHERE key = 'root'"),
    "no fingerprint": sql("DELETE FROM meta WHERE key = 'fingerprint'"),
    "source flipped": sql("UPDATE meta SET value = '[]' WHERE key = 'source'"),
    "no version": sql("DELETE FROM meta WHERE key = 'schema_version'"),
    "no settings": sql("DELETE FROM meta"),
    "passage missing": sql("DELETE FROM passages WHERE id = 2", links=True),
    "document missing with all": sql("DELETE FROM documents WHERE id = 9", links=True),
    "count too low": sql(
        "UPDATE meta SET value = '3', checksum = row_checksum('passages', '3') WHERE key = 'passages'"
    ),
    "page of settings": damage.zero_page_of("meta"),
    "page of passages": damage.zero_page_of("passages"),
    "page of embeddings": damage.zero_page_of("embeddings"),
    "page of documents": damage.zero_page_of("documents"),
    "page of files": damage.zero_page_of("files"),
    "SQLite's index": damage.confuse_an_index_of_sqlite,
    "table missing": sql("DROP TABLE tombstones"),
    "index missing": sql("DROP INDEX passages_document"),
    "a trigger": sql("CREATE TRIGGER t AFTER INSERT ON files BEGIN DELETE FROM passages; END"),
    "no database": lambda index: damage.overwrite(index, b"no database, " * 999),
    "cut off": lambda index: damage.overwrite(index, (index / "index.db").read_bytes()[:5000]),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_what_cannot_be_repaired_is_left_alone_and_the_command_is_named(
    name: str, index: Path, clean: tuple[Path, Path]
) -> None:
    HOPELESS[name](index)
    broken = (index / "index.db").read_bytes()
    assert not check(index).ok
    for _ in range(2):
        with pytest.raises(IndexDamaged, match=r"cannot be repaired: .*seewhy index .* --index .*--rebuild"):
            repair(index)
    assert (index / "index.db").read_bytes() == broken
    model = Index.open(clean[1]).encoder.model
    Index.build(clean[0], model=model, index=str(index), rebuild=True)  # as the message says
    assert answers(index) == answers(clean[1])
    assert kinds(index) == set()


@pytest.mark.parametrize("content", [b"", b"tables"])
def test_an_index_that_was_never_filled(tmp_path: Path, content: bytes) -> None:
    from search.store.database import connect_to_write
    from search.store.writer import create

    (tmp_path / "index.db").touch()
    if content:
        with closing(connect_to_write(tmp_path / "index.db")) as connection:
            create(connection)
    report = check(tmp_path)
    assert report.ok
    assert [
        (finding.check, finding.examples) for finding in report.findings if finding.severity == "stale"
    ] == [("run", ("nothing is stored yet",))]
    with pytest.raises(IndexNotFound, match="begun and never filled"):
        repair(tmp_path)


def test_no_index(tmp_path: Path) -> None:
    for action in (check, repair):
        with pytest.raises(IndexNotFound):
            action(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_others_is_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "index.db")) as connection:
        connection.execute("CREATE TABLE songs (name)")
    before = (tmp_path / "index.db").read_bytes()
    assert "not of this program" in check(tmp_path).findings[0].examples[0]
    with pytest.raises(IndexDamaged, match="not of this program"):
        repair(tmp_path)
    assert (tmp_path / "index.db").read_bytes() == before


@pytest.mark.parametrize("version", [4, 9])
def test_other_formats(index: Path, version: int) -> None:
    as_format(index, version)
    report = check(index)
    assert (report.ok, kinds(index)) == (False, {"database"})
    assert f"format {version}, and this version of seewhy reads 7" in report.findings[0].examples[0]
    assert report.findings[0].command.endswith("--rebuild")
    with pytest.raises(SearchError, match=f"format {version}.*--rebuild|cannot be repaired: .*--rebuild"):
        repair(index)


def test_a_dry_run_changes_nothing(index: Path) -> None:
    for harm in (
        DAMAGES["vector flipped"][0],
        DAMAGES["text flipped"][0],
        damage.flip_faiss,
    ):
        harm(index)
        before = {path: path.read_bytes() for path in index.rglob("*") if path.is_file()}
        report = repair(index, dry_run=True)
        assert report.dry_run
        assert report.steps
        assert not report.check.ok
        assert {path: path.read_bytes() for path in index.rglob("*") if path.is_file()} == before


def test_nothing_is_repaired_while_another_process_writes(index: Path) -> None:
    with writer_lock(index), pytest.raises(IndexLocked, match="is writing"):
        repair(index)


class Killed(BaseException):
    pass


def test_a_repair_that_is_stopped_anywhere_can_be_done_again(
    index: Path, clean: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after its n-th transaction, for every n."""
    from search.store.writer import Writer

    for name in ("vector NaN", "text flipped", "title flipped", "embedding missing", "FAISS file flipped"):
        DAMAGES[name][0](index)
    original = Writer.transaction
    encoder = Index.open(clean[1]).encoder  # loaded once for all of these repairs
    monkeypatch.setattr(Encoder, "of", lambda *_, **__: encoder)
    finished: RepairReport | None = None
    stops = 0
    while finished is None:
        copy = Path(shutil.copytree(index, tmp_path / f"stopped-{stops}"))
        left = stops

        def stopping(self: Writer, **options: bool):  # type: ignore[no-untyped-def]
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return original(self, **options)

        with monkeypatch.context() as patch:
            patch.setattr(Writer, "transaction", stopping)
            try:
                finished = repair(copy)
            except Killed:
                stops += 1
        if finished is None:
            assert kinds(copy)
            repair(copy)
        assert kinds(copy) <= {"run"}
        assert content(copy) == content(clean[1])
    assert stops >= 4


def test_the_report_of_a_repair_says_what_was_done(index: Path) -> None:
    damage.execute(index, "UPDATE embeddings SET checksum = 0 WHERE passage = 3")
    report = repair(index)
    first = report.steps[0]
    assert (first.message, first.count) == ("read damaged documents again from the folder", 1)
    assert (report.encoded, report.lost, report.check.ok) == (2, (), True)


def test_an_open_index_sees_the_repair(
    index: Path, clean: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.store.sqlite._better_read", lambda *_: False)
    opened = Index.open(index)
    damage.flip_faiss(index)
    assert opened.query("key")
    assert opened.notes
    assert opened.repair().check.ok
    assert opened.query("key")
    assert opened.notes == ()
    assert json.dumps(opened.check().ok) == "true"
