"""Contrasts of two passages: the gap of two scores, split by query word."""

from pathlib import Path

import pytest

import search
from search.errors import InputError

QUERY = "find the key, turn the lock"


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> search.Index:
    return search.Index.build(notes, model=str(tiny_model))


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_the_words_add_up_to_the_gap(notes: Path, tiny_model: Path, pooling: str) -> None:
    index = search.Index.build(notes, model=str(tiny_model), pooling=pooling)
    hits = index.query(QUERY)
    for a in hits:
        for b in hits:
            contrast = index.contrast(QUERY, a, b)
            assert contrast.gap == a.score - b.score
            assert sum(word.gap for word in contrast.words) == pytest.approx(contrast.gap, abs=1e-5)
            words = [word.text for word in contrast.words if word.kind == "word"]
            assert words == ["find", "the", "key", "turn", "the", "lock"]
            assert {word.kind for word in contrast.words} >= {"word", "special", "punctuation"}


def test_hits_of_different_rankings_are_not_contrasted(index: search.Index) -> None:
    (dense, *_), (hybrid, *_) = index.query(QUERY, mode="dense"), index.query(QUERY)
    with pytest.raises(InputError, match="ranked with different options"):
        index.contrast(QUERY, dense, hybrid)


def test_ids_and_paths_have_their_true_ranks(index: search.Index, notes: Path) -> None:
    ranked = index.query(QUERY, k=5)
    best_of_table = next(hit for hit in ranked if hit.document.startswith("table.csv"))
    last = ranked[-1]
    contrast = index.contrast(QUERY, notes / "table.csv", last.passage_id)
    assert (contrast.a.passage_id, contrast.a.rank) == (best_of_table.passage_id, best_of_table.rank)
    assert (contrast.b.passage_id, contrast.b.rank) == (last.passage_id, 5)
    assert contrast.a.score == pytest.approx(best_of_table.score, abs=1e-6)
    assert contrast.gap >= 0
    assert index.contrast(QUERY, "table.csv#2", last).a.document == "table.csv#2"


def test_empty_files_unknown_ids_and_folders_are_not_contrasted(index: search.Index, notes: Path) -> None:
    (notes / "empty.md").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="'empty.md' is not in the index: empty"):
        index.contrast(QUERY, 1, "empty.md")
    with pytest.raises(InputError, match="no passage 99"):
        index.contrast(QUERY, 99, 1)
    with pytest.raises(InputError, match="'deep' is a folder"):
        index.contrast(QUERY, "deep", 1)
