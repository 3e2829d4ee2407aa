"""Rows that differ only in numbers, and a message in two files, are listed once."""

from __future__ import annotations

import json
import mailbox
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from search import Hit, Index
from search.serving import create_app
from tests.conftest import Run
from tests.serving.test_mcp import caller

ROWS, QUERY = 1500, "open the door"
ALL_HITS: dict[str, Any] = {"k": 3000, "per_document": 0, "all_copies": True}
FAQ = "title,text\n" + "".join(
    f"{title},write to number {n}\n"
    for n, title in enumerate(("when", "where", "who has the key", "which house", "call", "help"))
)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Index:
    folder = tmp_path_factory.mktemp("mixed")
    rows = "".join(f"open the door number {number}\n" for number in range(ROWS))
    (folder / "doors.csv").write_text(f"text\n{rows}", encoding="utf-8")
    people = ("first", "other", "long", "old", "right", "left")
    (folder / "people.csv").write_text("text\n" + "".join(f"call the {name} people\n" for name in people))
    (folder / "faq.csv").write_text(FAQ, encoding="utf-8")
    for number, name in enumerate(("day", "water", "house", "key", "time", "side")):
        text = (
            f"the {name} of letter {number}: people look for the door number {number} and call for help\n"
        )
        (folder / f"letter{number}.txt").write_text(text, encoding="utf-8")
    message = EmailMessage()
    message["From"], message["Date"] = "Ann <a@b.org>", "Mon, 3 Feb 2025 10:00:00 +0000"
    message["Subject"] = "the lock"
    message.set_content("turn the key in the lock and write down the day")
    (folder / "a.eml").write_bytes(bytes(message))
    box = mailbox.mbox(folder / "box.mbox")
    box.add(message)
    del message["Date"]
    message["Date"] = "Tue, 4 Feb 2025 10:00:00 +0000"  # the same words, sent again
    box.add(message)
    box.close()
    return Index.build(folder, model=str(tiny_model), index=str(folder.with_name("mixed-index")))


def unfolded(hits: list[Hit]) -> list[Hit]:
    """The ranking without all rows of doors.csv but the first."""
    rows = [hit.passage_id for hit in hits if hit.path.endswith("doors.csv")]
    twins = [hit.passage_id for hit in hits if hit.metadata.get("date") == "2025-02-03"]
    return [hit for hit in hits if hit.passage_id not in rows[1:] + twins[1:]]


@pytest.mark.parametrize("options", [{}, {"mode": "dense"}, {"mode": "lexical"}, {"where": "path:*.csv"}])
def test_the_list_is_the_ranking_without_near_copies(mixed: Index, options: dict[str, Any]) -> None:
    ranking = mixed.query(QUERY, **ALL_HITS, **options)
    assert sum(hit.path.endswith("doors.csv") for hit in ranking) == ROWS
    expected = [(hit.passage_id, hit.score) for hit in unfolded(ranking)]
    for k, offset in ((1, 0), (3, 0), (4, 2), (10, 5), (3000, 0)):
        hits = mixed.query(QUERY, k=k, offset=offset, per_document=0, **options)
        assert [(hit.passage_id, hit.score) for hit in hits] == expected[offset : offset + k]
        assert [hit.rank for hit in hits] == list(range(offset + 1, offset + 1 + len(hits)))
        assert {hit.copies for hit in hits if hit.path.endswith("doors.csv")} <= {ROWS - 1}


def test_names_titles_letters_and_other_messages_are_all_listed(mixed: Index) -> None:
    hits = mixed.query(QUERY, k=100, mode="dense")
    names = [hit.document for hit in hits if hit.copies == 0]
    assert sum(name.startswith("people.csv") for name in names) == 6
    assert sum(name.startswith("faq.csv") for name in names) == 6
    assert sum(name.startswith("letter") for name in names) == 6
    mail = {hit.metadata["date"]: hit.copies for hit in hits if hit.kind == "mail"}
    assert mail == {"2025-02-03": 1, "2025-02-04": 0}


def test_why_not_of_a_near_copy_names_its_hit(mixed: Index) -> None:
    rows = [hit for hit in mixed.query(QUERY, **ALL_HITS) if hit.path.endswith("doors.csv")]
    answer = mixed.why_not(QUERY, rows[7].passage_id)
    assert (answer.cause, answer.detail) == ("copy", rows[0].document)


def test_the_command_the_server_and_agents_say_the_same(mixed: Index, run: Run) -> None:
    command = "query", QUERY, "-i", mixed.path
    assert run(*command)[1].count("and 1,499 more like this") == 1
    hits = json.loads(run(*command, "--json", "-k", 8)[1])
    second = json.loads(run(*command, "--json", "-k", 4, "--offset", 4)[1])
    ids = [hit["passage_id"] for hit in hits]
    assert [hit["passage_id"] for hit in second] == ids[4:]
    assert [hit["copies"] for hit in hits if hit["document"].startswith("doors.csv")] == [1499]
    all_hits = json.loads(run(*command, "--json", "-k", 50, "--all-copies")[1])
    assert sum(hit["document"].startswith("doors.csv") for hit in all_hits) > 40
    with TestClient(create_app(mixed), "http://localhost") as client:
        answer = client.get("/api/v1/search", params={"q": QUERY, "k": 8}).json()
        assert [hit["passage_id"] for hit in answer["hits"]] == ids
        assert "and 1,499 more like this" in client.get("/", params={"q": QUERY}).text
        results = caller(client)("search", query=QUERY)["results"]
        assert [hit["copies"] for hit in results if hit.get("copies")] == [1499]


@pytest.mark.parametrize(("rows", "places"), [(4, 4), (5, 1), (6, 1)])
def test_rows_are_near_copies_from_five_on(
    tmp_path: Path, tiny_model: Path, rows: int, places: int
) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    text = "".join(f"open the door number {number}\n" for number in range(rows))
    (folder / "doors.csv").write_text(f"text\n{text}", encoding="utf-8")
    hits = Index.build(folder, model=str(tiny_model)).query(QUERY)
    assert [hit.copies for hit in hits] == [rows - 1 if places == 1 else 0] * places


@pytest.mark.parametrize(("files", "places"), [(4, 4), (5, 1)])
def test_equal_texts_of_files_are_copies_from_five_on(
    tmp_path: Path, tiny_model: Path, files: int, places: int
) -> None:
    folder = tmp_path / "equal"
    folder.mkdir()
    for number in range(files):
        (folder / f"{number}.txt").write_text("open the door of the house\n", encoding="utf-8")
    hits = Index.build(folder, model=str(tiny_model)).query(QUERY)
    assert [hit.copies for hit in hits] == [files - 1 if places == 1 else 0] * places
