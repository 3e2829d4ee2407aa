"""Indexes that somebody else made or changed, with checksums that are right: refused, or taken for what they are."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import sqlite3
import stat
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from search import Index, IndexDamaged, InputError, ModelError, SearchError
from search.cli.output import write_file
from search.encoding.fingerprint import Fingerprint
from search.errors import quoted
from search.indexing.check import check
from search.indexing.repair import repair
from search.store import database, schema
from search.store.checksums import row_checksum
from search.store.layout import is_own
from search.store.passages import command_of
from tests.conftest import Run

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i"


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> Path:
    return Index.build(notes, model=str(tiny_model), index="kept").path


def sql(index: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(index / "index.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def meta(index: Path, key: str, value: Any) -> None:
    """Set a setting, with the checksum that belongs to it."""
    pair = (key, json.dumps(value))
    with contextlib.closing(sqlite3.connect(index / "index.db")) as connection, connection:
        connection.execute(
            "REPLACE INTO meta (key, value, checksum) VALUES (?, ?, ?)", (*pair, row_checksum(*pair))
        )


def fingerprint(index: Path, **changes: Any) -> None:
    meta(index, "fingerprint", database.read_meta(index / "index.db")["fingerprint"] | changes)


SCHEMAS = {
    "a view": ["DROP TABLE tombstones", f"CREATE VIEW tombstones (passage, checksum) AS {ENDLESS}, 1 FROM n"],
    "a view that no table is missing for": ["CREATE VIEW v AS SELECT 1"],
    "a trigger": [f"CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM files WHERE id IN ({ENDLESS} FROM n); END"],
    "a table": ["CREATE TABLE more (a)"],
    "an index": ["CREATE INDEX more ON passages (text)"],
    "an index on what is computed": ["CREATE INDEX more ON passages (upper(text))"],
    "a column": ["ALTER TABLE files ADD COLUMN more TEXT"],
    "a column that is computed": ["ALTER TABLE files ADD COLUMN more TEXT AS (hex(zeroblob(1000000000)))"],
    "no table": ["DROP TABLE baseline"],
    "no index": ["DROP INDEX files_path"],
    "meta is a view": ["ALTER TABLE meta RENAME TO m", "CREATE VIEW meta AS SELECT * FROM m"],
    "meta is another virtual table": ["DROP TABLE meta", "CREATE VIRTUAL TABLE meta USING fts5 (key, value)"],
    "statistics": ["ANALYZE"],
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEMAS)
def test_tables_of_another_make_are_refused_at_once(index: Path, notes: Path, name: str) -> None:
    sql(index, *SCHEMAS[name])
    started = time.monotonic()
    for command in (
        lambda: Index.open(index),
        lambda: Index.open(index).query("the key"),
        lambda: Index.open(index).status(),
        lambda: Index.build(notes, index=str(index)),
        lambda: Index.open(index).repair(),
    ):
        with pytest.raises(IndexDamaged, match="is not as seewhy makes it|not of this program"):
            command()
    report = check(index)
    assert not report.ok
    assert [finding.check for finding in report.findings if finding.severity == "damaged"] == ["database"]
    assert time.monotonic() - started < 5


def test_tables_that_change_under_an_open_index_are_refused(index: Path) -> None:
    opened = Index.open(index)
    opened.query("the key")
    sql(index, *SCHEMAS["a view"])
    with pytest.raises(IndexDamaged, match="tombstones is not as seewhy makes it"):
        opened.query("the key")


def test_the_look_at_tables_is_what_refuses_them(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted defect: without it, only the limit of steps ends an endless view."""
    sql(index, *SCHEMAS["a view"])
    monkeypatch.setattr(database, "strange", lambda connection: [])
    with pytest.raises(IndexDamaged, match="far longer than its size explains"):
        Index.open(index).query("the key")


def test_tables_of_earlier_versions_are_known(index: Path) -> None:
    """sqlite-utils, which made them, quoted names, and broke lines."""
    statement = (
        schema.TABLES["table documents"].replace("(", '(\n   "', 1).replace(" INTEGER", '" INTEGER', 1)
    )
    assert schema._plain(statement) == schema._EXPECTED["table documents"]


