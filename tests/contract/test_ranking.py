"""Hits against brute force: every mode, weight, filter and part of a ranking."""

from __future__ import annotations

import random
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search.index import searcher_of
from tests.contract.oracle import (
    COPIED,
    NEW,
    QUERIES,
    SCORE,
    SINCE,
    TWICE,
    Oracle,
    Row,
    assert_ranked,
    in_order,
)

ALL: dict[str, Any] = {"per_document": 0, "all_copies": True}


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
@pytest.mark.parametrize("query", QUERIES)
def test_every_mode_ranks_all_passages_as_brute_force_does(
    index: search.Index, oracle: Oracle, query: str, mode: str
) -> None:
    expected = oracle.ranking(query, mode)
    assert_ranked(index.query(query, k=10_000, mode=mode, **ALL), expected)
    for k in (1, 3, 10, 50):
        assert_ranked(index.query(query, k=k, mode=mode, **ALL), expected[:k])


@pytest.mark.parametrize("weight", [0.02, 0.3, 0.5, 0.98])
def test_every_weight_ranks_as_brute_force_does(
    index: search.Index, oracle: Oracle, weight: float
) -> None:
    for query in QUERIES:
        for k in (5, 10_000):
            hits = index.query(query, k=k, weight=weight, **ALL)
            assert_ranked(hits, oracle.ranking(query, weight=weight)[:k])


def test_the_parts_of_a_score_are_cosine_and_bm25(index: search.Index, oracle: Oracle) -> None:
    for query in QUERIES:
        cosines = oracle.cosines(oracle.embedding(query))
        words = oracle.keywords(query)
        for hit in index.query(query, k=10_000, **ALL):
            position = oracle.position[hit.passage_id]
            assert hit.cosine == pytest.approx(cosines[position], abs=SCORE)
            assert hit.lexical == pytest.approx(words[position], abs=SCORE)
            assert hit.score == pytest.approx(0.75 * hit.cosine + 0.25 * hit.lexical, abs=1e-12)
            assert sum(hit.addends.values()) == pytest.approx(hit.score, abs=1e-12)
            assert hit.mode == "hybrid"
    assert {hit.lexical for hit in index.query(QUERIES[0], mode="dense")} == {None}
    assert {hit.cosine for hit in index.query(QUERIES[0], mode="lexical")} == {None}


def test_words_in_more_than_half_of_the_passages_count_only_alone_and_unknown_ones_never(
    index: search.Index, oracle: Oracle
) -> None:
    assert oracle.count("the") > len(oracle.rows) / 2
    common = index.query("the", k=10_000, mode="lexical", **ALL)
    assert len(common) == oracle.count("the")
    beside = {
        hit.passage_id: hit.score
        for hit in index.query("the zebra lock", k=10_000, mode="lexical", **ALL)
    }
    lock = {hit.passage_id: hit.score for hit in index.query("lock", k=10_000, mode="lexical", **ALL)}
    assert beside == pytest.approx(lock, abs=SCORE)
    assert index.query("zebra", mode="lexical") == []
    hits = index.query("zebra", k=10_000, **ALL)
    assert {hit.lexical for hit in hits} == {0.0}
    assert_ranked(hits, oracle.ranking("zebra"))


FILTERS: dict[str, Callable[[Row], bool]] = {
    "lang=en": lambda row: row.metadata.get("lang") == "en",
    "lang!=EN": lambda row: row.metadata.get("lang") != "en",
    "has lang and lang!=en": lambda row: row.metadata.get("lang") not in ("en", None),
    "year>=2005": lambda row: int(row.metadata.get("year", 0)) >= 2005,
    "year<1998 or tags=ops": lambda row: (
        int(row.metadata.get("year", 9999)) < 1998 or "ops" in row.metadata.get("tags", ())
    ),
    'tags in ("C++", "two words") and not kind=jsonl': lambda row: (
        bool({"C++", "two words"} & set(row.metadata.get("tags", ()))) and row.kind != "jsonl"
    ),
    "path:md/**": lambda row: row.document.startswith("md/"),
    "name:m0?.md": lambda row: fnmatch(Path(row.path).name, "m0?.md"),
    "kind=text": lambda row: row.kind == "text",
    "kind in (csv, rst)": lambda row: row.kind in ("csv", "rst"),
    "title:the": lambda row: "the" in row.title.lower().split(),
    "heading:other": lambda row: "other" in row.heading.lower().split(),
    "not (kind=markdown or kind=csv) and not has year": lambda row: (
        row.kind not in ("markdown", "csv") and "year" not in row.metadata
    ),
    "lang=nowhere": lambda row: False,
}


