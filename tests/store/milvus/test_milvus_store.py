"""An index on a server answers as the one in a folder that it was published from, and says where it cannot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from search import Index, Indexes
from search.encoding import Encoder
from search.errors import (
    ChangedMeanwhile,
    IndexDamaged,
    IndexNotFound,
    InputError,
    ModelError,
    StoreUnavailable,
)
from search.serving.app import application
from search.serving.served import Served
from search.serving.settings import Settings
from search.store.milvus import nearest
from search.store.milvus.address import Address
from search.store.milvus.client import Client
from search.store.milvus.layout import CHECKSUM, DENSE, DENSE_CHECKSUM, KEY, PASSAGE
from search.store.milvus.ledger import Place, keep_place
from search.store.milvus.publishing import publish
from search.store.milvus.rows import embedding_fields
from search.store.milvus.store import MilvusStore
from search.store.sqlite import SQLiteStore
from tests.conftest import Run
from tests.milvus_server import MilvusServer

_WORDS = "time key door lock water people long sound side turn look find open".split()


def _folder(folder: Path) -> Path:
    """Some thirty documents, with texts that stand in many, and passages that are equal."""
    random = np.random.default_rng(7)
    for number in range(24):
        text = " ".join(random.choice(_WORDS, 12))
        (folder / f"n{number % 3}").mkdir(parents=True, exist_ok=True)
        head = f"---\nyear: {2000 + number}\n---\n"
        (folder / f"n{number % 3}" / f"d{number}.md").write_text(
            f"{head}# Doc\n\n{text}.\n", encoding="utf-8"
        )
        if number % 4 == 0:
            (folder / f"n{number % 3}" / f"license{number}.txt").write_text(
                "The door is open for all people.\n", encoding="utf-8"
            )
    (folder / "table.csv").write_text(
        "name,text\nfirst,the first side of the door\nsecond,a long sound\n", encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def places(
    tmp_path_factory: pytest.TempPathFactory, tiny: Encoder, tiny_model: Path, milvus_server: MilvusServer
) -> tuple[Path, str]:
    """An index in a folder, and its address on the server."""
    home = tmp_path_factory.mktemp("far")
    built = Index.build(_folder(home / "notes"), index=str(home / "index"), model=str(tiny_model))
    address = f"{milvus_server.uri}/far"
    keep_place(built.path, Place(address, "FLAT"))
    publish(built.path, tiny)
    return built.path, address


@pytest.fixture
def near(places: tuple[Path, str], tiny_model: Path) -> Index:
    return Index.open(places[0], model=str(tiny_model))


@pytest.fixture
def far(places: tuple[Path, str], tiny_model: Path) -> Index:
    return Index.open(places[1], model=str(tiny_model))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "dense"},
        {"mode": "lexical"},
        {"k": 100},
        {"group": True, "per_document": 1},
        {"weight": 0.2, "all_copies": True},
        {"offset": 3, "phrases": True},
        {"rerank": "late"},
    ],
    ids=str,
)
def test_hits_are_those_of_the_folder(near: Index, far: Index, options: dict[str, Any]) -> None:
    for question in ("find the key", 'people of the "open door"', "water"):
        expected, found = near.query(question, **options), far.query(question, **options)
        assert [hit.passage_id for hit in found] == [hit.passage_id for hit in expected]
        for one, other in zip(expected, found, strict=True):
            assert replace(other, score=one.score, lexical=one.lexical) == one
            assert other.score == pytest.approx(one.score, abs=1e-9)
    assert far.notes == near.notes


def test_all_that_is_asked_of_an_index_is_answered_alike(near: Index, far: Index) -> None:
    question = "people look for the key"
    hit, other = near.query(question)[0], near.query(question)[4]
    assert _shares(far.explain(question, hit)) == pytest.approx(
        _shares(near.explain(question, hit)), abs=1e-6
    )
    gaps = [one.contrast(question, hit.passage_id, other.passage_id).gap for one in (near, far)]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-9)
    for index in (near, far):
        missed = index.why_not(question, "d13.md")
        assert (missed.cause, missed.detail) == ("not indexed", near.why_not(question, "d13.md").detail)
    for what in (
        "table.csv#2",
        f"n0/d0.md:{hit.line_start}" if hit.document == "n0/d0.md" else "n0/d0.md",
        3,
    ):
        assert far.why_not(question, what).cause == near.why_not(question, what).cause
    assert [one.passage_id for one in far.similar(3)] == [one.passage_id for one in near.similar(3)]
    assert _ids(far.similar("n0/d0.md", same_document=True)) == _ids(
        near.similar("n0/d0.md", same_document=True)
    )
    assert far.duplicates(0.9) == near.duplicates(0.9)
    assert far.document(hit.document_id) == near.document(hit.document_id)
    assert far.passage(hit.passage_id) == near.passage(hit.passage_id)
    assert far.hit(question, other.passage_id) == pytest.approx(near.hit(question, other.passage_id))
    candidates = [index.candidates(question, 5) for index in (near, far)]
    assert [one.passage_id for one in candidates[0].pool] == [one.passage_id for one in candidates[1].pool]
    assert far.folders == near.folders
    assert far.location(hit.document_id) == near.location(hit.document_id)
    with pytest.raises(InputError, match="no passage 999"):
        far.passage(999)
    with pytest.raises(InputError, match="no document 999"):
        far.document(999)


def _ids(hits: Any) -> list[int]:
    return [hit.passage_id for hit in hits]


def _shares(why: Any) -> list[float]:
    return [share.contribution for share in why.shares()]


def test_what_an_index_is_and_holds_is_told(near: Index, far: Index, places: tuple[Path, str]) -> None:
    here, there = near.status(), far.status()
    same = {"bytes", "vectors", "index", "name", "running"}
    assert {k: v for k, v in vars(there).items() if k not in same} == {
        k: v for k, v in vars(here).items() if k not in same
    }
    assert (there.index, far.name) == (places[1], places[1])
    since = r"generation \d+, published [-\d]+ [:\d]+"
    assert re.fullmatch(rf"{here.passages} passages on a server \(exact\), {since}", there.vectors)
    assert repr(far) == f"<Index 'far' in '{places[1].rpartition('/')[0]}'>"
    assert far.generation >= near.generation


def _snapshots(places: tuple[Path, str]) -> Iterator[tuple[Any, Any]]:
    with SQLiteStore(places[0]).reading() as here, MilvusStore(Address.parse(places[1])).reading() as there:
        yield here, there


def test_snapshots_say_the_same(places: tuple[Path, str]) -> None:
    for here, there in _snapshots(places):
        ids = here.ids()
        wanted = [int(ids[5]), 10**6, int(ids[2])]
        query = here.embeddings([int(ids[0])])[0]
        assert there.ids().tolist() == ids.tolist()
        assert there.stored(wanted) == here.stored(wanted)
        assert there.documents(wanted) == here.documents(wanted)
        assert there.siblings(wanted) == here.siblings(wanted)
        assert there.copies(ids.tolist()) == here.copies(ids.tolist()) != {}
        assert there.file_of(wanted[0]) == here.file_of(wanted[0])
        assert there.file_of(10**6) is here.file_of(10**6) is None
        assert (there.embeddings([3, 1, 3]) == here.embeddings([3, 1, 3])).all()
        blocks = [[(a.tolist(), b.tolist()) for a, b in one.embedding_blocks()] for one in (here, there)]
        assert blocks[0] == blocks[1]
        stored = here.passage(wanted[0])
        same, other = (one.embedding_of(stored.context, stored.shown) for one in (here, there))
        assert (same == other).all()
        assert there.embedding_of("", "nowhere") is None
        assert (there.highest(query, ids) >= here.cosines(query, ids)).all()
        assert there.within(ids[:4], ids[2:9]).tolist() == ids[2:4].tolist()
        without = there.without(None, [int(ids[0])])
        assert np.asarray(without).tolist() == here.without(None, [int(ids[0])]).tolist()
        assert there.within(ids[:3], without).tolist() == ids[1:3].tolist()
        assert there.nearest(query, 3, without) == here.nearest(query, 3, ids[1:])
        assert there.place("n1/d1.md") == here.place("n1/d1.md")
        assert there.place("no-such-d1.md").near == here.place("no-such-d1.md").near
        assert there.random_pairs() is here.random_pairs() is None or there.random_pairs().hubs == {}
        assert (there.root, there.source, there.choice) == (here.root, here.source, here.choice)


@pytest.mark.parametrize("most", [2, 5, 1000])
def test_what_is_near_is_exact_however_few_rows_come_at_once(places: tuple[Path, str], most: int) -> None:
    for here, there in _snapshots(places):
        view, count = there._view, there.passage_count
        for seed, k in ((0, 1), (1, 7), (2, count // 2 - 1), (3, count)):
            query = np.random.default_rng(seed).normal(size=len(here.embeddings([1])[0])).astype(np.float32)
            query /= np.linalg.norm(query)
            assert nearest.nearest(view, query, k, "", count, most) == here.nearest(query, k)
            some = here.ids()[::3]
            where = f"{PASSAGE} in {some.tolist()}"
            assert nearest.nearest(view, query, min(k, 3), where, len(some), most) == here.nearest(
                query, min(k, 3), some
            )


@pytest.fixture
def mine(notes: Path, tiny: Encoder, tiny_model: Path, milvus: str) -> Index:
    """An index of the test's own, that may be harmed."""
    built = Index.build(notes, model=str(tiny_model))
    keep_place(built.path, Place(milvus, "FLAT"))
    publish(built.path, tiny)
    return built


