"""A user's program: documents from memory in an index, and in the stores of three frameworks.

mypy checks it strictly; test_program.py runs it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from haystack import Document as HaystackDocument
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import VectorStoreQuery
from numpy.typing import NDArray

import search
from search.integrations.haystack import SeewhyDocumentStore, SeewhyStoreRetriever
from search.integrations.langchain import SeewhyEmbeddings, SeewhyRetriever, SeewhyVectorStore
from search.integrations.llama_index import SeewhyVectorStore as SeewhyNodes

QUERY = "the laptop is too warm"


@dataclass(frozen=True)
class Ticket:
    number: int
    text: str
    team: str


TICKETS = [
    Ticket(1, "The printer jams on thick paper.", "office"),
    Ticket(2, "The laptop gets hot on the train.", "hardware"),
    Ticket(3, "The VPN drops every hour.", "network"),
    Ticket(4, "The laptop has a stuck key.", "hardware"),
]


def letters(texts: list[str]) -> NDArray[np.float32]:
    """Encode texts by how often each letter occurs in them."""
    rows = [
        [1.0 + text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts
    ]
    return np.array(rows, dtype=np.float32)


def documents() -> Iterator[search.Document]:
    for ticket in TICKETS:
        yield search.Document(f"T-{ticket.number}", ticket.text, metadata={"team": ticket.team})


def report(stage: search.Progress) -> None:
    assert stage.stage


def hits_of_an_index(index: search.Index) -> list[str]:
    changes = index.upsert(documents(), progress=report)
    index.add([{"id": "T-5", "text": "The chair is broken.", "team": "office"}])
    removed: int = index.delete(["T-5"]).removed
    texts = [document.text for document in index.get(["T-1", "T-2"])]
    ids, embeddings = index.embeddings()
    assert (changes.added, removed, len(texts)) == (4, 1, 2)
    assert embeddings.shape == (len(ids), 26)

    hits = index.query(QUERY, k=3, mode="hybrid", where="team=hardware", diversity=0.2)
    near = index.query(vector=embeddings[0], k=1)
    many = index.query_many([QUERY, "thick paper"], k=2, mode="lexical")
    why = index.explain(QUERY, hits[0])
    gap: float = index.contrast(QUERY, *hits[:2]).gap
    missing = index.why_not(QUERY, "T-3", k=1)
    similar = index.similar("T-2", k=1)
    values = {value.value: value.where for facet in index.facets() for value in facet.values}
    assert abs(why.score - hits[0].score) < 1e-6 and gap >= 0
    assert missing.cause == "lower" and values["hardware"] == "team=hardware"
    assert index.duplicates(0.999) == [] and len(many) == 2
    json.dumps([hit.to_dict() for hit in hits] + [why.to_dict()])
    return [hit.document for hit in [*hits, *near, *many[1], *similar]]


def indexes_of_hits(first: search.Index, second: search.Index) -> list[str]:
    """The names of the indexes that hits come from."""
    both = search.Indexes([first, second])
    return [hit.index for hit in both.query("paper", k=4)]


def ids_of_frameworks(model: str) -> list[str]:
    encoder = search.Encoder(model, offline=True)
    langchain = SeewhyVectorStore(SeewhyEmbeddings(encoder))
    langchain.add_documents([LangChainDocument("The key opens the door.", id="a")])
    llama = SeewhyNodes(model=encoder)
    llama.add([TextNode(text="The water is cold.", id_="b")])
    haystack = SeewhyDocumentStore(model=encoder)
    haystack.write_documents([HaystackDocument(id="c", content="The sun is high.")])
    retriever = SeewhyStoreRetriever(haystack, top_k=1)
    ids = [document.id or "" for document in langchain.as_retriever().invoke("door")]
    ids += llama.query(VectorStoreQuery(query_str="water", similarity_top_k=1)).ids or []
    return ids + [document.id for document in retriever.run(query="sun")["documents"]]


def misspelled_calls(index: search.Index) -> None:
    """Calls that a type checker refuses."""
    index.query("key", mode="hybird")  # type: ignore[arg-type]
    index.query("key", kk=3)  # type: ignore[call-arg]
    search.Encoder(pooling="meen")  # type: ignore[arg-type]
    index.upsert("text")  # type: ignore[arg-type]
    SeewhyRetriever(index="notes", k=5, figures=True, options={"per_document": 1})
    SeewhyRetriever(index=["notes", "papers"])


def main(model: str) -> None:
    with search.Index.create(encoder=letters) as index, search.Index.create(encoder=letters) as other:
        assert hits_of_an_index(index)[0] in ("T-2", "T-4")
        other.upsert([{"id": "T-1", "text": "Paper is out."}])
        assert len(set(indexes_of_hits(index, other))) == 2
    assert sorted(ids_of_frameworks(model)) == ["a", "b", "c"]