@pytest.mark.parametrize("where", FILTERS)
def test_a_filter_chooses_passages_and_changes_no_score(
    index: search.Index, oracle: Oracle, where: str
) -> None:
    passes = FILTERS[where]
    assert any(map(passes, oracle.rows)) == (where != "lang=nowhere")
    assert not all(map(passes, oracle.rows))
    for mode in ("hybrid", "dense", "lexical"):
        expected = oracle.ranking(QUERIES[0], mode, passes=passes)
        for k in (4, 10_000):
            assert_ranked(index.query(QUERIES[0], k=k, mode=mode, where=where, **ALL), expected[:k])


def test_since_chooses_by_the_time_of_the_file(index: search.Index, oracle: Oracle) -> None:
    for passes, where in ((lambda row: True, None), (FILTERS["lang=en"], "lang=en")):
        expected = oracle.ranking(QUERIES[2], passes=lambda row: row.mtime == NEW and passes(row))  # noqa: B023
        assert 0 < len(expected) < len(oracle.rows)
        assert_ranked(index.query(QUERIES[2], k=10_000, where=where, since=SINCE, **ALL), expected)


@pytest.mark.parametrize("where", ["lang=", "lang=en and", "(kind=text", "year>>3", "nofield=3", ""])
def test_a_filter_that_cannot_be_read_is_refused(index: search.Index, where: str) -> None:
    with pytest.raises(search.InputError):
        index.query("the", where=where)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_selections_match_brute_force(index: search.Index, oracle: Oracle, mode: str) -> None:
    rng = random.Random(mode)
    for _ in range(40):
        query = rng.choice(QUERIES)
        ranked = oracle.ranking(query, mode)
        if not ranked:
            continue
        options: dict[str, Any] = {
            "offset": rng.choice([0, 0, 1, 7, 50, 10_000]),
            "per_document": rng.choice([0, 1, 2, 3, 5]),
            "group": rng.random() < 0.4,
            "min_score": rng.choice([None, rng.choice(ranked)[0] + 3 * SCORE]),
            "all_copies": rng.random() < 0.5,
        }
        k = rng.choice([1, 3, 10, 60, 10_000])
        hits, expected = (
            index.query(query, k=k, mode=mode, **options),
            oracle.selected(ranked, k, **options),
        )
        assert_ranked(hits, expected, ordered=False)
        assert [hit.document_id for hit in hits] == [row.document_id for _, row in expected], options
        if hits and not options["group"]:
            assert hits[0].rank == options["offset"] + 1  # ranks go on counting


def test_a_text_in_many_documents_is_shown_once(index: search.Index) -> None:
    for mode in ("hybrid", "dense", "lexical"):
        once = [hit.text for hit in index.query(COPIED, k=10_000, mode=mode)]
        copies = [hit.text for hit in index.query(COPIED, k=10_000, mode=mode, all_copies=True)]
        assert (once.count(COPIED), copies.count(COPIED)) == (1, 7)
        assert once.count(TWICE) in (0, 2)  # what is in two documents is no boilerplate
    assert index.query(COPIED, k=1)[0].copies == 6


