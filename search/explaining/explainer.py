"""Explanations of a ranking: why a hit, why one hit above another, and why not.

A document may be missing among the hits because its file has no passage in the index, or has changed since it was
indexed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.corpus import Skipped, SourceFile, documents, load
from search.encoding import Encoder
from search.errors import InputError, OptionalDependency, ReadError
from search.explaining.addends import AddendFinder, Addends, IndexedHit
from search.explaining.explanation import Layers, TextPart, TracedHits
from search.explaining.left_out import without_words
from search.explaining.traced import own_input
from search.explaining.word_shares import WordAddends
from search.indexing.compare import walk_folder
from search.ranking.fusion import Fusion
from search.ranking.question import EncodedQuery, Question, encoded_question, encoded_text, query_fits
from search.ranking.rank import hit_of, rank_passages
from search.ranking.selection import Selection
from search.records.comparisons import Contrast, Difference, WhyNot
from search.records.explanations import Explanation
from search.records.hits import Hit
from search.records.option_tools import Ranking
from search.records.shares import Share, Term, keyword_shares
from search.store.freshness import since_indexed, with_file_status
from search.store.places import ResolvedPath
from search.store.settings import IndexMeta, Source
from search.store.terms import unquoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.encoding.tokenizer import ModelInput
    from search.records.contents import StoredPassage
    from search.records.tokens import Layer
    from search.store.conditions import Where
    from search.store.snapshot import Snapshot, Store

MISSING, OUTSIDE, NEW = "not there", "outside the folder", "new"


def why_missing(facts: IndexMeta, index: Path, resolved: ResolvedPath) -> tuple[str, str]:
    """Return the reason why the index has no passage of a path.

    Walks the folder as indexing does, and reads the file, so the reason is current even if the file has changed since
    it was indexed.

    Args:
        facts: facts about the index.
        index: folder of the index.
        resolved: the path.

    Raises:
        InputError: the indexed folder is gone.

    Returns:
        The reason and a detail. The reason is MISSING, OUTSIDE, NEW (the next run would index the file), or a `Reason`
        of search/corpus/sources.py.
    """
    folders, root, source = facts.folders, facts.root, facts.source
    if folders.memory:
        return MISSING, ""
    if resolved.name is None or not any(map(resolved.location.is_relative_to, folders.paths)):
        if os.path.lexists(resolved.location):
            return OUTSIDE, f"the index covers {folders}"
        return MISSING, ""
    files, skipped = walk_folder(root, index, source)
    for file in files:
        if file.path == resolved.name:
            return _unread(file, resolved, source)
    for skip in skipped:
        if skip.path == resolved.name:
            return skip.reason, skip.detail
        if (
            skip.is_folder
            and resolved.name.startswith(f"{skip.path}/")
            and os.path.lexists(resolved.location)
        ):
            return skip.reason, f"its folder {skip.path} is" + (f"; {skip.detail}" if skip.detail else "")
    near = get_close_matches(resolved.name, [file.path for file in files], 1)
    return MISSING, f"did you mean '{near[0]}'?" if near else ""


def _unread(file: SourceFile, resolved: ResolvedPath, source: Source) -> tuple[str, str]:
    """Read a file that indexing would include; return the reason why it has no passage, and a detail."""
    n_records = 0
    try:
        for item in documents(file, load(file), **source.fields):
            if isinstance(item, Skipped):
                if item.path == resolved.document:
                    return item.reason, item.detail
            elif resolved.record in (None, item.record):
                return NEW, ""
            else:
                n_records += 1
    except ReadError as error:
        return error.reason, error.detail
    except OptionalDependency as error:
        return "cannot be read", str(error)
    return MISSING, f"the file has {n_records} records with text" if resolved.record else ""


class Explainer:
    """Explains the ranking of one query in one index.

    Args:
        query: a text that is not empty, or a query of several parts.
        ranking: options for ranking passages named by ID or path; a `Hit` has its own.
        layer: see `search.explain`.

    Attributes:
        query: the encoded query.

    Raises:
        InputError: the query is too long, or the model has no such layer.
    """

    def __init__(
        self,
        store: Store,
        encoder: Encoder,
        query: str | Question | EncodedQuery,
        ranking: Ranking,
        layer: Layer | None = None,
    ) -> None:
        self._store, self._encoder, self._ranking = store, encoder, ranking
        self._layers = Layers.of(layer, encoder.n_layers)
        with query_fits():
            if isinstance(query, Question):
                query = encoded_question(query, ranking, encoder, store, explained=True)
            if isinstance(query, str):
                query = encoded_text(query, encoder, [-1])
        self._queries: dict[tuple[str, ...], EncodedQuery] = {(): query}  # by the words that are left out
        self.query = self._query_of(ranking)
        self._finder = AddendFinder(encoder, self._query_of)

    def _query_of(self, ranking: Ranking) -> EncodedQuery:
        """Return the query without the words that a ranking leaves out."""
        words = ranking.left_out
        if words not in self._queries:
            self._queries[words] = without_words(self._queries[()], words, self._encoder, self._store)
        return self._queries[words]

    def _prepare(self, targets: Sequence[Hit | int | str | Path]) -> None:
        """Encode the query as the hits were ranked; while a snapshot is read, nothing else may be read."""
        for target in targets:
            if isinstance(target, Hit):
                self._query_of(target.ranking)

    def explain(self, targets: Sequence[Hit | int]) -> list[Explanation]:
        """Explain the scores of hits, or of passages named by ID; their texts are encoded together."""
        self._prepare(targets)
        with self._store.reading() as snapshot:
            ranking = Fusion(snapshot, self.query, self._ranking)
            hits = [
                hit if isinstance(hit, Hit) else hit_of(snapshot, ranking.score(hit), self._ranking)
                for hit in targets
            ]
            indexed = self._finder.fetch(snapshot, hits)
        return self._explained(hits, indexed)

    def shares(self, hits: Sequence[Hit]) -> list[tuple[Share, ...]]:
        """Return what the words of the query add to the score of each hit, without reading the passages.

        Stop words and tokens that are no words are a single share; so are those of the offset. The shares of a hit sum
        to its score but for a rounding error, and agree with those of its explanation.
        """
        if not hits:
            return []
        ranking = hits[0].ranking
        is_whole = (
            self._layers.contributions or ranking.rerank == "late"
        )  # needs the tokens of the passages
        if is_whole or any(hit.ranking != ranking for hit in hits):
            return [why.shares(partners=0) for why in self.explain(hits)]
        self._prepare(hits)
        parts = self._parts_of(self._query_of(ranking))
        with self._store.reading() as snapshot:
            terms = self._finder.terms(snapshot, hits, ranking)
            embeddings = snapshot.embeddings([hit.passage_id for hit in hits])
        weight = ranking.weight * ranking.first_share
        meaning = WordAddends.of(self._encoder, parts, embeddings) if weight else None
        return [
            (
                *(meaning.shares(number, weight) if meaning else ()),
                *keyword_shares([*self._examples(ranking, embeddings[number]), *terms[number]]),
            )
            for number in range(len(hits))
        ]

    def contrast(self, a: Hit | int | str | Path, b: Hit | int | str | Path) -> Contrast:
        """Explain why hit `a` ranks above hit `b`, word by word; see `Index.contrast`."""
        self._prepare([a, b])
        with self._store.reading() as snapshot:
            hits = [self._hit_of(snapshot, a), self._hit_of(snapshot, b)]
            if hits[0].ranking != hits[1].ranking:
                raise InputError(
                    "the two hits were ranked with different options, so their scores cannot be "
                    "compared. Take both from one query."
                )
            indexed = self._finder.fetch(snapshot, hits)
        hits = with_file_status(hits)
        why_a, why_b = self._explained(hits, indexed)
        return contrast_of(hits[0], why_a, hits[1], why_b)

    def why_not(
        self, target: str | Path | int, selection: Selection, where: Where | None = None
    ) -> WhyNot:
        """Explain why a document or passage is not among the hits; see `Index.why_not`."""
        with self._store.reading() as snapshot:
            resolved, facts = self._resolve(snapshot, target), snapshot.facts
            passing = np.asarray(
                snapshot.passing(where, np.array(resolved.passages, dtype=np.int64))
            ).tolist()
            hit = self._best(snapshot, passing) or self._best(snapshot, resolved.passages)
            fields = (
                self.query.text,
                resolved.document,
                selection.k,
                selection.per_document,
                facts.passages,
            )
            if hit is not None:
                hits = rank_passages(
                    snapshot, self.query, self._ranking, selection, snapshot.passing(where)
                )
                targets = [hits[-1], hit] if hits else [hit]
                indexed = self._finder.fetch(snapshot, targets)
                copies = snapshot.copies([hit.passage_id, *(other.passage_id for other in hits)])
        if hit is None:
            return WhyNot(*fields, "not indexed", *why_missing(facts, self._store.path, resolved))
        *last, hit = with_file_status(targets)
        *last_why, why = self._explained([*last, hit], indexed)
        passes = hit.passage_id in passing
        # No hits: no passage passes the filter, or none has a word of a keyword query.
        if not last:
            return WhyNot(*fields, "lower" if passes else "filtered", hit=hit)
        answer = WhyNot(*fields, "found", hit=hit, last=last[0])
        if hit.passage_id in [other.passage_id for other in hits]:
            return answer
        answer = replace(answer, contrast=contrast_of(last[0], last_why[0], hit, why))
        if not passes:
            return replace(answer, cause="filtered")
        since = since_indexed(hit.path, hit.file)
        if since.changed:
            return replace(answer, cause=since.changed, detail=since.detail)
        above = (-hit.score, hit.passage_id) < (-last[0].score, last[0].passage_id)  # the order of hits
        copied = copies.get(hit.passage_id)
        same_text = [other for other in hits if copied and copies.get(other.passage_id) == copied]
        if above and same_text:
            return replace(answer, cause="copy", detail=same_text[0].document)
        return replace(answer, cause="limit" if above else "lower")

    def hit(self, target: str | Path) -> int:
        """Return the ID of the passage of a path that ranks best for the query."""
        with self._store.reading() as snapshot:
            return self._hit_of(snapshot, target).passage_id

    def _resolve(self, snapshot: Snapshot, target: str | Path | int) -> ResolvedPath:
        """Resolve a path; for a passage ID, resolve the path of its file, and keep only that passage."""
        if not isinstance(target, int):
            return snapshot.resolve(target)
        stored = snapshot.passage(target)
        resolved = snapshot.resolve(stored.path or stored.document)
        record = stored.document.removeprefix(resolved.name or "").removeprefix("#")
        return replace(resolved, record=int(record) if record else None, passages=(target,))

    def _hit_of(self, snapshot: Snapshot, target: Hit | int | str | Path) -> Hit:
        """Return a target as a hit with its rank among all passages; for a document, its best passage."""
        if isinstance(target, Hit):
            return target
        resolved = self._resolve(snapshot, target)
        best = self._best(snapshot, resolved.passages)
        if best is None:
            reason, detail = why_missing(snapshot.facts, self._store.path, resolved)
            raise InputError(
                f"'{target}' is not in the index: {reason}{f' ({detail})' if detail else ''}. "
                "Give a passage ID or a file that is in the index."
            )
        return best

    def _best(self, snapshot: Snapshot, passages: Sequence[int]) -> Hit | None:
        """Return the best of some passages, with its rank among all passages; None if none is ranked."""
        if not passages:
            return None
        positions = Fusion(snapshot, self.query, self._ranking).positions(passages)
        if not positions:
            return None
        rank, item = min(positions.values(), key=lambda position: position[0])
        return hit_of(snapshot, item, self._ranking, rank)

    def _explained(self, hits: Sequence[Hit], indexed: Sequence[IndexedHit]) -> list[Explanation]:
        """Explain hits; `indexed` has the data of each hit from the index."""
        if not hits:
            return []
        rankings = [hit.ranking for hit in hits]
        if len({ranking.left_out for ranking in rankings}) > 1:  # other words are left out: another query
            return [
                why
                for hit, of_hit in zip(hits, indexed, strict=True)
                for why in self._explained([hit], [of_hit])
            ]
        parts = self._parts_of(self._query_of(rankings[0]))
        with query_fits("text"):
            passages = self._inputs([of_hit.passage for of_hit in indexed])
        embeddings = np.stack([of_hit.embedding for of_hit in indexed])
        own = [number for number, of_hit in enumerate(indexed) if of_hit.passage.own_vector]
        traced = TracedHits(self._encoder, parts, passages, embeddings, self._layers, own)
        addends = self._finder.of(hits, indexed)
        return [
            self._explanation(traced, number, hit, of_hit)
            for number, (hit, of_hit) in enumerate(zip(hits, addends, strict=True))
        ]

    def _parts_of(self, query: EncodedQuery) -> list[TextPart]:
        """Return the parts of a query that have a text.

        Raises:
            InputError: there are none, or the query is too long.
        """
        with query_fits():
            parts = _text_parts(query, self._encoder)
        if not parts:
            examples = ", ".join(part.name for part in query.parts)
            raise InputError(
                f"the query has no text to explain, only embeddings ({examples}). An example that brings its embedding "
                "has none; for another one, use explain_similar."
            )
        return parts

    def _inputs(self, passages: Sequence[StoredPassage]) -> list[ModelInput]:
        """Return passages as the model reads them, in their order; those with own embeddings as a single token."""
        read = [passage for passage in passages if not passage.own_vector]
        inputs = iter(
            self._encoder.inputs(
                [passage.text for passage in read],
                contexts=[passage.context for passage in read],
                hidden=[passage.hidden for passage in read],
                role="document",
            )
            if read
            else ()
        )
        return [
            own_input(passage.text, passage.context, passage.hidden)
            if passage.own_vector
            else next(inputs)
            for passage in passages
        ]

    def _explanation(self, traced: TracedHits, number: int, hit: Hit, addends: Addends) -> Explanation:
        weight = hit.ranking.weight * hit.ranking.first_share
        examples = self._examples(hit.ranking, addends.embedding)
        fields: dict[str, Any] = {} if hit.cosine is None else {"cosine": hit.cosine}
        return traced.explanation(
            number,
            score=hit.score,
            mode=hit.ranking.mode,
            weight=weight,
            terms=(*examples, *addends.terms),
            late=addends.late,
            recomputed=addends.recomputed,
            **fields,
        )

    def _examples(self, ranking: Ranking, embedding: NDArray[np.float32]) -> list[Term]:
        """Return what the parts of the query without a text add to the score of a passage."""
        weight = ranking.weight * ranking.first_share
        return [
            Term(part.name, weight * part.factor * float(part.embedding @ embedding), kind="like")
            for part in self._query_of(ranking).parts
            if not part.text and weight
        ]


def _text_parts(query: EncodedQuery, encoder: Encoder) -> list[TextPart]:
    """Return the parts of a query that have a text."""
    if query.parts:
        return [TextPart.of(encoder, part) for part in query.parts if part.text]
    assert query.embedding is not None  # a query that is explained is encoded
    (read,) = encoder.inputs([unquoted(query.text)], role="query")
    return [TextPart(read, 1.0, query.embedding, query.left_out)]


def contrast_of(a: Hit, why_a: Explanation, b: Hit, why_b: Explanation) -> Contrast:
    """Split the gap between two scores of the same query by its words.

    Each score is a sum over the query's words, so the gap is the sum of the words' differences. A word that contributes
    to one score only (such as a keyword) counts as 0 in the other.
    """
    in_a, in_b = _by_word(why_a), _by_word(why_b)
    words = [
        Difference(*key, in_a.get(key, 0.0), in_b.get(key, 0.0)) for key in dict.fromkeys([*in_a, *in_b])
    ]
    return Contrast(why_a.query, a, b, tuple(words))


def _by_word(why: Explanation) -> dict[tuple[str, str, int, int], float]:
    shares = why.shares(partners=0)
    return {(share.text, share.kind, share.start, share.end): share.contribution for share in shares}
