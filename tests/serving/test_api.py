"""The API: its answers are the library's, written as the command writes them."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from search import serving
from search.index import Index
from search.render import json as rendered
from search.render.inspection import as_json
from search.serving.problems import CODES
from search.serving.served import Served
from search.texts import compare
from search.texts import explain as explain_two
from tests.conftest import Run

API = "/api/v1"
JSON = {"content-type": "application/json"}


def said(value: Any) -> Any:
    """A record as a program reads it."""
    return json.loads(rendered.document(value))


def of_notes(hits: Any, *more: Any) -> Any:
    """Hits as the library writes them, with the name of the index that the server asked."""
    return [{**hit, "index": "notes"} for hit in said(rendered.hits(hits, None, *more))]


def got(client: TestClient, path: str, **parameters: Any) -> Any:
    answer = client.get(f"{API}/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    assert client.post(f"{API}/{path}", json=parameters).json() == answer.json()
    return answer.json()


def refused(client: TestClient, path: str, **parameters: Any) -> tuple[int, str, str]:
    answer = client.get(f"{API}/{path}", params=parameters)
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["type"] == f"urn:seewhy:problem:{problem['code']}"
    return answer.status_code, problem["code"], problem["detail"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 2, "mode": "lexical", "per_document": 1},
        {"mode": "dense", "min_score": 0.1, "all_copies": True},
        {"weight": 0.5, "where": "kind=markdown", "since": "2001-01-01", "offset": 1, "group": True},
        {"phrases": True, "rerank": "late"},
        {"explain": True, "layer": "last", "k": 1},
    ],
)
def test_hits_are_those_of_the_library(client: TestClient, index: Index, options: dict[str, Any]) -> None:
    query = 'turn the "key"'
    hits = index.query(query, **{"k": 10, **options})
    answer = got(client, "search", q=query, **options)
    assert answer["hits"] == of_notes(hits, index.highlights(query, hits))
    assert answer["hits"] or not hits
    assert (answer["index"], answer["generation"]) == ("notes", index.generation)
    assert answer["notes"] == list(index.notes)


def test_hits_come_without_highlights_if_these_are_refused(client: TestClient) -> None:
    hits = client.get("/api/v1/search", params={"q": "turn the key"}).json()["hits"]
    alone = client.get("/api/v1/search", params={"q": "turn the key", "highlights": False}).json()["hits"]
    assert [{**hit, "highlights": one["highlights"]} for hit, one in zip(alone, hits, strict=True)] == hits
    assert all("highlights" not in hit for hit in alone)


def test_a_hit_is_the_one_of_the_command(client: TestClient, run: Run, indexed: Path) -> None:
    _, printed, _ = run("query", "turn the key", "--index", indexed, "--json")
    assert got(client, "search", q="turn the key")["hits"] == [
        {**hit, "index": "notes"} for hit in json.loads(printed)
    ]


@pytest.mark.parametrize("check", [False, True])
def test_an_explanation_is_the_one_of_the_command(
    client: TestClient, run: Run, indexed: Path, index: Index, check: bool
) -> None:
    passage = index.query("turn the key", 1)[0].passage_id
    more = ["--check"] if check else []
    _, printed, _ = run("explain", "turn the key", f"p{passage}", "--index", indexed, "--json", *more)
    given = got(client, "explain", q="turn the key", passage=passage, check=check)
    assert given.pop("hit").pop("index") == "notes"
    shown = json.loads(printed)
    assert shown.pop("hit") and given == shown


def test_contrast_and_why_not_are_those_of_the_library(client: TestClient, index: Index) -> None:
    a, b = (hit.passage_id for hit in index.query("turn the key", 2))
    assert got(client, "contrast", q="turn the key", a=a, b=b) == said(index.contrast("turn the key", a, b))
    why = index.why_not("turn the key", b, 1, per_document=0, where="kind=csv", mode="dense")
    asked = {"passage": b, "k": 1, "per_document": 0, "where": "kind=csv", "mode": "dense"}
    assert got(client, "why-not", q="turn the key", **asked) == said(why)


def test_candidates_are_those_of_the_library(client: TestClient, index: Index) -> None:
    how: dict[str, Any] = {"weight": 0.5, "without": ["key"], "where": "kind=markdown"}
    assert got(client, "candidates", q="turn the key", n=3, **how) == said(
        index.candidates("turn the key", 3, **how)
    )


def test_similar_passages_are_those_of_the_library(client: TestClient, index: Index) -> None:
    passage = index.query("turn the key", 1)[0].passage_id
    hits = index.similar(passage, 3, same_document=True)
    found = got(client, "similar", passage=passage, k=3, same_document=True)["hits"]
    assert found == of_notes(hits, [()] * len(hits))


def test_texts_are_compared_and_looked_into(client: TestClient, index: Index) -> None:
    texts = ["the key", "a lock"]
    assert got(client, "similarity", text=texts) == said(compare(texts, model=index.encoder))
    against = got(client, "similarity", text=texts, against=["the door"])
    assert against == said(compare(texts, ["the door"], model=index.encoder))
    pair = explain_two(*texts, layer=0, model=index.encoder)
    assert got(client, "similarity", text=texts, tokens=True, layer=0) == said(pair)
    from search.bert import inspect

    assert got(client, "inspect", text="the key") == json.loads(
        as_json(inspect("the key", model=index.encoder.model))
    )


def test_what_a_server_has_is_said(client: TestClient, run: Run, indexed: Path, index: Index) -> None:
    _, printed, _ = run("status", "--index", indexed, "--json")
    status = json.loads(printed)
    assert client.get(f"{API}/status").json() == status
    assert datetime.fromisoformat(status["updated"]).tzinfo and "T" in status["updated"]
    (one,) = client.get(f"{API}/indexes").json()["indexes"]
    assert one == {"name": "notes", "generation": index.generation, "status": status, "problem": ""}
    index.remove()
    (gone,) = client.get(f"{API}/indexes").json()["indexes"]
    assert (gone["status"], "seewhy index" in gone["problem"]) == (None, True)


@pytest.mark.parametrize(
    ("path", "parameters", "code", "detail"),
    [
        ("search", {}, "bad-parameter", "q is missing."),
        ("search", {"q": ""}, "bad-parameter", "q must be said."),
        ("search", {"q": " "}, "bad-input", "the query is empty. Say in your own words"),
        ("search", {"q": "a", "wieght": 1}, "bad-parameter", "no parameter 'wieght'. Did you mean weight?"),
        ("search", {"q": ["a", "b"]}, "bad-parameter", "q is there twice. Say it once."),
        ("search", {"q": "a", "k": 101}, "bad-parameter", "k must be 100 or less."),
        ("search", {"q": "a", "k": 0}, "bad-parameter", "k must be 1 or more."),
        ("search", {"q": "a", "k": "9" * 5000}, "bad-parameter", "k must be a whole number."),
        ("search", {"q": "a", "k": 11, "explain": 1}, "bad-input", "k is 11, but with explain it must be 10"),
        ("search", {"q": "a", "weight": "nan"}, "bad-parameter", "weight must be"),
        ("search", {"q": "a", "min_score": "1e400"}, "bad-parameter", "min_score must be a finite number."),
        ("search", {"q": "a", "mode": "x"}, "bad-parameter", "mode must be 'hybrid', 'dense' or 'lexical'."),
        ("search", {"q": "a", "mode": "dense", "weight": 0.5}, "bad-input", "a weight belongs to the mode 'hybrid'"),
        ("search", {"q": "a", "rerank": "some/model"}, "bad-parameter", "rerank must be 'late'."),
        ("search", {"q": "a", "rerank": "late", "offset": 21}, "bad-parameter", "rerank offset + k must be 30 or less"),
        ("search", {"q": "a", "rerank": "late", "group": 1, "k": 11}, "bad-parameter", "(offset + k) * per_document"),
        ("search", {"q": "a", "rerank": "late", "group": 1, "per_document": 0}, "bad-parameter", "must be 30 or less"),
        ("search", {"q": "a", "explain": 1, "layer": "x"}, "bad-parameter", "a whole number or 'middle' or 'last'."),
        ("search", {"q": "a", "explain": 1, "layer": 9}, "bad-input", "the model has layers 0 to 3."),
        ("search", {"q": "a", "layer": 1}, "bad-input", "layer is of the matrices that explain=True makes"),
        ("search", {"q": "a" * 2001}, "bad-parameter", "q must be at most 2,000 characters long."),
        ("search", {"q": "key " * 100}, "bad-input", "Shorten it."),
        ("search", {"q": "a", "where": "kind="}, "bad-input", "expected a value behind '='"),
        ("search", {"q": "a", "index": "../../etc"}, "index-not-found", "Choose one of: notes."),
        ("search", {"q": "a", "generation": 7}, "generation-gone", "not the one of generation 7 any more"),
        ("search", {"q": "a", "next": "AAAA"}, "bad-cursor", "this value of next is not of this query"),
        ("explain", {"q": "a", "passage": 10**9}, "not-found", "no passage 1000000000"),
        ("contrast", {"q": "a", "a": 1, "b": 999}, "not-found", "no passage 999"),
        ("why-not", {"q": "a", "document": 999}, "not-found", "no document 999"),
        ("similar", {"passage": 999}, "not-found", "no passage 999"),
        ("similar", {"document": 999}, "not-found", "no document 999"),
        ("explain", {"q": "a", "passage": 10**19}, "bad-parameter", "passage must be 9007199254740991 or less."),
        ("similarity", {"text": ["a"]}, "bad-input", "two texts at least"),
        ("similarity", {"text": ["a", " "]}, "bad-input", "a text is empty. Leave it out."),
        ("similarity", {"text": ["a"] * 3, "tokens": 1}, "bad-input", "tokens compares two texts, and there are 3."),
        ("similarity", {"text": ["a", "b"], "layer": 1}, "bad-input", "give tokens=true"),
        ("similarity", {"text": ["a", "key " * 100]}, "bad-input", "text number 2 has 102 tokens and the model reads"),
        ("similarity", {"text": ["a"] * 101}, "bad-parameter", "text must be at most 100."),
        ("nothing", {}, "not-found", "/openapi.json"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_the_way_out(
    client: TestClient, path: str, parameters: dict[str, Any], code: str, detail: str
) -> None:
    status, found, sentence = refused(client, path, **parameters)
    assert (found, detail in sentence, status) == (code, True, STATUS[code]), sentence
    assert "truncate=True" not in sentence


STATUS = {
    "bad-parameter": 422, "bad-input": 400, "bad-cursor": 400, "index-not-found": 404, "not-found": 404,
    "generation-gone": 410,
}  # fmt: skip


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "the body is missing."),
        (b"{", "the body is no JSON"),
        (b"[]", "the body must be one JSON object, sent as application/json."),
        (b"[" * 60_000, "the request cannot be read."),
        (b'{"q": "a", "k": "1"}', "k must be a whole number."),
        (b'{"q": "a", "k": true}', "k must be a whole number."),
        (b'{"q": "a", "phrases": 1}', "phrases must be true or false."),
        (b'{"q": "a", "weight": NaN}', "weight must be"),
        (b'{"q": "a", "min_score": 1e400}', "min_score must be a finite number."),
        (b'{"q": "\\ud800"}', "q must be a text of whole characters."),
        (b'{"q": 7}', "q must be a text."),
        (b'{"q": "a", "\\ud800": 1}', "there is no parameter"),
        (b'{"q": "a", "k": ' + b"9" * 5000 + b"}", "the request cannot be read."),
        (b"\xff\xfe", "the body is no JSON"),
    ],
)
def test_bodies_that_are_none_are_refused(client: TestClient, body: bytes, detail: str) -> None:
    answer = client.post(f"{API}/search", content=body, headers=JSON)
    assert answer.status_code in (400, 422)
    assert detail in answer.json()["detail"]


def test_other_methods_are_refused_with_those_that_there_are(client: TestClient) -> None:
    for path in ("passages/1", "documents/1"):
        for method, sent in (("POST", {"json": {}}), ("POST", {"content": "no JSON"}), ("DELETE", {})):
            answer = client.request(method, f"{API}/{path}", **sent)  # type: ignore[arg-type]
            assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
            assert answer.json()["code"] == "method-not-allowed"
    assert client.put(f"{API}/search").headers["allow"] == "GET, HEAD, POST"
    assert client.post(f"{API}/search", content="no JSON").status_code == 422
    assert client.post(f"{API}/nothing", json={}).status_code == 404


def test_documents_and_passages_are_found_by_id(client: TestClient, index: Index) -> None:
    hit = index.query("turn the key", 1)[0]
    document = client.get(f"{API}/documents/{hit.document_id}", params={"generation": index.generation})
    assert document.json() == said(index.document(hit.document_id))
    assert client.get(f"{API}/passages/{hit.passage_id}").json() == said(index.passage(hit.passage_id))
    named = {"name": "keys", "index": "notes"}
    assert got(client, "documents", **named) == {
        "index": "notes",
        "generation": index.generation,
        "documents": said(index.documents_named("keys")),
        "next": None,
    }
    for path in ("documents/999", "passages/999"):
        assert refused(client, path)[:2] == (404, "not-found")
    assert refused(client, "documents/..%2f..%2fetc%2fpasswd")[0] in (404, 422)
    assert refused(client, f"documents/{hit.document_id}", generation=1)[:2] == (410, "generation-gone")


def test_a_document_is_an_example_too(client: TestClient, index: Index) -> None:
    document = index.query("turn the key", 1)[0].document_id
    path = index.location(document)
    assert got(client, "why-not", q="a long sound", document=document, k=1) == said(
        index.why_not("a long sound", path, 1)
    )
    hits = index.similar(path, 2)
    found = got(client, "similar", document=document, k=2)["hits"]
    assert found == of_notes(hits, [()] * len(hits))
    for example in ({}, {"document": document, "passage": 1}):
        assert refused(client, "similar", **example)[1:] == (
            "bad-input",
            "give passage or document: one of them.",
        )


def test_it_says_when_it_is_ready(client: TestClient, served: Served) -> None:
    early = client.get("/readyz")
    assert (early.status_code, early.json()["code"], early.headers["retry-after"]) == (503, "not-ready", "1")
    served.warm()
    assert client.get("/readyz").status_code == 200


def test_every_code_is_listed() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in Path(serving.__file__).parent.glob("*.py"))
    raised = set(re.findall(r'\b[45]\d\d,\s*"([a-z-]+)"', sources))
    assert raised | {"bad-request", "method-not-allowed", "body-too-large"} == set(CODES)
