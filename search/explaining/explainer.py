"""The questions that an index answers about its own ranking: why, why this above that, and why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from search.encoding import Encoder
from search.errors import InputError
from search.explaining.contrast import contrast_of
from search.explaining.explanation import explain_pair, similarity_layer
from search.explaining.others import OtherAddends, Others, Stored, Subject
from search.explaining.parts import encoded, explain_parts
from search.ranking.late import SHARE as LATE_SHARE
from search.ranking.percentile import Scale
from search.ranking.rank import Allowed, as_hit, ranked, scored
from search.ranking.ranking import Asked, Ranking, check_query, query_fits
from search.ranking.selection import Selection
from search.ranking.standing import Standing, passage_count, standings
from search.records.comparisons import Contrast, WhyNot
from search.records.explanations import Explanation
from search.records.hits import Hit
from search.records.tokens import TokenVectors
from search.store.place_of import Place, place_of
from search.store.snapshot import passage as stored_passage
from search.store.vectors import LoadedVectors


class Explainer:
    """Answers questions about one query to one index.

    Args:
        index: the index's folder.
        query: as `check_query` lets it pass; or one of several parts.
        ranking: how passages are ranked that are named by id or path; a hit knows its own.
        offline: never call out to the hub, should the model be needed in PyTorch (see gradients.py).

    Raises:
        InputError: the query is too long.
    """

    def __init__(
        self,
        index: Path,
        loaded: LoadedVectors,
        encoder: Encoder,
        query: str | Asked,
        ranking: Ranking,
        offline: bool = False,
    ) -> None:
        self._index, self._loaded, self._encoder, self._offline = index, loaded, encoder, offline
        self._ranking = ranking
        self._layer = similarity_layer(encoder.n_layers)
        layers = [self._layer, -1]
        with query_fits():
            if isinstance(query, str):
                (self._tokens,) = encoder.tokens([query], role="query", layers=layers)
                query = Asked(query, self._tokens.embedding.astype("float32", copy=False))
            else:
                self._parts = encoded(encoder, query.parts, layers)
        assert query.embedding is not None
        self._embedding, self._asked = query.embedding, query

    def explain(self, what: Sequence[Hit | int | str]) -> list[Explanation]:
        """See `Index.explain_all`."""
        subjects = [self._subject(one) for one in what]
        if not subjects:
            return []
        with query_fits("text"):
            found = self._encoder.tokens(
                [subject.text for subject in subjects],
                contexts=[subject.context for subject in subjects],
                role="document",
                layers=[self._layer, -1],
            )
        tokens = None if self._asked.parts else self._tokens
        others = OtherAddends(self._loaded, self._encoder, self._asked, tokens).of(subjects, found)
        return [
            self._explained(subject, vectors, other)
            for subject, vectors, other in zip(subjects, found, others, strict=True)
        ]

    def contrast(self, a: Hit | int | str | Path, b: Hit | int | str | Path) -> Contrast:
        """See `Index.contrast`."""
        hit_a, hit_b = self._hit(a), self._hit(b)
        if Ranking.of_hit(hit_a) != Ranking.of_hit(hit_b):
            raise InputError(
                f"the two hits were ranked in different ways ({_way(hit_a)}; {_way(hit_b)}), so their scores cannot be "
                "compared. Take both from one query."
            )
        why_a, why_b = self.explain([hit_a, hit_b])
        return contrast_of(hit_a, why_a, hit_b, why_b)

    def why_not(
        self, what: str | Path | int, k: int, per_document: int, allowed: Allowed | None = None
    ) -> WhyNot:
        """See `Index.why_not`."""
        from search.explaining.left_out import left_out, since_indexed

        check_query(self._asked.text, k, per_document)
        place = self._place(what)
        best = self._best(self._passing(place.passages, allowed)) or self._best(place.passages)
        asked = (self._asked.text, place.document, k, per_document)
        if best is None:
            reason, detail = left_out(self._index, place)
            return WhyNot(*asked, passage_count(self._loaded), "not indexed", reason, detail)
        hit = self._standing_hit(best)
        hits = ranked(
            self._loaded, self._asked, self._ranking, Selection.of(k, per_document=per_document), allowed
        )
        passes = bool(self._passing([hit.passage_id], allowed))
        if not hits:  # none passes the filter, or only words count and no passage has one
            (why,) = self.explain([hit])
            return WhyNot(*asked, best.of, "lower" if passes else "filtered", hit=hit, shares=why.shares())
        last = hits[-1]
        last_why, why = self.explain([last, hit])
        answer = WhyNot(*asked, best.of, "found", hit=hit, last=last, shares=why.shares())
        if hit.passage_id in [shown.passage_id for shown in hits]:
            return answer
        answer = replace(answer, contrast=contrast_of(last, last_why, hit, why))
        if not passes:
            return replace(answer, cause="filtered")
        cause, detail = since_indexed(self._index, place)
        if cause is not None:
            return replace(answer, cause=cause, detail=detail)
        above = (-hit.score, hit.passage_id) < (-last.score, last.passage_id)  # as hits are ordered
        return replace(answer, cause="limit" if above else "lower")

    def _passing(self, passages: Sequence[int], allowed: Allowed | None) -> Sequence[int]:
        """Those of the passages that pass the filter."""
        if allowed is None or not passages:
            return passages
        with self._loaded.reader.reading() as connection:
            passing = set(allowed(connection).tolist())
        return [passage for passage in passages if passage in passing]

    def _place(self, what: str | Path | int) -> Place:
        """What a path means; the file of a passage, with that passage alone."""
        if not isinstance(what, int):
            return place_of(self._loaded, what)
        stored, _ = stored_passage(self._index, what)
        place = place_of(self._loaded, stored.path)
        record = stored.document.removeprefix(place.name or "").removeprefix("#")
        return replace(place, record=int(record) if record else None, passages=(what,))

    def _hit(self, what: Hit | int | str | Path) -> Hit:
        """What was named, as a hit with its true rank; of a document its best passage."""
        if isinstance(what, Hit):
            return what
        place = self._place(what)
        best = self._best(place.passages)
        if best is None:
            from search.explaining.left_out import left_out

            reason, detail = left_out(self._index, place)
            raise InputError(
                f"'{what}' is not in the index: {reason}{f' ({detail})' if detail else ''}. "
                "Name a passage or a file that is."
            )
        return self._standing_hit(best)

    def _best(self, passages: Sequence[int]) -> Standing | None:
        """The best of passages in the ranking of everything."""
        if not passages:
            return None
        found = standings(self._loaded, self._asked, self._ranking, passages)
        return min(found.values(), key=lambda standing: standing.rank, default=None)

    def _standing_hit(self, standing: Standing) -> Hit:
        stored, _ = stored_passage(self._index, standing.scored.passage)
        with self._loaded.reader.reading() as connection:
            scale = Scale(self._loaded.baseline.get(connection), self._ranking)
        return as_hit(standing.rank, stored, standing.scored, self._ranking, scale)

    def _subject(self, what: Hit | int | str) -> Subject:
        if isinstance(what, str):
            return Subject(what, Ranking.of("dense"))
        if isinstance(what, int):
            return self._subject(scored(self._loaded, self._asked, self._ranking, what))
        return Subject(
            what.text,
            Ranking.of_hit(what),
            what.context,
            what.cosine,
            what.lexical,
            what.score,
            what.reranked,
            self._stored(what),
        )

    def _stored(self, hit: Hit) -> Stored | None:
        """What the index holds for a hit; None when its passage has left the index since."""
        try:
            stored, vector = stored_passage(self._index, hit.passage_id)
        except InputError:
            return None
        same = (stored.text, stored.context) == (hit.text, hit.context)
        return Stored(hit.passage_id, vector) if same else None

    def _explained(self, subject: Subject, found: TokenVectors, others: Others) -> Explanation:
        counts = {"": 1.0, "late": 1 - LATE_SHARE}.get(subject.ranking.rerank, 0.0)
        if parts := self._asked.parts:
            vector = found.embedding if subject.stored is None else subject.stored.vector
            explain = partial(explain_parts, parts, self._parts, found, vector)
        else:
            explain = partial(explain_pair, self._tokens, found)
        return explain(
            encoder=self._encoder,
            layer=self._layer,
            cosine=subject.cosine,
            score=subject.score,
            mode=subject.ranking.mode,
            weight=counts * subject.ranking.weight,
            terms=others.terms,
            late=others.late,
            recomputed=others.recomputed,
            roles=("query", "document"),
            offline=self._offline,
        )


def _way(hit: Hit) -> str:
    """How a hit was ranked, in words."""
    phrases = ", with phrases" if hit.phrases else ""
    return f"{hit.mode}, weight {hit.weight:g}{phrases}{f', reranked: {hit.rerank}' if hit.rerank else ''}"
