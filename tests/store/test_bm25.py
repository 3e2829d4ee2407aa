"""BM25 over blocks of words: FTS5's own numbers, whatever was deleted, and what a query asks of them."""

import random
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from search.store.bm25 import Matches, Words, scale, weight
from search.store.postings import Block, merged, written
from search.store.terms import TOKENIZER, Stemmer, Term, indexable

STEMMER = Stemmer()
HANDBOOK = Path(__file__).parents[2] / "corpora" / "handbook"
QUERIES = [
    "how is the score of a passage explained",
    '"the index" words',
    '"of the" "of the index"',
    "the the of of",
    "zebra",
    '"no such row of words" zebra',
    '"a a" b a',
    "w1 w2 w3 w40 w1999",
    "",
]


class Case:
    """The same passages in an FTS5 table and in blocks, some deleted of both."""

    def __init__(self, texts: list[str], sizes: list[int], seed: int) -> None:
        rng = random.Random(seed)
        self.texts = {1 + 3 * number: indexable("", text) for number, text in enumerate(texts)}
        self.fts5 = sqlite3.connect(":memory:")
        self.fts5.execute(f"CREATE VIRTUAL TABLE t USING fts5 (text, content = '', tokenize = '{TOKENIZER}')")
        self.fts5.executemany("INSERT INTO t (rowid, text) VALUES (?, ?)", self.texts.items())
        rows = list(self.texts.items())
        blocks, alive = [], []
        for size in sizes:
            part, rows = rows[:size], rows[size:]
            there = np.array([rng.random() < 0.8 for _ in part], dtype=bool)
            gone = [row for row, is_there in zip(part, there, strict=True) if not is_there]
            if len(sizes) % 2 and len(blocks) == 1:
                gone, there = [], None
            self.fts5.executemany("INSERT INTO t (t, rowid, text) VALUES ('delete', ?, ?)", gone)
            for id_, _ in gone:
                del self.texts[id_]
            blocks.append(Block(written(STEMMER, part)))
            alive.append(there)
        assert not rows
        self.words = Words(STEMMER, blocks, alive)
        self.ids = np.array(list(self.texts))

    def at(self, ids: NDArray[np.int64]) -> Iterable[str]:
        return (self.texts[id_] for id_ in ids.tolist())  # of deleted ones there is no text

    def addends(self, terms: list[Term]) -> NDArray[np.float64]:
        """(n, terms) of all living passages, by FTS5."""
        found = np.zeros((len(self.ids), len(terms)))
        for number, term in enumerate(terms):
            rows = self.fts5.execute("SELECT rowid, -bm25(t) FROM t WHERE t MATCH ?", (term.expression,))
            for id_, score in rows:
                found[np.searchsorted(self.ids, id_), number] = score
        return found


def handbook() -> list[str]:
    pages = (path.read_text(encoding="utf-8") for path in sorted(HANDBOOK.rglob("*.md")))
    return [piece for page in pages for piece in page.split("\n\n")]


def drawn() -> list[str]:
    rng = random.Random(9)
    words = ["a", "b", *(f"w{i}" for i in range(2000))]
    shares = [1 / (i + 1) for i in range(len(words))]
    return [" ".join(rng.choices(words, shares, k=rng.choice((0, 1, 5, 80)))) for _ in range(900)]


@pytest.fixture(scope="module", params=["handbook", "drawn"])
def case(request: pytest.FixtureRequest) -> Case:
    texts = handbook() if request.param == "handbook" else drawn()
    sizes = [200, 1, 0, 150, len(texts) - 351] if request.param == "drawn" else [300, len(texts) - 300]
    return Case(texts, sizes, seed=4)


def matching(
    case: Case, terms: list[Term], without: list[Term] | None = None, words: Words | None = None
) -> Matches:
    words = words or case.words
    every = {term: words.found(term, case.at) for term in terms}
    return Matches(words, [*every.values()], [every[term] for term in terms if term not in (without or [])])


def terms_of(query: str) -> list[Term]:
    return STEMMER.terms(query, phrases=True)


