"""Occurrences of the query's words in passages; and candidates for hits with another weight.

The candidates are the best passages by meaning, by keywords and by score. The last of each list bounds that value for
all other passages, as in the threshold algorithm (see fusion.py). A score is

    score = weight * cosine + (1 - weight) * (sum of the addends of the words that are not ignored) / scale

`search/render/page/whatif.js` computes it, and reports if a passage outside the candidates could be a hit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from search.errors import InputError
from search.ranking.fusion import Fusion
from search.ranking.question import EncodedQuery
from search.records.contents import StoredPassage
from search.records.explanations import STOP_WORDS, Highlight
from search.records.shares import Occurrence
from search.records.visible_text import VisibleText

if TYPE_CHECKING:
    from search.records.hits import Hit
    from search.records.option_tools import Ranking
    from search.store.bm25 import KeywordScores
    from search.store.snapshot import Ids, Snapshot, Store
    from search.store.terms import IndexTerm


@dataclass(frozen=True)
class Candidate:
    """A passage with its cosine and the addends of its keyword score.

    Attributes:
        document: number of its document.
        copied: number of the text, which all its copies in other documents share; None for a text without copies.
        cosine: None if the ranking does not use embeddings.
        addends: addend of each term to its BM25.
    """

    passage_id: int
    document: int
    copied: int | None
    cosine: float | None
    addends: tuple[float, ...]


@dataclass(frozen=True)
class Bound:
    """Upper bounds for all passages that are not candidates.

    Attributes:
        cosine: bound of the cosine; -1 if there are no such passages, 1 if the ranking does not use embeddings.
        lexical: bound of the keyword score with all terms; 0 if none of the passages contains a term.
        score: bound of the score in the requested ranking; -1 if there are no such passages. In a keyword ranking, 0 if
            none of them contains a term.
    """

    cosine: float
    lexical: float
    score: float


@dataclass(frozen=True)
class Candidates:
    """Passages that can become hits with another weight.

    Attributes:
        generation: generation of the index, as in `Index.generation`.
        mode, weight: the requested ranking, as in a `Hit`. In modes other than "hybrid" the weight is fixed.
        terms: the discriminative terms, including ignored ones, as typed in the query.
        without: the ignored terms.
        scale: the BM25 value that gives a keyword score of 1.
        pool: the best passages by meaning, by keywords and by score, in the order of IDs; all pass the filter.
        bound: upper bounds for all other passages that pass the filter.
        whole: True if there are no other passages that pass the filter.
    """

    generation: int
    mode: str
    weight: float
    terms: tuple[str, ...]
    without: tuple[str, ...]
    scale: float
    pool: tuple[Candidate, ...]
    bound: Bound
    whole: bool


def candidates(
    snapshot: Snapshot, query: EncodedQuery, ranking: Ranking, n: int, among: Ids | None
) -> Candidates:
    """See `Searcher.candidates`.

    Args:
        query: the query with its embedding, which the mode "lexical" does not need.
        among: IDs of the passages that pass a filter; None for all.

    Raises:
        InputError: n < 1, or a word to ignore is not a discriminative term.
    """
    if n < 1:
        raise InputError(f"n is {n}; the minimum is 1.")
    fusion = Fusion(snapshot, query, ranking, among)
    keyword_ranking = _keyword_ranking(snapshot, query, ranking, among)
    terms, without = _term_texts(keyword_ranking)
    keyword_scores = snapshot.keyword_scores(keyword_ranking.counted)  # with the ignored terms, too
    nearest = [] if query.embedding is None else snapshot.nearest(query.embedding, n, among)
    matching, scores = keyword_scores.best(n, among)
    top = fusion.top(n)
    routes = [id_ for id_, _ in nearest], matching.tolist(), [item.passage for item in top]
    ids = np.array(sorted(set().union(*routes)), dtype=np.int64)
    by_meaning = query.embedding is not None
    bound = Bound(
        cosine=(nearest[-1][1] if len(nearest) == n else -1.0) if by_meaning else 1.0,
        lexical=float(scores[-1]) if len(scores) == n else 0.0,
        score=top[-1].score if len(top) == n else -1.0 if ranking.by_meaning else 0.0,
    )
    return Candidates(
        generation=snapshot.facts.generation,
        mode=ranking.mode,
        weight=ranking.weight,
        terms=terms,
        without=without,
        scale=keyword_scores.scale,
        pool=_pool(snapshot, query, keyword_scores, ids),
        bound=bound,
        whole=len(ids) == (snapshot.facts.passages if among is None else len(among)),
    )


def counted(store: Store, text: str, ranking: Ranking) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """See `Searcher.counted_words`."""
    with store.reading() as snapshot:
        return _term_texts(_keyword_ranking(snapshot, EncodedQuery(text, None), ranking))


def _keyword_ranking(
    snapshot: Snapshot, query: EncodedQuery, ranking: Ranking, among: Ids | None = None
) -> Fusion:
    """Return the keyword ranking, even if the requested weight ignores keywords."""
    if ranking.mode == "hybrid":
        ranking = replace(ranking, mode="lexical", weight=0.0)
    return Fusion(snapshot, query, ranking, among)


def _term_texts(ranking: Fusion) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the discriminative terms, and the ignored ones among them."""
    ignored = (term for term in ranking.counted if term not in ranking.terms)
    return tuple(term.text for term in ranking.counted), tuple(term.text for term in ignored)


