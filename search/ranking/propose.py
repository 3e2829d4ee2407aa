"""Propose the pending passages that a question should look at: which of them would rank high if they were encoded?

A few passages are proposed at a time; they are encoded, and the next ones are chosen with what they teach. The first
ones are the best by keywords. For the next ones, the embeddings of pending passages are predicted from their words by
ridge regression, in its dual form (Hoerl and Kennard 1970, Technometrics 12; Saunders and others 1998, ICML):

    embedding(p) ~ m + K(p, known) (K(known, known) + r I)^-1 (E - m)

E are the embeddings of the known passages, m is their mean, and K the inner products of the words of two passages,
weighted by the root of their frequency and by their rarity, at unit length. The known passages are those that were
encoded for this question, the nearest ones, and a sample of all. So a word of a good passage speaks for other passages
with it, as in relevance feedback (Rocchio 1971), but in proportion to what it means to the model.

Two steps keep the time independent of the size of the index: the words that the prediction favours most find passages
in the postings, and these, with the best by keywords, are predicted in full. A prediction only chooses what is encoded:
no score is ever estimated (benchmarks/at_once.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.store.bm25 import discriminative, weight

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.ranking.question import EncodedQuery
    from search.store.snapshot import Ids, Snapshot

    Floats = NDArray[np.float32]

# Chosen with benchmarks/at_once.py.
NEAREST, SAMPLED = 200, 300  # known passages
RIDGE = 0.3  # r
EXPANDED = 200  # words
LONG_LIST = 500  # passages by keywords, and by the favoured words


class Proposer:
    """Proposes pending passages for one question.

    Args:
        query: the query with its embedding.
        share: weight of the cosine in the score, in (0, 1].
    """

    def __init__(self, query: EncodedQuery, share: float) -> None:
        assert query.embedding is not None
        self._text, self._embedding, self._share = query.text, query.embedding, share
        self._words = _Words()
        self._examples: list[int] = []
        self._examples_before: list[int] | None = None

    def next(self, snapshot: Snapshot, n: int, among: Ids | None = None) -> list[int]:
        """Return at most n pending passages, the most promising first; fewer only if there are fewer.

        All that were proposed before must be encoded by now.

        Args:
            among: increasing IDs of the passages to choose from; None for all.
        """
        pending = snapshot.pending if among is None else np.intersect1d(snapshot.pending, among)
        if len(pending) <= n:
            return self._proposed(pending)
        if self._examples_before is None:
            self._examples_before = self._stored_examples(snapshot)
        lexical = self._lexical(snapshot, pending)
        examples = [*self._examples_before, *self._examples]
        if not examples:
            # The first passages are spread over the index if no keyword is postings.
            spread = np.argsort(np.random.default_rng(0).permutation(len(pending)))
            return self._proposed(pending[np.lexsort((spread, -lexical))[:n]])
        self._words.add(snapshot, examples)
        prediction = _Prediction(self._words, examples, snapshot.embeddings(examples), self._embedding)
        favoured = snapshot.keyword_sums(prediction.favoured(EXPANDED), pending)
        rows = np.union1d(_highest(lexical, LONG_LIST), _highest(favoured, LONG_LIST))
        self._words.add(snapshot, pending[rows].tolist())
        cosines = prediction.cosines(pending[rows].tolist())
        scores = self._share * cosines + (1 - self._share) * lexical[rows]
        return self._proposed(pending[rows[_highest(scores, n)]])

    def _proposed(self, passages: Ids) -> list[int]:
        proposed: list[int] = passages.tolist()
        self._examples += proposed
        return proposed

    def _stored_examples(self, snapshot: Snapshot) -> list[int]:
        """Return encoded passages: the nearest ones, and a sample."""
        ids = snapshot.without_pending(snapshot.ids())
        nearest = [id_ for id_, _ in snapshot.nearest(self._embedding, NEAREST)]
        sampled = ids[:: -(-len(ids) // SAMPLED) or 1].tolist()
        return list(dict.fromkeys([*nearest, *sampled]))

    def _lexical(self, snapshot: Snapshot, passages: Ids) -> NDArray[np.float64]:
        typed = snapshot.terms(self._text)
        terms = discriminative(typed, snapshot.counts(typed), snapshot.facts.passages)
        return snapshot.keyword_scores(terms).of(passages) if terms else np.zeros(len(passages))


def _highest(values: NDArray[np.floating], n: int) -> NDArray[np.intp]:
    """Return the positions of the n highest values, the highest first; equal ones in their order."""
    if len(values) > n:
        least = np.partition(values, -n)[-n]
        positions = np.flatnonzero(values >= least)
    else:
        positions = np.arange(len(values))
    return positions[np.argsort(-values[positions], kind="stable")][:n]


class _Words:
    """The words of passages, as stems with frequencies, read once for each passage."""

    def __init__(self) -> None:
        self.stems: list[bytes] = []
        self._number: dict[bytes, int] = {}
        self._row: dict[int, int] = {}
        self._passages: Ids = np.empty(0, dtype=np.int64)
        # One entry for each passage and each of its stems.
        self._rows = np.empty(0, dtype=np.int64)
        self._columns = np.empty(0, dtype=np.int64)
        self._values = np.empty(0, dtype=np.float32)
        # Of each stem: inverse document frequency, and whether it was looked up.
        self._rarity = np.empty(0, dtype=np.float32)
        self._is_counted = np.empty(0, dtype=bool)

    def add(self, snapshot: Snapshot, passages: Sequence[int]) -> None:
        """Read the words of passages that were not read before."""
        new = np.array(sorted(set(passages) - self._row.keys()), dtype=np.int64)
        if not len(new):
            return
        postings = snapshot.stems_of(new)
        for stem in postings.stems:
            if stem not in self._number:
                self._number[stem] = len(self.stems)
                self.stems.append(stem)
        numbers = np.array([self._number[stem] for stem in postings.stems], dtype=np.int64)
        before = len(self._row)
        self._row |= {id_: before + row for row, id_ in enumerate(new.tolist())}
        self._rows = np.concatenate([self._rows, before + postings.rows.astype(np.int64)])
        self._columns = np.concatenate(
            [self._columns, np.repeat(numbers, postings.counts.astype(np.int64))]
        )
        self._values = np.concatenate([self._values, np.sqrt(postings.frequencies, dtype=np.float32)])
        self._count(snapshot)

    def _count(self, snapshot: Snapshot) -> None:
        """Look up the rarity of stems; one that was seen only once counts as the rarest, which saves most of them."""
        passages = snapshot.facts.passages
        n_new = len(self.stems) - len(self._rarity)
        rarest = np.full(n_new, weight(1, passages), dtype=np.float32)
        self._rarity = np.concatenate([self._rarity, rarest])
        self._is_counted = np.concatenate([self._is_counted, np.zeros(n_new, dtype=bool)])
        is_shared = np.bincount(self._columns, minlength=len(self.stems)) > 1
        columns = np.flatnonzero(is_shared & ~self._is_counted)
        counts = snapshot.counts_of_stems([self.stems[column] for column in columns.tolist()])
        self._rarity[columns] = [weight(count, passages) for count in counts]
        self._is_counted[columns] = True

    def entries(
        self, passages: Sequence[int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Return the words of passages: position in `passages`, number of the stem, and weight, at unit length."""
        position = np.full(len(self._row), -1, dtype=np.int64)
        position[[self._row[id_] for id_ in passages]] = np.arange(len(passages))
        rows = position[self._rows]
        chosen = rows >= 0
        rows, columns = rows[chosen], self._columns[chosen]
        values = self._values[chosen] * self._rarity[columns]
        lengths = np.sqrt(np.bincount(rows, weights=values**2, minlength=len(passages)))
        return rows, columns, (values / np.maximum(lengths, 1e-9)[rows]).astype(np.float32)

    def rarity(self, columns: NDArray[np.int64]) -> Floats:
        """Return the inverse document frequencies of stems."""
        return self._rarity[columns]


