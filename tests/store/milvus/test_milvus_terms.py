"""What a server is given of words: numbers of terms that stay, counts, sparse vectors that say how often."""

from __future__ import annotations

import numpy as np
import pytest

from search.errors import IndexDamaged, SearchError
from search.store.bm25 import Words
from search.store.composing import written
from search.store.milvus.layout import COUNT, LENGTH, NUMBER, PASSAGE, SPARSE, SPARSE_CHECKSUM, TERM
from search.store.milvus.terms import (
    Known,
    Terms,
    frequencies_of,
    holds,
    key_of,
    known_of,
    term_row,
    word_fields,
)
from search.store.postings import Block
from search.store.terms import Stemmer, indexable

STEMMER = Stemmer()


def words_of(*parts: dict[int, str], gone: tuple[int, ...] = ()) -> Words:
    blocks = [
        Block(written(STEMMER, [(id_, indexable("", text)) for id_, text in part.items()]), "b")
        for part in parts
    ]
    return Words(STEMMER, blocks, [~np.isin(block.ids, gone) if gone else None for block in blocks])


def key(word: str) -> str:
    return key_of(word.encode())


def test_terms_keep_their_numbers_and_only_those_with_another_count_are_written() -> None:
    first = {1: "red fox", 2: "red hen hen"}
    terms = Terms(words_of(first), {})
    assert terms.counts == {key("red"): 2, key("fox"): 1, key("hen"): 1}
    assert sorted(terms.numbers.values()) == [1, 2, 3] and terms.dying() == []
    known = terms.known(5)
    rows = list(terms.rows(5))
    assert dict(map(known_of, rows)) == known
    assert {row[TERM]: row[COUNT] for row in rows} == terms.counts

    later = Terms(words_of(first, {7: "red owl"}, gone=(2,)), known)
    assert later.numbers.items() >= terms.numbers.items() and later.numbers[key("owl")] == 4
    assert later.known(6) == {key("owl"): Known(4, 1, 6), key("hen"): Known(terms.numbers[key("hen")], 0, 6)}
    assert [row[NUMBER] for row in later.rows(6)] == [4]
    assert later.dying() == [f"{terms.numbers[key('hen')]}@5"]
    assert not Terms(words_of(first), known).known(7)


def test_a_vector_says_how_often_each_word_is_there() -> None:
    texts = {2: "a a a b", 3: "", 9: "b c snake_case", 70: "gone", 80: "c " * 900}
    words = words_of(
        {id_: texts[id_] for id_ in (2, 3)}, {id_: texts[id_] for id_ in (9, 70, 80)}, gone=(70,)
    )
    terms = Terms(words, {})
    assert words.mean == (4 + 0 + 4 + 900) / 4
    for reference in (words.mean, words.mean / 1.09, 5.0):
        rows = dict(terms.vectors(np.array([2, 3, 9, 70, 80, 99]), reference))
        assert list(rows) == [2, 3, 9, 80]
        for id_, row in rows.items():
            often = frequencies_of(row | {PASSAGE: id_}, reference)
            tokens = STEMMER.stems([texts[id_]])[0]
            assert often == {terms.numbers[key(stem)]: tokens.count(stem) for stem in dict.fromkeys(tokens)}
            assert row[LENGTH] == len(tokens)
    assert [id_ for id_, _ in terms.vectors(np.array([9]), 1.0)] == [9]


def test_a_row_that_is_not_what_was_written_is_damage() -> None:
    row = {PASSAGE: 4} | word_fields(4, 12, np.array([7, 3]), np.array([2, 1]), 10.0)
    assert frequencies_of(row, 10.0) == {3: 1, 7: 2}
    one = row[SPARSE][3]
    for wrong in (
        {SPARSE: row[SPARSE] | {3: one * 1.00001}},
        {SPARSE: row[SPARSE] | {3: row[SPARSE][7]}},
        {SPARSE: row[SPARSE] | {3: float("nan")}},
        {SPARSE: row[SPARSE] | {3: float("inf")}},
        {SPARSE: row[SPARSE] | {3: -1.0}},
        {SPARSE: row[SPARSE] | {3: 2.2}},
        {SPARSE: {3: one}},
        {SPARSE: row[SPARSE] | {4: one}},
        {LENGTH: 13},
        {SPARSE_CHECKSUM: row[SPARSE_CHECKSUM] ^ 1},
    ):
        with pytest.raises(IndexDamaged, match="p4"):
            frequencies_of(row | wrong, 10.0)
    with pytest.raises(IndexDamaged):
        frequencies_of(row | {PASSAGE: 5}, 10.0)
    term = term_row(key("red"), Known(3, 9, 1))
    for wrong in ({COUNT: 8}, {NUMBER: 4}, {TERM: key("rid")}):
        with pytest.raises(IndexDamaged):
            known_of(term | wrong)


def test_what_could_not_be_told_from_its_saturation_is_not_published() -> None:
    with pytest.raises(SearchError, match="p1 cannot be put on a Milvus server"):
        word_fields(1, 9000, np.array([1]), np.array([9000]), 1e6)
    assert len(key_of(b"x" * 40_000)) < 100


def test_a_mean_length_may_move_by_a_tenth() -> None:
    assert holds(109.0, 100.0) and holds(91.0, 100.0) and not holds(112.0, 100.0) and not holds(1.0, 0.0)
