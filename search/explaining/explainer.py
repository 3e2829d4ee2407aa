"""The questions that an index answers about its own ranking: why, why this above that, and why not.

Why not may be that a file has no passage in the index, or that what it has is not the file's text any more.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from search.corpus import Skipped, SourceFile, documents, load
from search.encoding import Encoder
from search.errors import InputError, OptionalDependency, ReadError
from search.explaining.addends import AddendFinder, Addends
from search.explaining.explanation import encoded_parts, explain_pair, explain_parts, similarity_layers
from search.indexing.plan import listed
from search.ranking.freshness import as_of_now, since_indexed
from search.ranking.fusion import Fusion
from search.ranking.options import Selection
from search.ranking.question import EncodedQuery, Question, encoded_question, encoded_text, meant, query_fits
from search.ranking.rank import Among, Scale, as_hit, everything, ranked, scored
from search.ranking.rerank import LATE_SHARE
from search.records.comparisons import Contrast, Difference, WhyNot
from search.records.explanations import Explanation, Share
from search.records.hits import Hit
from search.records.options import Ranking
from search.records.tokens import TokenVectors
from search.store.folders import Folders
from search.store.protocol import Place
from search.store.settings import Source

if TYPE_CHECKING:
    from search.explaining.explanation import Report
    from search.records.tokens import Layer
    from search.store.protocol import Store

NOT_THERE, OUTSIDE, NEW = "not there", "outside the folder", "new"


def why_missing(store: Store, place: Place) -> tuple[str, str]:
    """Why there is no passage of a place: a reason and a detail.

    The folder is walked as indexing walks it, and the file is read, so what is said holds now, also where it
    has changed since the index was made.

    Raises:
        InputError: the indexed folder is gone.

    Returns:
        NOT_THERE, OUTSIDE, NEW for what the next run would index, or a `Reason` of search/corpus/files.py.
    """
    with store.reading() as snapshot:
        root, source = snapshot.root, snapshot.source
    folders = Folders(root, source.folders)
    if place.name is None or not any(map(place.location.is_relative_to, folders.paths)):
        if os.path.lexists(place.location):
            return OUTSIDE, f"the index is of {folders}"
        return NOT_THERE, meant(place)
    files, skipped = listed(root, store.path, source)
    for file in files:
        if file.path == place.name:
            return _unread(file, place, source)
    for skip in skipped:
        if skip.path == place.name:
            return skip.reason, skip.detail
        if skip.is_folder and place.name.startswith(f"{skip.path}/") and os.path.lexists(place.location):
            return skip.reason, f"its folder {skip.path} is" + (f"; {skip.detail}" if skip.detail else "")
    return NOT_THERE, meant(place)


def _unread(file: SourceFile, place: Place, source: Source) -> tuple[str, str]:
    """What becomes of a file that is walked, when it is read."""
    n_records = 0
    try:
        for item in documents(file, load(file), text_field=source.text_field, title_field=source.title_field):
            if isinstance(item, Skipped):
                if item.path == place.document:
                    return item.reason, item.detail
            elif place.record in (None, item.record):
                return NEW, ""
            else:
                n_records += 1
    except ReadError as error:
        return error.reason, error.detail
    except OptionalDependency as error:
        return "cannot be read", str(error)
    return NOT_THERE, f"the file has {n_records} records with text" if place.record else ""


class Explainer:
    """Answers questions about one query to one index.

    Args:
        query: a text that is not empty; or a query of several parts.
        ranking: how passages are ranked that are named by id or path; a hit knows its own.
        offline: never call out to the hub, should the model be needed in PyTorch (see gradients.py).
        layer: see `search.explain`.

    Attributes:
        query: as it is searched for.

    Raises:
        InputError: the query is too long, or the model has no such layer.
    """

    def __init__(
        self,
        store: Store,
        encoder: Encoder,
        query: str | Question | EncodedQuery,
        ranking: Ranking,
        offline: bool = False,
        layer: Layer | Sequence[Layer] | None = None,
    ) -> None:
        self._store, self._encoder, self._offline = store, encoder, offline
        self._ranking = ranking
        self._layers = similarity_layers(layer, encoder.n_layers)
        layers = [*self._layers, -1]
        with query_fits():
            if isinstance(query, Question):
                query = encoded_question(query, ranking, encoder, store, explained=True)
            if isinstance(query, str):
                query = encoded_text(query, encoder, layers)
            self._parts = encoded_parts(encoder, query.parts, layers)
        self.query = query

    def explain(self, what: Sequence[Hit | int], progress: Report | None = None) -> list[Explanation]:
        """Of each hit or passage id, in one pass through the encoder."""
        hits = [
            scored(self._store, self.query, self._ranking, hit) if isinstance(hit, int) else hit
            for hit in what
        ]
        if not hits:
            return []
        with query_fits("text"):
            vectors = self._encoder.tokens(
                [hit.text for hit in hits],
                contexts=[hit.context for hit in hits],
                hidden=[hit.hidden for hit in hits],
                role="document",
                layers=[*self._layers, -1],
            )
        addends = AddendFinder(self._store, self._encoder, self.query).of(hits, vectors)
        return [self._explained(*one, progress) for one in zip(hits, vectors, addends, strict=True)]

    def contrast(self, a: Hit | int | str | Path, b: Hit | int | str | Path) -> Contrast:
        """See `Index.contrast`."""
        hit_a, hit_b = self.hit(a), self.hit(b)
        if hit_a.ranking != hit_b.ranking:
            raise InputError(
                f"the two hits were ranked in different ways ({_way(hit_a)}; {_way(hit_b)}), so their scores cannot be "
                "compared. Take both from one query."
            )
        why_a, why_b = self.explain([hit_a, hit_b])
        return contrast_of(hit_a, why_a, hit_b, why_b)

    def why_not(self, what: str | Path | int, wanted: Selection, among: Among = everything) -> WhyNot:
        """See `Index.why_not`."""
        place = self._place(what)
        hit = self._best(self._passing(place.passages, among)) or self._best(place.passages)
        with self._store.reading() as snapshot:
            question = (
                self.query.text,
                place.document,
                wanted.k,
                wanted.per_document,
                snapshot.passage_count,
            )
        if hit is None:
            return WhyNot(*question, "not indexed", *why_missing(self._store, place))
        hits = ranked(self._store, self.query, self._ranking, wanted, among)
        passes = bool(self._passing([hit.passage_id], among))
        if not hits:  # none passes the filter, or only words count and no passage has one
            (why,) = self.explain([hit])
            return WhyNot(*question, "lower" if passes else "filtered", hit=hit, shares=why.shares())
        last = hits[-1]
        last_why, why = self.explain([last, hit])
        answer = WhyNot(*question, "found", hit=hit, last=last, shares=why.shares())
        if hit.passage_id in [shown.passage_id for shown in hits]:
            return answer
        answer = replace(answer, contrast=contrast_of(last, last_why, hit, why))
        if not passes:
            return replace(answer, cause="filtered")
        since = since_indexed(hit.path, hit.file)
        if since.changed:
            return replace(answer, cause=since.changed, detail=since.detail)
        above = (-hit.score, hit.passage_id) < (-last.score, last.passage_id)  # as hits are ordered
        if above and (copy := self._copy_of(hit, hits)):
            return replace(answer, cause="copy", detail=copy.document)
        return replace(answer, cause="limit" if above else "lower")

    def _copy_of(self, hit: Hit, hits: Sequence[Hit]) -> Hit | None:
        """The one of the hits that has the text of another one, which is copied."""
        with self._store.reading() as snapshot:
            copies = snapshot.copies([hit.passage_id, *(shown.passage_id for shown in hits)])
        mine = copies.get(hit.passage_id)
        same = (shown for shown in hits if mine and copies.get(shown.passage_id) == mine)
        return next(same, None)

    def _passing(self, passages: Sequence[int], among: Among) -> Sequence[int]:
        """Those of the passages that pass the filter."""
        with self._store.reading() as snapshot:
            wanted = np.array(passages, dtype=np.int64)
            passing = set(snapshot.within(wanted, among(snapshot)).tolist()) if passages else ()
        return [passage for passage in passages if passage in passing]

    def _place(self, what: str | Path | int) -> Place:
        """What a path means; the file of a passage, with that passage alone."""
        with self._store.reading() as snapshot:
            if not isinstance(what, int):
                return snapshot.place(what)
            stored = snapshot.passage(what)
            place = snapshot.place(stored.path)
        record = stored.document.removeprefix(place.name or "").removeprefix("#")
        return replace(place, record=int(record) if record else None, passages=(what,))

    def hit(self, what: Hit | int | str | Path) -> Hit:
        """What was named, as a hit with its true rank; of a document its best passage."""
        if isinstance(what, Hit):
            return what
        place = self._place(what)
        best = self._best(place.passages)
        if best is None:
            reason, detail = why_missing(self._store, place)
            raise InputError(
                f"'{what}' is not in the index: {reason}{f' ({detail})' if detail else ''}. "
                "Name a passage or a file that is."
            )
        return best

    def _best(self, passages: Sequence[int]) -> Hit | None:
        """The best of passages in the ranking of everything."""
        if not passages:
            return None
        with self._store.reading() as snapshot:
            positions = Fusion(snapshot, self.query, self._ranking).positions(passages)
            if not positions:
                return None
            rank, item = min(positions.values(), key=lambda position: position[0])
            scale = Scale(snapshot.random_pairs(), self._ranking)
            copied = snapshot.copies([item.passage]).get(item.passage)
            stored, source = snapshot.passage(item.passage), snapshot.source
        hit = as_hit(rank, stored, item, self._ranking, scale, copied)
        return as_of_now([hit], source)[0]

    def _explained(
        self, hit: Hit, vectors: TokenVectors, addends: Addends, progress: Report | None
    ) -> Explanation:
        counts = hit.weight * {"": 1.0, "late": 1 - LATE_SHARE}.get(hit.ranking.rerank, 0.0)
        if parts := self.query.parts:
            explain = partial(explain_parts, parts, self._parts, vectors, addends.embedding, weight=counts)
        else:
            assert self.query.tokens is not None
            explain = partial(explain_pair, self.query.tokens, vectors, roles=("query", "document"))
        why: Explanation = explain(
            encoder=self._encoder, layers=self._layers, offline=self._offline, progress=progress
        )
        return replace(
            why,
            cosine=why.cosine if hit.cosine is None else hit.cosine,
            score=hit.score,
            mode=hit.mode,
            weight=counts,
            terms=(*why.terms, *addends.terms),
            late=addends.late,
            recomputed=addends.recomputed,
        )


def contrast_of(a: Hit, why_a: Explanation, b: Hit, why_b: Explanation) -> Contrast:
    """Split the gap between two scores of the same query by its words.

    The scores are sums over the query's words, so their difference is a sum of the words' differences. A word
    that one side alone has (a term of the word part, say) adds nothing to the other.
    """
    in_a, in_b = _by_word(why_a), _by_word(why_b)
    nothing = Share("", "", 0, 0, 0.0)
    words = []
    for key in dict.fromkeys([*in_a, *in_b]):
        mine, other = in_a.get(key, nothing), in_b.get(key, nothing)
        words.append(Difference(*key, mine.contribution, other.contribution, mine.partners, other.partners))
    return Contrast(why_a.query, a, b, tuple(words))


def _by_word(why: Explanation) -> dict[tuple[str, str, int, int], Share]:
    return {(share.text, share.kind, share.start, share.end): share for share in why.shares()}


def _way(hit: Hit) -> str:
    """How a hit was ranked, in words."""
    ranking = hit.ranking
    phrases = ", with phrases" if ranking.phrases else ""
    without = f", without {' and '.join(ranking.without)}" if ranking.without else ""
    reranked = f", reranked: {ranking.rerank}" if ranking.rerank else ""
    return f"{ranking.mode}, weight {ranking.weight:g}{phrases}{without}{reranked}"
