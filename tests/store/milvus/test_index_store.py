"""`seewhy index --store`: where an index is published is remembered, said, and ended."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from search import Index
from search.errors import IndexNotFound, InputError
from search.store.milvus import client, terms
from search.store.milvus.address import DATABASE, TOKEN, Address
from search.store.milvus.client import Client
from search.store.milvus.generation import newest
from tests.conftest import Run


def passages_on(address: str) -> int:
    asked = Client(Address.parse(address))
    generation = newest(asked)
    asked.close()
    return generation.passages if generation else 0


@pytest.fixture
def published(run: Run, notes: Path, tiny_model: Path, milvus: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(terms, "_MOST_MOVED", 10.0)
    for path in filter(Path.is_file, notes.rglob("*")):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    code, _, err = run("index", notes, "--model", tiny_model, "--store", milvus)
    assert code == 0
    assert re.search(rf"published on {milvus}: 5 of 5 passages written in \d+\.\d s", err)
    return notes


def test_later_runs_publish_again_until_that_is_ended(run: Run, published: Path, milvus: str) -> None:
    assert passages_on(milvus) == 5
    assert "published on" not in run("index", published)[2]
    (published / "new.md").write_text("# Water\n\nA long time on the water.\n", encoding="utf-8")
    assert f"published on {milvus}: 1 of 6 passages written" in run("index", published)[2]
    assert passages_on(milvus) == 6
    (published / "new.md").unlink()
    code, _, err = run("index", published, "--store", "none")
    assert code == 0
    assert f"the index is published no more; what is on {milvus} stays there as it is" in err
    assert passages_on(milvus) == 6
    assert json.loads(run("status", "--json")[1])["published"] is None


def test_the_help_names_the_extra_and_the_variables(run: Run) -> None:
    out = run("index", "--help")[1]
    assert all(name in out for name in ("`milvus`", TOKEN, DATABASE))


def test_status_says_where_and_whether_it_is_the_newest(run: Run, published: Path, milvus: str) -> None:
    _, out, _ = run("status")
    assert f"{milvus}, as it is now" in " ".join(out.split())
    assert f"is published on {milvus}, as it is now" in " ".join(run("list")[1].split())
    index = Index.open()
    from search.store.choices import put_choice

    put_choice(index.path, {"weight": 0.5})
    assert json.loads(run("status", "--json")[1])["published"] == {
        "address": milvus,
        "kind": "FLAT",
        "current": False,
    }
    assert run("index", published)[0] == 0
    assert json.loads(run("status", "--json")[1])["published"]["current"]


def test_without_a_server_the_index_is_whole_and_the_next_run_goes_on(
    run: Run, published: Path, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (published / "new.md").write_text("# Water\n\nA long time on the water.\n", encoding="utf-8")

    def gone(*_: object, **__: object) -> None:
        raise OSError("UNAVAILABLE")

    with monkeypatch.context() as patch:
        patch.setattr(client, "_FIRST_PAUSE", 0)
        patch.setattr(Client, "_connected", gone)
        code, out, err = run("index", published)
    assert (code, len(err.splitlines())) == (1, 1)
    assert "1 file added" in out
    assert "is up to date, but its copy on the server is as it was: the Milvus server at" in err
    assert (Index.open().status().passages, passages_on(milvus)) == (6, 5)
    assert run("index", published)[0] == 0
    assert passages_on(milvus) == 6


def test_the_run_after_an_interrupted_store_anew_goes_on(
    run: Run, published: Path, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Client, "put", Mock(side_effect=KeyboardInterrupt))
        assert run("index", published, "--store", milvus, "--store-anew")[0] != 0
    (published / "new.md").write_text("# Water\n\nA long time on the water.\n")
    code, _, err = run("index", published)
    assert (code, passages_on(milvus)) == (0, 6), err


def test_a_name_that_another_index_has_is_refused_and_changes_nothing(
    run: Run, published: Path, tiny_model: Path, milvus: str, tmp_path: Path
) -> None:
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "a.md").write_text(
        "# Water\n\nOn the other side of the water.\n", encoding="utf-8"
    )
    other = milvus + "_other"
    assert run("index", tmp_path / "others", "--model", tiny_model, "--store", other)[0] == 0
    code, _, err = run("index", published, "--store", other)
    assert (code, f"--store {other} --store-anew" in err) == (1, True)
    assert json.loads(run("status", "--json", "-i", Index.open(published).path)[1])["published"] == {
        "address": milvus,
        "kind": "FLAT",
        "current": True,
    }
    assert run("index", published)[0] == 0
    assert (passages_on(milvus), passages_on(other)) == (5, 1)


def test_an_index_outside_of_the_users_own_is_sent_only_where_the_user_says(
    run: Run, notes: Path, tiny_model: Path, milvus: str, tmp_path: Path
) -> None:
    command = ("index", notes, "--model", tiny_model, "--index", tmp_path / "elsewhere")
    assert run(*command, "--store", milvus)[0] == 0
    (notes / "table.csv").unlink()
    code, _, err = run(*command)
    assert (code, passages_on(milvus)) == (0, 5)
    assert "may come from somebody else: nothing was sent" in " ".join(err.split())
    assert run(*command, "--store", milvus)[0] == 0
    assert passages_on(milvus) == 3


def test_what_cannot_be_is_said_before_any_work(notes: Path, milvus: str) -> None:
    with pytest.raises(InputError, match="is no address of an index"):
        Index.build(notes, store="server")
    with pytest.raises(InputError, match=r"'HSNW' is no kind .* FLAT, HNSW, IVF_FLAT, DISKANN"):
        Index.build(notes, store=milvus, store_index="HSNW")


def test_a_kind_of_index_without_a_server_is_refused(notes: Path, tiny_model: Path) -> None:
    with pytest.raises(InputError, match="has no copy on a server. .* --store ADDRESS"):
        Index.build(notes, model=str(tiny_model), store_index="HNSW")


def test_a_copy_is_deleted_by_its_address(run: Run, published: Path, milvus: str) -> None:
    other = milvus + "_other"
    assert run("index", published, "--store", other)[0] == 0
    code, _, err = run("remove", milvus)
    assert (code, f"is not deleted without a yes: seewhy remove {milvus} --yes" in err) == (1, True)
    assert run("remove", milvus, "--yes")[0] == 0
    code, _, err = run("query", "water", "-i", milvus)
    assert code == 1
    assert re.search(rf"there is no index '{Address.parse(milvus).name}' on .* There are: .*_other", err)
    assert passages_on(other) == 5
    Index.open(other).remove()
    with pytest.raises(IndexNotFound):
        Index.open(other).remove()


def test_a_ledger_that_is_damaged_has_ways_out(run: Run, published: Path, milvus: str) -> None:
    ledger = Index.open(published).path / "published.db"
    ledger.write_bytes(b"")
    code, _, err = run("index", published)
    assert (code, "--store-anew; or publish no more, with: --store none" in err) == (1, True)
    assert run("index", published, "--store", milvus, "--store-anew")[0] == 0
    ledger.write_bytes(b"nonsense" * 200)
    assert run("index", published, "--store", "none")[0] == 0
    assert not ledger.exists()