@pytest.mark.parametrize("query", QUERIES)
def test_scores_are_those_of_fts5(case: Case, query: str) -> None:
    terms = terms_of(query)
    each = case.addends(terms)
    assert [case.words.found(term, case.at).count for term in terms] == (each > 0).sum(axis=0).tolist()
    matches = matching(case, terms)
    np.testing.assert_allclose(matches.addends(case.ids), each, rtol=1e-12, atol=0)
    np.testing.assert_allclose(matches.parts(case.ids) * matches.scale, each.sum(axis=1), rtol=1e-12, atol=0)
    weights = [weight(count, len(case.ids)) for count in (each > 0).sum(axis=0).tolist()]
    expected = scale(each.sum(axis=1).max(), weights) if terms else 1.0
    assert matches.scale == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("query", QUERIES)
def test_the_best_and_those_with_enough(case: Case, query: str) -> None:
    matches = matching(case, terms_of(query))
    every = matches.parts(case.ids)
    for among in (None, case.ids[::3], case.ids[:0], np.array([0, 2, case.ids[5], 10**9])):
        here = every > 0 if among is None else (every > 0) & np.isin(case.ids, among)
        ranked = np.flatnonzero(here)[np.argsort(-every[here], kind="stable")]
        for n in (1, 10, 10_000):
            ids, parts = matches.best(n, among)
            assert ids.tolist() == case.ids[ranked[:n]].tolist()
            assert parts.tolist() == every[ranked[:n]].tolist()
        for part in (-1.0, 0.0, 0.2, float(every.max()), 2.0):
            ids, parts = matches.at_least(part, among)
            assert ids.tolist() == case.ids[here & (every >= part)].tolist()
            assert parts.tolist() == every[here & (every >= part)].tolist()


@pytest.mark.parametrize("query", QUERIES)
def test_terms_that_are_left_out_take_their_addends_with_them(case: Case, query: str) -> None:
    terms = terms_of(query)
    whole = matching(case, terms)
    for without in (terms[:1], terms[1:], terms):
        matches = matching(case, terms, without)
        kept = [number for number, term in enumerate(terms) if term not in without]
        assert matches.scale == whole.scale
        assert matches.addends(case.ids).tolist() == whole.addends(case.ids)[:, kept].tolist()
        expected = sum(matches.addends(case.ids).T, start=np.zeros(len(case.ids))) / whole.scale
        assert (
            matches.parts(case.ids).tolist() == expected.tolist()
        )  # to the last bit: added in the order of terms
        ids, parts = matches.best(10_000)
        assert sorted(parts.tolist()) == sorted(expected[expected > 0].tolist())
        assert ids.tolist() == case.ids[np.lexsort((case.ids, -expected))][: len(ids)].tolist()


def test_passages_that_are_not_there_have_nothing(case: Case) -> None:
    terms = terms_of("a the index w1")
    matches = matching(case, terms)
    others = np.setdiff1d(np.arange(3000), case.ids)
    assert not matches.parts(others).any() and not matches.addends(others).any()
    nothing = Words(STEMMER, [], [])
    none = matching(case, terms, words=nothing)
    assert none.best(3)[0].tolist() == none.at_least(0)[0].tolist() == []
    assert none.parts(others[:2]).tolist() == [0, 0] and none.addends(others[:2]).shape == (2, len(terms))


def test_blocks_that_were_merged_score_alike(case: Case) -> None:
    alive = [
        np.ones(len(block.ids), dtype=bool) if there is None else there
        for block, there in zip(case.words._blocks, case.words._alive, strict=True)
    ]
    one = Words(STEMMER, [Block(merged(case.words._blocks, alive))], [None])
    assert one.passages == case.words.passages == len(case.ids)
    for query in QUERIES:
        terms = terms_of(query)
        apart, together = (matching(case, terms, words=words) for words in (case.words, one))
        assert apart.scale == together.scale
        assert apart.parts(case.ids).tolist() == together.parts(case.ids).tolist()
