"""Texts that stand in many documents: found, shown once, counted, named by why-not, checked and repaired."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from search import Index
from tests.store import damage

LICENCE = (
    "many people may use their own key to open the door and turn the lock as they like if they call the "
    "other people first and then write down the day and the time of it in the long file of all numbers"
)
OWN = "find the water number {}"


@pytest.fixture
def licensed(tmp_path: Path, tiny_model: Path) -> Index:
    """40 files with one licence and a record of their own."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(40):
        lines = [LICENCE, OWN.format(number)]
        rows = "".join(f"{line}\n" for line in lines)
        (folder / f"{number}.csv").write_text(f"text\n{rows}", encoding="utf-8")
    return Index.build(folder, model=str(tiny_model), index=str(tmp_path / "index"))


@pytest.mark.parametrize(
    "options", [{}, {"mode": "dense"}, {"mode": "lexical"}, {"per_document": 1}, {"rerank": "late"}]
)
def test_a_copied_text_is_one_hit(licensed: Index, options: dict[str, Any]) -> None:
    query = "open the door and turn the lock as the people like"
    hits = licensed.query(query, k=80, **options)
    assert [hit.copies for hit in hits if hit.text.startswith("many people")] == [39]
    everything = licensed.query(query, k=80, all_copies=True, **options)
    licences = [hit for hit in everything if hit.text.startswith("many people")]
    assert len(licences) == 40
    assert licences[0].passage_id in [hit.passage_id for hit in hits]
    assert len(hits) == len(everything) - 39


def test_a_filter_shows_the_best_copy_that_passes(licensed: Index) -> None:
    (hit,) = [hit for hit in licensed.query("open the door", k=5, where="path:7.csv") if hit.copies]
    assert (hit.document, hit.copies) == ("7.csv#1", 39)


def test_why_not_names_the_copy_in_the_hits(licensed: Index) -> None:
    query = "open the door and turn the lock as the people like"
    best = licensed.query(query, k=3)[0]
    copy = next(
        hit for hit in licensed.query(query, k=3, all_copies=True) if hit.passage_id != best.passage_id
    )
    answer = licensed.why_not(query, copy.passage_id, k=3)
    assert (answer.cause, answer.detail) == ("copy", best.document)


def test_copies_are_counted_again_after_files_are_deleted(licensed: Index) -> None:
    folder = Path(licensed.status().folder)
    for number in range(36):
        (folder / f"{number}.csv").unlink()
    index = Index.build(folder, index=str(licensed.path))
    assert {hit.copies for hit in index.query("open the door", k=20)} == {0}


def test_boilerplate_is_cut_apart_and_is_one_hit(tmp_path: Path, tiny_model: Path) -> None:
    """120 files with the same head and foot, which would share passages with each file's own text."""
    folder = tmp_path / "notes"
    folder.mkdir()
    head = "".join(f"# {line}\n" for line in LICENCE.split(" and "))
    foot = "write to the people of the other side if you look for more of this,\n" * 2
    for number in range(120):
        own = f"{OWN.format(number)}, it is part {number + 10_000} of the whole"
        year = 2000 + number % 10
        text = f"{head}\n{own}\n{foot}in ({year})\n"
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    index = Index.build(folder, model=str(tiny_model), index=str(tmp_path / "index"))
    for query in (LICENCE[:60], foot):
        hits = index.query(query, k=10, mode="lexical")
        copied = [hit for hit in hits if hit.copies]
        assert len(copied) == len({hit.text for hit in copied})
        assert hits[0].copies == 119
        assert not any("water" in hit.text for hit in copied)
    own = index.query(OWN.format(77), k=1, mode="lexical")[0]
    assert (own.document, own.copies) == ("77.txt", 0)
    assert "other side" not in own.text
    assert "door" not in own.text
    # What is known stays known: a file that comes later is cut in the same way.
    (folder / "new.txt").write_text(f"{head}\nanother text of its own\n{foot}in", encoding="utf-8")
    index = Index.build(folder, index=str(index.path))
    assert index.query(foot, k=1, mode="lexical")[0].copies == 120


def test_later_files_are_cut_by_the_most_frequent_boilerplate(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index stores so many keys of boilerplate; here one, that of the text in eight files, not in five."""
    monkeypatch.setattr("search.indexing.run.MOST_BOILERPLATE", 1)
    folder = tmp_path / "notes"
    folder.mkdir()
    rare = "write to the people of the other side if you look for more of this,\n" * 2
    for number in range(8):
        head = rare if number < 5 else ""
        path = folder / f"{number}.txt"
        path.write_text(f"{head}\n{OWN.format(number)}\n\n{LICENCE}\n", encoding="utf-8")
        os.utime(path, (1, 1))
    index = Index.build(folder, model=str(tiny_model), index=str(tmp_path / "index"))
    # The next run would read files again that changed a moment before this one.
    in_an_hour = time.time_ns() + 3_600 * 10**9
    damage.execute(index.path, f"UPDATE meta SET value = '{in_an_hour}' WHERE key = 'walked_ns'")
    (folder / "new.txt").write_text(f"{rare}\n{OWN.format(9)}\n\n{LICENCE}\n", encoding="utf-8")
    index.update()
    assert index.query(LICENCE, k=1, mode="lexical")[0].copies == 8
    assert index.query(rare, k=1, mode="lexical")[0].copies == 4


def test_headers_and_footers_of_pages_are_one_hit(tmp_path: Path, tiny_model: Path) -> None:
    """40 pages with the same head, navigation, rows and foot, and with links and a text of their own."""
    folder = tmp_path / "site"
    folder.mkdir()

    def links(numbers: range) -> str:
        return "".join(f"<li><a href={n}>open the door of house {n}</a>" for n in numbers)

    rows = "".join(f"<p>open the door of house {n}</p>" for n in range(6, 12))
    for number in range(40):
        head = f"<header>{LICENCE}</header><nav><h2>The doors</h2>{links(range(6))}</nav>{rows}"
        own = f"<ul>{links(range(number, number + 9))}</ul><p>{OWN.format(number + 10_000)}</p>"
        page = f"<title>{number}</title>{head}{own}<footer>{LICENCE} again</footer>"
        (folder / f"{number}.html").write_text(page, encoding="utf-8")
    index = Index.build(folder, model=str(tiny_model), index=str(tmp_path / "index"))
    hits = index.query("the door", k=400, mode="dense")
    copied = [hit.text.replace("\n", " ") for hit in hits if hit.copies >= 39]
    together = " ".join(sorted(copied))
    assert len(copied) == len(set(copied))
    assert all(f"house {number}" in together for number in range(6, 12))
    assert "house 3 " not in f"{together} "  # navigation is in no passage
    assert together.count("many people") == 2
    (hit,) = [hit for hit in hits if OWN.format(10_007) in hit.text]
    assert (hit.document, hit.copies, "people" in hit.text) == ("7.html", 0, False)
    assert len(index.query("the door", k=400, mode="dense", all_copies=True)) == index.status().passages
