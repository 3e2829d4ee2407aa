"""Words of a query that are left out: their addends vanish, and nothing else changes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search import InputError
from tests.conftest import Run

WHOLE = {"k": 1000, "all_copies": True, "per_document": 0}


def test_hits_without_a_word_have_no_percentile_and_no_verdict(index: search.Index) -> None:
    hit = index.query("open the water door", k=1, without=["open"])[0]
    assert (hit.ranking.without, hit.percentile, hit.random_pairs, hit.verdict) == (
        ("open",),
        None,
        0,
        None,
    )


def test_a_word_is_named_in_any_of_its_forms(index: search.Index) -> None:
    expected = [hit.score for hit in index.query("keys door", without=["keys"])]
    for name in ("key", "KEYS", '"key"'):
        assert [hit.score for hit in index.query("keys door", without=[name])] == expected
    query = search.Question.of('"open door" water')
    hit = index.query(query, k=1, mode="lexical", without=["open doors"])[0]
    assert [term.term for term in index.explain(query, hit).terms] == ["water"]
    assert index.query("keys door", without="keys")[0].ranking.without == ("keys",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"without": ["zebra"]}, "'zebra' is not a keyword of this query, .* Choose from: open, door."),
        ({"without": ["lock"]}, "'lock' is not a keyword of this query"),
        ({"without": ["open door"]}, "'open door' is not a keyword"),
        ({"without": [""]}, "'' is not a keyword"),
        (
            {"without": ["lock"], "mode": "dense"},
            "'lock' is not a keyword .* Choose from: open, door, zebra.",
        ),
    ],
)
def test_names_of_no_keyword_are_refused(
    index: search.Index, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        index.query("open door zebra", **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        index.explain("open door zebra", 1, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("layer", [None, 0, 1, -1, "mean:2"])
def test_every_layer_splits_a_score_without_a_word(index: search.Index, layer: Any) -> None:
    query = "open the water door"
    hits = index.query(query, k=3, without=["door", "water"], explain=True, layer=layer)
    for hit, why in zip(hits, index.explain(query, hits, layer=layer), strict=True):
        assert why.residual == pytest.approx(0, abs=1e-6)
        assert hit.explanation and hit.explanation.residual == pytest.approx(0, abs=1e-6)
        for side in ("query", "passage"):
            np.testing.assert_allclose(why.layers(side).sum(axis=1), why.cosine, atol=1e-6)
        offsets = why.offsets.query.sum() + why.offsets.passage.sum() + why.offsets.both
        assert why.contributions.sum() + offsets == pytest.approx(why.cosine, abs=1e-5)


def test_hits_without_different_words_are_explained_together(index: search.Index) -> None:
    query = "open the water door"
    hits = [*index.query(query, k=2, without=["door"]), *index.query(query, k=2)]
    whys = index.explain(query, hits)
    assert [abs(why.residual) < 1e-6 for why in whys] == [True] * 4


def test_the_parts_of_a_query_leave_out_a_word(index: search.Index) -> None:
    query = search.Question.of("open the door", ("cold water", 0.5), like=[1])
    hits = index.query(query, k=3, without=["door"], explain=True)
    for hit in hits:
        assert hit.explanation and abs(hit.explanation.residual) < 1e-6
        assert {share.text: share.contribution for share in hit.explanation.shares()}["door"] == 0
    assert [hit.score for hit in hits] != [hit.score for hit in index.query(query, k=3)]


def test_an_encoder_without_tokens_leaves_out_the_keyword_only() -> None:
    def encode(texts: list[str]) -> Any:
        return np.array([[1.0, len(text) % 5, 2.0] for text in texts])

    with search.Index.create(encoder=encode) as index:
        index.upsert({"id": "a", "text": "The key opens the door."})
        (whole,), (less,) = index.query("key door"), index.query("key door", without=["key"])
        assert less.cosine == whole.cosine and less.lexical and whole.lexical
        assert less.lexical < whole.lexical


def test_contrast_why_not_and_late_rerank_leave_out_words(index: search.Index) -> None:
    first, second = index.query("open door", k=2, without=["door"])
    contrast = index.contrast("open door", first, second)
    assert contrast.gap == pytest.approx(first.score - second.score)
    assert index.contrast(
        "open door", first.passage_id, second.passage_id, without=["door"]
    ).a.ranking.without == ("door",)
    with pytest.raises(InputError, match="ranked with different options"):
        index.contrast("open door", first, index.query("open door", k=1)[0])
    answer = index.why_not("open door", second.passage_id, k=1, without=["door"])
    assert answer.hit and answer.hit.rank == 2
    late = index.query("open door", k=1, rerank="late", without=["door"])[0]
    assert abs(index.explain("open door", late).residual) < 1e-6


def test_each_of_several_indexes_leaves_out_its_own_keywords(tmp_path: Path, tiny_model: Path) -> None:
    folders = {
        "a": ["find the key", "open the door", "time and sound"],
        "b": ["a long water", "find people", "turn"],
    }
    for name, texts in folders.items():
        (tmp_path / name).mkdir()
        for number, text in enumerate(texts):
            (tmp_path / name / f"{number}.txt").write_text(text, encoding="utf-8")
        search.Index.build(tmp_path / name, model=str(tiny_model), index=str(tmp_path / f"{name}-index"))
    indexes = search.Indexes.open([tmp_path / "a-index", tmp_path / "b-index"])
    hits = indexes.query("find the key and water", without=["key", "find"])
    assert {hit.index.rpartition("/")[2]: hit.ranking.without for hit in hits} == {
        "a-index": ("key", "find"),
        "b-index": ("find",),
    }
    for hit in hits:
        assert abs(indexes.explain("find the key and water", hit).residual) < 1e-6
    with pytest.raises(InputError, match="'turn' is not a keyword"):
        indexes.query("find the key and water", without=["turn"])


def test_the_command_leaves_out_words(notes: Path, tiny_model: Path, run: Run) -> None:
    search.Index.build(notes, model=str(tiny_model))
    arguments = ("find the key of the door", "--without", "key", "--without", "door")
    (hit, *_) = json.loads(run("query", *arguments, "--json")[1])
    assert hit["ranking"]["without"] == ["key", "door"]
    err = run("query", *arguments)[2]
    command = f"seewhy explain 'find the key of the door' p{hit['passage_id']}  (add the same --without)"
    assert command in err
    code, out, _ = run("explain", arguments[0], "1", *arguments[1:])
    assert code == 0 and "without  key, door" in out
    code, _, err = run("query", "find the key", "--without", "moon")
    assert code == 1 and "'moon' is not a keyword of this query" in err