class _Prediction:
    """Predicts embeddings from words; see the docstring of the module.

    Args:
        examples: passages, all of which are in `words`.
        embeddings: (n, d) their embeddings.
        query: (d,) embedding of the query.
    """

    def __init__(self, words: _Words, examples: Sequence[int], embeddings: Floats, query: Floats) -> None:
        self._words, self._query = words, query
        rows, columns, values = words.entries(examples)
        # A stem of one known passage relates it to no other.
        self._columns = np.flatnonzero(np.bincount(columns) > 1)
        matrix = self._dense(len(examples), rows, columns, values)
        kernel = matrix @ matrix.T
        np.fill_diagonal(kernel, 1.0)
        self._mean = embeddings.mean(axis=0)
        ridge = kernel + RIDGE * np.eye(len(examples), dtype=np.float32)
        factors = np.linalg.solve(ridge, embeddings - self._mean)
        self._table = matrix.T @ factors  # (stems, d)

    def _dense(
        self,
        n: int,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        values: NDArray[np.float32],
    ) -> Floats:
        """Return an (n, stems) matrix of the stems that known passages share."""
        position = np.full(len(self._words.stems), -1, dtype=np.int64)
        position[self._columns] = np.arange(len(self._columns))
        targets = position[columns]
        shared = targets >= 0
        matrix = np.zeros((n, len(self._columns)), dtype=np.float32)
        matrix[rows[shared], targets[shared]] = values[shared]
        return matrix

    def favoured(self, n: int) -> dict[bytes, float]:
        """Return the n stems that change the predicted cosine most, each with its weight in a sum like BM25."""
        effect = self._table @ self._query
        best = _highest(np.abs(effect) * self._words.rarity(self._columns), n)
        weights = effect[best] * self._words.rarity(self._columns[best])
        stems = [self._words.stems[column] for column in self._columns[best].tolist()]
        return dict(zip(stems, weights.tolist(), strict=True))

    def cosines(self, passages: Sequence[int]) -> NDArray[np.float64]:
        """Return the (n,) predicted cosines of passages, all of which are in `words`."""
        predicted = self._dense(len(passages), *self._words.entries(passages)) @ self._table + self._mean
        lengths = np.maximum(np.linalg.norm(predicted, axis=1), 1e-9)
        cosines: NDArray[np.float64] = (predicted @ self._query / lengths).astype(np.float64)
        return cosines