def test_what_is_not_as_it_was_written_is_no_answer(mine: Index, milvus: str, tiny_model: Path) -> None:
    far = Index.open(milvus, model=str(tiny_model))
    with MilvusStore(Address.parse(milvus)).reading() as snapshot:
        view = snapshot._view
        name = view.collection("passages")
        row = view.client.query(name, f"{PASSAGE} == 1", [KEY, CHECKSUM, DENSE, DENSE_CHECKSUM])[0]
    client = Client(Address.parse(milvus))
    client.put(name, [{KEY: row[KEY], CHECKSUM: 1}], partial=True)
    with pytest.raises(IndexDamaged, match=r"row of passage 1 .* --store-anew"):
        far.passage(1)
    client.put(name, [{KEY: row[KEY], CHECKSUM: row[CHECKSUM], DENSE_CHECKSUM: 1}], partial=True)
    assert far.passage(1)
    with pytest.raises(IndexDamaged, match=r"embedding of passage 1 .* --store-anew"):
        far.query("key", mode="dense")
    fields = embedding_fields(1, np.array(row[DENSE], dtype=np.float32))
    client.put(name, [{KEY: row[KEY], **fields}], partial=True)
    assert far.query("key", mode="dense")
    client.delete(name, f"{PASSAGE} == 1")
    with pytest.raises(IndexDamaged, match="embeddings of the index were asked for"):
        far.query("key", mode="dense")
    client.close()


