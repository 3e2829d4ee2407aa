"""Namespaces: one index, many tenants, and nothing of a tenant reaches another."""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from search import Document, Encoder, Index, IndexLocked, IndexNotFound, InputError
from search.index import searcher_of
from search.store import files
from search.store.namespaces import name_of_namespace, namespace_path
from tests.conftest import Run

SECRET = "The zyxword opens the door to AB-1234."
OTHER = "The water is cold, the key is in the cup."


@pytest.fixture
def index(tiny: Encoder, tmp_path: Path) -> Iterator[Index]:
    with Index.create(str(tmp_path / "tickets"), encoder=tiny) as index:
        index.upsert({"id": "a", "text": "A bird and a stone.", "owner": "nobody"})
        index.upsert({"id": "a", "text": SECRET, "colour": "red"}, namespace="acme")
        index.upsert(
            [{"id": "a", "text": OTHER, "year": 2024}, {"id": "b", "text": OTHER}], namespace="Acme"
        )
        yield index


def test_the_same_id_is_another_document_in_each_namespace(index: Index) -> None:
    assert index.namespaces() == ["Acme", "acme"]
    assert [index.get("a", namespace=name)[0].text for name in (None, "acme", "Acme")] == [
        "A bird and a stone.",
        SECRET,
        OTHER,
    ]
    assert (len(index), index.count(namespace="acme"), index.count(namespace="Acme")) == (1, 1, 2)
    index.delete("a", namespace="Acme")
    assert index.ids(namespace="Acme") == ["b"] and index.ids(namespace="acme") == index.ids() == ["a"]
    index.set_metadata("a", {"colour": "blue"}, namespace="acme")
    assert index.ids(where="colour=blue", namespace="acme") == ["a"]
    assert index.get("a")[0].metadata == {"owner": "nobody"}


def test_nothing_of_a_namespace_reaches_another(index: Index) -> None:
    """Hits, facets, names of fields, suggested words, identifiers, counts and ranks of one tenant only."""
    for name in (None, "Acme", "elsewhere"):
        assert all("zyxword" not in hit.text for hit in index.query("zyxword door", k=99, namespace=name))
        assert "colour" not in str(index.facets(namespace=name))
    inner = index.namespace("Acme")
    with pytest.raises(InputError) as error:
        inner.query("water", where="shade=red")
    assert "year" in str(error.value) and "colour" not in str(error.value)
    searcher = searcher_of(inner)
    assert searcher.absences("zyxwerd") == []  # suggests no word of another namespace
    assert [absence.word for absence in searcher.absences("AB-1234")] == ["AB-1234"]
    assert index.query("zyxword", mode="lexical", namespace="Acme") == []
    assert inner.why_not("water", "a").passages == 2
    with pytest.raises(InputError):
        inner.similar("no such document")
    assert len(inner.embeddings()[0]) == 2 and len(inner.duplicates(0.99)) == 1
    alone = Index.create(encoder=index.encoder)
    alone.upsert([{"id": "a", "text": OTHER, "year": 2024}, {"id": "b", "text": OTHER}])
    expected = [(hit.document, hit.score) for hit in alone.query("the water", all_copies=True)]
    hits = index.query("the water", all_copies=True, namespace="Acme")
    assert [(hit.document, hit.score) for hit in hits] == expected
    alone.close()


def test_reading_a_namespace_that_does_not_exist_gives_nothing_and_creates_nothing(index: Index) -> None:
    assert index.query("water", namespace="new") == [] and index.query_many(["a"], namespace="new") == [
        []
    ]
    assert index.ids(namespace="new") == index.get(namespace="new") == []
    assert index.facets(namespace="new") == () and index.delete("a", namespace="new").removed == 0
    with pytest.raises(InputError, match="no document 'a'"):
        index.set_metadata("a", {"x": 1}, namespace="new")
    assert "new" not in index.namespaces()


def test_options_are_checked_for_a_namespace_that_does_not_exist(index: Index) -> None:
    with pytest.raises(InputError, match="unknown mode 'nonsense'"):
        index.query("water", namespace="new", mode="nonsense")
    with pytest.raises(InputError, match="k"):
        index.query_many(["water"], 0, namespace="new")
    for read in (index.query, index.ids, index.get, index.delete, index.facets):
        with pytest.raises(InputError):
            read(where="year>", namespace="new")
    with pytest.raises(InputError, match="limit"):
        index.ids(limit=-1, namespace="new")


