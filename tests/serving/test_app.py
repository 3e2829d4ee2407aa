"""The application as a whole: it is there, and its answers are those of the library."""

import json

from starlette.testclient import TestClient

from search.render import json as rendered
from search.serving.served import Served
from tests.conftest import Run


def test_hits_are_those_of_the_library(client: TestClient, served: Served) -> None:
    index = served.index()
    hits = index.query("turn the key")
    answer = client.get("/api/v1/search", params={"q": "turn the key"})
    assert answer.status_code == 200
    shown = json.loads(rendered.document(rendered.hits(hits, None, index.highlights("turn the key", hits))))
    assert answer.json()["hits"] == [{**hit, "index": served.first} for hit in shown]


def test_it_says_that_it_lives(client: TestClient) -> None:
    assert client.get("/healthz").text == "ok\n"


def test_what_is_wrong_is_a_problem_with_the_way_out(client: TestClient, served: Served) -> None:
    answer = client.get("/api/v1/search", params={"q": "key", "index": "none"})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert (said["code"], said["status"]) == ("index-not-found", 404)
    assert f"Choose one of: {served.first}." in said["detail"]


def test_the_page_shows_hits(client: TestClient) -> None:
    page = client.get("/", params={"q": "turn the key"}, headers={"accept": "text/html"})
    assert page.status_code == 200
    assert "keys.md" in page.text


def test_no_index_is_said(run: Run) -> None:
    code, _, err = run("serve")
    assert code == 1
    assert "seewhy index FOLDER" in err