HASH = "../" * 8 + "tmp/x"
FINGERPRINTS: list[dict[str, Any]] = [
    {"weights": HASH}, {"tokenizer": HASH}, {"config": "/" * 64}, {"weights": "A" * 64}, {"weights": "0" * 63 + "\n"},
    {"weights": None}, {"dimension": "1000000000"}, {"dimension": "65537"}, {"dimension": "0"}, {"dimension": "-32"},
    {"dimension": "٣٢"}, {"dimension": 32}, {"dimension": "x"}, {"max_tokens": "1e9"}, {"max_tokens": "9" * 30},
    {"pooling": "mean\x1b[2J"}, {"pooling": ""}, {"normalized": "no"}, {"precision": "fp8"}, {"layer": "mean:x"},
    {"layer": "9" * 5000}, {"prompts": "[]"}, {"prompts": '{"query": 1}'}, {"prompts": "{" * 50_000 + "}"},
    {"prompts": json.dumps({"query": "a" * 20_000})}, {"prompts": '{"query": "\\ud800"}'},
    {"passages": "[]"}, {"passages": '{"passage_tokens": 0}'}, {"passages": '{"passage_tokens": 1e99}'},
    {"passages": '{"overlap": true}'}, {"passages": '{"more": 1}'}, {"revision": "main"}, {"model": ""},
    {"model": "a\0b"}, {"model": "a" * 5000},
]  # fmt: skip


@pytest.mark.parametrize("changes", FINGERPRINTS, ids=str)
def test_a_fingerprint_that_no_version_writes_is_refused(
    index: Path, notes: Path, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked_for(*_: object, **__: object) -> None:
        raise AssertionError("a model was looked for")

    fingerprint(index, **changes)
    opened = Index.open(index)
    settings = str(changes.get("passages", "")).startswith("{")  # which only a run looks at
    if not settings:
        monkeypatch.setattr("search.encoding.encoder.cached_model", looked_for)
        monkeypatch.setattr("search.encoding.encoder.find_model", looked_for)
    for command in (opened.update,) if settings else (lambda: opened.query("the key"), opened.update):
        with pytest.raises(IndexDamaged, match="makes no sense"):
            command()


SETTINGS: list[tuple[str, Any]] = [
    ("root", "notes"), ("root", ""), ("root", "+:/^/!touch x;"), ("root", ":/notes"),
    ("root", "/a\0b"), ("root", "/" + "a" * 40_000), ("root", None), ("root", ["/"]),
    ("source", {}), ("source", {"include": "*"}), ("passages", -1), ("passages", True), ("passages", 2**70),
    ("passages", 1.5), ("last_passage", -1), ("last_passage", "3"), ("engine", 5), ("engine", "x" * 20_000),
    ("generation", -1), ("generation", "3"), ("generation", True),
    ("updated", "\x1b[31mnow"), ("updated", 5), ("complete", "no"), ("complete", 1), ("words", []),
    ("words", {"tokenizer": 5, "rules": 2}), ("words", {"tokenizer": "x", "rules": "x"}),
    ("fingerprint", None), ("fingerprint", []),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), SETTINGS, ids=lambda value: str(value)[:30])
def test_a_setting_that_no_version_writes_is_refused(index: Path, key: str, value: Any) -> None:
    meta(index, key, value)
    with pytest.raises(
        IndexDamaged, match=f"'{key}' in the table 'meta' of the index is .{{0,100}}, which makes no sense"
    ):
        Index.open(index)


def test_a_setting_of_a_hundred_megabytes_is_not_read(index: Path, run: Run) -> None:
    sql(index, "UPDATE meta SET value = hex(zeroblob(50000000)) WHERE key = 'engine'")
    sql(index, "INSERT INTO meta VALUES ('more', hex(zeroblob(50000000)), 1)")
    with pytest.raises(SearchError):
        Index.open(index)
    assert run("list")[0] == 0


def test_a_table_whose_pages_share_what_is_below_them_ends(index: Path) -> None:
    """Each of twelve pages names the next one sixty times: 10 ** 21 rows in some kilobytes."""
    bomb(index, "files", depth=12, width=60)
    started = time.monotonic()
    with pytest.raises(IndexDamaged, match=r"far longer than its size explains|malformed"):
        Index.open(index).status()
    assert time.monotonic() - started < 10