def test_a_phrase_is_one_term(index: search.Index, oracle: Oracle) -> None:
    row = oracle.rows[100]
    first = " ".join(row.text.split()[3:5]).strip(".?!").lower()
    for query in (f'"{first}" water', '"the token" sound', '"zebra of" water', 'of "the a"'):
        for mode in ("hybrid", "lexical"):
            expected = oracle.ranking(query, mode, phrases=True)
            question = search.Question.of(query)  # of which no phrase has to be in a hit
            assert_ranked(index.query(question, k=10_000, mode=mode, **ALL), expected)


@pytest.mark.parametrize(
    ("query", "text", "has", "lacks", "passes"),
    [
        ('"the token" sound', '"the token" sound', ["the token"], [], None),
        ('"the token"', '"the token"', ["the token"], [], None),
        ('water "open the" "of the" -key', 'water "open the" "of the"', ["open the", "of the"], ["key"], None),
        ('water -"the token" -vectors', "water", [], ["the token", "vectors"], None),
        ('"nowhere zebra" water', '"nowhere zebra" water', ["nowhere zebra"], [], None),
        ("water lang=en -kind=csv", "water", [], [],
         lambda row: row.kind != "csv" and row.metadata.get("lang") == "en"),
        ("-path:*.md water sound", "water sound", [], [], lambda row: not row.path.endswith(".md")),
        ('tags="C++" water -key', "water", [], ["key"], lambda row: "C++" in row.metadata.get("tags", ())),
        ('water 5" - --key -2 -k x:y lang: C:\\ 10:30', None, [], [], None),
    ],
)  # fmt: skip
def test_quotes_minus_signs_and_filters_in_the_query_narrow_the_hits(
    index: search.Index, oracle: Oracle, query: str, text: str | None, has: list[str], lacks: list[str], passes: Any
) -> None:  # fmt: skip
    rest = query if text is None else text
    inside = [oracle.having(term) for term in has]
    outside = [oracle.having(term) for term in lacks]

    def fits(row: Row) -> bool:
        allowed = all(row.id in ids for ids in inside) and not any(row.id in ids for ids in outside)
        return allowed and (passes is None or passes(row))

    for mode in ("hybrid", "dense", "lexical"):
        hits = index.query(query, k=10_000, mode=mode, **ALL)
        if text is not None:
            assert_ranked(hits, oracle.ranking(rest, mode, phrases=True, passes=fits))
        question = search.Question.of(rest)
        literal = index.query(question, k=10_000, mode=mode, **ALL)
        assert [hit.score for hit in hits] == [
            hit.score for hit in literal if fits(oracle[hit.passage_id])
        ]
    narrowed = index.query(query, k=10_000, where="lang=de or lang=en", **ALL)
    expected = [
        row.id
        for _, row in oracle.ranking(rest, phrases=True, passes=fits)
        if row.metadata.get("lang") in ("de", "en")
    ]
    assert {hit.passage_id for hit in narrowed} == set(expected)


def test_a_typed_query_is_explained_as_it_was_ranked(index: search.Index, oracle: Oracle) -> None:
    query = '"the token" sound -key lang!=en'
    hits = index.query(query, k=3)
    assert hits
    for hit in hits:
        why = index.explain(query, hit)
        assert why.score == hit.score == searcher_of(index).hit(query, hit.passage_id).score
        assert abs(why.residual) < SCORE
    assert index.contrast(query, hits[0], hits[-1]).a.score == hits[0].score
    assert {hit.passage_id for hit in hits} <= {
        candidate.passage_id for candidate in searcher_of(index).candidates(query, 50).pool
    }
    outside = next(row for row in oracle.rows if row.id in oracle.having("key"))
    assert index.why_not(query, outside.id).cause == "filtered"
    several = search.Indexes([index])
    expected = several.query('"the token" sound', 3, where="lang!=en and not text:key")
    assert several.query(query, 3) == expected
    assert [hit.passage_id for hit in expected] == [hit.passage_id for hit in hits]