def _pool(
    snapshot: Snapshot, query: EncodedQuery, keyword_scores: KeywordScores, ids: Ids
) -> tuple[Candidate, ...]:
    """Return passages with their cosines and the addends of their keyword scores."""
    cosines: Sequence[float | None] = [None] * len(ids)
    if query.embedding is not None:
        cosines = snapshot.cosines(query.embedding, ids).tolist()
    passages = ids.tolist()
    documents = snapshot.documents(passages)
    copied = {id_: copy.text for id_, copy in snapshot.copies(passages).items()}
    return tuple(
        Candidate(id_, documents.get(id_, -id_), copied.get(id_), cosine, tuple(row))
        for id_, cosine, row in zip(passages, cosines, keyword_scores.addends(ids).tolist(), strict=True)
    )


def highlights(store: Store, text: str, hits: Sequence[Hit]) -> list[tuple[Highlight, ...]]:
    """See `Searcher.highlights`.

    Args:
        text: text of the query.
    """
    if not any(hit.lexical for hit in hits):
        return [()] * len(hits)
    with store.reading() as snapshot:
        fusion = Fusion(snapshot, EncodedQuery(text, None), hits[0].ranking)
        keyword_scores = fusion.keyword_scores
        content = [term.text.casefold() not in STOP_WORDS for term in fusion.terms]
        ids = np.array([hit.passage_id for hit in hits], dtype=np.int64)
        rows = keyword_scores.addends(ids) / keyword_scores.scale
        if any(content):
            rows = rows * np.array(content)
        return [
            _highlights(
                snapshot, hit, [(t, value) for t, value in zip(fusion.terms, row, strict=True) if value]
            )
            for hit, row in zip(hits, rows.tolist(), strict=True)
        ]


def _highlights(
    snapshot: Snapshot, hit: Hit, addends: Sequence[tuple[IndexTerm, float]]
) -> tuple[Highlight, ...]:
    by_term = occurrences(snapshot, [term for term, _ in addends], hit)
    marks = [
        Highlight(place.start, place.end, (1 - hit.weight) * addend / len(places))
        for places, (_, addend) in zip(by_term, addends, strict=True)
        for place in places
        if place.part == "text"
    ]
    return tuple(sorted(marks, key=lambda mark: (mark.start, -mark.end)))


def occurrences(
    snapshot: Snapshot, terms: Sequence[IndexTerm], passage: StoredPassage | Hit
) -> list[tuple[Occurrence, ...]]:
    """Return the occurrences of each term in a passage: those in its text, then those in its context."""
    by_term: list[list[Occurrence]] = [[] for _ in terms]
    parts: tuple[tuple[Literal["text", "context"], VisibleText], ...] = (
        ("text", VisibleText(passage.text, passage.hidden)),
        ("context", VisibleText(passage.context, ())),
    )
    for part, source in parts:
        words = snapshot.tokenize(source.text) if terms else []
        forms = snapshot.forms_in(terms, passage.passage_id, source.text, words)
        for term, spans, places in zip(terms, forms, by_term, strict=True):
            runs = sorted({*_runs(term.stems, words), *spans})
            places += (Occurrence(part, *source.span(*run)) for run in runs)
    return [tuple(places) for places in by_term]


def _runs(stems: tuple[str, ...], words: Sequence[IndexTerm]) -> list[tuple[int, int]]:
    """Return the span of each run of consecutive words with the given stems."""
    spans = []
    for first, word in enumerate(words):
        if word.stems and word.stems[0] != stems[0]:
            continue
        run: tuple[str, ...] = ()
        last = first
        while last < len(words) and len(run) < len(stems):
            run += words[last].stems
            last += 1
        if run == stems:
            spans.append((words[first].start, words[last - 1].end))
    return spans
