"""Explanations of scores: which words of query and passage contribute how much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from search.errors import InputError
from search.records.notebook_mixin import NotebookMixin
from search.records.tokens import Layer, Token, Word, WordMatrices, all_of_kind, merged
from search.records.visible_text import Spans

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy import ufunc
    from pandas import DataFrame

    from search.records.tokens import Matrix, Vector

# Words that are highlighted only if the query has no others. They still count in every score.
STOP_WORDS = frozenset(
    "a about after all also am an and any are as at be been but by can could did do does for from had has "
    "have he her his how i if in into is it its me my no not of on or our she so than that the their them "
    "then there these they this those to was we were what when where which who whom why will with would "
    "you your".split()
)

# Weight of the neighbours' cosines in an alignment; from 0.1 to 0.3 the F1 differs by at most 0.002.
NEIGHBOURS = 0.15


def middle_layer(n_layers: int) -> int:
    """Return the layer whose cosines align words best: the middle one.

    Later layers mix each word with its sentence. With all-MiniLM-L6-v2 on MTRef, the F1 of `Explanation.alignment` is
    0.847 for layer 3 of 6, and 0.827 for the last layer (benchmarks/alignment.py).
    """
    return n_layers // 2


@dataclass(frozen=True)
class Occurrence:
    """Occurrence of a term in a passage: characters [start, end) of its text or of its context."""

    part: Literal["text", "context"]
    start: int
    end: int


@dataclass(frozen=True)
class Term:
    """Addend of the score that is not a pair of tokens, such as a keyword; `contribution` includes its weight.

    Attributes:
        term: a word or phrase of the query, as typed; for other kinds a description.
        start, end: span in the query; 0, 0 if it is not a word of the query.
        places: occurrences in the passage.
        kind: "term" for a keyword, "model" for the score of a cross-encoder, "like" for a passage or document in the
            query that hits should be similar or dissimilar to.
    """

    term: str
    contribution: float
    start: int = 0
    end: int = 0
    places: tuple[Occurrence, ...] = ()
    kind: Literal["term", "model", "like"] = "term"


@dataclass(frozen=True)
class Pair:
    """A query word and a passage word that are each other's best match, and their cosine in [-1, 1]."""

    query: Word
    passage: Word
    similarity: float


@dataclass(frozen=True)
class Highlight:
    """Characters [start, end) of the passage, and their contribution to the score."""

    start: int
    end: int
    weight: float


@dataclass(frozen=True)
class Partner:
    """Contribution of one passage word with one query word, summed over the word's occurrences."""

    text: str
    contribution: float


