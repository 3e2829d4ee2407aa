"""Explanations: why a passage has its score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from search.errors import InputError
from search.records.displayed import NotebookMixin
from search.records.shown import Spans
from search.records.tokens import Token, Word, WordMatrices, all_of_kind, merged

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy import ufunc
    from pandas import DataFrame

    from search.records.tokens import Matrix, Vector

NEIGHBOURS = 0.15  # what their cosine counts in an alignment; 0.1 to 0.3 give the same F1 to 0.002


def middle_layer(n_layers: int) -> int:
    """The layer whose cosines tell best which word is like which: the middle one.

    Measured with all-MiniLM-L6-v2 (F1 of `Explanation.alignment`, benchmarks/alignment.py) on MTRef: 0.847
    for layer 3 of 6, 0.827 for the last; on headlines of SemEval-2016 task 2 0.502 and 0.489. No mean of
    layers was better. Later layers mix each word with its sentence.
    """
    return n_layers // 2


@dataclass(frozen=True)
class Occurrence:
    """Where a term stands in a passage: characters [start, end) of its text or of its context."""

    part: Literal["text", "context"]
    start: int
    end: int


@dataclass(frozen=True)
class Term:
    """An addend of the score that is no pair of tokens; what its part counts in the score is in it.

    Attributes:
        term: a word of the query, or a phrase, as it was typed; of other kinds what it is.
        start, end: where it stands in the query; 0, 0 for what is no word of it.
        places: where it stands in the passage.
        kind: "term", "model" for what a cross-encoder says, "like" for a part of
            the query that is not taken apart: a passage or document that hits shall be like, or unlike.
    """

    term: str
    contribution: float
    start: int = 0
    end: int = 0
    places: tuple[Occurrence, ...] = ()
    kind: Literal["term", "model", "like"] = "term"


@dataclass(frozen=True)
class Pair:
    """A query word and a passage word that are each other's best match, and their cosine."""

    query: Word
    passage: Word
    similarity: float


@dataclass(frozen=True)
class Highlight:
    """Characters [start, end) of the passage and what they added to the score."""

    start: int
    end: int
    weight: float


@dataclass(frozen=True)
class Partner:
    """A word of the passage, all its occurrences taken together, and what a query word added with it."""

    text: str
    contribution: float


@dataclass(frozen=True)
class Share:
    """What one word of the query added to the score.

    Attributes:
        text: the word; for what is not a word, all of a kind together: "[CLS] and [SEP]", "punctuation",
            "the model's prompt".
        kind: as for `Word`; "term" for addends of the word part, "model"
            for what a cross-encoder says, "late" for one of a rerank by late interaction, "like" for a part of the
            query.
        start, end: where the word or term stands in the query; 0, 0 for all other kinds.
        partners: the passage words that it added most with, the strongest first, positive addends only;
            empty for what is not a word.
    """

    text: str
    kind: str
    start: int
    end: int
    contribution: float
    partners: tuple[Partner, ...] = ()


