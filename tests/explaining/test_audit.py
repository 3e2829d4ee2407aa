"""Scores that index.explain takes apart: returned, stored, summed; of hits, ids and texts, one or many."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search.errors import InputError
from search.explaining.traced_numpy import NumpyTracer
from search.records.shares import Occurrence, Partner, Share, Term
from tests.conftest import save_tiny_bert
from tests.explaining.test_explanation import by_hand, computed, with_offsets

QUERY = "find the key"


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> search.Index:
    return search.Index.build(notes, model=str(tiny_model))


def test_addends_residual_and_drift_are_those_worked_out_by_hand() -> None:
    why = replace(by_hand(), recomputed=1.5)
    assert (why.score, why.recomputed, why.drift) == (1.25, 1.5, -0.25)
    assert why.addends == pytest.approx(1.0)
    assert why.residual == pytest.approx(0.25)
    assert by_hand().drift is None


def test_a_score_of_two_parts_adds_up() -> None:
    why = replace(by_hand(), weight=0.8, terms=(Term("keys", 0.3), Term("door", 0.125)), score=1.25)
    assert why.addends == pytest.approx(0.8 + 0.425)
    assert why.residual == pytest.approx(0.025)
    assert sum(share.contribution for share in why.shares()) == pytest.approx(why.addends)
    assert [(share.text, share.kind) for share in why.shares()][-2:] == [
        ("keys", "term"),
        ("door", "term"),
    ]


def test_shares_are_those_worked_out_by_hand() -> None:
    keys, special, offset = with_offsets().shares(partners=2)
    assert (keys.text, keys.kind, keys.start, keys.end) == ("Keys", "word", 0, 4)
    assert keys.contribution == pytest.approx(184 / 414)
    assert [(partner.text, round(partner.similarity * 24)) for partner in keys.partners] == [
        ("key", 16),
        ("lock", 14),
    ]
    assert special == Share("[CLS] and [SEP]", "special", 0, 0, pytest.approx(138 / 414))
    assert offset == Share("any text", "offset", 0, 0, pytest.approx(92 / 414))
    assert [share.partners for share in by_hand().shares(partners=0)] == [(), ()]


def test_words_of_both_texts_have_their_contributions() -> None:
    why = replace(
        with_offsets(), weight=0.5, terms=(Term("key", 0.25, 0, 3, (Occurrence("text", 6, 9),)),)
    )
    query = [(item.word.text, round(item.contribution * 828)) for item in why.query_words()]
    assert query == [("[CLS]", 15), ("Keys", 184), ("[SEP]", 123)]
    passage = {item.word.text: item.contribution for item in why.passage_words()}
    assert passage["lock"] == pytest.approx(44 / 828)
    assert passage["Key"] == pytest.approx(52 / 828 + 0.25)
    lexical = replace(why, weight=0.0)
    assert [item.contribution for item in lexical.query_words()] == [0.0, 0.0, 0.0]


def test_equal_words_of_the_passage_are_one_partner_and_unlike_ones_none() -> None:
    why = by_hand()
    cls, door, lock, comma, key, sep = why.passage_tokens
    twice = replace(
        why,
        passage="key, Key",
        passage_tokens=(
            *(cls, door, replace(lock, text="key", end=3)),
            *(replace(comma, start=3, end=4), replace(key, start=5, end=8), sep),
        ),
        numbers=computed(
            why.numbers.pairs(0), np.where(np.arange(6) == 1, -why.similarity, why.similarity)
        ),
    )
    (partner,) = twice.shares()[0].partners
    assert partner == Partner("key", pytest.approx(16 / 24))


def test_the_returned_the_stored_and_the_summed_score_agree(index: search.Index) -> None:
    for hit in index.query(QUERY):
        why = index.explain(QUERY, hit)
        assert why.score == hit.score
        assert why.recomputed == pytest.approx(hit.score, abs=1e-6)
        assert why.recomputed != 0
        assert abs(why.residual) < 1e-6


@pytest.mark.parametrize(
    "options",
    [
        {"pooling": "mean_sqrt_len"},
        {"pooling": "max"},
        {"pooling": "cls"},
        {"pooling": "pooler"},
        {"dim": 5},
        {"layer": "mean:2"},
    ],
)
def test_addends_sum_to_the_score_for_every_pooling_dimension_and_layer(
    notes: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    """Also with prompts, which are tokens of the query and the passage like others."""
    folder = save_tiny_bert(tmp_path / "model")
    prompts = {"prompts": {"query": "find: ", "document": "text: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts), encoding="utf-8")
    index = search.Index.build(notes, model=str(folder), **options)
    hits = index.query(QUERY)
    assert len(hits) == 5
    for hit, why in zip(hits, index.explain(QUERY, hits), strict=True):
        assert why.addends == pytest.approx(hit.score, abs=1e-6)
        assert why.recomputed == pytest.approx(hit.score, abs=1e-6)
        assert [share.text for share in why.shares() if share.kind not in ("word", "term")] == [
            "[CLS] and [SEP]",
            "the model's prompt",
        ]
        assert sum(share.contribution for share in why.shares()) == pytest.approx(hit.score, abs=1e-6)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_every_mode_adds_up(index: search.Index, mode: str) -> None:
    query = "find the key in the water, turn the lock"
    hits = index.query(query, k=100, mode=mode)
    assert hits
    for hit, why in zip(hits, index.explain(query, hits), strict=True):
        assert why.score == hit.score
        assert abs(why.residual) < 1e-6
        assert why.recomputed == pytest.approx(hit.score, abs=1e-6)
        assert sum(share.contribution for share in why.shares()) == pytest.approx(hit.score, abs=1e-6)
        assert bool(why.terms) == (mode != "dense" and hit.lexical != 0)
        if mode in ("hybrid", "lexical"):
            assert sum(term.contribution for term in why.terms) == pytest.approx(
                (1 - hit.weight) * hit.lexical, abs=1e-9
            )


def test_a_term_is_shared_out_among_its_places(index: search.Index) -> None:
    hit = next(h for h in index.query("keys find a lock") if h.heading == "Keys > Find")
    why = index.explain("keys find a lock", hit)
    places = {
        term.term: [
            (hit.text if place.part == "text" else hit.context)[place.start : place.end]
            for place in term.places
        ]
        for term in why.terms
    }
    assert places["keys"] == [
        "key",
        "Keys",
    ]  # one in the text, one in the title that was encoded with it
    assert places["find"] == ["Find"]
    words = why.words()
    contributions = why.passage_contributions
    whole = contributions.sum() + why.weight * why.passage_offset
    assert whole == pytest.approx(hit.score, abs=1e-6)
    only_meaning = why.weight * words.passage_sums
    (term,) = (term for term in why.terms if term.term == "keys")
    (key,) = (j for j, word in enumerate(words.passage) if word.text == "key")
    assert contributions[key] - only_meaning[key] == pytest.approx(term.contribution / 2)
    weights = {hit.text[mark.start : mark.end]: mark.weight for mark in why.highlights()}
    assert weights["key"] == pytest.approx(contributions[key])


def test_a_foreign_score_shows_as_drift_and_residual(index: search.Index) -> None:
    hit = index.query(QUERY)[0]
    why = index.explain(QUERY, replace(hit, score=hit.score + 0.5))
    assert why.drift == pytest.approx(0.5, abs=1e-6)
    assert why.residual == pytest.approx(0.5, abs=1e-6)


def test_a_hit_whose_passage_left_the_index_is_refused(index: search.Index, notes: Path) -> None:
    hit = next(hit for hit in index.query(QUERY) if hit.document == "deep/time.txt")
    (notes / "deep" / "time.txt").write_text("Something else by now.\n", encoding="utf-8")
    index.update()
    for passage in (hit, hit.passage_id):
        with pytest.raises(InputError, match=f"no passage {hit.passage_id}"):
            index.explain(QUERY, passage)
    best = index.query(QUERY)[0]
    with pytest.raises(InputError, match="of this index differs from the hit"):
        index.explain(QUERY, replace(best, text="another"))


def test_a_passage_id_is_explained_as_its_hit(index: search.Index) -> None:
    hit = index.query(QUERY)[1]
    by_id = index.explain(QUERY, hit.passage_id)
    assert by_id.score == pytest.approx(hit.score, abs=1e-6)
    assert by_id.passage == hit.text
    with pytest.raises(InputError, match="the query is empty"):
        index.explain(" ", hit)


def test_all_hits_are_traced_together_and_passages_only_if_needed(
    index: search.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    hits = index.query(QUERY, k=4)
    singly = [index.explain(QUERY, hit) for hit in hits]
    calls: list[int] = []
    trace = NumpyTracer.trace

    def count_calls(self: NumpyTracer, texts: Sequence[Any], **options: Any) -> Any:
        calls.append(len(texts))
        return trace(self, texts, **options)

    monkeypatch.setattr(NumpyTracer, "trace", count_calls)
    together = index.explain(QUERY, [*hits, hits[0].passage_id])
    assert calls == []
    for why in together:
        why.shares(partners=0)
    index.contrast(QUERY, hits[0], hits[1])
    assert calls == [1, 1]  # the query, twice
    assert [why.passage for why in together] == [*(hit.text for hit in hits), hits[0].text]
    for why, single in zip(together, singly, strict=False):
        np.testing.assert_allclose(why.contributions, single.contributions, atol=1e-6)
        np.testing.assert_allclose(why.layers("passage"), single.layers("passage"), atol=1e-6)
    assert calls[:3] == [1, 1, 5]
    assert index.explain(QUERY, []) == []
