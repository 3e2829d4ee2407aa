"""The OpenAPI document: every operation is described, and every answer is what its schema says, no more and no less."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from search import Index
from search.serving import create_app
from tests.serving.conftest import ADDRESS

TOKEN = "a-token-of-a-test"
QUESTION = {"q": "turn the key"}
PROBLEM = "application/problem+json"


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Operations by "METHOD path"."""
    return {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


@pytest.fixture
def document(client: TestClient) -> dict[str, Any]:
    """The document of a server."""
    return client.get("/openapi.json").json()  # type: ignore[no-any-return]


def schema_of(operation: dict[str, Any]) -> Any:
    (content,) = operation["responses"]["200"]["content"].values()
    return content["schema"]


def strict(document: dict[str, Any]) -> dict[str, Any]:
    """The schemas of a document, without keys that they do not name."""
    schemas = document["components"]["schemas"]
    return {
        name: schema | ({"additionalProperties": False} if "properties" in schema else {})
        for name, schema in schemas.items()
    }


def errors_of(value: Any, schema: Any, document: dict[str, Any]) -> list[str]:
    """Faults of a value; each schema allows only the keys that it names."""
    whole = {**schema, "components": {"schemas": strict(document)}}
    errors = Draft202012Validator(whole).iter_errors(value)
    return [f"{error.json_path}: {error.message[:200]}" for error in errors]


def answers_of(client: TestClient, index: Index) -> Iterator[tuple[str, Any]]:
    """Real answers by operation: all that answer with JSON."""
    hit, second = index.query(QUESTION["q"], 2)
    a, b = hit.passage_id, second.passage_id
    requests: list[tuple[str, dict[str, Any]]] = [
        ("search", QUESTION),
        ("search", QUESTION | {"explain": True, "k": 2, "highlights": False}),
        ("search", QUESTION | {"rerank": "late", "k": 1}),
        ("search", QUESTION | {"mode": "lexical"}),
        ("search", {"q": "use RFC-2119 and zzzqqq"}),
        ("explain", QUESTION | {"passage": a}),
        ("explain", QUESTION | {"passage": a, "layer": "last", "rerank": "late"}),
        ("contrast", QUESTION | {"a": a, "b": b}),
        ("why-not", QUESTION | {"passage": b, "k": 1}),
        ("why-not", QUESTION | {"document": hit.document_id}),
        ("similar", {"passage": a}),
        ("similarity", {"text": ["a key", "a lock"]}),
        ("documents", {"k": 1}),
        ("status", {}),
        ("indexes", {}),
    ]
    for path, parameters in requests:
        yield f"GET /api/v1/{path}", client.get(f"/api/v1/{path}", params=parameters)
    yield "GET /api/v1/documents/{id}", client.get(f"/api/v1/documents/{hit.document_id}")
    body: dict[str, Any] = {"queries": ["a key", "a lock"]}
    yield "POST /api/v1/search", client.post("/api/v1/search", json=body)
    yield "GET /v1/models", client.get("/v1/models")
    yield "GET /v1/models/{name}", client.get("/v1/models/notes")
    for encoding in ("float", "base64"):
        body = {"model": "notes", "input": ["a key"], "encoding_format": encoding}
        yield "POST /v1/embeddings", client.post("/v1/embeddings", json=body)
    body = {"model": "notes", "query": "a key", "documents": ["a lock"], "return_documents": True}
    yield "POST /v1/rerank", client.post("/v1/rerank", json=body)


def test_every_answer_is_what_its_schema_says(
    client: TestClient, index: Index, document: dict[str, Any], tiny_model: Path
) -> None:
    described = operations(document)
    wrong, checked = {}, set()
    for name, answer in answers_of(client, index):
        assert answer.status_code == 200, (name, answer.text)
        checked.add(name)
        if errors := errors_of(answer.json(), schema_of(described[name]), document):
            wrong[name] = errors
    with (
        Index.create(model=str(tiny_model)) as memory,
        TestClient(create_app(memory, token=TOKEN, writable=True), base_url=ADDRESS) as writable,
    ):
        writable.headers["authorization"] = f"Bearer {TOKEN}"
        url = "/api/v1/documents"
        for name, answer in (
            (f"POST {url}", writable.post(url, json=[{"id": "a", "text": "a key"}])),
            (f"DELETE {url}", writable.delete(url, params={"id": "a"})),
        ):
            checked.add(name)
            if errors := errors_of(answer.json(), schema_of(described[name]), document):
                wrong[name] = errors
    assert wrong == {}
    streams = {"GET /api/v1/events", "GET /api/v1/export"}
    assert checked | streams == described.keys()


def test_an_index_that_cannot_be_opened_is_listed_as_the_schema_says(
    client: TestClient, index: Index, document: dict[str, Any]
) -> None:
    index.remove()
    answer = client.get("/api/v1/indexes").json()
    schema = schema_of(operations(document)["GET /api/v1/indexes"])
    assert answer["indexes"][0]["status"] is None and errors_of(answer, schema, document) == []


@pytest.mark.parametrize("path", ["/api/v1/search?k=0", "/v1/models/other"])
def test_an_error_is_a_problem_as_the_schema_says(
    client: TestClient, document: dict[str, Any], path: str
) -> None:
    content = document["components"]["responses"]["Problem"]["content"]
    assert content.keys() == {PROBLEM}
    answer = client.get(path)
    assert answer.headers["content-type"] == PROBLEM
    assert errors_of(answer.json(), content[PROBLEM]["schema"], document) == []


def test_every_operation_has_a_tag_a_sentence_and_an_id_that_stays(document: dict[str, Any]) -> None:
    described = operations(document)
    assert {name: operation["operationId"] for name, operation in described.items()} == {
        "GET /api/v1/search": "search",
        "POST /api/v1/search": "search_many",
        "GET /api/v1/explain": "explain",
        "GET /api/v1/contrast": "contrast",
        "GET /api/v1/why-not": "why_not",
        "GET /api/v1/similar": "similar",
        "GET /api/v1/similarity": "similarity",
        "GET /api/v1/status": "status",
        "GET /api/v1/indexes": "indexes",
        "GET /api/v1/documents": "documents",
        "POST /api/v1/documents": "upsert",
        "DELETE /api/v1/documents": "delete",
        "GET /api/v1/documents/{id}": "document",
        "GET /api/v1/events": "events",
        "GET /api/v1/export": "export",
        "POST /v1/embeddings": "embeddings",
        "GET /v1/models": "models",
        "GET /v1/models/{name}": "model",
        "POST /v1/rerank": "rerank",
    }
    tags = {tag["name"] for tag in document["tags"]}
    assert all(tag["description"] for tag in document["tags"])
    for name, operation in described.items():
        (tag,) = operation["tags"]
        assert tag in tags, name
        summary = operation["summary"]
        assert summary[0].isupper() and summary.endswith(".") and "\n" not in summary, name
        assert operation["responses"].keys() == {"200", "default"}, name
        assert operation["responses"]["default"] == {"$ref": "#/components/responses/Problem"}
        for parameter in operation.get("parameters", ()):
            assert parameter["description"], (name, parameter["name"])
    assert not {"HTTPValidationError", "ValidationError"} & document["components"]["schemas"].keys()


def test_fields_of_a_hit_are_described_by_the_record(document: dict[str, Any]) -> None:
    hit = document["components"]["schemas"]["Hit"]
    properties = hit["properties"]
    assert hit["description"] == "One ranked passage of a query."
    assert properties["score"] == {
        "type": "number",
        "description": "the value that hits are ranked by; higher is better.",
    }
    assert (
        properties["line_end"]["type"] == "integer"
        and "1-based lines" in properties["line_end"]["description"]
    )
    assert properties["mode"]["enum"] == ["hybrid", "dense", "lexical"]
    optional = properties.keys() - set(hit["required"])
    assert optional == {"highlights", "explanation"}
    explanation = document["components"]["schemas"]["HitExplanation"]["properties"]
    rows = {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}
    assert {"type": rows["type"], "items": rows["items"]}.items() <= explanation["similarity"].items()


def test_the_token_is_declared_if_the_server_has_one(client: TestClient, index: Index) -> None:
    assert "security" not in client.get("/openapi.json").json()
    with TestClient(create_app(index, token=TOKEN), base_url=ADDRESS) as guarded:
        guarded.headers["authorization"] = f"Bearer {TOKEN}"
        document = guarded.get("/openapi.json").json()
    schemes = {
        name: scheme["scheme"] for name, scheme in document["components"]["securitySchemes"].items()
    }
    assert schemes == {"token": "bearer", "password": "basic"}
    assert document["security"] == [{"token": []}, {"password": []}]
