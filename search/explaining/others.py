"""What a score is made of besides the token pairs: words, ranks, rerankers; and the score made anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from search.encoding import Encoder
from search.explaining.lexical import terms_of
from search.ranking.fusion import Fusion
from search.ranking.late import SHARE as LATE_SHARE
from search.ranking.late import LateInteraction, Matched
from search.ranking.ranking import Asked, Ranking
from search.records.explanations import Term
from search.records.tokens import TokenVectors
from search.store.snapshot import one_passage
from search.store.token_vectors import kept
from search.store.vectors import LoadedVectors

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
class Others:
    """What a score is made of besides token pairs, and the score as the index gives it anew."""

    terms: tuple[Term, ...] = ()
    recomputed: float | None = None
    late: NDArray[np.float64] | None = None


class OtherAddends:
    """Finds them for the hits of one query.

    Args:
        tokens: the query's; None for a query of several parts.
    """

    def __init__(
        self, loaded: LoadedVectors, encoder: Encoder, asked: Asked, tokens: TokenVectors | None
    ) -> None:
        self._loaded, self._encoder, self._asked, self._tokens = loaded, encoder, asked, tokens

    def of(self, subjects: Sequence[Subject], encoded: Sequence[TokenVectors]) -> list[Others]:
        """For each subject, given with its token vectors."""
        found = [self._unstored(subject) for subject in subjects]
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
            with self._loaded.reader.reading() as connection:
                passages = [one_passage(connection, id_) for id_ in ids]
                fusion = Fusion(connection, self._loaded, self._asked, ranking)
                terms = terms_of(fusion, self._loaded.lexicon, ranking, passages)
                words = [fusion.lexical(id_) if ranking.by_words else 0.0 for id_ in ids]
                ranks = [fusion.score(id_).score if ranking.mode == "rrf" else None for id_ in ids]
                prepared = late.prepare(connection, passages) if late else None
            matched: Sequence[Matched | None] = [None] * len(ids)
            if late and prepared:
                matched = late.matches(
                    passages, prepared, {id_: encoded[i] for id_, (i, _) in zip(ids, mine, strict=True)}
                )
            for at, (i, subject) in enumerate(mine):
                found[i] = self._other(subject, encoded[i], terms[at], words[at], ranks[at], matched[at])
        return found

    @cached_property
    def _late(self) -> LateInteraction:
        assert self._tokens is not None  # a query of several parts is not reranked
        return LateInteraction(self._loaded.lexicon, self._encoder, self._tokens)

    def _unstored(self, subject: Subject) -> Others:
        """Of a text that is not in the index: its word part, and what a reranker said, each in one piece."""
        if subject.ranking.rerank not in ("", "late"):
            return Others(terms=self._judged(subject))
        terms = _all_words(subject)
        if subject.ranking.rerank == "late":
            again = Term("late interaction", LATE_SHARE * (subject.reranked or 0.0), kind="model")
            terms = (*(replace(t, contribution=(1 - LATE_SHARE) * t.contribution) for t in terms), again)
        return Others(terms=terms)

    def _other(
        self,
        subject: Subject,
        encoded: TokenVectors,
        terms: tuple[Term, ...],
        words: float,
        by_ranks: float | None,
        matched: Matched | None,
    ) -> Others:
        assert subject.stored is not None and self._asked.embedding is not None
        ranking = subject.ranking
        score = by_ranks
        if score is None:
            meaning = float(subject.stored.vector @ self._asked.embedding)
            score = ranking.weight * meaning + (1 - ranking.weight) * words
        if ranking.rerank == "":
            return Others(terms, score)
        if matched is None:  # a cross-encoder, which is not asked again
            return Others(self._judged(subject))
        share = 1 - LATE_SHARE
        cells = np.zeros((len(matched.addends), len(encoded.tokens)))
        columns = kept(encoded.tokens)
        for row in np.flatnonzero(matched.addends):
            cells[row, columns[matched.best[row]]] = LATE_SHARE * matched.addends[row]
        return Others(
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
