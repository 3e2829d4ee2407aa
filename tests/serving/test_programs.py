"""Programs as clients: several queries at once, pages of documents, events, OpenAI's embeddings."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from search import Document, Index
from search.index import searcher_of
from search.serving import create_app
from tests.conftest import save_tiny_bert
from tests.serving.conftest import ADDRESS, server_process

TEXTS = ["turn the key", "open the door"]
TOKEN = "a-token-of-a-test"
PROBLEM = "application/problem+json"


def test_the_openai_client_gets_the_encoders_embeddings(client: TestClient, index: Index) -> None:
    """By default it asks for base64."""
    import openai  # takes a second, which every worker would spend

    program = openai.OpenAI(base_url=f"{ADDRESS}/v1", api_key="none", http_client=client)
    expected = index.encoder.encode(TEXTS)
    for form in ({}, {"encoding_format": "float"}):
        answer = program.embeddings.create(model="notes", input=TEXTS, **form)
        assert np.allclose([item.embedding for item in answer.data], expected, rtol=0, atol=1e-6)
    assert answer.usage.total_tokens == sum(
        len(item.ids) for item in index.encoder.tokenizer.encode_batch(TEXTS)
    )
    single = program.embeddings.create(model=index.fingerprint.model, input=TEXTS[1])
    assert np.allclose(single.data[0].embedding, expected[1], rtol=0, atol=1e-6)


def test_embeddings_of_queries_and_documents_are_those_of_the_index(tmp_path: Path) -> None:
    """A model that has prompts embeds each role with its own."""
    model = save_tiny_bert(tmp_path / "intfloat" / "e5-small-v2", seed=34)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "note.txt").write_text("Turn the key.", encoding="utf-8")
    index = Index.build(tmp_path / "notes", index="notes", model=str(model))
    texts = ["the key", "the door"]
    with TestClient(create_app(index), base_url=ADDRESS) as client:
        for name, role in (("query", "query"), ("search_document", "document"), (None, None)):
            body = {"model": "notes", "input": texts, "input_type": name}
            answer = client.post("/v1/embeddings", json=body).json()
            expected = index.encoder.encode(texts, role=role)
            assert np.allclose([item["embedding"] for item in answer["data"]], expected, atol=1e-6)
            with_prompt = index.encoder.inputs(texts, role=role)
            assert answer["usage"]["total_tokens"] == sum(len(text.tokens) for text in with_prompt)
        body = {"model": "notes", "input": texts, "input_type": "title"}
        assert client.post("/v1/embeddings", json=body).status_code == 422


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ({"model": "other", "input": "a"}, 404, "no index 'other'"),
        ({"model": "notes", "input": []}, 400, "input has 0 texts"),
        ({"model": "notes", "input": "a", "dimensions": 3}, 400, "dimensions must be"),
        ({"model": "notes"}, 422, "input"),
    ],
)
def test_bad_requests_for_embeddings_get_a_problem(
    client: TestClient, body: dict, status: int, detail: str
) -> None:
    answer = client.post("/v1/embeddings", json=body, headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert detail in answer.json()["detail"]


def test_several_queries_get_the_hits_of_each_alone(client: TestClient, index: Index) -> None:
    body = {"queries": TEXTS, "k": 2, "where": "kind = markdown"}
    answer = client.post("/api/v1/search", json=body).json()
    assert answer["generation"] == index.generation
    for text, result in zip(TEXTS, answer["results"], strict=True):
        alone = client.get(
            "/api/v1/search", params={"q": text, "k": 2, "where": "kind = markdown"}
        ).json()
        assert (result["query"], result["hits"]) == (text, alone["hits"])
    problem = client.post("/api/v1/search", json={"queries": TEXTS, "k": 6, "explain": True})
    assert "times the number of queries" in problem.json()["detail"]


def test_several_indexes_are_ranked_as_one(tmp_path: Path, tiny_model: Path) -> None:
    indexes = []
    for name, text in (("a", "Turn the key."), ("b", "Open the door with the key.")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.txt").write_text(text, encoding="utf-8")
        indexes.append(Index.build(tmp_path / name, index=name, model=str(tiny_model)))
    with TestClient(create_app(*indexes), base_url=ADDRESS) as client:
        body = {"queries": ["key"], "indexes": ["a", "b"]}
        (result,) = client.post("/api/v1/search", json=body).json()["results"]
    scores = [hit["score"] for hit in result["hits"]]
    assert {hit["index"] for hit in result["hits"]} == {"a", "b"}
    assert scores == sorted(scores, reverse=True)


def test_a_writable_server_stores_and_deletes(tiny_model: Path, indexed: Path) -> None:
    documents = [{"id": "a/1", "text": TEXTS[0]}, {"id": "b #2", "text": TEXTS[1], "team": "x"}]
    with (
        Index.create(model=str(tiny_model)) as index,
        TestClient(create_app(index, indexed, token=TOKEN, writable=True), base_url=ADDRESS) as client,
    ):
        url = "/api/v1/documents"
        assert client.post(url, json=documents).status_code == 401
        client.headers["authorization"] = f"Bearer {TOKEN}"
        report = client.post(url, json=documents).json()
        assert (report["added"], report["encoded"]) == (2, 2)
        (hit,) = client.get("/api/v1/search", params={"q": "key", "where": "team=x"}).json()["hits"]
        assert hit["document"] == "b #2"
        long = "the key of the door " * 100_000  # more than other requests may have
        assert client.post(url, json=[{"id": "a/1", "text": long}]).json()["changed"] == 1
        assert client.delete(url, params={"id": ["a/1", "nope"]}).json()["removed"] == 1
        assert index.get(["a/1", "b #2"]) == [Document("b #2", TEXTS[1], metadata={"team": "x"})]
        for body, status, detail in (
            ([documents[0], {"id": "c", "text": 3}], 400, "the text of 'c' is of type int"),
            ([documents[0], {"id": "c"}], 400, "no 'text': {'id': 'c'}"),
            ({"id": "c", "text": "a"}, 422, "valid list"),
        ):
            answer = client.post(url, json=body)
            assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM)
            assert detail in answer.json()["detail"]
        assert index.get(["a/1"]) == []
        answer = client.post(url, json=documents, params={"index": "notes"})
        assert (answer.status_code, "belongs to the folder" in answer.text) == (400, True)


def test_documents_come_in_pages(client: TestClient, index: Index) -> None:
    names, page = [], {"k": 2}
    while True:
        answer = client.get("/api/v1/documents", params=page).json()
        names += [document["name"] for document in answer["documents"]]
        if answer["next"] is None:
            break
        page["next"] = answer["next"]
    assert names == [document.name for document in searcher_of(index).documents_named("", 1_000)]
    assert len(names) > 2
    matches = client.get("/api/v1/documents", params={"q": "KEYS"}).json()["documents"]
    assert [document["name"] for document in matches] == [
        document.name for document in searcher_of(index).documents_named("keys")
    ]


def test_the_state_and_a_change_are_events_and_the_server_still_stops(indexed: Path) -> None:
    before = Index.open(indexed).generation
    with (
        server_process("--index", indexed) as (address, server),
        urllib.request.urlopen(f"{address}api/v1/events", timeout=30) as stream,
    ):
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.readline().startswith(b"retry:")
        lines = iter(stream.readline, b"event: changed\n")
        assert all(line == b"\n" for line in lines)
        event = json.loads(stream.readline().removeprefix(b"data: "))
        assert event == {"index": "notes", "generation": before}
        (indexed / "new.md").write_text("# New\n\nA new key.\n", encoding="utf-8")
        Index.open(indexed).update()
        lines = iter(stream.readline, b"event: changed\n")
        assert all(line in (b":\n", b"\n") for line in lines)
        event = json.loads(stream.readline().removeprefix(b"data: "))
        assert event == {"index": "notes", "generation": Index.open(indexed).generation}
        server.send_signal(signal.SIGTERM)
        assert server.wait(8) == 0
