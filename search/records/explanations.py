"""Explanations of scores: which words of query and passage contribute how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

from search.errors import InputError
from search.records.alignment import Pair, align
from search.records.notebook_mixin import NotebookMixin
from search.records.shares import (
    Share,
    Term,
    add_keywords,
    keyword_shares,
    late_shares,
    meaning_shares,
)
from search.records.tokens import Layer, Token, Word, WordMatrices, by_words, merged, read_only
from search.records.visible_text import Spans

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from search.records.tokens import Matrix, Table, Vector

MatrixName: TypeAlias = Literal["similarity", "contributions", "query", "passage"]

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


@dataclass(frozen=True)
class WordContribution:
    """A word, as typed, and its contribution to the score."""

    word: Word
    contribution: float


Side: TypeAlias = Literal["query", "passage"]


class Numbers(Protocol):
    """Numbers of an explanation that are computed from its two texts."""

    def table(self, side: Side) -> Table:
        """Return the (L + 1, n + 1) contributions of a text's tokens; see `Explanation.layers`."""

    def pairs(self, layer: int) -> Table:
        """Return the (q + 1, p + 1) contributions of pairs of tokens; the last row and column are the offsets'."""

    def similarity(self, layer: Layer | None = None) -> Matrix:
        """Return the (q, p) cosines of token vectors at a layer; None is that of the explanation."""

    @property
    def layers(self) -> Sequence[int]:
        """Layers that have these numbers in addition to that of the explanation."""


@dataclass(frozen=True, eq=False)
class ComputedNumbers:
    """Numbers of an explanation as arrays, such as those of an explanation that was pickled."""

    tables: Mapping[Side, Table]
    cells: Table
    cosines: Matrix
    layers: Sequence[int] = ()

    def table(self, side: Side) -> Table:
        return self.tables[side]

    def pairs(self, layer: int) -> Table:
        return self.cells

    def similarity(self, layer: Layer | None = None) -> Matrix:
        return self.cosines


@dataclass(frozen=True, eq=False)
class TokenArrays:
    """Arrays of an explanation, each computed when it is used first; read-only.

    An `Explanation` and its `WordMatrices` share them. If the words referred to the explanation, each would keep the
    other, and with it the traces of all hits of a query, until Python collects its garbage.

    Attributes:
        layer: layer that contributions are traced to.
    """

    numbers: Numbers
    layer: int

    @cached_property
    def similarity(self) -> Matrix:
        return read_only(self.numbers.similarity())

    @cached_property
    def query_table(self) -> Table:
        return read_only(self.numbers.table("query"))

    @cached_property
    def passage_table(self) -> Table:
        return read_only(self.numbers.table("passage"))

    @cached_property
    def cells(self) -> Table:
        return read_only(self.numbers.pairs(self.layer))

    @property
    def contributions(self) -> Table:
        return self.cells[:-1, :-1]

    @property
    def query_sums(self) -> Vector:
        sums: Vector = self.query_table[self.layer, :-1]
        return sums

    @property
    def passage_sums(self) -> Vector:
        sums: Vector = self.passage_table[self.layer, :-1]
        return sums


@dataclass(frozen=True)
class Offsets:
    """Contributions to the cosine that belong to a token of one text only, or to none.

    Attributes:
        query, passage: (q,) and (p,) contributions of each token, with what the model adds to any other text.
        both: contribution of what the model adds to any two texts.
    """

    query: Vector
    passage: Vector
    both: float


