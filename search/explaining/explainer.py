"""The questions that an index answers about its own ranking: why, why this above that, and why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from search.encoding import Encoder
from search.errors import InputError, TextTooLong
from search.explaining.contrast import contrast_of
from search.explaining.explanation import explain_pair, similarity_layer
from search.index.place_of import Place, Standing, passage_count, place_of, standings
from search.index.snapshot import passage as stored_passage
from search.index.vectors import LoadedVectors
from search.query.rank import as_hit, check_query, dense
from search.records import Contrast, Explanation, Hit, TokenVectors, WhyNot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@contextmanager
def query_fits(what: str = "query") -> Iterator[None]:
    """Tell somebody whose query is too long to shorten it: unlike a text, it is never cut."""
    try:
        yield
    except TextTooLong as error:
        raise InputError(
            f"the {what} has {error.n_tokens} tokens and the model reads {error.max_tokens}. Shorten it."
        ) from None


@dataclass(frozen=True)
class _Subject:
    """What is explained: a text, what it was ranked by, and its embedding where one is stored."""

    text: str
    context: str = ""
    cosine: float | None = None
    score: float | None = None
    mode: str = "dense"
    stored: NDArray[np.float32] | None = None


class Explainer:
    """Answers questions about one query to one index.

    Args:
        index: the index's folder.
        offline: never call out to the hub, should the model be needed in PyTorch (see gradients.py).

    Raises:
        InputError: the query is empty or too long.
    """

    def __init__(
        self, index: Path, loaded: LoadedVectors, encoder: Encoder, query: str, offline: bool = False
    ) -> None:
        check_query(query)
        self._index, self._loaded, self._encoder, self._offline = index, loaded, encoder, offline
        self._layer = similarity_layer(encoder.n_layers)
        with query_fits():
            (self._asked,) = encoder.tokens([query], role="query", layers=[self._layer, -1])
        self._query = self._asked.embedding.astype("float32", copy=False)

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
        return [self._explained(subject, vectors) for subject, vectors in zip(subjects, found, strict=True)]

    def contrast(self, a: Hit | int | str | Path, b: Hit | int | str | Path) -> Contrast:
        """See `Index.contrast`."""
        hit_a, hit_b = self._hit(a), self._hit(b)
        why_a, why_b = self.explain([hit_a, hit_b])
        return contrast_of(hit_a, why_a, hit_b, why_b)

    def why_not(self, what: str | Path | int, k: int, per_document: int) -> WhyNot:
        """See `Index.why_not`."""
        from search.explaining.left_out import left_out, since_indexed

        check_query(self._asked.text, k, per_document)
        place = self._place(what)
        best = self._best(place.passages)
        asked = (self._asked.text, place.document, k, per_document)
        if best is None:
            reason, detail = left_out(self._index, place)
            return WhyNot(*asked, passage_count(self._loaded), "not indexed", reason, detail)
        hit, hits = self._standing_hit(best), dense(self._loaded, self._query, k, per_document)
        last = hits[-1]
        last_why, why = self.explain([last, hit])
        answer = WhyNot(*asked, best.of, "found", hit=hit, last=last, shares=why.shares())
        if hit.passage_id in [shown.passage_id for shown in hits]:
            return answer
        answer = replace(answer, contrast=contrast_of(last, last_why, hit, why))
        cause, detail = since_indexed(self._index, place)
        if cause is not None:
            return replace(answer, cause=cause, detail=detail)
        above = (-hit.score, hit.passage_id) < (-last.score, last.passage_id)  # as `nearest` orders them
        return replace(answer, cause="limit" if above else "lower")

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
        found = standings(self._loaded, self._query, passages)
        return min(found.values(), key=lambda standing: standing.rank, default=None)

    def _standing_hit(self, standing: Standing) -> Hit:
        stored, _ = stored_passage(self._index, standing.passage)
        return as_hit(standing.rank, stored, standing.cosine)

    def _subject(self, what: Hit | int | str) -> _Subject:
        if isinstance(what, str):
            return _Subject(what)
        if isinstance(what, int):
            stored, vector = stored_passage(self._index, what)
            cosine = float(vector @ self._query)
            return _Subject(stored.text, stored.context, cosine, cosine, stored=vector)
        return _Subject(
            what.text, what.context, what.cosine, what.score, what.mode, self._stored_embedding(what)
        )

    def _stored_embedding(self, hit: Hit) -> NDArray[np.float32] | None:
        """What the index holds for a hit; None when its passage has left the index since."""
        try:
            stored, vector = stored_passage(self._index, hit.passage_id)
        except InputError:
            return None
        return vector if (stored.text, stored.context) == (hit.text, hit.context) else None

    def _explained(self, subject: _Subject, found: TokenVectors) -> Explanation:
        recomputed = None
        if subject.stored is not None and subject.mode == "dense":
            recomputed = float(subject.stored @ self._query)
        return explain_pair(
            self._asked,
            found,
            encoder=self._encoder,
            layer=self._layer,
            cosine=subject.cosine,
            score=subject.score,
            mode=subject.mode,
            recomputed=recomputed,
            roles=("query", "document"),
            offline=self._offline,
        )
