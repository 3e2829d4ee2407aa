"""A document store equals a dict and brute force after any sequence of its verbs, also if a process is killed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from search import Document, Index
from tests.conftest import WORDS
from tests.faults.double import D
from tests.faults.oracle import ENCODER
from tests.faults.processes import Workers

Documents: TypeAlias = dict[str, Document]

NAMESPACES = (None, "acme", "Acme")
names = st.sampled_from(NAMESPACES)
ids = st.sampled_from([f"d{n}" for n in range(8)])
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
metadata = st.fixed_dictionaries(
    {}, optional={"colour": st.sampled_from(["red", "blue"]), "n": st.integers(0, 3)}
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A document with metadata, and maybe its embedding or its passages."""
    document = {"id": draw(ids), "text": draw(texts), **draw(metadata)}
    kind = draw(st.sampled_from(["plain", "plain", "vector", "passages"]))
    if kind == "vector":
        document["vector"] = direction(draw(st.integers(0, 9))).tolist()
    if kind == "passages":
        middle = len(document["text"]) // 2
        spans = [(0, middle), (middle, len(document["text"]))]
        document["passages"] = [
            (start, end) for start, end in spans if document["text"][start:end].strip()
        ]
    return document


def direction(seed: int) -> np.ndarray[Any, Any]:
    vector: np.ndarray[Any, Any] = np.random.default_rng(seed).normal(size=D)
    return vector


def embeddings(document: Document) -> np.ndarray[Any, Any]:
    """The unit-length embeddings of a document's passages, worked out without the index."""
    if document.vector is not None:
        vector = np.array(document.vector)
        return (vector / np.linalg.norm(vector))[None]
    parts = [document.text[span.start : span.end] for span in document.spans] or [document.text]
    return ENCODER.encode(parts, role="document")


class DocumentStore(RuleBasedStateMachine):
    """An index with two namespaces, beside a dict for each."""

    workers: Workers

    @initialize()
    def create(self) -> None:
        self.folder = TemporaryDirectory()
        self.index = Index.create(str(Path(self.folder.name) / "store"), encoder=ENCODER)
        self.stored: dict[str | None, Documents] = {name: {} for name in NAMESPACES}

    def teardown(self) -> None:
        if hasattr(self, "index"):
            self.index.close()
            self.folder.cleanup()

    @rule(name=names, new=st.lists(documents(), min_size=1, max_size=4))
    def upsert(self, name: str | None, new: list[dict[str, Any]]) -> None:
        self.index.upsert(new, namespace=name)
        self.stored[name] |= {document["id"]: Document.of(document) for document in new}

    @rule(name=names, id=ids, changes=metadata)
    def set_metadata(self, name: str | None, id: str, changes: dict[str, Any]) -> None:
        if id not in self.stored[name]:
            return
        report = self.index.set_metadata(id, changes, namespace=name)
        assert report.encoded == 0
        before = self.stored[name][id]
        values = {**vars(before), "metadata": {**before.metadata, **changes}}
        self.stored[name][id] = Document.of(Document(**values))

    @rule(name=names, gone=st.lists(ids, max_size=3))
    def delete(self, name: str | None, gone: list[str]) -> None:
        report = self.index.delete(gone, namespace=name)
        assert report.removed == len(self.stored[name].keys() & set(gone))
        self.stored[name] = {id_: item for id_, item in self.stored[name].items() if id_ not in gone}

    @rule(name=names)
    def delete_red(self, name: str | None) -> None:
        documents = self.stored[name]
        if not any("colour" in document.metadata for document in documents.values()):
            return  # a field that no document has is an error
        self.index.delete(where={"colour": "red"}, namespace=name)
        self.stored[name] = {
            id_: item for id_, item in documents.items() if item.metadata.get("colour") != "red"
        }

    @rule(name=st.sampled_from(["acme", "Acme"]))
    def remove_namespace(self, name: str) -> None:
        if name in self.index.namespaces():
            self.index.namespace(name).remove()
        self.stored[name] = {}

    @rule()
    def rebuild(self) -> None:
        self.index = Index.create(str(self.index.path), encoder=ENCODER, rebuild=True)

    @rule(name=names, new=st.lists(documents(), min_size=1, max_size=4), delay=st.integers(0, 12))
    def killed(self, name: str | None, new: list[dict[str, Any]], delay: int) -> None:
        """A process is killed while it stores documents: all of them are stored, or none."""
        worker = self.workers.take()
        worker.say(index=str(self.index.path), namespace=name, documents=new)
        assert worker.hear() == {"begins": True}
        time.sleep(delay / 1000)
        worker.kill()
        after = self.stored[name] | {document["id"]: Document.of(document) for document in new}
        now = {document.id: document for document in self.index.get(namespace=name)}
        assert now in (self.stored[name], after)
        self.stored[name] = now

    @invariant()
    def is_the_dict(self) -> None:
        for name, documents in getattr(self, "stored", {}).items():
            assert {document.id: document for document in self.index.get(namespace=name)} == documents
            assert self.index.count(namespace=name) == len(documents)
            if any("n" in document.metadata for document in documents.values()):
                high = self.index.ids(where={"n": {">=": 2}}, namespace=name)
                assert set(high) == {i for i, d in documents.items() if d.metadata.get("n", 0) >= 2}

    @invariant()
    def is_ranked_as_by_brute_force(self) -> None:
        query = direction(99)
        for name, documents in getattr(self, "stored", {}).items():
            hits = self.index.query(vector=query, k=100, all_copies=True, namespace=name)
            scores: dict[str, list[float]] = {}
            for hit in hits:
                scores.setdefault(hit.document, []).append(hit.score)
            unit = query / np.linalg.norm(query)
            expected = {
                id_: sorted((embeddings(item) @ unit).tolist(), reverse=True)
                for id_, item in documents.items()
            }
            assert scores.keys() == expected.keys()
            assert all(scores[id_] == pytest.approx(expected[id_], abs=1e-5) for id_ in scores)
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)

    @invariant()
    def is_sound(self) -> None:
        if hasattr(self, "index"):
            assert self.index.check().ok


@pytest.fixture
def workers() -> Iterator[Workers]:
    workers = Workers("store_worker")
    yield workers
    workers.close()


def test_a_document_store_equals_a_dict_after_any_sequence_of_verbs(workers: Workers) -> None:
    DocumentStore.workers = workers
    run_state_machine_as_test(
        DocumentStore,
        settings=settings(
            max_examples=12,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