@dataclass(frozen=True, eq=False)
class Explanation(NotebookMixin):
    """Explanation of a passage's score for a query.

    `score = weight * (query_sums.sum() + offset) + the terms' contributions + late.sum() + residual`

    Matrices are computed when they are used first. `contributions` explain the score; `similarity` shows which words
    are alike, and is not part of the score.

    Attributes:
        query, passage: the two texts. `context` is the text encoded before the passage, `hidden` are the markup
            spans of the passage, which were not encoded.
        query_tokens, passage_tokens: the q and p tokens, special tokens included.
        layer: layer that contributions are traced to: 0 for tokens as typed, `n_layers` for their last vectors.
        similarity_layer: layer of the similarity matrix, or a combination of layers such as "mean:4".
        n_layers: number of the model's layers; layer 0 is the embedding layer.
        terms: addends of the keyword score; empty if the ranking does not use it.
        cosine: cosine of the two embeddings, as stored and used in the ranking.
        score: the score that the hit was ranked by.
        pooling: pooling of the embeddings.
        weight: weight of the cosine in the score; 1 if the cosine is the score.
        recomputed: the score, recomputed from a new embedding of the query and the stored embedding of the passage.
            None if there is no stored embedding: for two free texts, and for a passage that is no longer in the index.
        late: (q, p) addends of late-interaction reranking, multiplied by their weight in the score. Each query token
            has an addend with its most similar passage token, and 0 with all others; the tokens are those of the last
            layer. None without such reranking.
        numbers: the source of the matrices.
    """

    query: str
    passage: str
    context: str
    query_tokens: tuple[Token, ...]
    passage_tokens: tuple[Token, ...]
    layer: int
    similarity_layer: Layer
    n_layers: int
    terms: tuple[Term, ...]
    cosine: float
    score: float
    mode: str
    pooling: str
    numbers: Numbers = field(repr=False)
    weight: float = 1.0
    recomputed: float | None = None
    late: Matrix | None = None
    hidden: Spans = ()

    def __repr__(self) -> str:
        size = f"{len(self.query_tokens)} x {len(self.passage_tokens)} tokens"
        return f"<Explanation of {self.score:.3f}: {self.query!r}, {size}, residual {self.residual:+.1e}>"

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields, with all matrices; other derived values are computed again."""
        tables: dict[Side, Table] = {"query": self.layers("query"), "passage": self.layers("passage")}
        numbers = ComputedNumbers(tables, self._arrays.cells, self.similarity)
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"numbers": numbers}

    def plot(
        self,
        ax: Axes | None = None,
        *,
        matrix: MatrixName = "similarity",
        by: Literal["token", "word"] = "token",
        special: bool = True,
        scale: tuple[float, float] | None = None,
    ) -> Axes:
        """Plot a matrix as a heat map, as the command's pictures show it: 24 rows and columns, without punctuation.

        Args:
            ax: matplotlib axes to draw into; None creates a new pyplot figure.
            matrix: "similarity", "contributions" with their weight in the score applied, or "query" or "passage" for
                the contributions of a text's tokens, traced to each layer.
            by: "token", or "word" to merge tokens to words.
            special: draw special tokens.
            scale: range of the colours, for contributions in thousandths. Default: -1 to 1 for cosines, for
                contributions up to the largest of a word.

        Raises:
            InputError: unknown `matrix` or `by`, or `scale` is no range.
            OptionalDependency: matplotlib is not installed.
        """
        _require_choices(matrix, by)
        return self._plotted(ax, matrix=matrix, by=by, special=special, scale=require_range(scale))

    def to_pandas(
        self,
        matrix: MatrixName = "similarity",
        *,
        by: Literal["token", "word"] = "token",
        special: bool = True,
    ) -> DataFrame:
        """Return a matrix as a table; rows and columns are labelled by position and token, "13:##ot".

        Args:
            matrix, by, special: as for `plot`.

        Raises:
            InputError: unknown `matrix` or `by`.
            OptionalDependency: pandas is not installed.
        """
        _require_choices(matrix, by)
        return self._tabulated(matrix=matrix, by=by, special=special)

    @cached_property
    def _arrays(self) -> TokenArrays:
        return TokenArrays(self.numbers, self.layer)

    @property
    def similarity(self) -> Matrix:
        """(q, p) float32 cosines in [-1, 1] of token vectors at layer `similarity_layer`.

        Row i belongs to query_tokens[i], column j to passage_tokens[j].
        """
        return self._arrays.similarity

    def layers(self, text: Side = "query") -> Table:
        """Return the contributions of a text's tokens to the cosine, traced to each layer of the model.

        Args:
            text: "query" or "passage", with n tokens.

        Returns:
            (L + 1, n + 1) float64: row l is traced to layer l, the last column is the offset. Each row sums to the
            cosine. Row 0 belongs to the tokens as typed, row L to their last vectors.
        """
        if text not in ("query", "passage"):
            raise InputError(f"text is {text!r}. Choose one of: 'query', 'passage'.")
        return self._arrays.query_table if text == "query" else self._arrays.passage_table

    @property
    def query_sums(self) -> Vector:
        """(q,) contributions of the query's tokens to the cosine."""
        return self._arrays.query_sums

    @property
    def passage_sums(self) -> Vector:
        """(p,) contributions of the passage's tokens to the cosine."""
        return self._arrays.passage_sums

    @property
    def offset(self) -> float:
        """Contribution to the cosine of what the model adds to any query: with the query's tokens, the whole cosine."""
        return float(self._arrays.query_table[self.layer, -1])

    @property
    def passage_offset(self) -> float:
        """The same for what the model adds to any passage."""
        return float(self._arrays.passage_table[self.layer, -1])

    @property
    def contributions(self) -> Table:
        """(q, p) float64 contributions of pairs of tokens to the cosine; with `offsets` they sum to it."""
        return self._arrays.contributions

    @property
    def offsets(self) -> Offsets:
        """Contributions to the cosine that belong to no pair of tokens."""
        cells = self._arrays.cells
        return Offsets(cells[:-1, -1], cells[-1, :-1], float(cells[-1, -1]))

    @property
    def meaning(self) -> float:
        """The cosine's part of the score, as the sum of the contributions of the query's tokens and the offset."""
        return self.weight * float(self._arrays.query_table[self.layer].sum()) if self.weight else 0.0

    @property
    def addends(self) -> float:
        """The sum of all addends, with those of the query's tokens."""
        others = sum(term.contribution for term in self.terms)
        others += 0.0 if self.late is None else float(self.late.sum())
        return self.meaning + others

    @property
    def residual(self) -> float:
        """Score minus the sum of all addends: a rounding error."""
        return self.score - self.addends

    @property
    def drift(self) -> float | None:
        """The score minus the recomputed score; None if it was not recomputed."""
        return None if self.recomputed is None else self.score - self.recomputed

    def shares(self, partners: int = 3) -> tuple[Share, ...]:
        """Return the contribution of each query word, in the order of the query.

        The words are followed by special tokens, punctuation and the prompt, summed by kind, then by the offset
        ("any text"), by the terms, and by the addends of late-interaction reranking. All shares sum to the score minus
        the residual.

        Args:
            partners: maximum number of similar passage words to list with each query word. With 0, the passage is not
                encoded.
        """
        words = self.words()
        shares: list[Share] = []
        if self.weight:
            shares += meaning_shares(words, self.offset, self.weight, partners)
        shares += keyword_shares(self.terms)
        if self._late_by_words is not None:
            shares += late_shares(words, self._late_by_words)
        return tuple(shares)

    def words(self) -> WordMatrices:
        """Return both matrices with tokens merged to whole words."""
        return self._words

    def query_words(self) -> tuple[WordContribution, ...]:
        """Return the words of the query, special tokens included, with their contributions by meaning."""
        words = self._words.query
        sums = self.weight * self._words.query_sums if self.weight else [0.0] * len(words)
        return tuple(map(WordContribution, words, map(float, sums)))

    def passage_words(self) -> tuple[WordContribution, ...]:
        """Return the words of the passage, special tokens included, with their contributions, keywords included."""
        return tuple(map(WordContribution, self._words.passage, self.passage_contributions.tolist()))

    # Derived values are computed once, because a page needs each several times for a hit.

    @cached_property
    def _words(self) -> WordMatrices:
        query = merged(self.query_tokens, {"text": self.query})
        passage = merged(
            self.passage_tokens, {"text": self.passage, "context": self.context}, self.hidden
        )
        return WordMatrices(query, passage, self._arrays)

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

        It is the weighted sum of the contributions of its tokens, plus its share of the keyword addends.
        """
        import numpy as np

        passage = self._words.passage
        sums = self.weight * self._words.passage_sums if self.weight else np.zeros(len(passage))
        if self._late_by_words is not None:
            sums = sums + self._late_by_words.sum(axis=0)
        add_keywords(sums, passage, self.terms)
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


def require_range(scale: tuple[float, float] | None, name: str = "scale") -> tuple[float, float] | None:
    """Return a range of colours; raise InputError if its first number is not below its second."""
    if scale is not None and not -inf < scale[0] < scale[1] < inf:
        low, high = scale
        raise InputError(
            f"{name} {low:g} {high:g} is no range: the first number must be below the second. Example: 0.2 0.8"
        )
    return scale


def _require_choices(matrix: str, by: str) -> None:
    """Raise InputError for an unknown `matrix` or `by`."""
    choices = {"matrix": (matrix, get_args(MatrixName)), "by": (by, ("token", "word"))}
    for name, (value, names) in choices.items():
        if value not in names:
            raise InputError(f"{name} is {value!r}. Choose one of: {', '.join(map(repr, names))}.")
