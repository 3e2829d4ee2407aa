"""Programs as clients: several queries at once, pages of documents, events, OpenAI's embeddings."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from starlette.testclient import TestClient

from search import Document, Index
from search.corpus.text import file_document
from search.index import searcher_of
from search.indexes import name_of
from search.indexing.read import cutter_for
from search.records.documents import Section
from search.serving import create_app
from search.serving.embeddings import index_of
from search.store.settings import PassageSettings
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
        ({"model": "other", "input": "a"}, 404, "this server has no model 'other'. Choose from: notes, "),
        ({"model": "notes", "input": ""}, 422, "input is empty."),
        ({"model": "notes", "input": ["a", ""]}, 422, "input[1] is empty."),
        ({"model": "notes", "input": {}}, 422, "input must be a text, or a list of texts."),
        (
            {"model": "notes", "input": "a", "encoding_format": "x"},
            422,
            "encoding_format is 'x'; it must be 'float' or",
        ),
        ([], 422, "the body is a JSON list; it must be a JSON object with input, model."),
        ({"model": "notes", "input": []}, 400, "input has 0 texts"),
        ({"model": "notes", "input": "a", "dimensions": 0}, 400, "dimensions must be from 1 to 32"),
        ({"model": "notes", "input": "a", "dimensions": 33}, 400, "dimensions must be from 1 to 32"),
        ({"model": "notes", "input": ["a"] * 2049}, 400, "input has 2049 texts. Send 1 to 2,048."),
        (
            {"model": "notes", "input": [[101, 7, 102]]},
            400,
            "OpenAIEmbeddings(check_embedding_ctx_length=False)",
        ),
        ({"model": "notes", "input": [101, 7]}, 400, "input has tokens, which are another model's"),
        ({"model": "notes"}, 422, "input is missing."),
    ],
)
def test_bad_requests_for_embeddings_get_a_problem(
    client: TestClient, body: object, status: int, detail: str
) -> None:
    answer = client.post("/v1/embeddings", json=body, headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert detail in answer.json()["detail"]
    assert answer.json()["error"]["message"] == answer.json()["detail"]


def test_the_openai_client_shows_the_message_of_an_error_and_lists_models(
    client: TestClient, index: Index
) -> None:
    import openai

    program = openai.OpenAI(base_url=f"{ADDRESS}/v1", api_key="none", http_client=client)
    with pytest.raises(openai.NotFoundError, match="this server has no model 'other'") as caught:
        program.embeddings.create(model="other", input="a")
    assert caught.value.code == "model-not-found"
    names = [model.id for model in program.models.list()]
    assert names == ["notes", index.fingerprint.model]
    assert [program.models.retrieve(name).id for name in names] == names
    with pytest.raises(openai.NotFoundError):
        program.models.retrieve("other")
    answer = program.embeddings.create(model="notes", input=TEXTS[0], dimensions=8)
    (whole,) = index.encoder.encode(TEXTS[:1])
    part = whole[:8] / np.linalg.norm(whole[:8])
    assert np.allclose(answer.data[0].embedding, part, rtol=0, atol=1e-6)
    assert len(program.embeddings.create(model="notes", input=["a"] * 300).data) == 300


def test_a_model_of_the_hub_has_its_full_name_too() -> None:
    name = "all-MiniLM-L6-v2"
    served = SimpleNamespace(
        indexes={"notes": SimpleNamespace(fingerprint=SimpleNamespace(model=name))}, index=str
    )
    for other in (name, f"sentence-transformers/{name}"):
        assert index_of(served, other) is served.indexes["notes"]  # type: ignore[arg-type]
    assert index_of(served, "sentence-transformers/other") == "sentence-transformers/other"  # type: ignore[arg-type]


def test_documents_of_a_request_are_reranked(client: TestClient, index: Index) -> None:
    """The shape is that of Cohere's and Jina's services; the scores are those of the index's late interaction."""
    documents = ["cold water", {"text": "turn the key to open the door"}, "a bird"]
    body = {"model": "notes", "query": "open the door", "documents": documents}
    answer = client.post("/v1/rerank", json={**body, "unknown": 1}).json()
    results = answer["results"]
    assert sorted(result["index"] for result in results) == [0, 1, 2]
    scores = [result["relevance_score"] for result in results]
    assert scores == sorted(scores, reverse=True) and max(scores) <= 1
    few = client.post("/v1/rerank", json={**body, "top_n": 1, "return_documents": True}).json()["results"]
    texts = [documents[0], "turn the key to open the door", documents[2]]
    assert few == [{**results[0], "document": {"text": texts[results[0]["index"]]}}]
    hit = index.query("open the door", 1, rerank="late")[0]
    again = {**body, "documents": [hit.visible_text]}
    (result,) = client.post("/v1/rerank", json=again).json()["results"]
    if not hit.context:
        assert result["relevance_score"] == pytest.approx(hit.reranked, abs=1e-5)


