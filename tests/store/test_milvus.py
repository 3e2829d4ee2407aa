"""An index on a Milvus server, by its public names, against the index in a folder of the same texts."""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymilvus
import pytest

from search import Hit, Index, InputError
from search.errors import ChangedMeanwhile, IndexNotFound, StoreUnavailable
from search.index import searcher_of
from search.store.milvus.store import MilvusSnapshot
from search.store.snapshot import Snapshot
from tests.conftest import WORDS, Run, save_tiny_bert
from tests.milvus_server import MilvusServer

FILES = 40
QUERIES = (
    "rotate the key",
    "people of the water",
    "a long time at the door",
    "search a token vector model in the index folder",
    "turn",
)
KINDS = ("search", "query", "upsert", "delete", "describe_alias", "has_collection", "list_collections")
EXTENSIONS = (".md", ".txt", ".rst")


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with weights of its own: an index on a server is named after its weights."""
    return save_tiny_bert(tmp_path_factory.mktemp("models") / "milvus", seed=31)


def write_texts(place: Path) -> Path:
    """Files with metadata in some folders."""
    chance = random.Random(1)
    for number in range(FILES):
        path = place / "texts" / chance.choice(["", "docs", "docs/deep", "other"])
        path.mkdir(parents=True, exist_ok=True)
        text = "\n\n".join(
            f"## {chance.choice(WORDS)}\n\n{' '.join(chance.choices(WORDS, k=30))}." for _ in range(3)
        )
        meta = (
            f"---\nlang: {chance.choice(['en', 'DE', 'fr'])}\nsize_of: {number % 7}\n"
            f"date: 20{10 + number % 15}-0{1 + number % 9}-1{number % 9}\ntags: [red, {chance.choice(WORDS)}]\n---\n"
        )
        kind = EXTENSIONS[number % 3]
        file = path / f"{chance.choice(WORDS)}{number}{kind}"
        file.write_text((meta if kind == ".md" else "") + text + "\n", encoding="utf-8")
        os.utime(file, (1_700_000_000 + 86_400 * number,) * 2)
    return place / "texts"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of the test's own."""
    return write_texts(tmp_path)


def build_both(folder: Path, model: Path, address: str) -> tuple[Index, Index]:
    """The index in the folder, and a reader of the one on the server."""
    near = Index.build(folder, index="near", model=str(model))
    Index.build(folder, index="far", model=str(model), store=address)
    return near, Index.open(address)