def test_digits_with_punctuation_are_one_term(tmp_path: Path, tiny_model: Path) -> None:
    for name, text in {
        "a": "due 09-01-28",
        "b": "28 of 01 and 09",
        "c": "09 01 28",
        "d": "09-1-28",
    }.items():
        (tmp_path / f"{name}.txt").write_text(f"{text} water sound people\n", encoding="utf-8")
    index = search.Index.build(tmp_path, model=str(tiny_model))
    assert {Path(hit.path).stem for hit in index.query("09-01-28")} == {"a", "c"}
    beside = index.query("water 09-01-28", mode="lexical")
    assert {Path(hit.path).stem for hit in beside} == {"a", "c"}
    assert {term.term for term in index.explain("water 09-01-28", beside[0]).terms} == {"09-01-28"}
    assert len(index.query("09-01-29")) == 4  # nothing has it, so it is a text like any other
    with pytest.raises(search.InputError, match="only excludes or filters"):
        index.query("-water path:*.txt")


def test_words_that_are_left_out_add_nothing_to_keywords_and_meaning(
    index: search.Index, oracle: Oracle
) -> None:
    """The contributions of an explanation of the whole query are taken off every passage's cosine, exactly."""
    query = "open water of the folder"
    whys = index.explain(query, [row.id for row in oracle.rows], mode="dense")
    for without in (["water"], ["open", "folder"]):
        removed = np.array(
            [
                sum(item.contribution for item in why.query_words() if item.word.text in without)
                for why in whys
            ]
        )
        assert np.abs(removed).max() > 0.01
        for mode in ("hybrid", "lexical", "dense"):
            expected = [
                item
                for item in oracle.ranking(query, mode, without=without, removed=removed)
                if mode != "lexical" or item[0] > 0
            ]
            hits = index.query(query, k=10_000, mode=mode, without=without, **ALL)
            assert_ranked(hits, expected)
            for why in index.explain(query, hits[:3]):
                assert abs(why.residual) < SCORE
                left_out = [item for item in why.query_words() if item.word.text in without]
                assert left_out and all(item.contribution == 0 for item in left_out)
    with pytest.raises(search.InputError):
        index.query(query, without=["zebra"])


def test_a_query_of_several_parts_is_the_sum_of_their_embeddings(
    index: search.Index, oracle: Oracle
) -> None:
    a, b = oracle.rows[5], oracle.rows[60]
    texts = [("water sound", 1.0), ("open the door", 0.5)]
    for question, examples in (
        (texts, ()),
        (search.Question.of(*texts, like=[a.id], unlike=[b.id]), ((a, 1.0), (b, -0.5))),
    ):
        total = sum(weight * oracle.embedding(text).astype(float) for text, weight in texts)
        total += sum(
            weight * oracle.vectors[oracle.position[row.id]].astype(float) for row, weight in examples
        )
        cosines = oracle.cosines(total / np.linalg.norm(total))
        expected = in_order(list(zip(cosines.tolist(), oracle.rows, strict=True)))
        assert_ranked(index.query(question, k=50, mode="dense", **ALL), expected[:50])
        words = oracle.keywords("water sound open the door")
        mixed = in_order(list(zip((0.75 * cosines + 0.25 * words).tolist(), oracle.rows, strict=True)))
        assert_ranked(index.query(question, k=50, **ALL), mixed[:50])


