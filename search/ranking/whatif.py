"""The passages that can be the best ones by another weight, or without some of the words of a query.

They are the best by each part of the score. What all others have at most of each part bounds their score, whatever it
is made of: the bound of the threshold algorithm (see fusion.py), handed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from search.errors import InputError
from search.ranking.fusion import Fusion
from search.ranking.question import EncodedQuery
from search.records.whatif import Bound, Candidate, Candidates

if TYPE_CHECKING:
    from search.records.options import Ranking
    from search.store.bm25 import Matches
    from search.store.conditions import Where
    from search.store.sqlite import Ids, Snapshot, Store


def candidates(
    store: Store, query: EncodedQuery, ranking: Ranking, n: int, where: Where | None
) -> Candidates:
    """See `Index.candidates`.

    Args:
        query: with its embedding, unless words alone count in the mode.

    Raises:
        InputError: n < 1, or a word that does not count is to be left out.
    """
    if n < 1:
        raise InputError(f"n is {n}, but at least 1 passage must be asked for.")
    with store.reading() as snapshot:
        return _candidates(snapshot, query, ranking, n, snapshot.passing(where))


def counted(store: Store, text: str, ranking: Ranking) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """See `Index.counted_words`."""
    with store.reading() as snapshot:
        return _named(_words(snapshot, EncodedQuery(text, None), ranking))


def _words(snapshot: Snapshot, query: EncodedQuery, ranking: Ranking, among: Ids | None = None) -> Fusion:
    """The ranking by words, also where these count nothing by the weight that is asked for."""
    if ranking.mode == "hybrid":
        ranking = replace(ranking, mode="lexical", weight=0.0)
    return Fusion(snapshot, query, ranking, among)


def _named(words: Fusion) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words that tell passages apart, and those of them that are left out."""
    left_out = (term for term in words.counted if term not in words.terms)
    return tuple(term.text for term in words.counted), tuple(term.text for term in left_out)


def _candidates(
    snapshot: Snapshot, query: EncodedQuery, ranking: Ranking, n: int, among: Ids | None
) -> Candidates:
    asked, words = Fusion(snapshot, query, ranking, among), _words(snapshot, query, ranking, among)
    terms, without = _named(words)
    matches = snapshot.matches(words.counted)  # whatever is left out
    nearest = [] if query.embedding is None else snapshot.nearest(query.embedding, n, among)
    saying, parts = matches.best(n, among)
    top = asked.top(n)
    routes = [id_ for id_, _ in nearest], saying.tolist(), [item.passage for item in top]
    ids = np.array(sorted(set().union(*routes)), dtype=np.int64)
    by_meaning = query.embedding is not None
    bound = Bound(
        cosine=(nearest[-1][1] if len(nearest) == n else -1.0) if by_meaning else 1.0,
        lexical=float(parts[-1]) if len(parts) == n else 0.0,
        score=top[-1].score if len(top) == n else -1.0 if ranking.by_meaning else 0.0,
    )
    return Candidates(
        generation=snapshot.facts.generation,
        mode=ranking.mode,
        weight=ranking.weight,
        terms=terms,
        without=without,
        scale=matches.scale,
        pool=_pool(snapshot, query, matches, ids),
        bound=bound,
        whole=len(ids) == (snapshot.facts.passages if among is None else len(among)),
    )


def _pool(snapshot: Snapshot, query: EncodedQuery, matches: Matches, ids: Ids) -> tuple[Candidate, ...]:
    """Passages with the parts of their scores."""
    cosines: Sequence[float | None] = [None] * len(ids)
    if query.embedding is not None:
        cosines = snapshot.cosines(query.embedding, ids).tolist()
    passages = ids.tolist()
    documents = snapshot.documents(passages)
    copied = {id_: copy.text for id_, copy in snapshot.copies(passages).items()}
    return tuple(
        Candidate(id_, documents.get(id_, -id_), copied.get(id_), cosine, tuple(row))
        for id_, cosine, row in zip(passages, cosines, matches.addends(ids).tolist(), strict=True)
    )
