"""The API: answers equal the command's, lists continue, and an error is a problem with a code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import search
from search import Index
from tests.conftest import Run

API = "/api/v1"


def get(client: TestClient, path: str, **parameters: Any) -> Any:
    answer = client.get(f"{API}/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def problem_of(client: TestClient, path: str, **parameters: Any) -> tuple[int, str, str]:
    answer = client.get(f"{API}/{path}", params=parameters)
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["type"] == f"urn:seewhy:problem:{problem['code']}"
    return answer.status_code, problem["code"], problem["detail"]


def test_hits_are_those_of_the_command(client: TestClient, run: Run, index: Index) -> None:
    _, output, _ = run("query", "turn the key", "--json")
    answer = get(client, "search", q="turn the key")
    assert answer["hits"] == [{**hit, "index": "notes"} for hit in json.loads(output)]
    assert (answer["index"], answer["generation"]) == ("notes", index.generation)
    assert answer["notes"] == list(index.notes)
    alone = get(client, "search", q="turn the key", highlights=False)["hits"]
    assert "highlights" in answer["hits"][0] and "highlights" not in alone[0]
    (best,) = get(client, "search", q="turn the key", explain=True, layer="last", k=1)["hits"]
    assert best["explanation"]["score"] == pytest.approx(best["score"])


def test_words_that_no_passage_has_are_noted(client: TestClient) -> None:
    note = "no passage has 'doorr'. Did you mean 'door'?"
    assert note in get(client, "search", q="open the doorr")["notes"]
    answer = client.post(f"{API}/search", json={"queries": ["open the doorr", "open the door"]}).json()
    first, second = answer["results"]
    assert note in first["notes"] and note not in second["notes"]


def test_an_explanation_is_the_one_of_the_command(client: TestClient, run: Run, index: Index) -> None:
    passage = index.query("turn the key", 1)[0].passage_id
    _, output, _ = run("explain", "turn the key", f"p{passage}", "--json")
    explanation = get(client, "explain", q="turn the key", passage=passage)
    assert explanation.pop("hit").pop("index") == "notes"
    expected = json.loads(output)
    assert expected.pop("hit") and explanation == expected


def test_an_answer_says_what_would_change_the_rank_if_asked_for(client: TestClient, index: Index) -> None:
    query = "turn the key"
    hit, *_, last = index.query(query, 10)
    expected = index.counterfactual(query, hit, 1).to_dict()
    answer = get(client, "explain", q=query, passage=hit.passage_id, k=1, counterfactual=True)
    assert answer["counterfactual"] == expected
    assert expected["k"] == 1 and expected["tries"]
    assert "counterfactual" not in get(client, "explain", q=query, passage=hit.passage_id)
    parameters = {"q": query, "passage": last.passage_id, "k": 1}
    answer = get(client, "why-not", **parameters, counterfactual=True)
    assert answer["counterfactual"] == index.counterfactual(query, last.passage_id, 1).to_dict()
    assert "counterfactual" not in get(client, "why-not", **parameters)
    filtered = get(client, "why-not", **parameters, counterfactual=True, where="kind=pdf")
    assert (filtered["cause"], filtered["counterfactual"]) == ("filtered", None)


def test_texts_are_compared_with_others(client: TestClient, index: Index) -> None:
    answer = get(client, "similarity", text=["the key", "a lock"], against=["the door"])
    cosines = search.compare(["the key", "a lock"], ["the door"], model=index.encoder).cosines
    assert [row[0] for row in answer["cosines"]] == pytest.approx(cosines[:, 0].tolist())


def test_a_removed_index_is_listed_with_its_problem(client: TestClient, run: Run, index: Index) -> None:
    status = json.loads(run("status", "--json")[1])
    assert get(client, "status") == status
    (before,) = get(client, "indexes")["indexes"]
    assert before == {"name": "notes", "generation": index.generation, "status": status, "problem": ""}
    index.remove()
    (after,) = get(client, "indexes")["indexes"]
    assert (after["status"], "seewhy index" in after["problem"]) == (None, True)


@pytest.mark.parametrize(
    ("path", "parameters", "status", "code", "detail"),
    [
        ("search", {}, 422, "bad-parameter", "q is missing."),
        ("search", {"q": " "}, 400, "bad-input", "the query is empty. Describe what"),
        ("search", {"q": "a", "wieght": 1}, 422, "bad-parameter", "Unknown parameter 'wieght'. Known: q, "),
        ("search", {"q": "a", "k": 101}, 422, "bad-parameter", "k is 101; the maximum is 100."),
        ("search", {"q": "a", "k": 11, "explain": 1}, 400, "bad-input", "k is 11, but with explain it must be 10"),
        ("search", {"q": "a", "weight": "nan"}, 422, "bad-parameter", "weight is 'nan'; it must be a number."),
        ("search", {"q": "a", "k": "ten"}, 422, "bad-parameter", "k is 'ten'; it must be a whole number."),
        ("search", {"q": "a", "k": 0}, 422, "bad-parameter", "k is 0; the minimum is 1."),
        ("search", {"q": "a", "weight": 2}, 422, "bad-parameter", "weight is 2; the maximum is 1."),
        ("search", {"q": "a", "mode": "x"}, 422, "bad-parameter", "mode is 'x'; it must be 'hybrid', 'dense' or"),
        ("search", {"q": "a", "group": "x"}, 422, "bad-parameter", "group is 'x'; it must be true or false."),
        ("search", {"q": "a", "layer": "x"}, 422, "bad-parameter", "layer must be a number, middle, last, or mean:N"),
        ("search", {"q": ""}, 422, "bad-parameter", "q is empty."),
        ("search", {"q": "a", "x": 1, "k": 0, "y": 2}, 422, "bad-parameter", "Unknown parameters 'x', 'y'. Known"),
        ("indexes", {"x": 1}, 422, "bad-parameter", "Unknown parameter 'x'. Known: none."),
        ("documents/first", {}, 422, "bad-parameter", "id is 'first'; it must be a whole number."),
        ("search", {"q": "a", "mode": "dense", "weight": 0.5}, 400, "bad-input", "weight applies only to mode"),
        ("search", {"q": "a", "rerank": "some/model"}, 422, "bad-parameter", "'some/model'; it must be 'late'."),
        ("search", {"q": "a", "rerank": "late", "offset": 21}, 400, "bad-input", "offset + k must be 30 or less"),
        ("search", {"q": "a", "explain": 1, "layer": 9}, 400, "bad-input", "no layer 9. Choose from 0 to 3."),
        ("search", {"q": "a" * 2001}, 422, "bad-parameter", "q has 2,001 characters; the maximum is 2,000."),
        ("search", {"q": "key " * 100}, 400, "bad-input", "Shorten it."),
        ("search", {"q": "a", "index": "../../etc"}, 404, "index-not-found", "Choose from: notes."),
        ("search", {"q": "a", "generation": 7}, 410, "generation-gone", "has changed since generation 7"),
        ("search", {"q": "a", "next": "1-10001"}, 400, "bad-input", "not valid for next"),
        ("explain", {"q": "a", "passage": 10**9}, 404, "not-found", "no passage 1000000000"),
        ("explain", {"q": "a", "passage": 10**19}, 422, "bad-parameter", "the maximum is 9,007,199,254,740,991."),
        ("similar", {"document": 999}, 404, "not-found", "no document 999"),
        ("similar", {}, 400, "bad-input", "give either passage or document."),
        ("similarity", {"text": ["a"]}, 400, "bad-input", "at least two texts"),
        ("similarity", {"text": ["a", "key " * 100]}, 400, "bad-input", "text 2 has 102 tokens, but the model"),
        ("documents/..%2f..%2fetc%2fpasswd", {}, 404, "not-found", "Not Found"),
        ("documents/999", {}, 404, "not-found", "no document 999"),
        ("nothing", {}, 404, "not-found", "Not Found"),
    ],
)  # fmt: skip
def test_a_bad_request_gets_a_status_a_code_and_the_remedy(
    client: TestClient, path: str, parameters: dict[str, Any], status: int, code: str, detail: str
) -> None:
    problem = problem_of(client, path, **parameters)
    assert problem[:2] == (status, code) and detail in problem[2]
    assert "truncate=True" not in problem[2]


def test_a_server_is_read_only_by_default(client: TestClient) -> None:
    for path in ("search", "documents/1"):
        for method in ("PATCH", "PUT", "DELETE"):
            answer = client.request(method, f"{API}/{path}")
            assert (answer.status_code, answer.json()["code"]) == (405, "method-not-allowed")
    for answer in (
        client.post(f"{API}/documents", json=[]),
        client.delete(f"{API}/documents", params={"id": "a"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "read-only")
        assert "seewhy serve --writable" in answer.json()["detail"]


def test_a_reranked_list_has_no_next_part(client: TestClient) -> None:
    assert get(client, "search", q="turn the key", k=1)["next"]
    assert get(client, "search", q="turn the key", rerank="late", k=1)["next"] is None


@pytest.fixture
def many_documents(notes: Path, index: Index) -> Path:
    """The folder of `notes` with many documents more, indexed."""
    for number in range(60):
        (notes / f"{number}.txt").write_text(f"Turn the key of door {number}.\n", encoding="utf-8")
    index.update()
    return notes


def parts(client: TestClient, path: str, **parameters: Any) -> list[list[dict[str, Any]]]:
    """The items of a list, part by part."""
    answer = get(client, path, **parameters)
    lists = [answer["hits"]]
    while answer["next"]:
        answer = get(client, path, **parameters, next=answer["next"])
        lists.append(answer["hits"])
    return lists


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("search", {"q": "turn the key", "k": 30}),
        ("search", {"q": "turn the key", "k": 20, "group": True, "offset": 3}),
        ("similar", {"passage": 1, "k": 30}),
    ],
)
def test_the_parts_of_a_list_make_up_the_whole_list(
    many_documents: Path, client: TestClient, path: str, parameters: dict[str, Any]
) -> None:
    whole = get(client, path, **parameters | {"k": 100})["hits"]
    lists = parts(client, path, **parameters)
    assert [hit for part in lists for hit in part] == whole and len(lists) > 1


def test_a_next_part_is_refused_once_the_index_has_changed(
    many_documents: Path, client: TestClient, index: Index
) -> None:
    parameters: dict[str, Any] = {"q": "turn the key", "k": 5}
    next_part = get(client, "search", **parameters)["next"]
    (many_documents / "0.txt").write_text("Something else.\n", encoding="utf-8")
    assert get(client, "search", **parameters, next=next_part)["hits"]
    index.update()
    assert problem_of(client, "search", **parameters, next=next_part)[:2] == (410, "generation-gone")


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("search", {"q": "turn the key"}),
        ("search", {"q": "turn the key", "group": True}),
        ("similar", {"passage": 1}),
    ],
)
def test_the_last_part_of_a_list_has_no_next(
    client: TestClient, path: str, parameters: dict[str, Any]
) -> None:
    whole = get(client, path, **parameters, k=100)
    count = len({hit["document_id"] for hit in whole["hits"]} if "group" in parameters else whole["hits"])
    assert whole["next"] is None and count < 100
    assert get(client, path, **parameters, k=count + 1)["next"] is None
    assert get(client, path, **parameters, k=count - 1)["next"]


def test_an_answer_during_an_update_comes_from_one_generation(
    client: TestClient, notes: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, calls = Index.query, []

    def changing(self: Index, *arguments: Any, **options: Any) -> Any:
        hits = query(self, *arguments, **options)
        if not calls:
            (notes / "new.txt").write_text("Turn the key at once.\n", encoding="utf-8")
            self.update()
        calls.append(self.generation)
        return hits

    before = index.generation
    monkeypatch.setattr(Index, "query", changing)
    answer = get(client, "search", q="turn the key", k=1)
    assert answer["generation"] > before and calls == [answer["generation"]] * 2
    assert answer["hits"][0]["path"].endswith("new.txt")


def test_an_index_that_changes_during_every_attempt_is_busy(
    client: TestClient, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, calls = Index.query, []

    def changing(self: Index, *arguments: Any, **options: Any) -> Any:
        hits = query(self, *arguments, **options)
        calls.append((notes / "new.txt").write_text(f"Number {len(calls)}.\n", encoding="utf-8"))
        self.update()
        return hits

    monkeypatch.setattr(Index, "query", changing)
    assert problem_of(client, "search", q="turn the key") == (
        503,
        "busy",
        "the index is being updated. Try again in a moment.",
    )
    assert len(calls) == 5


def test_answers_are_compressed_for_clients_that_accept_gzip(client: TestClient) -> None:
    gzip_answer, plain = (
        client.get(f"{API}/search", params={"q": "turn the key"}, headers={"accept-encoding": coding})
        for coding in ("gzip", "identity")
    )
    assert gzip_answer.headers["content-encoding"] == "gzip" and "content-encoding" not in plain.headers
    assert gzip_answer.content == plain.content


def test_a_server_is_healthy_before_it_is_ready(client: TestClient) -> None:
    assert client.get("/healthz").text == "ok\n"
    early = client.get("/readyz")
    assert (early.status_code, early.json()["code"], early.headers["retry-after"]) == (
        503,
        "not-ready",
        "1",
    )