def test_a_late_rerank_adds_the_best_match_of_each_token(index: search.Index, oracle: Oracle) -> None:
    query = "how do I rotate the token of the model"
    (query_tokens,) = oracle.encoder.tokens([query], role="query")
    positions = [i for i, token in enumerate(query_tokens.tokens) if not token.special]
    spans = {
        token.word: (token.start, token.end) for token in query_tokens.tokens if token.word is not None
    }
    for token in query_tokens.tokens:
        if token.word is not None:
            spans[token.word] = (
                min(spans[token.word][0], token.start),
                max(spans[token.word][1], token.end),
            )
    word = {i: query[slice(*spans[query_tokens.tokens[i].word])] for i in positions}
    weights = np.array([max(0.05, oracle.idf(word[i])) for i in positions])
    vectors = unit(query_tokens.vectors[positions])

    def late(row: Row) -> float:
        (tokens,) = oracle.encoder.tokens(
            [row.text], contexts=[row.context], hidden=[row.hidden], role="document"
        )
        inside = [i for i, token in enumerate(tokens.tokens) if not token.special]
        best = (vectors @ unit(tokens.vectors[inside]).T).max(axis=1)
        return float((weights * best).sum() / weights.sum())

    for options, limit in (({}, 3), ({"mode": "dense"}, 3), ({"weight": 0.4}, 3), ({}, 0)):
        before = oracle.selected(oracle.ranking(query, **options), 30, per_document=limit)
        expected = in_order([(0.5 * score + 0.5 * late(row), row) for score, row in before])
        hits = index.query(query, k=30, rerank="late", per_document=limit, **options)
        assert_ranked(hits, expected, ordered=not limit)
        scores = {row.id: score for score, row in expected}
        ranks = {row.id: rank for rank, (_, row) in enumerate(before, 1)}
        for hit in hits:
            assert hit.score == pytest.approx(scores[hit.passage_id], abs=SCORE)
            assert hit.addends["rerank"] == pytest.approx(0.5 * late(oracle[hit.passage_id]), abs=SCORE)
            assert sum(hit.addends.values()) == pytest.approx(hit.score, abs=1e-9)
            assert hit.rank_before == ranks[hit.passage_id]
        assert [
            hit.passage_id
            for hit in index.query(query, k=8, rerank="late", per_document=limit, **options)
        ] == [hit.passage_id for hit in hits[:8]]


def unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_several_indexes_are_ranked_as_one(
    index: search.Index, oracle: Oracle, tmp_path: Path, tiny_model: Path
) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.txt").write_text(
        "Open the door of the folder, turn the key and search the water.\n"
    )
    more = search.Index.build(tmp_path / "more", index=str(tmp_path / "index"), model=str(tiny_model))
    indexes = search.Indexes([index, more])
    query = "open the door"
    for mode in ("dense", "hybrid"):
        expected = [
            hit for part in (index, more) for hit in part.query(query, k=10_000, mode=mode, **ALL)
        ]
        scores = sorted((hit.score for hit in expected), reverse=True)
        hits = indexes.query(query, k=10_000, mode=mode, **ALL)
        assert [hit.score for hit in hits] == pytest.approx(scores, abs=SCORE)
        assert len({(hit.path, hit.start) for hit in hits}) >= len(
            {(hit.path, hit.start) for hit in expected}
        )


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": ""}, {"text": " \n"}, {"k": 0}, {"mode": "best"}, {"weight": 1.5}, {"weight": -0.1},
        {"mode": "dense", "weight": 0.5}, {"offset": -1}, {"per_document": -1}, {"min_score": float("nan")},
        {"text": "the key " * 60}, {"layer": 1}, {"since": "soon"},
    ],
)  # fmt: skip
def test_invalid_options_are_refused(index: search.Index, wrong: dict[str, Any]) -> None:
    with pytest.raises(search.InputError):
        index.query(**{"text": "the key", **wrong})
    with pytest.raises(TypeError):
        index.query("the key", weigth=0.5)  # type: ignore[call-arg]


def test_longer_lists_begin_with_the_shorter_and_weights_end_in_modes(index: search.Index) -> None:
    for mode in ("hybrid", "dense", "lexical"):
        whole = [hit.passage_id for hit in index.query(QUERIES[3], k=10_000, mode=mode)]
        assert len(whole) == len(set(whole))
        for k in (1, 2, 7, 33, len(whole) - 1):
            assert [hit.passage_id for hit in index.query(QUERIES[3], k=k, mode=mode)] == whole[:k]
    for weight, mode in ((1, "dense"), (0, "lexical")):
        ends = index.query(QUERIES[0], k=40, weight=weight)
        expected = index.query(QUERIES[0], k=40, mode=mode)
        assert [(h.passage_id, h.score) for h in ends] == [(h.passage_id, h.score) for h in expected]
