"""Documents from memory: a dict of documents and an index of them agree, whatever happens in between."""

from __future__ import annotations

import json
import shutil
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from search import Document, Index, InputError
from search.corpus import reader
from search.encoding import Encoder
from search.index import searcher_of
from search.records.reports import Progress
from search.store.document_text import surroundings
from tests.conftest import REPOSITORY, WORDS, Run

TEXTS = {
    "keys": "rotate the key of the door",
    "web/water": "people call the water of the side",
    "../odd #1": "the number of words in a file",
}
DOCUMENTS = [
    {"id": id_, "text": text, "team": "a" if number else "b"}
    for number, (id_, text) in enumerate(TEXTS.items())
]


@pytest.fixture
def index(tiny_model: Path) -> Any:
    with Index.create(model=str(tiny_model)) as index:
        yield index
    assert not index.path.exists()


def ids_of(index: Index, **options: Any) -> list[str]:
    return [hit.document for hit in index.query("the door", mode="dense", **options)]


def test_documents_are_added_changed_and_deleted(index: Index) -> None:
    assert (index.query("door"), index.status().documents) == ([], 0)
    report = index.upsert(DOCUMENTS)
    assert (report.added, report.encoded) == (3, 3)
    report = index.upsert([*DOCUMENTS, Document("keys", "look up the token")])
    assert (report.added, report.changed, report.unchanged, report.encoded) == (0, 1, 2, 1)
    assert index.get(["keys", "nope"]) == [Document("keys", "look up the token")]
    index.upsert(DOCUMENTS)
    assert index.delete(["web/water", "nope"]).removed == 1
    assert set(ids_of(index)) == {"keys", "../odd #1"}
    generation = index.generation
    index.upsert(DOCUMENTS[:1])
    assert index.generation == generation
    with pytest.raises(InputError, match="'keys' exists already"):
        index.add(DOCUMENTS)
    assert index.get(["web/water"]) == []
    index.delete(["keys", "../odd #1"])
    assert (index.query("door"), index.check().ok) == ([], True)


def test_everything_that_works_on_files_works_on_ids(index: Index) -> None:
    index.upsert(DOCUMENTS)
    hit = index.query("door", k=1)[0]
    assert (hit.document, hit.path, hit.uri, hit.changed) == ("keys", "", "", "")
    assert index.explain("door", hit).score == hit.score
    assert ids_of(index, where="team=b") == ["keys"]
    assert ids_of(index, where="path:web/**") == ["web/water"]
    assert index.why_not("door", "../odd #1", k=1).cause == "lower"
    assert index.why_not("door", "nope").cause == "not indexed"
    assert index.why_not("door", hit.passage_id).document == "keys"
    assert {near.document for near in index.similar("keys")} == {"web/water", "../odd #1"}
    index.upsert([{"id": "copy", "text": TEXTS["keys"]}])
    [cluster] = index.duplicates(0.999)
    assert {copy.document for copy in cluster.passages} == {"keys", "copy"}
    assert searcher_of(index).location(hit.document_id) == "keys"
    assert index.document(hit.document_id).text == TEXTS["keys"]
    assert "no file" in surroundings(hit, 1).note


def test_markdown_is_read_as_in_a_file(index: Index) -> None:
    text = "---\ntags: look\n---\n# Door\n\nturn the *key*"
    document = Document("a", text, kind="markdown", metadata={"team": "b"})
    index.upsert([document, {"id": "b", "text": text}])
    hit, text_hit = sorted(index.query("key"), key=lambda result: result.document)
    assert (hit.kind, hit.title, hit.metadata) == ("markdown", "Door", {"team": "b", "tags": ["look"]})
    assert (text_hit.kind, text_hit.title, text_hit.metadata) == ("text", "", {})
    assert index.get("a") == [document]