def test_a_namespace_is_an_index_with_all_methods(index: Index, tmp_path: Path, tiny: Encoder) -> None:
    acme = index.namespace("acme")
    (hit,) = acme.query("zyxword", k=1, explain=True)
    assert hit.explanation is not None and abs(hit.explanation.residual) < 1e-5
    assert acme.encoder is index.encoder
    reopened = Index.open(f"{tmp_path / 'tickets'}@acme", encoder=tiny)
    assert reopened.ids() == ["a"]
    acme.remove()
    assert index.namespaces() == ["Acme"] and index.ids(namespace="acme") == []
    index.upsert({"id": "c", "text": OTHER}, namespace="acme")
    assert index.ids(namespace="acme") == ["c"]


@pytest.mark.parametrize(
    "name", ["acme", "ACME", "a@b.example", "../x", "con", "ä/ö", "a b", "%41", ".", "🐦"]
)
def test_every_name_has_a_folder_of_its_own_inside_the_index(tmp_path: Path, name: str) -> None:
    path = namespace_path(tmp_path, name)
    assert path.parent == tmp_path / "namespaces" and name_of_namespace(path) == name
    assert path.name.isascii() and path.name == path.name.lower() and path.name not in (".", "..")


@pytest.mark.parametrize("name", ["", "x" * 201, "ä" * 40, "\ud800"])
def test_a_name_that_cannot_be_a_folder_is_refused(index: Index, name: str) -> None:
    with pytest.raises(InputError, match="cannot be a namespace"):
        index.upsert({"id": "a", "text": "b"}, namespace=name)


def test_a_namespace_has_none_of_its_own_and_a_text_as_its_name(index: Index) -> None:
    with pytest.raises(InputError, match="'acme' is a namespace, which has none of its own"):
        index.namespace("acme").upsert({"id": "a", "text": "b"}, namespace="inner")
    with pytest.raises(InputError, match="not 5"):
        index.upsert({"id": "a", "text": "b"}, namespace=5)  # type: ignore[arg-type]


def test_the_index_of_a_folder_has_no_namespaces(indexed: Path) -> None:
    with pytest.raises(InputError, match="belongs to the folder"):
        Index.open(indexed).namespace("acme")


def test_check_rebuild_and_removal_include_namespaces(
    tiny_model: Path, other_model: Path, own_home: Path
) -> None:
    index = Index.create("tickets", model=str(tiny_model))
    index.upsert({"id": "a", "text": OTHER})
    index.upsert({"id": "a", "text": SECRET}, namespace="acme")
    assert index.check().documents == 2 and index.status().namespaces == 1
    (inner,) = (index.path / "namespaces").iterdir()
    (vectors,) = (inner / "ann").glob("*.faiss") if (inner / "ann").is_dir() else [inner / "index.db"]
    if vectors.suffix == ".faiss":
        vectors.write_bytes(b"damaged")
        assert [f.message[:16] for f in index.check().findings if f.severity != "ok"] == [
            "namespace 'acme'"
        ]
        assert index.check(repair=True).ok
    rebuilt = Index.create("tickets", model=str(other_model), rebuild=True)
    assert rebuilt.report is not None and "namespace 'acme': 1 documents" in rebuilt.report.notes
    assert rebuilt.namespace("acme").fingerprint.weights == rebuilt.fingerprint.weights
    assert rebuilt.query("zyxword", namespace="acme")[0].text == SECRET
    rebuilt.remove()
    assert not rebuilt.path.exists()


