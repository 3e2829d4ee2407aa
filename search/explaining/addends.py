"""What a score is made of besides the token pairs: words, ranks, rerankers; and the score made anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from search.encoding import Encoder
from search.ranking.fusion import Fusion
from search.ranking.options import Ranking
from search.ranking.question import EncodedQuery
from search.ranking.rerank import LATE_SHARE, LateInteraction, Matched
from search.records.explanations import Occurrence, Term
from search.records.tokens import TokenVectors
from search.store.snapshot import StoredPassage
from search.store.token_vectors import kept

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.protocol import Snapshot, Store
    from search.store.terms import Term as QueryTerm

_RANKS = ("by meaning", "by words")


@dataclass(frozen=True)
class Subject:
    """What is explained: a text, what it was ranked by, and its embedding where one is stored.

    Attributes:
        lexical, reranked: the parts that it was ranked by.
        stored: its passage in the index; None where there is none.
    """

    text: str
    ranking: Ranking
    context: str = ""
    cosine: float | None = None
    lexical: float | None = None
    score: float | None = None
    reranked: float | None = None
    stored: Stored | None = None


@dataclass(frozen=True, eq=False)
class Stored:
    """A passage of the index and its embedding."""

    id: int
    vector: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Addends:
    """What a score is made of besides token pairs, and the score as the index gives it anew."""

    terms: tuple[Term, ...] = ()
    recomputed: float | None = None
    late: NDArray[np.float64] | None = None


class AddendFinder:
    """Finds them for the hits of one query.

    Args:
        tokens: the query's; None for a query of several parts.
    """

    def __init__(
        self, store: Store, encoder: Encoder, query: EncodedQuery, tokens: TokenVectors | None
    ) -> None:
        self._store, self._encoder, self._query, self._tokens = store, encoder, query, tokens

    def of(self, subjects: Sequence[Subject], encoded: Sequence[TokenVectors]) -> list[Addends]:
        """For each subject, given with its token vectors."""
        addends = [self._unstored(subject) for subject in subjects]
        for ranking in {subject.ranking for subject in subjects}:
            mine = [
                (i, subject)
                for i, subject in enumerate(subjects)
                if subject.ranking == ranking and subject.stored is not None
            ]
            if not mine:
                continue
            ids = [subject.stored.id for _, subject in mine if subject.stored is not None]
            late = self._late if ranking.rerank == "late" else None
            with self._store.reading() as snapshot:
                passages = [snapshot.passage(id_) for id_ in ids]
                fusion = Fusion(snapshot, self._query, ranking)
                terms = terms_of(snapshot, fusion, ranking, passages)
                words = fusion.matches.parts(np.array(ids, dtype=np.int64)).tolist()
                ranks = [fusion.score(id_).score if ranking.mode == "rrf" else None for id_ in ids]
                prepared = late.prepare(snapshot, passages) if late else None
            matched: Sequence[Matched | None] = [None] * len(ids)
            if late and prepared:
                matched = late.matches(
                    passages, prepared, {id_: encoded[i] for id_, (i, _) in zip(ids, mine, strict=True)}
                )
            for at, (i, subject) in enumerate(mine):
                addends[i] = self._of_stored(
                    subject, encoded[i], terms[at], words[at], ranks[at], matched[at]
                )
        return addends

    @cached_property
    def _late(self) -> LateInteraction:
        assert self._tokens is not None  # a query of several parts is not reranked
        return LateInteraction(self._encoder, self._tokens)

    def _unstored(self, subject: Subject) -> Addends:
        """Of a text that is not in the index: its word part, and what a reranker said, each in one piece."""
        if subject.ranking.rerank not in ("", "late"):
            return Addends(terms=self._judged(subject))
        terms = _all_words(subject)
        if subject.ranking.rerank == "late":
            again = Term("late interaction", LATE_SHARE * (subject.reranked or 0.0), kind="model")
            terms = (*(replace(t, contribution=(1 - LATE_SHARE) * t.contribution) for t in terms), again)
        return Addends(terms=terms)

    def _of_stored(
        self,
        subject: Subject,
        encoded: TokenVectors,
        terms: tuple[Term, ...],
        words: float,
        by_ranks: float | None,
        matched: Matched | None,
    ) -> Addends:
        assert subject.stored is not None and self._query.embedding is not None
        ranking = subject.ranking
        score = by_ranks
        if score is None:
            meaning = float(subject.stored.vector @ self._query.embedding)
            score = ranking.weight * meaning + (1 - ranking.weight) * words
        if ranking.rerank == "":
            return Addends(terms, score)
        if matched is None:  # a cross-encoder, which is not asked again
            return Addends(self._judged(subject))
        share = 1 - LATE_SHARE
        cells = np.zeros((len(matched.addends), len(encoded.tokens)))
        columns = kept(encoded.tokens)
        for row in np.flatnonzero(matched.addends):
            cells[row, columns[matched.best[row]]] = LATE_SHARE * matched.addends[row]
        return Addends(
            tuple(replace(term, contribution=share * term.contribution) for term in terms),
            share * score + LATE_SHARE * matched.value,
            cells,
        )

    def _judged(self, subject: Subject) -> tuple[Term, ...]:
        name = f"{subject.ranking.rerank}, reading both texts at once"
        return (Term(name, subject.reranked or 0.0, kind="model"),)


def _all_words(subject: Subject) -> tuple[Term, ...]:
    """The word part in one piece, for a passage that has left the index: its terms cannot be told any more."""
    added = (1 - subject.ranking.weight) * (subject.lexical or 0.0)
    return (Term("all words together", added),) if added and subject.ranking.mode != "rrf" else ()


def terms_of(
    snapshot: Snapshot, fusion: Fusion, ranking: Ranking, passages: Sequence[StoredPassage]
) -> list[tuple[Term, ...]]:
    """What each word of the query added to the score of each passage; words that it does not have are left out."""
    addends = fusion.matches.addends([passage.id for passage in passages])
    terms: list[tuple[Term, ...]] = []
    for row, passage in enumerate(passages):
        if ranking.mode == "rrf":
            terms.append(_ranks(fusion, passage.id))
            continue
        here = [(term, float(value)) for term, value in zip(fusion.terms, addends[row], strict=True) if value]
        places = _places(snapshot, [term for term, _ in here], passage.context, passage.text)
        terms.append(
            tuple(
                Term(
                    term.text,
                    (1 - ranking.weight) * value,
                    term.start,
                    term.end,
                    at,
                )
                for (term, value), at in zip(here, places, strict=True)
            )
        )
    return terms


def _ranks(fusion: Fusion, passage: int) -> tuple[Term, ...]:
    ranks = fusion.score(passage).ranks or ()
    return tuple(
        Term(f"rank {rank:,} {name}", fusion.rank_addend(rank), kind="rank")
        for name, rank in zip(_RANKS, ranks, strict=True)
        if rank is not None
    )


def _places(
    snapshot: Snapshot, terms: Sequence[QueryTerm], context: str, text: str
) -> list[tuple[Occurrence, ...]]:
    """Where each term stands in a passage, in its text first."""
    found: list[list[Occurrence]] = [[] for _ in terms]
    parts: tuple[tuple[Literal["text", "context"], str], ...] = (("text", text), ("context", context))
    for part, source in parts:
        said = snapshot.words(source) if terms else []
        for term, places in zip(terms, found, strict=True):
            places += (Occurrence(part, start, end) for start, end in _runs(term.stems, said))
    return [tuple(places) for places in found]


def _runs(wanted: tuple[str, ...], said: Sequence[QueryTerm]) -> list[tuple[int, int]]:
    """The spans of words in a row whose tokens are those that are wanted."""
    found = []
    for first in range(len(said)):
        run: tuple[str, ...] = ()
        last = first
        while last < len(said) and len(run) < len(wanted):
            run += said[last].stems
            last += 1
        if run == wanted:
            found.append((said[first].start, said[last - 1].end))
    return found
