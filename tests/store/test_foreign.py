"""Indexes that somebody else made: nothing of theirs is loaded, run, or written outside of the index."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from search import Index, IndexDamaged, ModelError
from tests.conftest import Run
from tests.store import damage


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> Path:
    return Index.build(notes, model=str(tiny_model), index="kept").path


def meta(index: Path, key: str, value: Any) -> None:
    text = json.dumps(value).replace("'", "''")
    damage.execute(index, f"REPLACE INTO meta VALUES ('{key}', '{text}')")


def fingerprint(index: Path, **changes: Any) -> None:
    with contextlib.closing(sqlite3.connect(index / "index.db")) as connection:
        stored = json.loads(
            connection.execute("SELECT value FROM meta WHERE key = 'fingerprint'").fetchone()[0]
        )
    meta(index, "fingerprint", stored | changes)


@pytest.fixture
def foreign(index: Path, tmp_path: Path, own_cache: Path) -> Path:
    """The same index where others keep theirs; its model was never used on this machine."""
    place = tmp_path / "shared" / "index"
    shutil.copytree(index, place)
    return place


def test_no_model_is_loaded_because_a_foreign_index_names_it(
    foreign: Path, notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = []
    monkeypatch.setattr("search.encoding.models._locate", lambda name, offline: names.append(name))
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
                ModelError, match=f"uses the model '{name}', which you have never used here.*--model"
            ):
                command()
        assert opened.check().ok
    assert opened.query("the key", mode="lexical")
    assert names == []


def test_a_model_that_the_user_names_is_remembered(foreign: Path, tiny_model: Path) -> None:
    first = Index.open(foreign, model=str(tiny_model)).query("the key")
    fingerprint(foreign, model="somebody/model")
    assert Index.open(foreign).query("the key") == first
    torch = Index.open(foreign, engine="torch")
    assert torch.query("the key")[0].text == first[0].text
    assert torch.encoder.model == str(tiny_model)


def test_an_index_in_the_data_folder_names_its_model(
    index: Path, own_cache: Path, tmp_path: Path
) -> None:
    assert Index.open(index).query("the key")
    fingerprint(index, model="somebody/model")
    link = index.with_name("link")
    link.symlink_to(tmp_path / "elsewhere")
    shutil.copytree(index, tmp_path / "elsewhere")
    own_cache.rename(tmp_path / "emptied")
    with pytest.raises(
        ModelError, match="uses the model 'somebody/model', which you have never used here"
    ):
        Index.open(link).query("the key")


def test_a_path_that_leads_out_of_the_folder_is_no_hit(index: Path) -> None:
    for path in ("../../x", "/etc/passwd", "a/../../x"):
        damage.execute(
            index, f"UPDATE files SET path = CAST('{path}' || substr('////////', 1, id) AS BLOB)"
        )
        with pytest.raises(IndexDamaged, match="outside the indexed folder"):
            Index.open(index).query("the key")


def test_no_advice_copies_a_folder_into_a_foreign_index(foreign: Path, tmp_path: Path, run: Run) -> None:
    private = tmp_path / "private"
    private.mkdir()
    (private / "letter.md").write_text("A private letter.", encoding="utf-8")
    meta(foreign, "root", str(private))
    for version in (9, 8):
        meta(foreign, "schema_version", version)
        for command in (["check"], ["query", "key", "-m", "lexical"], ["status"]):
            output = " ".join(run(*command, "-i", foreign)[1:])
            assert f"seewhy index {private}" not in output
        assert f"seewhy index FOLDER --index {foreign}" in " ".join(run("check", "-i", foreign)[1:])


ESCAPE = "\x1b[2J\x9b31m\u202e"


def test_no_control_code_of_an_index_reaches_the_terminal(index: Path, run: Run) -> None:
    fingerprint(index, model=f"m{ESCAPE}")
    meta(index, "root", f"/nowhere{ESCAPE}")
    meta(index, "engine", f"e{ESCAPE}")
    damage.execute(index, f"INSERT INTO skipped VALUES (x'1b5b324a', 0, 'read', '{ESCAPE}', '{ESCAPE}')")
    for command in ("list", "list --json", "status -i kept", "status -i kept --json", "check -i kept",
                    "query key -i kept -m lexical"):  # fmt: skip
        _, out, err = run(*command.split())
        assert not set(out + err) & {"\x1b", "\x9b", "\u202e"}, command


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps rights in another way")
@pytest.mark.parametrize("umask", [0])
def test_indexes_and_caches_are_unreadable_to_others(
    notes: Path,
    tiny_model: Path,
    tmp_path: Path,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    umask: int,
) -> None:
    monkeypatch.setenv("SEEWHY_HOME", str(tmp_path / "data" / "seewhy"))
    monkeypatch.setenv("SEEWHY_CACHE", str(tmp_path / "made" / "seewhy"))
    modes: set[tuple[str, int]] = set()

    def look(_: object) -> None:
        for top in (tmp_path / "data", tmp_path / "made"):
            for path in [top, *top.rglob("*")] if top.exists() else []:
                with contextlib.suppress(FileNotFoundError):
                    modes.add((path.relative_to(tmp_path).as_posix(), stat.S_IMODE(path.lstat().st_mode)))

    before = os.umask(umask)
    try:
        index = Index.build(notes, model=str(tiny_model), progress=look)
        index.query("the key")
        look(None)
        Index.build(notes, rebuild=True, progress=look)
        look(None)
    finally:
        os.umask(before)
    private = {name for name, mode in modes if not mode & 0o077}
    assert [
        name for name, _ in sorted(modes) if not private & {name, *map(str, Path(name).parents)}
    ] == []
    assert {Path(name).name for name, _ in modes} >= {
        "index.db",
        "ann",
        "tmp",
        "writer.json",
        "encoder.bin",
        "entry.json",
    }


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps rights in another way")
def test_an_index_that_its_owner_shares_stays_shared(index: Path, notes: Path) -> None:
    (index / "index.db").chmod(0o644)
    Index.build(notes, index="kept", rebuild=True)
    (index / "index.db").chmod(0o644)
    shutil.rmtree(index / "ann")
    Index.open(index).check(repair=True)
    files = (index / "index.db", *(index / "ann").iterdir())
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o644}


def test_unreadable_indexes_never_fail_the_list(index: Path, run: Run, own_home: Path) -> None:
    statements = {
        "outdated": "UPDATE meta SET value = '7' WHERE key = 'schema_version'",
        "renamed": "ALTER TABLE passages RENAME TO p",
        "without meta": "DELETE FROM meta",
        "no json": "UPDATE meta SET value = '{' WHERE key = 'fingerprint'",
        "controls": "UPDATE meta SET value = '\"\x1b[31m\"' WHERE key = 'schema_version'",
    }
    for name, statement in statements.items():
        place = own_home / "indexes" / name
        shutil.copytree(index, place)
        damage.execute(place, statement)
    code, out, err = run("list", "--json")
    assert code == 0
    assert "kept" in {row["name"] for row in json.loads(out)}
    assert "\x1b" not in out + err
    for name in statements:
        assert name in out + err, name
