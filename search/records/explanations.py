"""Explanations of scores: which words of query and passage contribute how much."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from search.errors import InputError
from search.records.alignment import Pair, align
from search.records.notebook_mixin import NotebookMixin
from search.records.shares import (
    Share,
    Term,
    add_keywords,
    by_words,
    keyword_shares,
    late_shares,
    meaning_shares,
)
from search.records.tokens import Layer, Token, WordMatrices, merged, read_only
from search.records.visible_text import Spans

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from search.records.tokens import Matrix, Vector

# Words that are highlighted only if the query has no others. They still count in every score.
STOP_WORDS = frozenset(
    "a about after all also am an and any are as at be been but by can could did do does for from had has "
    "have he her his how i if in into is it its me my no not of on or our she so than that the their them "
    "then there these they this those to was we were what when where which who whom why will with would "
    "you your".split()
)


@dataclass(frozen=True)
class Highlight:
    """Characters [start, end) of the passage, and their contribution to the score."""

    start: int
    end: int
    weight: float


@dataclass(frozen=True, eq=False)
class Explanation(NotebookMixin):
    """Explanation of a passage's score for a query.

    `score = weight * sums[0].sum() + the terms' contributions + late.sum() + residual`

    Attributes:
        query, passage: the two texts. `context` is the text encoded before the passage, `hidden` are the markup
            spans of the passage, which were not encoded.
        query_tokens, passage_tokens: the q and p tokens, special tokens included.
        similarity: (q, p) float32 cosines in [-1, 1] of token vectors at layer `similarity_layer`: they show similar
            words, but do not sum to the score. Row i belongs to query_tokens[i], column j to passage_tokens[j].
        n_layers: number of the model's layers; layer 0 is the embedding layer. None if unknown.
        contributions: (q, p) float64 addends of the cosine of the two embeddings, from the last layer: they explain the
            score. `contributions.sum()` is `cosine`, apart from rounding. None if they would need gradients that were
            not requested; `margins` then has the (q,) and (p,) addends of the tokens of each text.
        terms: addends of the keyword score; empty if the ranking does not use it.
        cosine: cosine of the two embeddings, as stored and used in the ranking.
        score: the score that the hit was ranked by.
        pooling: pooling of the embeddings.
        weight: weight of the cosine in the score; 1 if the cosine is the score.
        recomputed: the score, recomputed from a new embedding of the query and the stored embedding of the passage.
            None if there is no stored embedding: for two free texts, and for a passage that is no longer in the index.
        steps: 0 if the addends are exact; else the number of points of integrated gradients, and `residual` is
            the completeness error of the query's addends (see search/explaining/gradients.py).
        late: (q, p) addends of late-interaction reranking, multiplied by their weight in the score. Each query token
            has an addend with its most similar passage token, and 0 with all others. None without such reranking.
    """

    query: str
    passage: str
    context: str
    query_tokens: tuple[Token, ...]
    passage_tokens: tuple[Token, ...]
    similarity: Matrix
    similarity_layer: Layer
    contributions: Matrix | None
    terms: tuple[Term, ...]
    cosine: float
    score: float
    mode: str
    pooling: str
    weight: float = 1.0
    recomputed: float | None = None
    steps: int = 0
    late: Matrix | None = None
    hidden: Spans = ()
    n_layers: int | None = None
    margins: tuple[Vector, Vector] | None = None

    def __repr__(self) -> str:
        size = f"{len(self.query_tokens)} x {len(self.passage_tokens)} tokens"
        return f"<Explanation of {self.score:.3f}: {self.query!r}, {size}, residual {self.residual:+.1e}>"

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields without the derived values, which are computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def plot(
        self,
        ax: Axes | None = None,
        *,
        matrix: Literal["similarity", "contributions"] = "similarity",
        by: Literal["token", "word"] = "token",
    ) -> Axes:
        """Plot one of the two matrices as a heat map.

        Args:
            ax: matplotlib axes to draw into; None creates a new pyplot figure.
            matrix: "similarity", or "contributions" with their weight in the score applied.
            by: "token", or "word" to merge tokens to words.

        Raises:
            InputError: unknown `matrix` or `by`, or contributions that were not computed.
            OptionalDependency: matplotlib is not installed.
        """
        self._require_choices(matrix, by)
        return self._plotted(ax, matrix=matrix, by=by)

    def to_pandas(
        self,
        matrix: Literal["similarity", "contributions"] = "similarity",
        *,
        by: Literal["token", "word"] = "token",
    ) -> DataFrame:
        """Return one of the two matrices as a table; rows and columns are labelled by position and token, "13:##ot".

        Raises:
            InputError: unknown `matrix` or `by`, or contributions that were not computed.
            OptionalDependency: pandas is not installed.
        """
        self._require_choices(matrix, by)
        return self._tabulated(matrix=matrix, by=by)

    def _require_choices(self, matrix: str, by: str) -> None:
        """Raise InputError for an unknown `matrix` or `by`, or for contributions that were not computed."""
        choices = {"matrix": (matrix, ("similarity", "contributions")), "by": (by, ("token", "word"))}
        for name, (value, names) in choices.items():
            if value not in names:
                raise InputError(f"{name} is {value!r}. Choose one of: {', '.join(map(repr, names))}.")
        if matrix == "contributions" and self.contributions is None:
            raise InputError('pairs of tokens were not computed. Explain with gradients="pairs".')

    @cached_property
    def sums(self) -> tuple[Vector, Vector]:
        """(q,) and (p,) addends of the query's and the passage's tokens; either sum is the cosine."""
        if self.margins is not None:
            return self.margins
        assert self.contributions is not None  # one of the two is there
        return self.contributions.sum(axis=1), self.contributions.sum(axis=0)

    @property
    def addends(self) -> float:
        """The sum of all addends, with those of the query's tokens."""
        others = sum(term.contribution for term in self.terms)
        others += 0.0 if self.late is None else float(self.late.sum())
        return self.weight * float(self.sums[0].sum()) + others

    @property
    def residual(self) -> float:
        """Score minus the sum of all addends: a rounding error, or the completeness error of inexact addends."""
        return self.score - self.addends

    @property
    def drift(self) -> float | None:
        """The score minus the recomputed score; None if it was not recomputed."""
        return None if self.recomputed is None else self.score - self.recomputed

    def shares(self, partners: int = 3) -> tuple[Share, ...]:
        """Return the contribution of each query word, in the order of the query.

        The words are followed by special tokens, punctuation and the prompt, summed by kind, then by the terms, then by
        the addends of late-interaction reranking. All shares sum to the score minus the residual.

        Args:
            partners: maximum number of passage words to list with each query word.
        """
        words = self.words()
        shares: list[Share] = []
        if self.weight and (self.contributions is not None or self.steps):
            shares += meaning_shares(words, self.weight, partners)
        shares += keyword_shares(self.terms)
        if self._late_by_words is not None:
            shares += late_shares(words, self._late_by_words)
        return tuple(shares)

    def words(self) -> WordMatrices:
        """Return both matrices with tokens merged to whole words. The arrays are read-only."""
        return self._words

    # Derived values are computed once, because a page needs each several times for a hit.

    @cached_property
    def _words(self) -> WordMatrices:
        import numpy as np

        query = merged(self.query_tokens, {"text": self.query})
        passage = merged(
            self.passage_tokens, {"text": self.passage, "context": self.context}, self.hidden
        )
        pairs = self.contributions
        added = None if pairs is None else read_only(by_words(np.add, pairs, query, passage))
        similarity = read_only(by_words(np.maximum, self.similarity, query, passage))
        rows, columns = (
            read_only(np.add.reduceat(sums, [word.tokens[0] for word in words]))
            for sums, words in zip(self.sums, (query, passage), strict=True)
        )
        return WordMatrices(query, passage, added, similarity, (rows, columns))

    @cached_property
    def _late_by_words(self) -> Matrix | None:
        """(Q, P) addends of late-interaction reranking, by words."""
        import numpy as np

        words = self._words
        return None if self.late is None else by_words(np.add, self.late, words.query, words.passage)

    @cached_property
    def _highlights(self) -> tuple[Highlight, ...]:
        contributions = self.passage_contributions.tolist()
        return tuple(
            Highlight(word.start, word.end, contribution)
            for word, contribution in zip(self._words.passage, contributions, strict=True)
            if word.kind in ("word", "punctuation")
        )

    @cached_property
    def passage_contributions(self) -> Vector:
        """(P,) contribution of each passage word to the score, read-only.

        It is the weighted sum of the addends of its tokens, plus its share of the keyword addends.
        """
        sums = self.weight * self._words.sums[1]
        if self._late_by_words is not None:
            sums += self._late_by_words.sum(axis=0)
        add_keywords(sums, self._words.passage, self.terms)
        return read_only(sums)

    def alignment(self, threshold: float = 0.0, *, punctuation: bool = False) -> list[Pair]:
        """Return pairs of words that are each other's best match, without special tokens.

        The score of a match is the cosine of the two words, plus `NEIGHBOURS` times the cosine of the words before them
        and of the words after them. If a word occurs twice in the passage, its neighbours thus decide. In a tie the
        first word is taken. With all-MiniLM-L6-v2 on MTRef, the neighbours raise the F1 from 0.833 to 0.847
        (benchmarks/alignment.py).

        Args:
            threshold: minimum cosine of a pair, in [-1, 1], without its neighbours.
            punctuation: pair punctuation marks, too.
        """
        return align(self.words(), threshold, punctuation=punctuation)

    def highlights(self) -> list[Highlight]:
        """Return the span of each passage word with the word's contribution to the score, in the order of the text."""
        return list(self._highlights)

    def content_highlights(self) -> list[Highlight]:
        """Return the highlights of words, without stop words if the query has other words."""
        words = [
            (self.passage[mark.start : mark.end].casefold(), mark)
            for mark in self._highlights
            if any(map(str.isalnum, self.passage[mark.start : mark.end]))
        ]
        query = {token.text.casefold() for token in self.query_tokens if token.text.isalnum()}
        ignored = STOP_WORDS if query - STOP_WORDS else frozenset()
        return [mark for word, mark in words if word not in ignored]

    def strongest(self, share: float = 0.25) -> tuple[Highlight, ...]:
        """Return words that contribute more than 0 and at least this share of the largest contribution."""
        words = self.content_highlights()
        least = share * max((word.weight for word in words), default=0.0)
        return tuple(word for word in words if word.weight > 0 and word.weight >= least)
