"""Rows that say nearly the same are folded into the best of them; letters are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from search import Index
from tests.conftest import Run

ROWS = 60
LETTERS = {
    "door.txt": "open the door of the old house with the key and turn the lock of it",
    "door2.txt": "people look for the key, as somebody may close the door and call for help",
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Index:
    folder = tmp_path_factory.mktemp("mixed")
    rows = "".join(f"open the door number {number}\n" for number in range(ROWS))
    (folder / "doors.csv").write_text(f"text\n{rows}", encoding="utf-8")
    for name, text in LETTERS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return Index.build(folder, model=str(tiny_model), index=str(folder.with_name("mixed-index")))


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_rows_take_one_place_and_letters_keep_theirs(mixed: Index, mode: str) -> None:
    hits = mixed.query("open the door", mode=mode)
    every = mixed.query("open the door", k=100, mode=mode, all_copies=True)
    rows = [hit for hit in every if hit.kind == "csv"]
    assert (len(rows), len(every)) == (ROWS, ROWS + 2)
    assert sorted(hit.document for hit in hits) == ["door.txt", "door2.txt", rows[0].document]
    (row,) = [hit for hit in hits if hit.kind == "csv"]
    assert (row.passage_id, row.score) == (rows[0].passage_id, rows[0].score)
    assert (row.copies, row.copies_at_least) == (ROWS - 1, False)
    assert [hit.copies for hit in hits if hit is not row] == [0, 0]
    assert {hit.copies for hit in every} == {0}


def test_why_not_and_the_command_name_them(mixed: Index, run: Run) -> None:
    shown = mixed.query("open the door", mode="lexical", k=3)
    row = next(hit for hit in shown if hit.kind == "csv")
    other = next(
        hit
        for hit in mixed.query("open the door", k=9, mode="lexical", all_copies=True)
        if hit.kind == "csv" and hit.passage_id != row.passage_id
    )
    answer = mixed.why_not("open the door", other.passage_id, mode="lexical")
    assert (answer.cause, answer.detail) == ("copy", row.document)
    _, printed, _ = run("query", "open the door", "-i", mixed.path)
    assert printed.count("and 59 more like this") == 1


def test_a_line_has_the_sentence_with_most_words(mixed: Index, run: Run) -> None:
    lines = run("query", "call for help", "-i", mixed.path, "-m", "lexical", "-f", "line")[1].splitlines()
    place, score, sentence = lines[0].split("  ")
    assert (Path(place).name, sentence) == ("door2.txt:1", LETTERS["door2.txt"])
    assert float(score) > 0


def test_stop_words_are_marked_only_if_they_are_the_query(mixed: Index) -> None:
    def marked(query: str) -> set[str]:
        hits = mixed.query(query)
        marks = zip(hits, mixed.highlights(query, hits), strict=True)
        return {hit.text[mark.start : mark.end] for hit, its in marks for mark in its}

    assert marked("the key of it") == {"key"}
    assert marked("of it") == {"of", "it"}
    hit = mixed.query("the key of it")[0]
    why = mixed.explain("the key of it", hit)
    assert not {hit.text[m.start : m.end] for m in why.content_highlights()} & {"the", "of", "it"}
    assert len(why.highlights()) > len(why.content_highlights())