@dataclass(frozen=True, eq=False)
class Explanation(NotebookMixin):
    """Why a passage has its score for a query.

    `score = weight * contributions.sum() + the terms' contributions + late.sum() + residual`

    Attributes:
        query, passage: the two texts; `context` is what was encoded before the passage, and `hidden` are the
            spans of the passage that are markup, which was not encoded.
        query_tokens, passage_tokens: the q and p tokens, special tokens included.
        similarity: (q, p) float32 cosines of token vectors at layer `similarity_layer`: which word is
            like which. They do not sum to anything. Row i is of query_tokens[i], column j of passage_tokens[j].
        n_layers: how many layers the model has; 0 is the embedding layer. None where it is not known.
        contributions: (q, p) float64 addends of the cosine of the two embeddings, from the last layer:
            what made the score. `contributions.sum()` is `cosine` but for rounding.
        terms: the addends of the word part; empty when the ranking did not use it.
        cosine: of the two embeddings, as stored and as ranked by.
        score: what the hit was ranked by.
        pooling: how the embeddings were made.
        weight: what the cosine counts in the score; 1 when nothing else does.
        recomputed: the score, made anew of the query's embedding now and the passage's as it is stored; None where
            nothing is stored: for two free texts, and a passage that has left the index since.
        late: (q, p) addends of a rerank by late interaction, as they count in the score: each token of the query
            with the one token that is most like it, 0 elsewhere; None without such a rerank.
        steps: 0 when the addends are exact; else they are integrated gradients, from so many points, and
            the residual is their completeness error (see search/explaining/gradients.py).
    """

    query: str
    passage: str
    context: str
    query_tokens: tuple[Token, ...]
    passage_tokens: tuple[Token, ...]
    similarity: Matrix
    similarity_layer: int
    contributions: Matrix
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
        """One of the two matrices as a heat map.

        Args:
            ax: axes of matplotlib to draw into; None makes a new figure of pyplot.
            matrix: which one; contributions as they count in the score.
            by: token by token, or with WordPieces merged to words.

        Raises:
            OptionalDependency: matplotlib is not installed.
        """
        _require_choices(matrix, by)
        return self._plotted(ax, matrix=matrix, by=by)

    def to_pandas(
        self,
        matrix: Literal["similarity", "contributions"] = "similarity",
        *,
        by: Literal["token", "word"] = "token",
    ) -> DataFrame:
        """One of the two matrices as a table; rows and columns have their tokens with their places, "13:##ot".

        Raises:
            OptionalDependency: pandas is not installed.
        """
        _require_choices(matrix, by)
        return self._tabulated(matrix=matrix, by=by)

    @property
    def addends(self) -> float:
        """The sum of all addends."""
        others = sum(term.contribution for term in self.terms)
        others += 0.0 if self.late is None else float(self.late.sum())
        return self.weight * float(self.contributions.sum()) + others

    @property
    def residual(self) -> float:
        """Score less all addends: rounding when they are exact, the completeness error when they are not."""
        return self.score - self.addends

    @property
    def drift(self) -> float | None:
        """The score less the recomputed one; None where there is none."""
        return None if self.recomputed is None else self.score - self.recomputed

    def shares(self, partners: int = 3) -> tuple[Share, ...]:
        """What each word of the query added, in the order of the query; they sum to the score less the residual.

        Behind the words come special tokens, punctuation and the prompt, one line a kind, then the terms, then
        what a rerank by late interaction added with each word's best match.

        Args:
            partners: how many passage words to name with each query word, at most.
        """
        words = self.words()
        found: list[Share] = []
        others: dict[str, float] = {}
        counted = zip(words.query, self.weight * words.contributions, strict=True) if self.weight else ()
        for word, addends in counted:
            added = float(addends.sum())
            if word.kind == "word":
                best = _partners(words.passage, addends)[:partners]
                found.append(Share(word.text, word.kind, word.start, word.end, added, best))
            else:
                others[word.kind] = others.get(word.kind, 0.0) + added
        found += [
            Share(all_of_kind(kind, words.query), kind, 0, 0, added) for kind, added in others.items()
        ]
        found += [
            Share(term.term, term.kind, term.start, term.end, term.contribution) for term in self.terms
        ]
        return (*found, *self._late_shares(words))

    def _late_shares(self, words: WordMatrices) -> Iterator[Share]:
        """What each word of the query added by the passage words that are most like it."""
        if self.late is None:
            return
        import numpy as np

        cells = _by_words(np.add, self.late, words.query, words.passage)
        for word, addends in zip(words.query, cells, strict=True):
            if addends.any():
                best = _partners(words.passage, addends)[:1]
                yield Share(word.text, "late", word.start, word.end, float(addends.sum()), best)

    def words(self) -> WordMatrices:
        """Both matrices with WordPieces merged to whole words."""
        import numpy as np

        query = merged(self.query_tokens, {"text": self.query})
        passage = merged(
            self.passage_tokens, {"text": self.passage, "context": self.context}, self.hidden
        )
        added = _by_words(np.add, self.contributions, query, passage)
        return WordMatrices(query, passage, added, _by_words(np.maximum, self.similarity, query, passage))

    def alignment(self, threshold: float = 0.0, *, punctuation: bool = False) -> list[Pair]:
        """Pairs of words that are each other's best match, special tokens left out.

        A match is as good as the cosine of the two words, plus `NEIGHBOURS` times the cosine of the words
        before them and that of the words behind them (nothing at the ends of a text): of two equal words,
        the one in like surroundings is chosen. Measured with all-MiniLM-L6-v2 on MTRef and on the headlines
        of SemEval-2016 task 2 (benchmarks/alignment.py), F1 by the cosine alone is 0.833 and 0.492, with
        neighbours 0.847 and 0.502. At equal matches the first word is taken.

        Args:
            threshold: least cosine of a pair, in [-1, 1]; of the two words alone.
            punctuation: pair punctuation marks too, as if they were words.
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
        """Every word of the passage with what it added to the score, in the order of the text."""
        words = self.words()
        return [
            Highlight(word.start, word.end, added)
            for word, added in zip(words.passage, self.passage_added(words).tolist(), strict=True)
            if word.kind in ("word", "punctuation")
        ]

    def strongest(self, share: float = 0.25) -> tuple[Highlight, ...]:
        """Those that are words, and added at least this share of what the strongest did."""
        words = [
            one for one in self.highlights() if any(map(str.isalnum, self.passage[one.start : one.end]))
        ]
        least = share * max((word.weight for word in words), default=0.0)
        return tuple(word for word in words if word.weight > 0 and word.weight >= least)

    def passage_added(self, words: WordMatrices) -> Vector:
        """(P,) what each word of the passage added to the score.

        Its column of the contributions, as they count in the score, and its part of the terms: what a term
        added is dealt out to the places where it stands, in equal parts, as BM25 does not tell them apart.
        """
        import numpy as np

        found = self.weight * words.contributions.sum(axis=0)
        if self.late is not None:
            found += _by_words(np.add, self.late, words.query, words.passage).sum(axis=0)
        for term in self.terms:
            for place in term.places:
                there = [j for j, word in enumerate(words.passage) if _is_at(word, place)]
                found[there] += term.contribution / len(term.places) / max(1, len(there))
        return found


def _by_words(together: ufunc, cells: Matrix, query: Sequence[Word], passage: Sequence[Word]) -> Matrix:
    """(Q, P) from (q, p) cells of tokens: their sums, say, for each pair of words."""
    rows, columns = [word.tokens[0] for word in query], [word.tokens[0] for word in passage]
    found: Matrix = together.reduceat(together.reduceat(cells, rows, axis=0), columns, axis=1)
    return found


def _is_at(word: Word, place: Occurrence) -> bool:
    kinds = ("context",) if place.part == "context" else ("word",)
    return word.kind in kinds and word.start < place.end and place.start < word.end


def _with_neighbours(cosines: Matrix) -> Matrix:
    """(Q, P) cosines of words, each with a share of those of the words before and of the words behind."""
    found = cosines.copy()
    found[1:, 1:] += NEIGHBOURS * cosines[:-1, :-1]
    found[:-1, :-1] += NEIGHBOURS * cosines[1:, 1:]
    return found


def _partners(passage: tuple[Word, ...], addends: Matrix) -> tuple[Partner, ...]:
    """What a query word added with each word of the passage and its headings; equal words taken together."""
    total: dict[str, float] = {}
    for word, added in zip(passage, addends, strict=True):
        if word.kind in ("word", "context"):
            name = word.text.lower()
            total[name] = total.get(name, 0.0) + float(added)
    best = sorted(total.items(), key=lambda item: -item[1])
    return tuple(Partner(name, added) for name, added in best if added > 0)


def _require_choices(matrix: str, by: str) -> None:
    """Raise InputError where there is no such matrix, or nothing that it is by."""
    choices = {"matrix": (matrix, ("similarity", "contributions")), "by": (by, ("token", "word"))}
    for name, (given, names) in choices.items():
        if given not in names:
            raise InputError(f"{name} is {given!r}. Choose one of: {', '.join(map(repr, names))}.")
