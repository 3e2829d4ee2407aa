"""Whether anything in an index seems to answer a query."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from search import Index, Question

TEXTS = {
    "key.md": "# The key\n\nThe key opens the door of the house.\n\n# A lock\n\nWater is in the lock.\n",
    "water.md": "The water of the river is cold.",
    "number.md": "People call a number.",
    "sun.md": "Look at the sun.",
}


@pytest.fixture
def index(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    built = Index.build(folder, model=str(tiny_model), pooling="mean")
    monkeypatch.setattr("search.ranking.verdict.DEFAULT_WEIGHTS", built.fingerprint.weights)
    return built


def idf(passages: int, count: int) -> float:
    return math.log(1 + (passages - count + 0.5) / (count + 0.5))


def test_it_is_a_logistic_of_the_best_score_and_the_words_found_together(index: Index) -> None:
    hits = index.query("key cold xylophone")
    passages, found = index.status().passages, hits[0].verdict
    assert found is not None
    assert found.coverage == pytest.approx(idf(passages, 1) / (2 * idf(passages, 1) + idf(passages, 0)))
    assert found.score == hits[0].score
    odds = -6.99 + 5.96 * found.score + 8.49 * found.coverage
    assert math.log(found.probability / (1 - found.probability)) == pytest.approx(odds)
    assert {hit.verdict for hit in hits} == {found}


def test_hits_of_one_document_have_words_together(index: Index) -> None:
    (hit, *_) = index.query("door lock")
    assert hit.verdict and hit.verdict.coverage == pytest.approx(1)


def test_it_is_the_same_whatever_part_of_the_ranking_is_shown(index: Index) -> None:
    whole = index.query("key cold xylophone")[0].verdict
    for options in ({"k": 1}, {"offset": 2}, {"per_document": 1}, {"group": True}, {"weight": 0.75}):
        assert index.query("key cold xylophone", **options)[0].verdict == whole


def test_a_filter_leaves_what_passes_it(index: Index) -> None:
    (hit, *_) = index.query("key", where="path:water.md")
    assert hit.verdict and hit.verdict.coverage == 0


@pytest.mark.parametrize(
    "options",
    [{"mode": "dense"}, {"mode": "lexical"}, {"weight": 0.5}, {"phrases": True}, {"rerank": "late"}],
)
def test_there_is_none_for_other_rankings(index: Index, options: dict[str, object]) -> None:
    assert {hit.verdict for hit in index.query("key", **options)} == {None}


def test_there_is_none_for_several_texts_and_for_single_passages(index: Index) -> None:
    assert index.query(Question.of("key", "cold"))[0].verdict is None
    assert index.hit("key", index.query("key")[0].passage_id).verdict is None
    assert index.similar("key.md")[0].verdict is None


def test_there_is_none_for_a_model_that_it_was_not_fitted_for(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    hit = index.query("key")[0]
    assert hit.verdict is None


def test_a_query_without_words_has_found_none(index: Index) -> None:
    (hit, *_) = index.query("???")
    assert hit.verdict and hit.verdict.coverage == 0


@pytest.mark.parametrize(
    ("probability", "says"), [(0.9, "answers likely"), (0.4, "perhaps"), (0.05, "nothing")]
)
def test_what_it_says(
    index: Index, monkeypatch: pytest.MonkeyPatch, probability: float, says: str
) -> None:
    constants = {"CONSTANT": math.log(probability / (1 - probability)), "SCORE": 0, "WORDS": 0}
    for name, value in constants.items():
        monkeypatch.setattr(f"search.ranking.verdict.{name}", value)
    (hit, *_) = index.query("key")
    assert hit.verdict and replace(hit.verdict, probability=0) == replace(
        hit.verdict, says=says, probability=0
    )