@pytest.fixture(scope="module")
def indexes(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Path, milvus_server: MilvusServer
) -> tuple[Index, Index]:
    """An index in a folder and one on the server, for reading: they are built once for all tests."""
    place = tmp_path_factory.mktemp("both")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEEWHY_HOME", str(place / "home"))
        return build_both(write_texts(place), tiny_model, f"{milvus_server.uri}/both")


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Number of requests to the server, by kind."""
    counts = Counter[str]()

    def counting(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            counts[name] += 1
            return real(*args, **options)

        return call

    for name in KINDS:
        monkeypatch.setattr(
            pymilvus.MilvusClient, name, counting(name, getattr(pymilvus.MilvusClient, name))
        )
    return counts


def places(hits: list[Hit]) -> list[tuple[str, int]]:
    return [(hit.document, hit.start) for hit in hits]


def assert_same_answers(near: Index, far: Index) -> None:
    for query in QUERIES:
        expected, actual = near.query(query, all_copies=True), far.query(query, all_copies=True)
        assert places(expected) == places(actual)
        assert [hit.score for hit in actual] == pytest.approx([hit.score for hit in expected], abs=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"mode": "dense"}, {"mode": "lexical"}, {"k": 30, "per_document": 1}, {"without": ["key"]},
    ],
)  # fmt: skip
def test_hits_of_a_server_are_those_of_the_folder_and_marked_approximate(
    indexes: tuple[Index, Index], options: dict[str, Any]
) -> None:
    near, far = indexes
    expected = near.query("rotate the key", all_copies=True, **options)
    actual = far.query("rotate the key", all_copies=True, **options)
    assert places(expected) == places(actual)
    for near_hit, far_hit in zip(expected, actual, strict=True):
        assert (far_hit.text, far_hit.line_start, far_hit.title, far_hit.metadata) == (
            near_hit.text, near_hit.line_start, near_hit.title, near_hit.metadata,
        )  # fmt: skip
        assert far_hit.score == pytest.approx(near_hit.score, abs=1e-6)
        assert far_hit.approximate
        assert not near_hit.approximate
    assert "this list is approximate" in far.notes[0]


def test_every_score_adds_up(indexes: tuple[Index, Index]) -> None:
    near, far = indexes
    for query in QUERIES:
        hits = far.query(query, k=5)
        for hit, why in zip(hits, far.explain(query, hits), strict=True):
            assert why.score == hit.score
            assert abs(why.residual) < 1e-5
            assert why.weight * why.contributions.sum() + sum(
                term.contribution for term in why.terms
            ) == pytest.approx(hit.score, abs=1e-5)
        a, b = hits[:2]
        assert far.contrast(query, a, b).gap == pytest.approx(a.score - b.score, abs=1e-5)
    assert places(far.similar(far.query("key")[0].path)) == places(
        near.similar(near.query("key")[0].path, all_copies=True)
    )


def test_a_query_takes_at_most_six_requests(indexes: tuple[Index, Index], requests: Counter[str]) -> None:
    _, far = indexes
    far.query("warm")
    for query in QUERIES:
        for options in (
            {},
            {"where": "lang=en"},
            {"group": True, "where": "lang=en"},
            {"mode": "lexical"},
        ):
            requests.clear()
            far.query(query, **options)  # type: ignore[arg-type]
            assert sum(requests.values()) <= 6, requests


PASSES = [
    "lang=en", "lang=de or lang=fr", "not lang=en", "lang!=en and size_of>3", "has lang", "not has lang",
    "size_of in (1, 2, 5)", "size_of<=2", "size_of>=2.5", "date=2014", "date>2020-05", "date<=2012-03-12",
    "date>=2011 and date<2019", "tags=red", "tags=key", "kind=markdown", "kind in (text, rst)",
    "heading=key", "path:docs/**", "path:*.md", "path:docs/deep/**",
    "path:'docs/*'", "path:/other/**", "name:*.txt", "size>400", "size<=1000",
    "metadata.lang=en"
]  # fmt: skip


def test_filters_pass_the_same_passages_as_in_the_folder(indexes: tuple[Index, Index]) -> None:
    near, far = indexes
    options = {"k": 200, "per_document": 0, "all_copies": True, "mode": "dense"}
    passing = 0
    for where in PASSES:
        expected = set(places(near.query("key", where=where, **options)))  # type: ignore[arg-type]
        assert set(places(far.query("key", where=where, **options))) == expected, where  # type: ignore[arg-type]
        passing += bool(expected)
    assert passing >= 24


@pytest.mark.parametrize(
    "where",
    [
        "title:key*",
        "mtime>2023",
        "lang>ed",
        "path:docs",
        "name:key*",
        "lang=en and name:[a-c]*",
        "path:docs/*.md",
        "path:docs/**/*.md",
    ],
)
def test_a_filter_that_a_server_cannot_answer_is_refused_by_name(
    indexes: tuple[Index, Index], where: str
) -> None:
    part = where.rpartition(" and ")[2]
    with pytest.raises(
        InputError, match=re.escape(f"an index on a Milvus server does not support '{part}'")
    ):
        indexes[1].query("key", where=where)


def test_an_update_sends_only_changes_whatever_the_size_of_the_index(
    folder: Path, tiny_model: Path, milvus: str, requests: Counter[str]
) -> None:
    def edit(far: Index, files: list[Path]) -> tuple[int, int]:
        files[0].write_text("# New\n\nThe water is new.\n", encoding="utf-8")
        requests.clear()
        report = far.update()
        assert (report.changed, report.removed, report.encoded) == (1, 0, 1)
        return sum(requests.values()), requests["upsert"]

    near = Index.build(folder, index="near", model=str(tiny_model))
    small_folder = folder.parent / "few"
    small_folder.mkdir()
    for number in range(2):
        (small_folder / f"{number}.md").write_text("# Old\n\nThe old door.\n", encoding="utf-8")
    small = Index.build(small_folder, index="few", model=str(tiny_model), store=f"{milvus}_few")
    large = Index.build(folder, index="far", model=str(tiny_model), store=milvus)
    files = sorted(path for path in folder.rglob("*.txt"))
    assert edit(small, sorted(small_folder.iterdir())) == edit(large, files)
    files[1].unlink()
    files[2].rename(files[2].with_name("renamed.txt"))
    with files[3].open("a") as file:
        file.write("\n\n## Key\n\nTo rotate the key.\n")
    report = Index.open("far").update()
    assert (report.added, report.changed, report.removed) == (1, 1, 2)
    near.update()
    assert_same_answers(near, Index.open(milvus))
    assert large.status().passages == near.status().passages == report.passages
    assert large.status().tokens == near.status().tokens == report.tokens
    requests.clear()
    assert large.update().nothing_changed
    assert requests["search"] == requests["query"] == 0


def test_a_rebuild_is_visible_only_when_it_is_complete(
    folder: Path, tiny_model: Path, milvus: str, other_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = build_both(folder, tiny_model, milvus)
    before = places(far.query("rotate the key"))
    upsert, counts = pymilvus.MilvusClient.upsert, Counter[str]()

    def watch(*args: Any, **options: Any) -> None:
        upsert(*args, **options)
        counts["same"] += places(far.query("rotate the key")) == before

    with monkeypatch.context() as patch:
        patch.setattr(pymilvus.MilvusClient, "upsert", watch)
        Index.build(folder, index="far", rebuild=True, model=str(other_model))
    assert counts["same"] > 1
    with pytest.raises(ChangedMeanwhile, match="rebuilt with other settings"):
        far.query("rotate the key")
    near = Index.build(folder, index="near", rebuild=True, model=str(other_model))
    assert_same_answers(near, far)


class Killed(BaseException):
    """Raised in the middle of a run, which it ends."""


@pytest.mark.parametrize(
    ("name", "rebuild"), [("upsert", False), ("create_alias", False), ("alter_alias", True)]
)
def test_a_killed_run_is_continued(
    folder: Path,
    tiny_model: Path,
    milvus: str,
    monkeypatch: pytest.MonkeyPatch,
    rebuild: bool,
    name: str,
) -> None:
    """Wherever it was: the rows of a batch are written and not known here, or all are and the alias is as it was."""
    monkeypatch.setattr("search.indexing.read.PASSAGES_IN_A_BATCH", 20)
    options = {"index": "far", "model": str(tiny_model), "store": milvus}
    old: list[tuple[str, int]] = []
    if rebuild:
        Index.build(folder, **options)  # type: ignore[arg-type]
        old = places(Index.open(milvus).query("rotate the key"))
    real = getattr(pymilvus.MilvusClient, name)
    calls = iter(range(100))

    def dying(*args: Any, **kwargs: Any) -> Any:
        if name != "upsert" or next(calls) == 3:
            if name == "upsert":
                real(*args, **kwargs)
            raise Killed
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(pymilvus.MilvusClient, name, dying)
        try:
            Index.build(folder, rebuild=rebuild, **options)  # type: ignore[arg-type]
        except Killed:
            if old:
                assert places(Index.open(milvus).query("rotate the key")) == old
            else:
                with pytest.raises(IndexNotFound, match="its first run has not finished"):
                    Index.open(milvus).query("rotate the key")
    first = sorted(folder.rglob("*.txt"))[0]
    first.write_text("# Short\n\nThe key.\n", encoding="utf-8")
    Index.build(folder, index="far")
    near = Index.build(folder, index="near", model=str(tiny_model))
    assert_same_answers(near, Index.open(milvus))
    assert len(Index.open(milvus).query("key", k=900, per_document=0)) == near.status().passages


def test_the_next_run_continues_after_the_server_was_killed(
    folder: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.indexing.read.PASSAGES_IN_A_BATCH", 20)
    server = MilvusServer(tmp_path / "data")
    server.start()
    address, upsert, calls = f"{server.uri}/texts", pymilvus.MilvusClient.upsert, iter(range(100))

    def kill_after(*args: Any, **options: Any) -> None:
        upsert(*args, **options)
        if next(calls) == 2:
            server.kill()

    with monkeypatch.context() as patch:
        patch.setattr("search.store.milvus.client._FIRST_PAUSE", 0.01)
        patch.setattr(pymilvus.MilvusClient, "upsert", kill_after)
        with pytest.raises(StoreUnavailable, match="does not respond"):
            Index.build(folder, index="far", model=str(tiny_model), store=address)
    server.start()
    try:
        Index.build(folder, index="far")
        assert_same_answers(Index.build(folder, index="near", model=str(tiny_model)), Index.open(address))
    finally:
        server.kill()


def test_several_workers_upload_the_same_index(folder: Path, tiny_model: Path, milvus: str) -> None:
    Index.build(folder, index="far", model=str(tiny_model), store=milvus, workers=2)
    assert_same_answers(Index.build(folder, index="near", model=str(tiny_model)), Index.open(milvus))


@pytest.mark.parametrize("kind", ["HNSW"])
def test_an_index_of_another_kind_answers(folder: Path, tiny_model: Path, milvus: str, kind: str) -> None:
    far = Index.build(folder, index="far", model=str(tiny_model), store=milvus, store_index=kind)
    assert far.status().vectors == f"on the server, {kind}"
    assert len(far.query("rotate the key")) == 10


def test_commands_work_with_a_server_or_say_that_they_cannot(
    run: Run, notes: Path, tiny_model: Path, milvus: str
) -> None:
    assert run("index", notes, "--model", tiny_model, "--store", milvus)[0] == 0
    output, far_output = (
        json.loads(run("query", "key", "--json", *more)[1]) for more in ((), ("-i", milvus))
    )
    assert [hit["text"] for hit in output] == [hit["text"] for hit in far_output]
    assert output[0]["approximate"]
    assert "this list is approximate" in run("query", "key", "-i", milvus)[2]
    assert milvus in run("status")[1]
    assert "notes" in run("list")[1]
    assert run("index", notes, "--store-index", "HNSW")[0] == 1
    assert "To change that, add: --rebuild" in run("index", notes, "--store", f"{milvus}2")[2]
    for command in (
        ("check",), ("duplicates",), ("why-not", "key", "keys.md"), ("check", "--repair"),
    ):  # fmt: skip
        code, _, err = run(*command)
        assert (code, "server" in err) == (1, True), command
    code, _, err = run("index", notes, "--store", "none")
    assert code == 0
    assert not json.loads(run("query", "key", "--json")[1])[0]["approximate"]
    assert json.loads(run("query", "key", "--json", "-i", milvus)[1]) == far_output
    assert "is stored on this machine" in run("index", notes, "--store", milvus)[2]
    assert run("remove", milvus, "--yes")[0] == 0
    assert "no index" in run("query", "key", "-i", milvus)[2]


def test_another_index_is_replaced_only_with_rebuild(
    run: Run, notes: Path, tiny_model: Path, milvus: str
) -> None:
    assert run("index", notes, "--index", "a", "--model", tiny_model, "--store", milvus)[0] == 0
    command = ("index", notes, "--index", "b", "--model", tiny_model, "--store", milvus)
    assert "already holds an index" in run(*command)[2]
    assert run(*command, "--rebuild")[0] == 0
    assert "was deleted or replaced by another index. To upload" in run("index", "--index", "a")[2]
    assert run("remove", "b", "--yes")[0] == 0
    assert "no index" in run("query", "key", "-i", milvus)[2]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("milvus://host", "is not a valid address"),
        ("milvus://user:secret@host/notes", "SEEWHY_MILVUS_TOKEN"),
        ("milvus://host/a-b", "NAME takes letters, digits and '_'"),
        ("http://host/notes", "is not a valid address"),
    ],
)
def test_an_invalid_address_is_refused(notes: Path, address: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        Index.build(notes, store=address)


def test_a_foreign_index_sends_nothing_to_a_server(
    notes: Path, tiny_model: Path, milvus: str, tmp_path: Path
) -> None:
    place = str(tmp_path / "elsewhere")
    Index.build(notes, index=place, model=str(tiny_model), store=milvus)
    for call in (lambda: Index.open(place), lambda: Index.build(notes, index=place)):
        with pytest.raises(InputError, match="was not created in your data folder"):
            call()
    assert Index.build(notes, index=place, store=milvus).update().nothing_changed


def test_a_snapshot_of_a_server_inherits_nothing_that_reads_a_database() -> None:
    """Except what is called only for pending passages, of which a server has none, and for counterfactuals."""
    methods = {name for kind in Snapshot.__mro__[:-1] for name in vars(kind) if not name.startswith("_")}
    of_pending_passages = {
        "stems_of", "counts_of_stems", "keyword_sums", "without_pending", "encoded", "require_complete",
        "count_stored_files",
    }  # fmt: skip
    of_counterfactuals = {"keyword_sums_of_texts"}  # which are refused for a server
    of_words = {"terms", "tokenize", "forms_in", "main_language"}
    assert methods - vars(MilvusSnapshot).keys() == (of_words | of_pending_passages | of_counterfactuals)


def test_an_index_on_a_server_says_that_it_cannot_list_its_passages(indexes: tuple[Index, Index]) -> None:
    _, far = indexes
    assert far.facets() == ()
    for list_passages in (searcher_of(far).map, far.duplicates):
        with pytest.raises(InputError, match="cannot list all passages. Use a local index"):
            list_passages()