def test_a_reader_keeps_to_its_state_and_does_not_answer_from_one_that_is_gone(
    mine: Index, notes: Path, tiny: Encoder, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.store.milvus.terms._MOST_MOVED", 10.0)
    store = MilvusStore(Address.parse(milvus))
    with store.reading() as snapshot:
        before = snapshot.stored(snapshot.ids().tolist())
        _publish_another(mine, notes, tiny, "one")
        assert snapshot.stored(list(before)) == before
    with store.reading() as snapshot:
        assert snapshot.passage_count == len(before) + 1
    changed = pytest.raises(ChangedMeanwhile, match="published anew twice while it was read. Ask again.")
    with changed, store.reading() as snapshot:
        snapshot.ids()
        _publish_another(mine, notes, tiny, "two")
        _publish_another(mine, notes, tiny, "three")
        snapshot.stored([1])


def _publish_another(index: Index, notes: Path, encoder: Encoder, name: str) -> None:
    (notes / f"{name}.txt").write_text(f"The {name} of the water.\n", encoding="utf-8")
    index.update()
    publish(index.path, encoder)


def test_what_is_not_there_is_said_with_a_way_out(milvus: str, tmp_path: Path, run: Run) -> None:
    with pytest.raises(IndexNotFound, match=rf"no index 't\d+' on the Milvus server .* --store {milvus}"):
        Index.open(milvus).query("key")
    for command in (["query", "key"], ["status"], ["eval", _judged(tmp_path)]):
        code, out, err = run(*command, "--index", milvus)
        assert (code, out) == (1, "")
        assert err.count("\n") == 1
        assert "there is no index" in err


def _judged(folder: Path) -> Path:
    (folder / "judged.csv").write_text("query,path\nkey,keys.md\n", encoding="utf-8")
    return folder / "judged.csv"


def test_a_server_that_is_gone_is_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.store.milvus.client._FIRST_PAUSE", 0.01)
    monkeypatch.setattr("search.store.milvus.client._LONGEST_PAUSE", 0.01)
    address = f"milvus://127.0.0.1:{_free_port()}/notes"
    with pytest.raises(StoreUnavailable, match="does not answer. Start it"):
        Index.open(address).status()
    code, out, err = run("query", "key", "--index", address)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert re.match(r"seewhy: the Milvus server at http://127.0.0.1:\d+ does not answer", err)


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_model_that_somebody_elses_index_names_is_not_looked_for(
    mine: Index, milvus: str, request: pytest.FixtureRequest
) -> None:
    assert Index.open(milvus).query("key")  # by the hash of the weights, as it is here
    request.getfixturevalue("own_cache")
    with pytest.raises(ModelError, match="--model"):
        Index.open(milvus).query("key")
    assert Index.open(milvus).query("key", mode="lexical")


def test_what_would_change_it_is_refused(
    mine: Index, milvus: str, run: Run, tmp_path: Path, notes: Path
) -> None:
    far = Index.open(milvus)
    for change in (far.update, far.check, far.repair, lambda: far.tag("x"), lambda: far.label("x"),
                   lambda: far.move(tmp_path), lambda: next(far.watch())):  # fmt: skip
        with pytest.raises(InputError, match="is a copy on a server"):
            change()
    of_it = ["--index", milvus]
    commands = (["check", *of_it], ["repair", *of_it], ["tag", "--model", "x", *of_it], ["index", notes, *of_it],
                ["index", *of_it], ["move", milvus, notes])  # fmt: skip
    for command in commands:
        code, out, err = run(*command)
        assert (code, out) == (1, ""), (command, out, err)
        assert "is a copy on a server. Name the index in a folder" in err
        assert err.count("\n") == 1


def test_the_command_says_the_same_of_a_server(
    mine: Index, milvus: str, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for command in (["query", "find the key", "--json"], ["explain", "find the key", "p1", "--json"],
                    ["contrast", "find the key", "p1", "p2"], ["why-not", "find the key", "keys.md"],
                    ["similar", "p1"], ["duplicates"], ["eval", _judged(tmp_path), "--json"]):  # fmt: skip
        here, there = (run(*command, "--index", index) for index in (mine.path, milvus))
        assert here[0] == there[0] == 0, (here, there)
        assert _rounded(there[1].replace(milvus, str(mine.path))) == _rounded(here[1])
    monkeypatch.setenv("SEEWHY_INDEX", milvus)
    code, out, _ = run("status")
    assert code == 0
    assert milvus in out and "size" not in out
    code, out, err = run("query", "find the key", "--update")
    assert code == 0
    assert "--update leaves it alone" in err


def _rounded(text: str) -> str:
    text = re.sub(r'"(seconds|milliseconds|p50|p95|latency)[^,\n]*', "", text)
    return re.sub(r"-?\d+\.\d+(e-\d+)?", lambda found: f"{float(found[0]):.6f}", text)


def test_it_is_asked_with_others_as_one(mine: Index, milvus: str, tiny_model: Path) -> None:
    both = Indexes.open([milvus, mine.path], model=str(tiny_model))
    hits = both.query("find the key", k=4, all_copies=True)
    assert {hit.index for hit in hits} == {milvus, mine.path.name}
    assert both.of(hits[0]).explain("find the key", hits[0])


def test_an_approximate_index_says_so(notes: Path, tiny: Encoder, tiny_model: Path, milvus: str) -> None:
    built = Index.build(_folder(notes / "more"), index="approximate", model=str(tiny_model))
    keep_place(built.path, Place(milvus, "HNSW"))
    publish(built.path, tiny)
    far = Index.open(milvus, model=str(tiny_model))
    hits = far.query("find the key", k=3)
    assert all(hit.approximate for hit in hits)
    assert hits[0].score == pytest.approx(built.hit("find the key", hits[0].passage_id).score, abs=1e-9)
    assert "approximate index (HNSW)" in " ".join(far.notes)
    assert not any(hit.approximate for hit in far.query("find the key", mode="lexical"))
    assert not any(hit.approximate for hit in built.query("find the key"))
    assert "(approximate, HNSW)" in far.status().vectors


def test_a_server_of_pages_answers_from_it(mine: Index, milvus: str) -> None:
    served = Served.open([str(mine.path), milvus])
    assert list(served.indexes) == [mine.path.name, milvus]
    with TestClient(application(served, Settings()), base_url="http://127.0.0.1:8765") as client:
        for path in ("/api/v1/search", "/"):
            here, there = (
                client.get(path, params={"q": "find the key", "index": name}) for name in served.indexes
            )
            assert (here.status_code, there.status_code) == (200, 200)
            if path != "/":
                hits = [
                    [(hit["passage_id"], hit["text"]) for hit in one.json()["hits"]] for one in (here, there)
                ]
                assert hits[0] == hits[1] != []
        assert "keys.md" in there.text