@dataclass(frozen=True)
class Share:
    """Contribution of one query word to the score.

    Attributes:
        text: the word; tokens that are not words are summed by kind: "[CLS] and [SEP]", "punctuation",
            "the model's prompt".
        kind: as for `Word`; "term" for an addend of the keyword score, "model" for the score of a cross-encoder,
            "late" for an addend of late-interaction reranking, "like" as in `Term`.
        start, end: span of the word or term in the query; 0, 0 for all other kinds.
        partners: passage words with the largest positive contributions, strongest first; () if the share is not a
            word's.
    """

    text: str
    kind: str
    start: int
    end: int
    contribution: float
    partners: tuple[Partner, ...] = ()


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

    @property
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
        others: dict[str, float] = {}
        is_split = self.contributions is not None or self.steps
        for i, word in enumerate(words.query if self.weight and is_split else ()):
            added = self.weight * float(words.sums[0][i])
            if word.kind == "word":
                pairs = None if words.contributions is None else self.weight * words.contributions[i]
                best = () if pairs is None else _partners(words.passage, pairs)[:partners]
                shares.append(Share(word.text, word.kind, word.start, word.end, added, best))
            else:
                others[word.kind] = others.get(word.kind, 0.0) + added
        shares += [
            Share(all_of_kind(kind, words.query), kind, 0, 0, added) for kind, added in others.items()
        ]
        shares += [
            Share(term.term, term.kind, term.start, term.end, term.contribution) for term in self.terms
        ]
        return (*shares, *self._late_shares(words))

    def _late_shares(self, words: WordMatrices) -> Iterator[Share]:
        """Yield the contribution of each query word to late-interaction reranking, with its best match."""
        if self.late is None:
            return
        import numpy as np

        cells = _by_words(np.add, self.late, words.query, words.passage)
        for word, addends in zip(words.query, cells, strict=True):
            if addends.any():
                best = _partners(words.passage, addends)[:1]
                yield Share(word.text, "late", word.start, word.end, float(addends.sum()), best)

    def words(self) -> WordMatrices:
        """Return both matrices with tokens merged to whole words."""
        import numpy as np

        query = merged(self.query_tokens, {"text": self.query})
        passage = merged(
            self.passage_tokens, {"text": self.passage, "context": self.context}, self.hidden
        )
        pairs = self.contributions
        added = None if pairs is None else _by_words(np.add, pairs, query, passage)
        similarity = _by_words(np.maximum, self.similarity, query, passage)
        rows, columns = (
            np.add.reduceat(sums, [word.tokens[0] for word in words])
            for sums, words in zip(self.sums, (query, passage), strict=True)
        )
        return WordMatrices(query, passage, added, similarity, (rows, columns))

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
        words, kinds = self.words(), ("word", "punctuation") if punctuation else ("word",)
        rows = [i for i, word in enumerate(words.query) if word.kind in kinds]
        columns = [j for j, word in enumerate(words.passage) if word.kind in kinds]
        if not rows or not columns:
            return []
        cosines = words.similarity[rows][:, columns]
        matches = _with_neighbours(cosines)
        best_column, best_row = matches.argmax(axis=1), matches.argmax(axis=0)
        return [
            Pair(words.query[rows[i]], words.passage[columns[j]], float(cosines[i, j]))
            for i, j in enumerate(best_column)
            if best_row[j] == i and cosines[i, j] >= threshold
        ]

    def highlights(self) -> list[Highlight]:
        """Return the span of each passage word with the word's contribution to the score, in the order of the text."""
        words = self.words()
        return [
            Highlight(word.start, word.end, added)
            for word, added in zip(words.passage, self.passage_added(words).tolist(), strict=True)
            if word.kind in ("word", "punctuation")
        ]

    def content_highlights(self) -> list[Highlight]:
        """Return the highlights of words, without stop words if the query has other words."""
        words = [
            (self.passage[mark.start : mark.end].casefold(), mark)
            for mark in self.highlights()
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

    def passage_added(self, words: WordMatrices) -> Vector:
        """Return the (P,) contribution of each passage word to the score.

        It is the weighted sum of the addends of its tokens, plus its part of the keyword addends. A
        keyword's addend is divided equally among its occurrences, because BM25 does not distinguish them.
        """
        import numpy as np

        sums = self.weight * words.sums[1]
        if self.late is not None:
            sums += _by_words(np.add, self.late, words.query, words.passage).sum(axis=0)
        for term in self.terms:
            for place in term.places:
                columns = [j for j, word in enumerate(words.passage) if _is_at(word, place)]
                sums[columns] += term.contribution / len(term.places) / max(1, len(columns))
        return sums


def _by_words(reduce: ufunc, cells: Matrix, query: Sequence[Word], passage: Sequence[Word]) -> Matrix:
    """Reduce a (q, p) matrix of tokens to a (Q, P) matrix of words: to sums or maxima."""
    rows, columns = [word.tokens[0] for word in query], [word.tokens[0] for word in passage]
    matrix: Matrix = reduce.reduceat(reduce.reduceat(cells, rows, axis=0), columns, axis=1)
    return matrix


def _is_at(word: Word, place: Occurrence) -> bool:
    kinds = ("context",) if place.part == "context" else ("word",)
    return word.kind in kinds and word.start < place.end and place.start < word.end


def _with_neighbours(cosines: Matrix) -> Matrix:
    """Return the (Q, P) cosines of words, each increased by a share of the cosines of the words before and after."""
    scores = cosines.copy()
    scores[1:, 1:] += NEIGHBOURS * cosines[:-1, :-1]
    scores[:-1, :-1] += NEIGHBOURS * cosines[1:, 1:]
    return scores


def _partners(passage: tuple[Word, ...], addends: Matrix) -> tuple[Partner, ...]:
    """Return the passage and heading words with a positive contribution to a query word; equal words are summed."""
    total: dict[str, float] = {}
    for word, added in zip(passage, addends, strict=True):
        if word.kind in ("word", "context"):
            name = word.text.lower()
            total[name] = total.get(name, 0.0) + float(added)
    best = sorted(total.items(), key=lambda item: -item[1])
    return tuple(Partner(name, added) for name, added in best if added > 0)