def test_a_long_document_has_the_score_of_its_best_part(client: TestClient, index: Index) -> None:
    long = "cold water " * 200 + ". Open the door. " + "cold water " * 200
    cutter = cutter_for(index.encoder, PassageSettings())
    whole = file_document("a", "text", long, "", sections=(Section(0, len(long)),))
    parts = [passage.text for passage in cutter.cut(whole)]
    assert len(parts) > 2
    body = {"model": "notes", "query": "open the door", "documents": [long, *parts]}
    results = client.post("/v1/rerank", json=body).json()["results"]
    scores = {result["index"]: result["relevance_score"] for result in results}
    assert scores[0] == pytest.approx(max(scores[number] for number in range(1, len(scores))), abs=1e-6)


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ({"model": "other", "query": "a", "documents": ["b"]}, 404, "no model 'other'"),
        (
            {"model": "notes", "query": "a", "documents": [1]},
            422,
            "documents must be a list of texts, or of objects with",
        ),
        (
            {"model": "notes", "query": "a", "documents": []},
            400,
            "documents has 0 texts. Send 1 to 1,000.",
        ),
        ({"model": "notes", "query": "key " * 500, "documents": ["b"]}, 400, "the query has"),
        ({"model": "notes", "query": "a"}, 422, "documents"),
        ({"model": "notes", "query": "a", "documents": ["b"], "top_n": 0}, 422, "top_n"),
    ],
)
def test_bad_requests_for_reranking_get_a_problem(
    client: TestClient, body: dict, status: int, detail: str
) -> None:
    answer = client.post("/v1/rerank", json=body)
    assert answer.status_code == status and detail in answer.json()["error"]["message"]


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
            ({"id": "c", "text": "a"}, 422, "the body is a JSON object; it must be a JSON list."),
            (["c"], 422, "body[0] is 'c'; it must be a JSON object."),
        ):
            answer = client.post(url, json=body)
            assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM)
            assert detail in answer.json()["detail"]
        assert index.get(["a/1"]) == []
        name = name_of(index)
        for answer in (
            client.post(url, json=documents, params={"index": "notes"}),
            client.delete(url, params={"index": "notes", "id": "a"}),
            client.get("/api/v1/export", params={"index": "notes"}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (400, "bad-input")
            detail = answer.json()["detail"]
            assert detail.startswith("the index 'notes' belongs to a folder, so its documents are files.")
            assert detail.endswith(f"Add the parameter `index`, one of: {name}.")
        answer = client.post(url, json=documents, params={"index": "notes@acme"})
        assert (answer.status_code, answer.json()["code"]) == (404, "index-not-found")


def test_a_server_of_folders_says_how_to_make_an_index_of_documents(client: TestClient) -> None:
    detail = client.get("/api/v1/export").json()["detail"]
    assert detail.endswith("This server has none. To make one, run: seewhy upsert -i NAME FILE.jsonl")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "the body is missing; it must be a JSON object with queries."),
        (b"{", "the body is not valid JSON at character 1: Expecting property name"),
        (b"null", "the body is null; it must be a JSON object with queries."),
        (b'"x"', "the body is 'x'; it must be a JSON object with queries."),
        (b"[NaN]", "the body is a JSON list; it must be a JSON object with queries."),
        (b'{"queries": "a"}', "queries is 'a'; it must be a list."),
        (b'{"queries": []}', "queries is an empty list."),
        (b'{"queries": [1]}', "queries[0] is 1; it must be text."),
        (b'{"queries": ["a"], "k": NaN}', "k is nan; it must be a number."),
        (b'{"queries": ["a"], "k": null}', "k is null; it must be a whole number."),
        (
            b'{"queries": ["a"], "q": 1}',
            "Unknown parameter 'q'. Known: queries, indexes, highlights, k, mode,",
        ),
        (
            b'{"queries": ["' + b"a" * 2001 + b'"]}',
            "queries[0] has 2,001 characters; the maximum is 2,000.",
        ),
        (b'{"queries": [' + b'"a", ' * 32 + b'"a"]}', "queries has 33 values; the maximum is 32."),
    ],
)
def test_an_error_of_a_body_names_the_value_and_says_what_it_must_be(
    client: TestClient, body: bytes, detail: str
) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.post("/api/v1/search", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad-parameter")
    assert answer.json()["detail"].startswith(detail)


def test_a_body_without_its_media_type_gets_the_header_to_send(client: TestClient) -> None:
    answer = client.post("/api/v1/search", content=b'{"queries": ["a"]}')
    assert answer.json()["detail"].endswith("Send the header Content-Type: application/json")


def test_an_export_gives_the_documents_line_by_line_as_they_were_upserted(tiny_model: Path) -> None:
    documents = [
        {"id": f"{number:03}", "text": f"key {number}", "metadata": {"n": number}}
        for number in range(230)
    ]
    documents[7] |= {"title": "Seven", "kind": "markdown"}
    with (
        Index.create(model=str(tiny_model)) as index,
        TestClient(create_app(index), base_url=ADDRESS) as client,
    ):
        assert client.get("/api/v1/export").content == b""
        index.upsert(documents)
        answer = client.get("/api/v1/export", headers={"Accept": "application/x-ndjson"})
        assert answer.headers["content-type"] == "application/x-ndjson"
        assert [json.loads(line) for line in answer.text.rstrip("\n").split("\n")] == documents
        assert answer.text.endswith("\n") and len(answer.content.splitlines()) == 230


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/x-ndjson", 406),
        ("application/jsonl", 406),
        ("application/x-ndjson, application/json;q=0.5", 200),
        ("*/*", 200),
        ("application/json", 200),
    ],
)
def test_json_is_not_sent_to_a_client_that_reads_lines(
    client: TestClient, accept: str, status: int
) -> None:
    answer = client.get("/api/v1/documents", headers={"Accept": accept})
    assert answer.status_code == status
    if status == 406:
        assert answer.json()["code"] == "not-acceptable"
        assert answer.json()["detail"].endswith("For NDJSON: GET /api/v1/export")


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
        assert (event["index"], event["documents"], event["added"]) == ("notes", 1, ["new.md"])
        assert event["changed"] == event["removed"] == [] and event["generation"] > before
        server.send_signal(signal.SIGTERM)
        assert server.wait(8) == 0