def test_a_linked_namespace_is_neither_read_nor_removed(index: Index, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    Index.create(str(victim), encoder=index.encoder).upsert({"id": "v", "text": OTHER})
    (index.path / "namespaces" / "linked").symlink_to(victim, target_is_directory=True)
    with pytest.raises(Exception, match="symbolic link"):
        index.query("water", namespace="linked")
    with pytest.raises(Exception, match="symbolic link"):
        index.remove()
    assert (victim / "index.db").is_file()


def test_a_namespace_that_was_never_finished_is_not_there(index: Index, tiny: Encoder) -> None:
    folder = index.path / "namespaces" / ".new-1"
    folder.mkdir()
    (folder / "index.db").touch()
    (folder / "writer.json").write_text("{}", encoding="utf-8")
    assert index.namespaces() == ["Acme", "acme"] and index.check().ok
    Index.create(str(index.path), encoder=tiny, rebuild=True)
    index.remove()
    assert not index.path.exists()


def _write(path: str, model: str, number: int) -> None:
    with Index.open(path, model=model) as index:
        index.upsert({"id": str(number), "text": OTHER}, namespace="shared")


def test_processes_create_a_namespace_at_the_same_time(tiny_model: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "shared")
    Index.create(path, model=str(tiny_model)).close()
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(path, str(tiny_model), n)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert sorted(Index.open(path).ids(namespace="shared")) == ["0", "1", "2"]


def test_commands_name_a_namespace_behind_an_at_sign(
    run: Run, tiny_model: Path, own_home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps({"id": "a", "text": SECRET}), encoding="utf-8")
    assert run("upsert", "-i", "tickets@acme", file, "--model", tiny_model)[0] == 0
    code, out, _ = run("query", "-i", "tickets@acme", "zyxword", "--json")
    assert code == 0 and json.loads(out)[0]["document"] == "a"
    assert json.loads(run("query", "-i", "tickets", "zyxword", "--json")[1]) == []
    code, _, err = run("query", "-i", "tickets@acne", "zyxword")
    assert code == 1 and "has no namespace 'acne'" in err and "acme" not in err
    code, out, err = run("export", "-i", "tickets")
    assert out == "" and "the namespace 'acme' is not included" in err
    command = err.strip().rpartition("run: ")[2].partition(" > ")[0].split()[1:]
    assert [Document.of(json.loads(line)).id for line in run(*command)[1].splitlines()] == ["a"]
    assert "namespaces" in run("status", "-i", "tickets")[1]
    assert run("remove", "tickets@acme", "--yes")[0] == 0
    with pytest.raises(IndexNotFound):
        Index.open("tickets@acme")


def test_the_server_serves_a_namespace_by_its_address(index: Index) -> None:
    from search.indexes import name_of
    from search.serving.app_state import AppState

    served = AppState.open([index])
    inner = served.index(f"{index.name}@acme")
    assert inner.ids() == ["a"] and name_of(inner) == f"{index.name}@acme"
    with pytest.raises(IndexNotFound, match="has no index"):
        served.index(f"{index.name}@elsewhere")
    assert served.index(f"{index.name}@elsewhere", create=True).ids() == []


def test_a_folder_with_an_at_sign_is_no_namespace(
    run: Run, tiny_model: Path, own_home: Path, tmp_path: Path
) -> None:
    place = tmp_path / "user@host" / "store@home"
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps({"id": "a", "text": SECRET}), encoding="utf-8")
    assert run("upsert", "-i", place, file, "--model", tiny_model)[0] == 0
    assert Index.open(place).ids() == ["a"] and (place / "index.db").is_file()
    assert run("upsert", "-i", f"{place}@acme", file)[0] == 0
    assert Index.open(place).namespaces() == ["acme"]
    assert Index.open(f"{place}@acme").ids() == ["a"]


