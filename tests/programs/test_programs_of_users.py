"""The programs run, and do what their users want."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from search import Encoder, Index
from tests.programs import rag, sync, tickets_api

TICKETS = [
    {"id": 1, "text": "The printer jams on thick paper.", "team": "office", "year": 2023},
    {"id": 2, "text": "The VPN drops every hour.", "team": "network", "year": 2024},
    {"id": 3, "text": "The badge opens no door.", "team": "office", "year": 2025},
]

OTHERS = [
    "The lift stops between two floors.", "The projector shows a green picture.", "The coffee machine leaks.",
    "The phone in the lobby is silent.", "The window of room 12 does not close.", "The chair squeaks.",
    "The monitor flickers in the evening.", "The keyboard lacks two keys.", "The heating is too warm.",
    "The car park barrier stays open.",
]  # fmt: skip


@pytest.fixture
def index(real: Encoder) -> Iterator[Index]:
    with Index.create(encoder=real) as index:
        yield index


@pytest.mark.parametrize("program", [rag, sync, tickets_api])
def test_a_program_has_less_than_50_lines(program: object) -> None:
    assert len(Path(str(getattr(program, "__file__", ""))).read_text("utf-8").splitlines()) < 50


def test_a_web_application_filters_and_explains(index: Index) -> None:
    client = TestClient(tickets_api.application(index))
    assert client.put("/tickets", json=TICKETS).json() == {"added": 3, "changed": 0}
    hits = client.get("/tickets", params={"q": "paper gets stuck", "team": "office"}).json()
    assert [hit["id"] for hit in hits] == [1, 3]
    words = hits[0]["words"]
    assert abs(sum(share["contribution"] for share in words["shares"]) - hits[0]["score"]) < 1e-5
    late = client.get("/tickets", params={"q": "remote access", "since": 2025}).json()
    assert [hit["id"] for hit in late] == [3]
    assert [hit["id"] for hit in client.get("/tickets", params={"q": " "}).json()] == [1, 2, 3]
    assert client.get("/tickets", params={"q": "word " * 500}).status_code == 400
    assert client.delete("/tickets/1").json() == {"removed": 1}
    assert len(index) == 2


def test_a_pipeline_answers_with_its_sources_or_says_that_it_cannot(index: Index) -> None:
    index.upsert([{**ticket, "id": f"T-{ticket['id']}"} for ticket in TICKETS])
    index.upsert([{"id": f"other {n}", "text": text} for n, text in enumerate(OTHERS)])
    prompts: list[str] = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return "It drops every hour [1]."

    question = "how often does the VPN drop?"
    reply = rag.answer(index, question, model)
    assert (reply.text, reply.sources) == ("It drops every hour [1].", ["T-2:1-1"])
    assert "[1] The VPN drops every hour." in prompts[0] and question in prompts[0]
    best = index.query(question)[0]
    assert set(rag.telling_words(index, question, best)) <= {"VPN", "drop", "often"}
    assert rag.answer(index, "who won the football match in Lisbon", model).sources == []
    assert len(prompts) == 1


def test_a_table_is_kept_in_step(index: Index) -> None:
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE tickets (id INTEGER PRIMARY KEY, text TEXT, team TEXT)")
        fields = "INSERT INTO tickets VALUES (:id, :text, :team)"
        database.executemany(fields, TICKETS)
        assert sync.sync(database, index) == sync.Synced(added=3, changed=0, removed=0, encoded=3)
        assert sync.sync(database, index) == sync.Synced(0, 0, 0, 0)
        database.execute("UPDATE tickets SET text = 'The VPN works again.' WHERE id = 2")
        database.execute("DELETE FROM tickets WHERE id = 1")
        assert sync.sync(database, index) == sync.Synced(added=0, changed=1, removed=1, encoded=1)
        assert index.ids() == ["2", "3"]
        assert sync.move_team(database, index, "office", "front desk") == 1
        assert index.ids(where={"team": "front desk"}) == ["3"]
        assert sync.sync(database, index) == sync.Synced(0, 0, 0, 0)
