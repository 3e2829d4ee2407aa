"""Every surface says when a query has not looked at everything, and says nothing of it when it has."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from starlette.testclient import TestClient

import search
from search.serving.app import application
from search.serving.app_state import AppState
from search.serving.guard import Settings
from search.serving.mcp import tools
from search.store.files import writer_lock
from tests.conftest import Run
from tests.contract.conftest import Api

QUERY = "rotate the token of water"
MOST = 5


@pytest.fixture(scope="module")
def lazy(home: Path, folder: Path, tiny_model: Path) -> Iterator[search.Index]:
    """A lazy index, which keeps nothing: another process holds its lock."""
    index = search.Index.build(folder, index="lazy", model=str(tiny_model), lazy=True)
    with writer_lock(index.path):
        yield index
    shutil.rmtree(index.path)


def test_the_library_says_what_was_looked_at(lazy: search.Index, index: search.Index) -> None:
    hits = lazy.query(QUERY, pending=MOST)
    assert hits.coverage
    assert (hits.coverage.encoded, hits.coverage.for_query) == (MOST, MOST)
    assert hits.coverage.passages == lazy.status().passages == lazy.status().pending
    assert all(hit.coverage == hits.coverage for hit in hits)
    assert hits.coverage.sentence == (
        f"meaning: 0 of {hits.coverage.passages} passages encoded; {MOST} more for this question"
    )
    assert index.query(QUERY).coverage is None
    assert lazy.query(QUERY, mode="lexical").coverage is None
    similar = search.Index.open("lazy").similar(hits[0].passage_id, pending=MOST)
    assert similar.coverage and not similar.coverage.complete


def test_the_command_says_what_was_looked_at_and_how_to_finish(lazy: search.Index, run: Run) -> None:
    code, out, notes = run("query", QUERY, "-i", "lazy", "--pending", MOST)
    assert code == 0 and out
    assert f"{MOST} more for this question" in notes
    _, out, _ = run("query", QUERY, "-i", "lazy", "--pending", MOST, "--json", "-q")
    for hit in json.loads(out):
        assert hit["coverage"]["complete"] is False and hit["coverage"]["encoded"] == MOST
    _, _, notes = run("query", QUERY, "-i", "contract")
    assert "passages encoded" not in notes


def test_the_api_says_what_was_looked_at(lazy: search.Index, api: Api, index: search.Index) -> None:
    passages = lazy.status().passages
    with TestClient(
        application(AppState.open([lazy]), Settings("127.0.0.1")), "http://127.0.0.1"
    ) as client:
        answer = client.get("/api/v1/search", params={"q": QUERY, "pending": MOST}).json()
        assert not answer["complete"] and MOST <= answer["encoded"] < answer["passages"] == passages
        many = client.post("/api/v1/search", json={"queries": [QUERY], "pending": MOST}).json()
        assert many["results"][0]["complete"] is False
    whole = api("search", q=QUERY)
    assert (whole["complete"], whole["encoded"]) == (True, whole["passages"])


def test_an_agent_is_told_what_was_looked_at(lazy: search.Index, index: search.Index) -> None:
    answer = tools.search(AppState.open([lazy]), QUERY)
    assert answer.complete is False and answer.encoded
    assert any("more for this question" in note for note in answer.notes or ())
    whole: Any = tools.search(AppState.open([index]), QUERY)
    assert whole.complete is None and whole.encoded is None


def test_the_page_says_what_was_looked_at(lazy: search.Index, server: str) -> None:
    with TestClient(
        application(AppState.open([lazy]), Settings("127.0.0.1")), "http://127.0.0.1"
    ) as client:
        page = client.get("/", params={"q": QUERY}).text
    assert "passages encoded" in page
    with urlopen(f"{server}/?{urlencode({'q': QUERY})}", timeout=60) as response:
        assert "passages encoded" not in response.read().decode()