def test_a_writer_that_waited_for_a_removal_writes_to_a_new_namespace(
    index: Index, tiny: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleting = threading.Event()
    delete = files.delete_database

    def slowly(path: Path) -> None:
        deleting.set()
        time.sleep(0.2)
        delete(path)

    monkeypatch.setattr(files, "delete_database", slowly)
    inner = index.namespace("acme")
    removal = threading.Thread(target=inner.remove)
    removal.start()
    assert deleting.wait(60)
    index.upsert({"id": "z", "text": OTHER}, namespace="acme")
    removal.join()
    assert index.ids(namespace="acme") == ["z"] and index.check().ok
    assert set(index.namespaces()) == {"Acme", "acme"}


def test_a_namespace_that_is_removed_and_written_at_the_same_time_stays_usable(
    index: Index, tiny: Encoder
) -> None:
    openers = [Index.open(index.path, encoder=tiny) for _ in range(3)]
    for number in range(12):
        name = f"t{number}"
        index.upsert({"id": "1", "text": OTHER}, namespace=name)
        start = threading.Barrier(3)

        def write(opener: Index, name: str = name, start: threading.Barrier = start) -> None:
            start.wait()
            for n in range(5):
                opener.upsert({"id": str(n), "text": SECRET}, namespace=name)

        def remove(name: str = name, start: threading.Barrier = start, wait: int = number) -> None:
            start.wait()
            time.sleep(0.01 * (wait % 6))
            openers[2].namespace(name).remove()

        with ThreadPoolExecutor() as pool:
            tasks = [pool.submit(write, opener) for opener in openers[:2]] + [pool.submit(remove)]
        assert [task.exception() for task in tasks] == [None] * 3
        assert index.upsert({"id": "x", "text": OTHER}, namespace=name).added == 1
    assert index.check().ok


def test_a_folder_that_a_removal_left_is_no_obstacle(index: Index) -> None:
    folder = namespace_path(index.path, "acme")
    index.namespace("acme").remove()
    folder.mkdir(exist_ok=True)
    (folder / "writer.lock").touch()
    assert index.upsert({"id": "z", "text": OTHER}, namespace="acme").added == 1


def test_a_removal_that_meets_a_writer_removes_nothing(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    with files.writer_lock(namespace_path(index.path, "acme")), pytest.raises(IndexLocked):
        index.remove()
    assert index.namespaces() == ["Acme", "acme"] and index.count(namespace="Acme") == 2


def test_a_refused_rebuild_changes_no_namespace(
    tiny_model: Path, own_home: Path, other_model: Path
) -> None:
    index = Index.create("tickets", model=str(tiny_model))
    index.upsert({"id": "a", "text": SECRET}, namespace="acme")
    vector = [1.0] * index.encoder.dimension
    index.upsert({"id": "a", "text": OTHER, "vector": vector}, namespace="own")
    before = index.namespace("acme").fingerprint
    with pytest.raises(InputError, match="bring embeddings of"):
        Index.create("tickets", model=str(other_model), rebuild=True)
    again = Index.open("tickets", model=str(tiny_model))
    assert again.namespace("acme").fingerprint == before
    assert again.query("zyxword", namespace="acme")[0].text == SECRET


def test_a_namespace_may_have_a_slash_in_its_name(index: Index, own_home: Path) -> None:
    with Index.create("tickets", encoder=index.encoder) as tickets:
        tickets.upsert({"id": "a", "text": SECRET}, namespace="org/team")
        assert Index.open("tickets@org/team", encoder=index.encoder).ids() == ["a"]
        with pytest.raises(IndexNotFound):
            Index.open("tickets@org/other", encoder=index.encoder)
    assert [path.name for path in (own_home / "indexes").iterdir()] == ["tickets"]


def test_no_index_is_created_by_the_name_of_a_namespace(index: Index, notes: Path) -> None:
    name = f"{index.path}@new"
    with pytest.raises(InputError, match="names a namespace"):
        Index.create(name, encoder=index.encoder)
    with pytest.raises(InputError, match="names a namespace"):
        Index.build(notes, index=name, encoder=index.encoder)
    assert index.namespaces() == ["Acme", "acme"]


def test_a_folder_called_namespaces_holds_indexes_with_namespaces(tiny: Encoder, tmp_path: Path) -> None:
    with Index.create(str(tmp_path / "namespaces" / "tickets"), encoder=tiny) as index:
        index.upsert({"id": "a", "text": SECRET}, namespace="acme")
        assert index.ids(namespace="acme") == ["a"]


def test_a_refused_document_creates_no_namespace(index: Index) -> None:
    with pytest.raises(InputError):
        index.upsert({"id": "a", "text": OTHER, "passages": [(0, 999)]}, namespace="new")
    assert index.namespaces() == ["Acme", "acme"]


def test_hits_of_one_namespace_are_not_counted_in_another(index: Index) -> None:
    hits = index.query("water", namespace="Acme", all_copies=True)
    index.facets(among=hits, namespace="Acme")  # its own hits are accepted
    for name in (None, "acme"):
        with pytest.raises(InputError, match="differs from the hit"):
            index.facets(among=hits, namespace=name)
