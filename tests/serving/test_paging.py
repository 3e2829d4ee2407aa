"""Parts of a list are the list; an answer that is as it was is not sent again; lines of JSON."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from search.index import Index
from search.serving.answers import cursor
from search.serving.fields import LAST_HIT
from search.serving.parameters import Search
from search.serving.problems import problem_of
from search.serving.served import IndexBusy, Served, in_one_generation
from search.store.writer import put_choice
from tests.conftest import Run

SEARCH = "/api/v1/search"


@pytest.fixture
def many(notes: Path, indexed: Path, run: Run) -> Path:
    """The folder of `notes` with many documents more, indexed."""
    for number in range(40):
        (notes / f"{number}.txt").write_text(
            f"Turn the key of door {number} and look for the lock.\n", encoding="utf-8"
        )
    assert run("index", notes)[0] == 0
    return notes


def parts(client: TestClient, path: str, **asked: Any) -> list[list[dict[str, Any]]]:
    """The hits or documents of a list, part by part, by what stands in the header Link."""
    found, address = [], client.build_request("GET", path, params=asked).url
    while address:
        answer = client.get(address)
        assert answer.status_code == 200, answer.text
        found.append(answer.json().get("hits") or answer.json()["documents"])
        assert bool(answer.json()["next"]) == ("next" in answer.links)
        address = answer.links.get("next", {}).get("url")
    return found


@pytest.mark.parametrize(
    ("asked", "most"),
    [
        ({"k": 7}, 100),
        ({"k": 7, "mode": "lexical", "all_copies": True, "per_document": 0}, 100),
        ({"k": 5, "group": True}, 100),
        ({"k": 5, "offset": 3, "where": "kind=text"}, 100),
        ({"k": 7, "rerank": "late"}, 28),
        ({"k": 3, "rerank": "late", "group": True, "per_document": 2}, 15),
    ],
)
def test_the_parts_of_a_list_are_the_list(
    many: Path, client: TestClient, asked: dict[str, Any], most: int
) -> None:
    whole = client.get(SEARCH, params={"q": "turn the key", **asked, "k": most}).json()["hits"]
    found = parts(client, SEARCH, q="turn the key", **asked)
    assert [hit for part in found for hit in part] == whole
    assert [hit["rank"] for hit in whole] == list(range(whole[0]["rank"], whole[0]["rank"] + len(whole)))
    assert len(whole) == most or len(found[-1]) < asked["k"]


def test_a_cursor_that_is_made_up_leads_no_further_than_an_offset(client: TestClient) -> None:
    for rerank, offset, code in (
        (None, LAST_HIT, None),
        (None, LAST_HIT + 1, "bad-cursor"),
        ("late", 21, "bad-parameter"),
    ):
        asked = Search(q="turn the key", rerank=rerank)
        generation = client.get(SEARCH, params={"q": "a"}).json()["generation"]
        made = cursor(asked, "notes", generation, offset)
        said = {"q": asked.q, "next": made, **({"rerank": rerank} if rerank else {})}
        assert client.get(SEARCH, params=said).json().get("code") == code


def test_an_index_that_was_tuned_to_rerank_is_bounded_too(client: TestClient, index: Index) -> None:
    put_choice(index.path, {"weight": 0.5, "rerank": "late"})
    asked = {"q": "turn the key", "offset": 21}
    assert client.get(SEARCH, params=asked).json()["code"] == "bad-parameter"
    assert client.get(SEARCH, params={**asked, "weight": 0.5}).status_code == 200


def test_so_are_those_of_a_post_and_of_what_is_similar(many: Path, client: TestClient) -> None:
    asked: dict[str, Any] = {"q": "turn the key", "k": 20}
    first = client.post(SEARCH, json=asked).json()
    second = client.post(SEARCH, json={**asked, "next": first["next"]}).json()
    whole = client.post(SEARCH, json={**asked, "k": 40}).json()
    assert first["hits"] + second["hits"] == whole["hits"]
    passage = first["hits"][0]["passage_id"]
    whole = client.get("/api/v1/similar", params={"passage": passage, "k": 100}).json()["hits"]
    assert [hit for part in parts(client, "/api/v1/similar", passage=passage, k=9) for hit in part] == whole


def test_a_part_is_of_its_query_and_of_its_state_of_the_index(
    many: Path, client: TestClient, run: Run
) -> None:
    asked: dict[str, Any] = {"q": "turn the key", "k": 5}
    following = client.get(SEARCH, params=asked).json()["next"]

    def code(**other: Any) -> str:
        return client.get(SEARCH, params={**asked, "next": following, **other}).json().get("code", "")

    assert code() == code(index="notes") == ""
    assert code(q="turn the keys") == code(k=6) == code(mode="dense") == "bad-cursor"
    assert code(next=following[:-1]) == code(next=following.swapcase()) == code(next="=") == "bad-cursor"
    assert code(next="\u00e9") == "bad-cursor"
    (many / "0.txt").write_text("Something else.\n", encoding="utf-8")
    assert code() == ""  # nothing of the index has changed yet
    run("index", many)
    gone = client.get(SEARCH, params={**asked, "next": following})
    assert (gone.status_code, gone.json()["code"]) == (410, "generation-gone")


def test_what_is_of_two_states_of_an_index_is_no_answer() -> None:
    generations = iter((1, 2, 2, 2))
    changing = SimpleNamespace(generation=1)

    def work() -> int:
        changing.generation = next(generations, changing.generation + 1)
        return changing.generation

    assert in_one_generation(changing, None, work) == (1, 1)  # type: ignore[arg-type]
    assert in_one_generation(changing, None, work) == (2, 2)  # type: ignore[arg-type]
    list(generations)
    with pytest.raises(IndexBusy) as raised:
        in_one_generation(changing, None, work)  # type: ignore[arg-type]
    problem = problem_of(raised.value)
    assert (problem.status, problem.code) == (503, "busy")
    assert dict(problem.headers) == {"Retry-After": "1"}


def test_an_answer_that_is_as_it_was_is_not_sent_again(
    client: TestClient, served: Served, notes: Path, run: Run
) -> None:
    asked = {"q": "turn the key"}
    first = client.get(SEARCH, params=asked)
    tag = first.headers["etag"]

    def again(sent: str = tag, **other: Any) -> tuple[int, bool]:
        answer = client.get(SEARCH, params={**asked, **other}, headers={"if-none-match": sent})
        assert answer.status_code == 200 or answer.content == b""
        return answer.status_code, answer.headers["etag"] == tag

    assert tag.startswith('W/"')  # it may be compressed, or not
    assert again() == again(f'"x", {tag.removeprefix("W/")}') == again("*") == (304, True)
    assert again('"x"') == (200, True)
    assert again(k=1) == again(mode="dense") == (200, False)
    assert client.get(f"{SEARCH}.ndjson", params=asked, headers={"if-none-match": tag}).status_code == 200
    head = client.head(SEARCH, params=asked)
    assert (head.headers["etag"], head.content) == (tag, b"")
    (notes / "keys.md").write_text("# Keys\n\nGone.\n", encoding="utf-8")
    assert again() == (200, False)  # the hits say that the file has changed
    changed = client.get(SEARCH, params=asked).headers["etag"]
    run("index", notes)
    assert client.get(SEARCH, params=asked).headers["etag"] not in (tag, changed)


def test_all_documents_can_be_listed(many: Path, client: TestClient, index: Index) -> None:
    for number in range(100):
        (many / f"more{number}.txt").write_text(f"Turn the key of door {number}.\n", encoding="utf-8")
    index.update()
    address = "/api/v1/documents"
    found = parts(client, address, name="txt")
    assert list(map(len, found)) == [50, 50, 41]
    assert [one["name"] for part in found for one in part] == [
        one.name for one in index.documents_named("txt", 1000)
    ]
    following = client.get(address, params={"name": "txt"}).json()["next"]
    assert client.get(address, params={"name": "csv", "next": following}).json()["code"] == "bad-cursor"
    lines = client.get(f"{address}.ndjson", params={"name": "txt", "next": following})
    assert [json.loads(line) for line in lines.text.splitlines()] == found[1]


def test_hits_come_as_lines_of_json_from_an_address_of_their_own(client: TestClient) -> None:
    for path, asked in (("search", {"q": "turn the key"}), ("similar", {"passage": 1, "same_document": 1})):
        answer = client.get(f"/api/v1/{path}.ndjson", params={**asked, "k": 2})
        assert answer.headers["content-type"] == "application/x-ndjson"
        whole = client.get(f"/api/v1/{path}", params={**asked, "k": 2})
        assert [json.loads(line) for line in answer.text.splitlines()] == whole.json()["hits"] != []
        assert client.get(answer.links["next"]["url"]).headers["content-type"] == "application/x-ndjson"
    none = client.get(f"{SEARCH}.ndjson", params={"q": "turn the key", "where": "kind=pdf"})
    assert (none.status_code, none.text) == (200, "")
    assert client.get("/api/v1/status.ndjson").status_code == 404


def test_answers_are_compressed_for_who_takes_that(client: TestClient) -> None:
    sent, plain = (
        client.get(SEARCH, params={"q": "turn the key"}, headers={"accept-encoding": coding})
        for coding in ("gzip", "identity")
    )
    assert sent.headers["content-encoding"] == "gzip" and "content-encoding" not in plain.headers
    assert int(sent.headers["content-length"]) < len(plain.content) / 2
    assert (sent.content, sent.headers["etag"]) == (plain.content, plain.headers["etag"])
