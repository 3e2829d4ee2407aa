"""Places of a query's words in its hits, and what they add."""

from pathlib import Path

import pytest

from search import Index, Question
from search.index import searcher_of


def test_words_of_a_hit_add_what_its_explanation_says(notes: Path, tiny_model: Path) -> None:
    (notes / "marks.md").write_text(
        "# A **key**\n\nThe *wa*ter of `rotateLocks`; water and the key.\n", encoding="utf-8"
    )
    index = Index.build(notes, model=str(tiny_model))
    query = "the key of water locks"
    hits = index.query(query)
    for hit, marks in zip(hits, searcher_of(index).highlights(query, hits), strict=True):
        terms = {term.term.lower(): term for term in index.explain(query, hit).terms}
        assert sum(mark.weight for mark in marks) <= 0.25 * (hit.lexical or 0) + 1e-9
        for mark in marks:
            assert 0 < mark.weight <= max(term.contribution for term in terms.values()) + 1e-9
            assert 0 <= mark.start < mark.end <= len(hit.text)
    (formatted_hit,) = (hit for hit in hits if hit.document == "marks.md")
    (marks,) = searcher_of(index).highlights(query, [formatted_hit])
    words = [formatted_hit.text[mark.start : mark.end] for mark in marks]
    assert [word for word in words if word not in ("the", "The", "of")] == [
        "key",
        "wa*ter",
        "Locks",
        "water",
        "key",
    ]
    whole = [
        term.contribution for term in index.explain(query, formatted_hit).terms if term.term == "water"
    ]
    assert sum(m.weight for m in marks if "ter" in formatted_hit.text[m.start : m.end]) == pytest.approx(
        whole[0]
    )


def test_phrases_and_several_parts_are_highlighted_and_dense_hits_are_not(
    notes: Path, tiny_model: Path
) -> None:
    index = Index.build(notes, model=str(tiny_model))
    hits = index.query('"time is long"')
    texts = [
        hit.text[mark.start : mark.end]
        for hit, marks in zip(hits, searcher_of(index).highlights('"time is long"', hits), strict=True)
        for mark in marks
    ]
    assert texts == ["time is long"]
    question = Question.of("water", ("people", 2), ("lock", -1))
    hits = index.query(question)
    words = {
        h.text[m.start : m.end]
        for h, marks in zip(hits, searcher_of(index).highlights(question, hits), strict=True)
        for m in marks
    }
    assert words == {"water", "people"}
    assert searcher_of(index).highlights("key", index.query("key", mode="dense")) == [()] * 5
    assert searcher_of(index).highlights("key", []) == []
