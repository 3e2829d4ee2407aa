"""Dates of documents: where they come from, filters by date, hits in the order of dates; notes of Obsidian."""

from __future__ import annotations

import json
import os
import time
from datetime import date, timedelta
from pathlib import Path

import pytest

from search import Index
from search.indexes import Indexes
from tests.conftest import Run

FILES = {
    "stated.md": "---\ndate: 2024-01-02\ncreated: 2001-01-01\n---\na key",
    "moment.md": "---\npublished: 2024-03-04T05:06:00Z\n---\na key",
    "journal/2025-02-02 14.30.md": "a key",
    "20230203-notes.txt": "a key",
    "2022-02-03 report.md": "---\ncreated: 2013-12-23\n---\na key",
    "pep.rst": "PEP: 8\nTitle: Style\nCreated: 05-Jul-2001\n\na key\n",
    "page.html": "<meta property='article:published_time' content='2021-07-08'><p>a key <time datetime='2020-01-01'>",
    "time.html": "<p>a key, <time datetime='2020-05-06'>in May</time>",
    "rows.csv": 'text,created_at\na key,"Fri, 01 Mar 2019 10:00:00 +0100"\na key too,soon\n',
    "odd.md": "---\ndate: Spring 2024\ncreated: 2001-01-01\n---\na key",
    "number 12345678.md": "a key",
}
DATES = {
    "stated.md": "2024-01-02",
    "moment.md": "2024-03-04T05:06:00+00:00",
    "journal/2025-02-02 14.30.md": "2025-02-02T14:30",
    "20230203-notes.txt": "2023-02-03",
    "2022-02-03 report.md": "2022-02-03",
    "pep.rst": "2001-07-05",
    "page.html": "2021-07-08",
    "time.html": "2020-05-06",
    "rows.csv#1": "2019-03-01T10:00:00+01:00",
    "rows.csv#2": None,
    "odd.md": "Spring 2024",
    "number 12345678.md": None,
}
DAYS = {
    "rows.csv": 3,
    "odd.md": 5,
    "number 12345678.md": 20,
}  # since these files changed; the others just did


def folder_of(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        if name in DAYS:
            os.utime(folder / name, (time.time() - DAYS[name] * 24 * 3600,) * 2)
    return folder


@pytest.fixture
def dated(tmp_path: Path, tiny_model: Path) -> Index:
    return Index.build(folder_of(tmp_path / "dated", FILES), model=str(tiny_model))


def documents_of(index: Index, **options: str) -> set[str]:
    hits = index.query("key", k=30, per_document=0, all_copies=True, **options)  # type: ignore[arg-type]
    return {hit.document for hit in hits}


def test_documents_have_dates_of_many_origins(dated: Index, run: Run) -> None:
    hits = dated.query("key", k=30, all_copies=True)
    assert {hit.document: hit.metadata.get("date") for hit in hits} == DATES
    by_date = {"rows.csv#2", "odd.md", "number 12345678.md"}  # by the file's last change
    assert documents_of(dated, where="date>=2024") == {
        "stated.md",
        "moment.md",
        "journal/2025-02-02 14.30.md",
    }
    assert documents_of(dated, where="date=2024-03") == {"moment.md"}
    assert documents_of(dated, since="2024-03-01", until="yesterday") == {
        *("moment.md", "journal/2025-02-02 14.30.md"),
        *by_date,
    }
    assert documents_of(dated, since="last month") == by_date
    assert documents_of(dated, since="last week") == {"rows.csv#2", "odd.md"}
    assert documents_of(dated, since="2019-03-01", until="2021-07-08") == {
        "rows.csv#1",
        "page.html",
        "time.html",
    }
    assert documents_of(dated, until="2021-07-08", where="kind=rst") == {"pep.rst"}
    assert documents_of(dated, where="date>=yesterday") == set()
    _, out, _ = run("query", "key", "-f", "paths", "--until", "2010")
    assert [Path(line).name for line in out.splitlines()] == ["pep.rst"]


def test_today_and_yesterday_are_dates(tmp_path: Path, tiny_model: Path) -> None:
    days = [date.today() - timedelta(back) for back in range(3)]
    files = {f"{day}.md": f"a key {day}" for day in days}
    index = Index.build(folder_of(tmp_path / "days", files), model=str(tiny_model))
    assert documents_of(index, since="today") == {f"{days[0]}.md"}
    assert documents_of(index, since="Yesterday") == {f"{days[0]}.md", f"{days[1]}.md"}
    assert documents_of(index, where="date=yesterday") == {f"{days[1]}.md"}


def test_hits_in_the_order_of_dates_keep_their_ranks(dated: Index, run: Run) -> None:
    by_score = dated.query("key", k=30, all_copies=True)
    hits = dated.query("key", k=30, all_copies=True, sort="date")
    assert [hit.document for hit in hits] == [
        *("rows.csv#2", "odd.md", "number 12345678.md", "journal/2025-02-02 14.30.md"),
        *("moment.md", "stated.md", "20230203-notes.txt", "2022-02-03 report.md"),
        *("page.html", "time.html", "rows.csv#1", "pep.rst"),
    ]
    assert sorted(hits, key=lambda hit: hit.rank) == by_score
    best = dated.query("key", k=4, all_copies=True, sort="date")
    assert {hit.document for hit in best} == {hit.document for hit in by_score[:4]}
    together = Indexes([dated]).query("key", k=30, all_copies=True, sort="date")
    assert [(hit.document, hit.rank) for hit in together] == [(hit.document, hit.rank) for hit in hits]
    like = dated.similar("stated.md", k=30, all_copies=True, sort="date")
    assert [hit.document for hit in like] == [hit.document for hit in hits if hit.document != "stated.md"]
    _, out, err = run("query", "key", "-k", 30, "--all-copies", "--sort", "date", "--json")
    assert [hit["rank"] for hit in json.loads(out)] == [hit.rank for hit in hits]
    _, _, err = run("query", "key", "-k", 30, "--all-copies", "--sort", "date")
    assert f"Explain hit {hits[0].rank}: seewhy explain key p{hits[0].passage_id}" in err


VAULT = {
    "Beds.md": "---\naliases: door, a lock\ntags: garden, soil/wet\n---\nRotate the water each year.\n",
    "Log.md": "---\ntags: ['#garden']\n---\nTo [[Beds#Soil|the door]], ![[Plan]], [[ Old key ]], `[[code]]`. #done\n",
    "Home.md": "# [[Beds]]\n\nThe time of the people.\n",
}


def test_notes_of_obsidian_have_aliases_tags_and_links(tmp_path: Path, tiny_model: Path) -> None:
    index = Index.build(folder_of(tmp_path / "vault", VAULT), model=str(tiny_model))
    hits = {hit.document: hit for hit in index.query("water", k=9)}
    metadata = {name: dict(hit.metadata) for name, hit in hits.items()}
    assert metadata == {
        "Beds.md": {"aliases": ["door", "a lock"], "tags": ["garden", "soil/wet"]},
        "Log.md": {"tags": ["garden", "done"], "links": ["Beds", "Plan", "Old key"]},
        "Home.md": {"links": ["Beds"]},
    }
    assert [hit.document for hit in index.query("lock", mode="lexical")] == ["Beds.md"]
    assert documents_of(index, where="links=beds") == {"Log.md", "Home.md"}
    assert documents_of(index, where="tags=garden and not tags=done") == {"Beds.md"}
    assert hits["Log.md"].visible_text == "To the door, Plan,  Old key , [[code]]. #done"