def test_a_first_run_may_take_what_the_file_explains_that_it_fills(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The random pairs of 50,000 new passages took 30 million steps; the file was empty when the run began."""
    monkeypatch.setattr(database, "_FEWEST_STEPS", 1000)
    monkeypatch.setattr(database, "_STEPS_AT_ONCE", 100)
    assert Index.build(notes, index=str(tmp_path / "first")).report.passages


def bomb(index: Path, table: str, depth: int, width: int) -> None:
    """Let a table be as deep as SQLite allows, with every page's children the same page."""
    with contextlib.closing(sqlite3.connect(index / "index.db")) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    data = bytearray((index / "index.db").read_bytes())
    leaf = data[(root - 1) * size : root * size]
    pages = [root, *range(len(data) // size + 1, len(data) // size + 1 + depth)]
    data += bytes(size * depth)
    for page, below in pairwise(pages):
        cells = b"".join(below.to_bytes(4, "big") + bytes([1]) for _ in range(width))
        start = size - len(cells)
        header = (
            b"\x05\0\0"
            + width.to_bytes(2, "big")
            + start.to_bytes(2, "big")
            + b"\0"
            + below.to_bytes(4, "big")
        )
        pointers = b"".join((start + 5 * number).to_bytes(2, "big") for number in range(width))
        content = header + pointers
        data[(page - 1) * size : page * size] = content + bytes(start - len(content)) + cells
    data[(pages[-1] - 1) * size : pages[-1] * size] = leaf
    data[28:32] = (len(data) // size).to_bytes(4, "big")
    (index / "index.db").write_bytes(data)


def test_one_bad_index_never_fails_the_list(index: Path, run: Run, own_home: Path) -> None:
    for number, statements in enumerate(SCHEMAS.values()):
        place = own_home / "indexes" / f"bad{number}"
        place.mkdir()
        (place / "index.db").write_bytes((index / "index.db").read_bytes())
        sql(place, *statements)
    for number, changes in enumerate(FINGERPRINTS):
        place = own_home / "indexes" / f"worse{number}"
        place.mkdir()
        (place / "index.db").write_bytes((index / "index.db").read_bytes())
        fingerprint(place, **changes)
    code, out, err = run("list", "--json")
    assert code == 0
    assert "kept" in {row["name"] for row in json.loads(out)}
    assert (
        len(err.splitlines()) == len(SCHEMAS) + len(FINGERPRINTS) - 4
    )  # of the settings of passages nothing is said
    assert "\x1b" not in err


def test_a_fingerprint_as_it_is_written_is_taken(index: Path) -> None:
    made = database.read_meta(index / "index.db")["fingerprint"]
    assert Fingerprint.from_dict(made).as_dict() == made


# Models that only an index names.


@pytest.fixture
def foreign(index: Path, tmp_path: Path, own_cache: Path) -> Path:
    """The same index where others keep theirs; its model was never used on this machine."""
    place = tmp_path / "shared" / "index"
    shutil.copytree(index, place)
    return place


def test_no_model_is_looked_for_because_an_index_names_it(
    foreign: Path, notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr("search.encoding.models._locate", lambda name, offline: asked.append(name))
    opened = Index.open(foreign)
    for name in (str(tiny_model), "somebody/model", "../model", "~/model"):
        fingerprint(foreign, model=name)
        for command in (
            lambda: opened.query("the key"),
            lambda: Index.open(foreign, pooling="mean"),
            lambda: Index.build(notes, index=str(foreign)),
            lambda: Index.build(notes, index=str(foreign), rebuild=True),
        ):
            with pytest.raises(
                ModelError, match=f"names the model '{name}', which you have not used here.*--model"
            ):
                command()
        for report in (check(foreign, verify=True), repair(foreign, folder=notes).check):
            assert report.unchecked == ("sample",)
    assert opened.query("the key", mode="lexical")
    assert asked == []


def test_a_model_that_the_user_names_is_remembered(foreign: Path, tiny_model: Path) -> None:
    first = Index.open(foreign, model=str(tiny_model)).query("the key")
    fingerprint(foreign, model="somebody/model")
    assert Index.open(foreign).query("the key") == first
    torch = Index.open(foreign, engine="torch")
    assert torch.query("the key")[0].text == first[0].text
    assert torch.encoder.model == str(tiny_model)


def test_an_index_of_ones_own_names_its_model(index: Path, own_cache: Path, tmp_path: Path) -> None:
    assert Index.open(index).query("the key")
    (tmp_path / "home" / "indexes").mkdir(parents=True)
    assert is_own(index)
    link = index.with_name("link")
    link.symlink_to(tmp_path / "elsewhere")
    shutil.copytree(index, tmp_path / "elsewhere")
    assert not is_own(link)


# What reaches the terminal, and paths.


def test_a_path_that_leads_out_of_the_folder_is_no_hit(index: Path) -> None:
    for path in (b"../../x", b"/etc/passwd", b"a/../../x", b"a\0b", b""):
        with contextlib.closing(sqlite3.connect(index / "index.db")) as connection, connection:
            for (id_,) in connection.execute("SELECT id FROM files").fetchall():
                name = path + b"/" * id_ if path else b"/" * id_
                values = (name, row_checksum(id_, name), id_)
                connection.execute("UPDATE files SET path = ?, checksum = ? WHERE id = ?", values)
        with pytest.raises(IndexDamaged, match="which is no file of the indexed folder"):
            Index.open(index).query("the key")
        assert not check(index).ok


ESCAPE = "\x1b[2J\x9b31m\u202e"


def test_no_control_code_of_an_index_reaches_the_terminal(index: Path, run: Run, tmp_path: Path) -> None:
    fingerprint(index, model=f"m{ESCAPE}")
    meta(index, "root", f"/nowhere{ESCAPE}")
    meta(index, "engine", f"e{ESCAPE}")
    sql(index, f"INSERT INTO skipped VALUES (x'1b5b324a', 0, 'read', '{ESCAPE}', '{ESCAPE}')")
    bad = index.with_name("bad")
    shutil.copytree(index, bad)
    meta(bad, "updated", ESCAPE)
    sql(bad, f'CREATE TABLE "{ESCAPE}" (a)')
    for command in (["list"], ["list", "--json"], ["status", "-i", "kept"], ["status", "-i", "kept", "--json"],
                    ["check", "-i", "kept"], ["check", "-i", "bad"], ["status", "-i", "bad"], ["repair", "-i", "bad"],
                    ["query", "key", "-i", "kept", "-m", "lexical"]):  # fmt: skip
        _, out, err = run(*command)
        assert not set(out + err) & {"\x1b", "\x9b", "\u202e"}, command


def test_what_an_index_says_is_shown_in_few_lines(index: Path, run: Run) -> None:
    """Names of a megabyte with control codes and line ends, and many of them."""
    odd = ESCAPE + "\n" * 50 + "x" * 1_000_000
    many = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO {} FROM n"
    )
    sql(
        index,
        many.format(f"skipped SELECT CAST(i AS BLOB), 1, 'read', '{odd[:2000]}' || i, '{odd[:9000]}'"),
        many.format(f"files SELECT NULL, CAST('{odd[:9000]}' || i AS BLOB), 1, 1, 1, '', 'partial', 0"),
        f"INSERT INTO files SELECT NULL, CAST('{odd}' AS BLOB), 1, 1, 1, '', 'partial', 0",
        f"INSERT INTO annotators VALUES ('{odd}', '{{}}', '[]', 0)",
        f"UPDATE documents SET title = '{odd}', record = abs(record) + id",
    )
    for command in ("check", "repair --dry-run", "repair", "check", "status"):
        _, out, err = run(*command.split(), "-i", "kept")
        assert not set(out + err) & {"\x1b", "\x9b", "\u202e"}, command
        assert len(out + err) < 60_000 and (out + err).count("\n") < 1000, command


@pytest.mark.skipif(os.name == "nt", reason="what is said to be typed there is no text of a POSIX shell")
@pytest.mark.parametrize("text", ["/a$(touch x)", "/a`touch x`", "/a;touch x", '/a"b', "/a|b c", "/it's"])
def test_a_command_that_a_message_tells_to_run_is_one_command(text: str) -> None:
    assert shlex.split(f"seewhy index {quoted(text)} --rebuild") == ["seewhy", "index", text, "--rebuild"]
    assert (
        "touch"
        not in subprocess.run(["sh", "-c", f"printf %s {quoted(text)}"], capture_output=True).stderr.decode()
    )


def test_a_command_that_an_index_tells_to_run_is_one_of_this_program() -> None:
    for command in (
        "seewhy tag --model x; rm -rf ~",
        "seewhy tag $(rm x)",
        "rm -rf ~",
        "seewhy tag\nrm x",
        5,
        None,
        "",
    ):
        assert command_of({"command": command}) == ""
    kept = f"seewhy tag --task ner --model {quoted('/my models/b$')} --name {quoted('a b')}"
    assert command_of({"command": kept}) == kept


# Folders that only an index names.


def test_no_folder_is_read_because_an_index_names_it(
    index: Path, notes: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign, private = tmp_path / "shared" / "index", tmp_path / "private"
    shutil.copytree(index, foreign)
    private.mkdir()
    (private / "diary.txt").write_text("the secret of the key", encoding="utf-8")
    meta(foreign, "root", str(private))
    sql(foreign, "UPDATE passages SET checksum = 1")
    opened = Index.open(foreign)
    for command in (opened.update, opened.repair, lambda: next(opened.watch())):
        with pytest.raises(InputError, match=f"is of the folder '{private}'.*--folder {private}"):
            command()
    code, _, err = run("repair", "-i", foreign)
    assert (code, f"--folder {private}" in err) == (1, True)
    with pytest.raises(InputError, match=f"is of the folder '{private}', not of '{notes}'"):
        opened.repair(folder=notes)
    with pytest.raises(InputError, match=f"is of the folder '{private}', not of"):
        Index.build(notes, index=str(foreign))
    held = (foreign / "index.db").read_bytes()
    assert b"secret" not in held
    assert opened.repair(folder=private).folder == str(private)


# Who else may read it.


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps rights in another way")
@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_nobody_else_can_read_what_an_index_or_the_cache_holds(
    notes: Path, tiny_model: Path, tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, umask: int
) -> None:
    monkeypatch.setenv("SEEWHY_HOME", str(tmp_path / "data" / "seewhy"))
    monkeypatch.setenv("SEEWHY_CACHE", str(tmp_path / "made" / "seewhy"))
    seen: set[tuple[str, int]] = set()

    def look(_: object) -> None:
        for top in (tmp_path / "data", tmp_path / "made"):
            for path in [top, *top.rglob("*")] if top.exists() else []:
                with contextlib.suppress(FileNotFoundError):
                    seen.add((path.relative_to(tmp_path).as_posix(), stat.S_IMODE(path.lstat().st_mode)))

    before = os.umask(umask)
    try:
        built = Index.build(notes, model=str(tiny_model), progress=look)
        built.query("the key")
        look(None)
        Index.build(notes, rebuild=True, progress=look)
        look(None)
        page = tmp_path / "page.html"
        write_file(page, "a page")
    finally:
        os.umask(before)
    assert [pair for pair in sorted(seen) if pair[1] & 0o077] == []
    assert {Path(name).name for name, _ in seen} >= {
        "index.db",
        "ann",
        "tmp",
        "writer.json",
        "encoder.bin",
        "entry.json",
    }
    assert stat.S_IMODE(page.stat().st_mode) == 0o666 & ~umask


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps rights in another way")
def test_an_index_that_its_owner_shares_stays_shared(index: Path, notes: Path) -> None:
    (index / "index.db").chmod(0o644)
    Index.build(notes, index="kept", rebuild=True)
    (index / "index.db").chmod(0o644)
    Index.open(index).repair()
    files = (index / "index.db", *(index / "ann").iterdir())
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o644}


@pytest.mark.parametrize("name", ["index.db", "index.db-journal", "writer.lock", "writer.json"])
def test_nothing_is_written_to_a_file_with_another_name(
    index: Path, notes: Path, tmp_path: Path, name: str
) -> None:
    decoy = tmp_path / "decoy"
    content = (index / name).read_bytes() if name == "index.db" else b"\0private"
    decoy.write_bytes(content)
    (index / name).unlink(missing_ok=True)
    (index / name).hardlink_to(decoy)
    (notes / "new.txt").write_text("the first word of a long number", encoding="utf-8")
    for command in (
        lambda: Index.build(notes, index="kept"),
        lambda: Index.build(notes, index="kept", rebuild=True),
        lambda: Index.open(index).repair(),
        lambda: Index.open(index).query("the key"),
        lambda: check(index),
    ):
        with contextlib.suppress(IndexDamaged):
            command()
        assert decoy.read_bytes() == content
    with pytest.raises(IndexDamaged, match=rf"{name}' has another name, too \(a hard link\)"):
        Index.build(notes, index="kept")
    if name != "index.db-journal":
        assert Index.open(index).query("the key")