def test_markdown_that_breaks_a_limit_is_stored_as_plain_text(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MEMORY", 190 * 2**20)
    text = "# The key\n\n" + "- a\n" * 60_000
    assert index.upsert([Document("long", text, kind="markdown"), Document("b", "the door")]).added == 2
    hits = {hit.document: hit for hit in index.query("key door")}
    assert (set(hits), hits["long"].heading) == ({"long", "b"}, "")


def test_short_documents_need_no_child_process(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "own_reader", None)
    text = "# Door\n\nturn the *key*\n" * 100
    index.upsert([Document("a", text, kind="markdown"), Document("b", text * 100)])
    assert {hit.document for hit in index.query("key")} == {"a", "b"}


def test_a_document_without_text_is_stored_and_never_found(index: Index) -> None:
    blank = [Document("blank", " \n"), Document("title", "", title="door")]
    index.upsert(blank)
    assert index.get(["blank", "title"]) == blank
    assert ids_of(index) == ["title"]
    assert [group.count for group in index.status().skipped] == [1]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"text": "a"}, "no 'id'"),
        ({"id": "a"}, "no 'text'"),
        ({"id": "", "text": "a"}, "empty"),
        ({"id": "\ud800", "text": "a"}, "not Unicode"),
        ({"id": "a", "text": 3}, "of type int"),
        ({"id": "a", "text": "a", "kind": "html"}, "text, markdown"),
        ("text", "nor a mapping"),
    ],
)
def test_an_invalid_document_stores_nothing(index: Index, document: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        index.upsert([DOCUMENTS[0], document])
    assert index.status().documents == 0


def test_folders_and_documents_from_memory_do_not_mix(
    notes: Path, tiny_model: Path, own_home: Path
) -> None:
    model = {"model": str(tiny_model)}
    folder = Index.build(notes, **model)
    for change in (folder.upsert, folder.add, folder.delete, folder.get):
        with pytest.raises(InputError, match="belongs to the folder"):
            change([])
    memory = Index.create("mine", **model)
    memory.upsert(DOCUMENTS)
    for action in (
        memory.update,
        lambda: next(memory.watch()),
        lambda: memory.move(notes),
        lambda: Index.build(notes, index="mine", rebuild=True, **model),
        lambda: Index.preview(notes, index="mine"),
    ):
        with pytest.raises(InputError, match="documents from memory, not from a folder"):
            action()
    with pytest.raises(InputError, match="exists already"):
        Index.create("mine", **model)
    assert searcher_of(memory).pending_update() == "nothing"
    assert len(Index.open("mine").query("door")) == 3


def test_the_command_reads_json_lines(run: Run, tmp_path: Path, tiny_model: Path, own_home: Path) -> None:
    file = tmp_path / "texts.jsonl"
    lines = [*map(json.dumps, DOCUMENTS), '{"id": 7, "text": "a line\u2028of it"}']
    file.write_text("\n".join(lines), encoding="utf-8")
    code, out, err = run("upsert", "-i", "mine", "--model", tiny_model, file)
    assert (code, err) == (0, "")
    assert out.startswith("4 documents added, 0 changed, 0 unchanged; 4 passages encoded in ")
    assert json.loads(run("upsert", "-i", "mine", file, "--json")[1])["unchanged"] == 4
    assert run("query", "door", "-i", "mine", "-k", "1", "-f", "paths")[1] == "keys\n"
    assert "documents from memory" in run("status", "-i", "mine")[1]
    file.write_text('{"id": "a", "text": "b"}\n{"text": "a"}')
    code, _, err = run("upsert", "-i", "mine", file)
    assert (code, "line 2 is not a valid document" in err) == (1, True)
    assert Index.open("mine").get("a") == []


def test_writers_wait_for_each_other(index: Index) -> None:
    documents = [[{"id": f"{n}-{i}", "text": WORDS[n * 9 + i]} for i in range(9)] for n in range(3)]
    threads = [threading.Thread(target=index.upsert, args=(batch,)) for batch in documents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert index.status().documents == 27


class Killed(BaseException):
    pass


class Memory(RuleBasedStateMachine):
    """An index, and a dict with the texts that it should have."""

    model: Path
    top: Path

    def __init__(self) -> None:
        super().__init__()
        shutil.rmtree(self.top, ignore_errors=True)
        self.number, self.texts = 0, dict[str, str]()
        self.encoder = Encoder(str(self.model))
        self.index = Index.create(self.top / "0", model=str(self.model))

    documents = st.dictionaries(
        st.sampled_from(["a", "b/c", "d#1", "e:2", "../f", "é"]),
        st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
        max_size=4,
    )

    @rule(documents=documents)
    def upsert(self, documents: dict[str, str]) -> None:
        report = self.index.upsert(Document(*item) for item in documents.items())
        n_unchanged = sum(self.texts.get(id_) == text for id_, text in documents.items())
        assert (report.added, report.unchanged) == (
            len(documents.keys() - self.texts.keys()),
            n_unchanged,
        )
        self.texts |= documents

    @rule(ids=st.sets(st.sampled_from(["a", "b/c", "d#1", "nope"])))
    def delete(self, ids: set[str]) -> None:
        assert self.index.delete(ids).removed == len(ids & self.texts.keys())
        self.texts = {id_: text for id_, text in self.texts.items() if id_ not in ids}

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = Index.open(self.index.path, model=str(self.model))

    @rule(documents=documents, survives=st.booleans())
    def kill(self, documents: dict[str, str], survives: bool) -> None:
        """End an upsert in its middle: by an exception, or with the files as they are at that moment."""
        self.number += 1
        copy = self.top / str(self.number)

        def stop(progress: Progress) -> None:
            if not copy.exists():
                shutil.copytree(self.index.path, copy)
            raise Killed

        try:
            self.index.upsert(map(Document, documents, documents.values()), progress=stop)
        except Killed:
            if not survives:
                self.index = Index.open(copy, model=str(self.model))

    @invariant()
    def has_the_texts(self) -> None:
        texts = {document.id: document.text for document in self.index.get(self.texts)}
        assert texts == self.texts

    @precondition(lambda self: any(map(str.strip, self.texts.values())))
    @rule(query=st.sampled_from(WORDS))
    def query(self, query: str) -> None:
        texts = {id_: text for id_, text in self.texts.items() if text}
        rows = self.encoder.encode([*texts.values()], role="document")
        cosines = rows @ self.encoder.encode([query], role="query")[0]
        hits = self.index.query(query, k=99, mode="dense", all_copies=True)
        assert {hit.document for hit in hits} == texts.keys()
        expected = dict(zip(texts, cosines, strict=True))
        assert [expected[hit.document] for hit in hits] == pytest.approx(
            np.sort(cosines)[::-1].tolist(), abs=1e-5
        )


def test_random_changes_equal_a_dict_and_brute_force(tiny_model: Path, tmp_path: Path) -> None:
    class TinyMemory(Memory):
        model, top = tiny_model, tmp_path / "indexes"

    case = TinyMemory.TestCase
    case.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
    case().runTest()


def test_the_program_of_the_readme_runs(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    [program] = [part for part in readme.split("```") if "search.Index.create()" in part]
    create = partial(Index.create, model=str(tiny_model))
    monkeypatch.setattr(Index, "create", create)
    names: dict[str, Any] = {}
    exec(program.removeprefix("python"), names)
    assert len(program.strip().splitlines()) - 1 <= 16
    assert {hit.document for hit in names["hits"]} <= {f"T-{n}" for n in range(10)} - {
        "T-3",
        "T-7",
        "T-9",
    }
