"""The smallest change that moves a passage out of the first hits of a query, or among them.

Three kinds of changes are tried, each scored by the model and ranked over the whole index, so no rank is estimated:

- A hit: the query without some of its words, which is then asked as any other query. (Xu, Lamba, Ai, Tetreault and
  Jaimes 2023, "CFE2: Counterfactual Editing for Search Result Explanation", arXiv:2301.10389, edit the query, too.)
- A hit: its passage without some of its sentences, while everything else in the index stays. (Rorseth, Godfrey, Golab,
  Kargar, Srivastava and Szlichta 2023, "CREDENCE: Counterfactual Explanations for Document Ranking", arXiv:2302.04983.)
- Any other passage: the query with a word of the passage added to its end (CREDENCE).

Words and sentences are tried one by one, then in pairs, then in triples; of sets of one size, those that contribute
most to the score come first. Words to add come in the order of their BM25 weight times their saturated frequency.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from search.encoding.encoder import with_context
from search.errors import InputError
from search.explaining.deletion_test import without_spans
from search.explaining.left_out import has_word, without_words
from search.ranking.fusion import Fusion, Scored
from search.ranking.list_rank import ListRanks
from search.ranking.question import EncodedQuery, query_fits
from search.ranking.sentences import LONGEST_SENTENCE, sentence_spans
from search.records.counterfactuals import ChangedPart, ChangeKind, Counterfactual, RankChange
from search.records.explanations import STOP_WORDS
from search.store.bm25 import weight
from search.store.terms import unquoted, word_spans
from search.store.vectors import exact_cosines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.encoding import Encoder
    from search.ranking.selection import Selection
    from search.records.contents import StoredPassage
    from search.records.explanations import Explanation
    from search.records.option_tools import Ranking
    from search.store.conditions import Where
    from search.store.snapshot import Snapshot, Store

MOST_PARTS = 3
"""Words or sentences that are left out together, at most."""
_FOR_WORDS = 0.6  # share of the encodings that is for the words of a query
_OF_AN_EXPLANATION = 3  # texts: the query, for its tokens and for its contributions, and the passage
_BATCH = 8  # changes that are encoded together
_STRONGEST = 20  # words or sentences that are combined

_RUN = re.compile(r'"[^"]+"|\S+')

Span = tuple[int, int]
Change = TypeVar("Change")


@dataclass(frozen=True)
class QueryVariant:
    """A query as it is ranked.

    Attributes:
        question: the text without conditions; quotes of phrases stay.
        ranking: definition of its scores.
        where: its filter.
    """

    question: str
    ranking: Ranking
    where: Where | None


@dataclass(frozen=True)
class _Unit:
    """A word of the query, or a sentence of the passage, that can be left out.

    Attributes:
        start, end: its span in the query as typed, or in the passage's text.
        contribution: what it adds to the score.
    """

    start: int
    end: int
    contribution: float


class CounterfactualFinder:
    """Finds the smallest changes of one query and one of its passages.

    Args:
        ask: returns how a text is ranked as a query.
        query: the query as typed.
        selection: selection of the hits; its k is the number of hits.
        targets: IDs of the passages of which the first listed one counts: one passage, or those of a document.
        most: maximum number of texts to encode.

    Raises:
        InputError: the index is not complete, or is on a server.
    """

    def __init__(
        self,
        store: Store,
        encoder: Encoder,
        ask: Callable[[str], QueryVariant],
        query: str,
        selection: Selection,
        targets: Collection[int],
        most: int,
    ) -> None:
        self._store, self._encoder, self._ask = store, encoder, ask
        self._query, self._selection, self._targets = query, selection, frozenset(targets)
        self._k, self._most = selection.k, most
        self._encodings = self._tries = 0
        self._cost = 1  # encodings of a query
        with store.reading() as snapshot:
            if snapshot.approximate:
                raise InputError(
                    "an index on a server cannot compute exact ranks. Use an index on this machine."
                )
            snapshot.require_complete("a counterfactual")

    def find(self, explain: Callable[[int], Explanation]) -> Counterfactual:
        """Return the changes of the query and of the best one of the passages.

        Args:
            explain: returns the explanation of a passage's score.
        """
        variant = self._ask(self._query)
        self._cost = _cost(variant.ranking)
        (encoded,) = self._encoded([variant])
        with self._store.reading() as snapshot:
            ranks = ListRanks(snapshot, encoded, variant.ranking, self._selection)
            best = ranks.fusion.among(np.array(sorted(self._targets), dtype=np.int64))
            stored = snapshot.passage(best[0].passage if best else min(self._targets))
            is_small = snapshot.facts.passages <= self._k
        rank = self._rank(variant, encoded)
        changes: list[RankChange | None] = []
        if rank is None or rank > self._k:
            changes.append(self._with_word(stored, variant, rank))
        elif not (is_small and variant.ranking.by_meaning):  # then no change can move it out
            why = explain(stored.passage_id)
            self._encodings += _OF_AN_EXPLANATION
            changes.append(self._without_words(variant, why, rank))
            if not stored.own_vector:
                changes.append(self._without_sentences(stored, variant, encoded, why, rank))
        return Counterfactual(
            query=self._query,
            passage_id=stored.passage_id,
            k=self._k,
            rank=rank,
            changes=tuple(change for change in changes if change),
            tries=self._tries,
            encodings=self._encodings,
        )

    # Queries

    def _without_words(self, variant: QueryVariant, why: Explanation, rank: int) -> RankChange | None:
        units = query_units(self._query, variant.question, why)

        def change(chosen: tuple[int, ...]) -> tuple[str, tuple[ChangedPart, ...]]:
            spans = [(units[i].start, units[i].end) for i in sorted(chosen)]
            parts = tuple(ChangedPart(self._query[start:end], start, end) for start, end in spans)
            return " ".join(without_spans(self._query, spans).split()), parts

        subsets = strongest_first([unit.contribution for unit in units], len(units))
        return self._of_queries("query words", map(change, subsets), rank, int(_FOR_WORDS * self._most))

    def _with_word(
        self, stored: StoredPassage, variant: QueryVariant, rank: int | None
    ) -> RankChange | None:
        with self._store.reading() as snapshot:
            passing = snapshot.passing(variant.where)
            if passing is not None and not np.isin(list(self._targets), passing).any():
                return None
            words = words_to_add(snapshot, stored, self._query)
        changes = ((f"{self._query.rstrip()} {word.text}", (word,)) for word in words)
        return self._of_queries("added word", changes, rank, self._most)

    def _of_queries(
        self,
        kind: ChangeKind,
        changes: Iterator[tuple[str, tuple[ChangedPart, ...]]],
        rank: int | None,
        most: int,
    ) -> RankChange | None:
        """Return the first change of the query that moves the passage out of the first k hits, or among them."""
        begun = self._encodings
        for batch in self._batches(changes, most):
            askable = [
                (text, parts, variant)
                for text, parts in batch
                if (variant := self._askable(text)) is not None
            ]
            try:
                encoded = self._encoded([variant for _, _, variant in askable])
            except InputError:  # the query has no room for a word
                return None
            self._tries += len(askable)
            for (text, parts, variant), query in zip(askable, encoded, strict=True):
                if self._moves(variant, query, kind) and self._encodings + self._cost <= self._most:
                    (alone,) = self._encoded([variant])  # exactly as a user's query is encoded
                    new_rank = self._rank(variant, alone)
                    if (new_rank is not None and new_rank <= self._k) == (kind == "added word"):
                        used = self._encodings - begun
                        return RankChange(kind, parts, text, self._k, rank, new_rank, used)
        return None

    def _askable(self, text: str) -> QueryVariant | None:
        """Return how a text is ranked; None if it cannot be asked, because it is empty or lacks an ignored word."""
        try:
            variant = self._ask(text)
            if variant.ranking.without:
                with self._store.reading() as snapshot:
                    Fusion(snapshot, EncodedQuery(variant.question, None), variant.ranking)
                    if not all(
                        has_word(snapshot, word, variant.question) for word in variant.ranking.left_out
                    ):
                        return None
        except InputError:
            return None
        return variant

    def _encoded(self, queries: Sequence[QueryVariant]) -> list[EncodedQuery]:
        """Encode queries together; those that are ranked by keywords alone are not encoded."""
        by_meaning = [variant for variant in queries if variant.ranking.by_meaning]
        texts = [unquoted(variant.question) for variant in by_meaning]
        with query_fits():
            vectors = iter(self._encoder.encode(texts, role="query") if texts else ())
        queries_of = [
            EncodedQuery(variant.question, next(vectors) if variant.ranking.by_meaning else None)
            for variant in queries
        ]
        self._encodings += sum(_cost(variant.ranking) for variant in by_meaning)
        return [
            without_words(query, variant.ranking.left_out, self._encoder, self._store)
            if variant.ranking.left_out
            else query
            for query, variant in zip(queries_of, queries, strict=True)
        ]

    def _moves(self, variant: QueryVariant, encoded: EncodedQuery, kind: ChangeKind) -> bool:
        is_hit = self._rank(variant, encoded, self._k) is not None
        return is_hit == (kind == "added word")

    def _rank(self, variant: QueryVariant, encoded: EncodedQuery, most: int | None = None) -> int | None:
        """Return the rank of the passage for a query; None if it is no hit, or none of the first `most`."""
        with self._store.reading() as snapshot:
            among = snapshot.passing(variant.where)
            ranks = ListRanks(snapshot, encoded, variant.ranking, self._selection, among)
            return ranks.rank(self._targets, most)

    # Sentences

    def _without_sentences(
        self,
        stored: StoredPassage,
        variant: QueryVariant,
        encoded: EncodedQuery,
        why: Explanation,
        rank: int,
    ) -> RankChange | None:
        """Return the first set of sentences without which the passage is none of the first k hits."""
        units = sentence_units(stored, why)
        begun = self._encodings
        # A passage without any text is no passage, so a sentence stays.
        subsets = strongest_first([unit.contribution for unit in units], len(units) - 1)
        for batch in self._batches(subsets, self._most):
            spans = [[(units[i].start, units[i].end) for i in sorted(chosen)] for chosen in batch]
            texts = [without_spans(stored.text, of_change, stored.hidden) for of_change in spans]
            cosines = self._cosines(stored, variant, encoded, texts)
            self._tries += len(texts)
            with self._store.reading() as snapshot:
                among = snapshot.passing(variant.where)
                ranks = ListRanks(snapshot, encoded, variant.ranking, self._selection, among)
                lexical = lexical_scores(snapshot, ranks, variant.ranking, stored, texts)
                for of_change, cosine, keywords in zip(spans, cosines, lexical, strict=True):
                    moved = _scored(stored.passage_id, variant.ranking, cosine, keywords)
                    if ranks.rank(self._targets, self._k, moved) is None:
                        new_rank = ranks.rank(self._targets, moved=moved)
                        parts = tuple(
                            ChangedPart(_visible_sentence(stored, span), *span) for span in of_change
                        )
                        used = self._encodings - begun
                        return RankChange("sentences", parts, self._query, self._k, rank, new_rank, used)
        return None

    def _cosines(
        self, stored: StoredPassage, variant: QueryVariant, encoded: EncodedQuery, texts: Sequence[str]
    ) -> NDArray[np.floating]:
        """Return the (n,) cosines of the query with a passage of other texts."""
        if encoded.embedding is None:
            return np.zeros(len(texts))
        whole = [with_context(stored.context, text) for text in texts]
        vectors = self._encoder.encode(whole, role="document", truncate=True)
        self._encodings += len(texts)
        return exact_cosines(vectors, encoded.embedding)  # as those of stored embeddings

    def _batches(self, changes: Iterator[Change], most: int) -> Iterator[list[Change]]:
        """Yield changes as long as they may be encoded.

        Args:
            most: maximum number of changes of this kind.
        """
        left = most
        while True:
            # The last encoding is for the check of a query.
            size = min(_BATCH, left, (self._most - self._encodings) // self._cost - 1)
            batch = list(islice(changes, max(0, size)))
            if not batch:
                return
            left -= len(batch)
            yield batch


def _cost(ranking: Ranking) -> int:
    """Return how often the model reads a query: again, if words are left out, to tell what they add."""
    return 2 if ranking.left_out else 1


def query_units(query: str, question: str, why: Explanation) -> list[_Unit]:
    """Return the words of a query that can be left out: also phrases in quotes, but no conditions.

    Args:
        query: the query as typed.
        question: the query without conditions, as it is explained.
    """
    shares = [share for share in why.shares(partners=0) if share.end]
    units, after = [], 0
    for start, end in _word_runs(query):
        at = question.find(query[start:end], after)
        if at < 0:  # a condition
            continue
        after = at + end - start
        inside = (share.contribution for share in shares if share.start < after and at < share.end)
        units.append(_Unit(start, end, sum(inside)))
    return units


def _word_runs(text: str) -> Iterator[Span]:
    """Yield the spans of the words of a text, without punctuation around them; words without spaces are divided."""
    for match in _RUN.finditer(text):
        run = match[0]
        if run.startswith('"') and run.endswith('"') and len(run) > 2:
            yield match.span()
            continue
        words: list[Span] = []
        for start, end in word_spans(run):
            if not words or start >= words[-1][1]:  # no part of a name in CamelCase
                words.append((start, end))
        if words and not any(a[1] == b[0] for a, b in pairwise(words)):
            words = [(words[0][0], words[-1][1])]  # such as e-mail
        yield from ((match.start() + start, match.start() + end) for start, end in words)


def sentence_units(stored: StoredPassage, why: Explanation) -> list[_Unit]:
    """Return the sentences of a passage that have words."""
    marks = why.highlights()
    units = []
    for start, end in sentence_spans(stored.text, LONGEST_SENTENCE):
        if any(word_spans(_visible_sentence(stored, (start, end)))):
            inside = (mark.weight for mark in marks if start <= mark.start < end)
            units.append(_Unit(start, end, sum(inside)))
    return units


def words_to_add(snapshot: Snapshot, stored: StoredPassage, query: str) -> list[ChangedPart]:
    """Return the words of a passage that the query lacks, most telling ones first.

    Words of fewer than three letters, numbers and stop words are left out.
    """
    in_query = {stem for word in snapshot.tokenize(query) for stem in word.stems}
    counts: Counter[tuple[str, ...]] = Counter()
    firsts: dict[tuple[str, ...], ChangedPart] = {}
    hidden = stored.hidden
    for word in snapshot.tokenize(stored.text):
        is_word = word.text.isalpha() and len(word.text) > 2 and word.text.casefold() not in STOP_WORDS
        is_visible = not any(start < word.end and word.start < end for start, end in hidden)
        if is_word and is_visible and len(word.stems) == 1 and word.stems[0] not in in_query:
            counts[word.stems] += 1
            firsts.setdefault(word.stems, ChangedPart(word.text, word.start, word.end))
    stems = list(counts)
    passages = snapshot.facts.passages
    with_stem = snapshot.counts_of_stems([stem.encode() for (stem,) in stems])
    value = {
        stem: counts[stem] / (counts[stem] + 1) * weight(count, passages)
        for stem, count in zip(stems, with_stem, strict=True)
    }
    return [firsts[stem] for stem in sorted(stems, key=lambda stem: -value[stem])]


def strongest_first(contributions: Sequence[float], most: int) -> Iterator[tuple[int, ...]]:
    """Yield sets of positions: of one, then of two, then of three; of one size, the largest sums first.

    Args:
        most: maximum size of a set.

    Example:
        >>> list(strongest_first([0.1, 0.3, 0.2], 2))
        [(1,), (2,), (0,), (1, 2), (1, 0), (2, 0)]
    """
    order = sorted(range(len(contributions)), key=lambda i: -contributions[i])
    for size in range(1, min(MOST_PARTS, most) + 1):
        chosen = order if size == 1 else order[:_STRONGEST]
        sets = combinations(chosen, size)
        yield from sorted(sets, key=lambda positions: -math.fsum(contributions[i] for i in positions))


def lexical_scores(
    snapshot: Snapshot,
    ranks: ListRanks,
    ranking: Ranking,
    stored: StoredPassage,
    texts: Sequence[str],
) -> NDArray[np.float64]:
    """Return the (n,) keyword scores that a passage would have with other texts."""
    if ranking.weight == 1:
        return np.zeros(len(texts))
    sums = snapshot.keyword_sums_of_texts(ranks.fusion.terms, stored, texts)
    return sums / ranks.fusion.keyword_scores.scale


def _scored(passage: int, ranking: Ranking, cosine: float, lexical: float) -> Scored:
    score = ranking.weight * float(cosine) + (1 - ranking.weight) * float(lexical)
    return Scored(passage, score, float(cosine), float(lexical))


def _visible_sentence(stored: StoredPassage, span: Span) -> str:
    """Return a sentence of a passage without its markup."""
    start, end = span
    outside = [(0, start), (end, len(stored.text))]
    return without_spans(stored.text, outside, stored.hidden).strip()
