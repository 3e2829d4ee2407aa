"""What an index answers: hits, and why they are hits."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from search.encoding import Encoder, Fingerprint
from search.errors import quoted
from search.ranking import Asked, Ranking, Selection, ranked, scored
from search.ranking.question import Example, Query, Question, asked_of, one_or_more
from search.ranking.ranking import query_fits
from search.ranking.similar import one_taken_apart, others_than, similar_to
from search.records.comparisons import Contrast, Faithfulness, WhyNot
from search.records.explanations import Explanation
from search.records.hits import Cluster, Hit, Surroundings
from search.store.database import read_meta
from search.store.layout import DATABASE
from search.store.vectors import LoadedVectors

if TYPE_CHECKING:
    from search.explaining.explainer import Explainer
    from search.ranking.cross import CrossEncoder
    from search.ranking.rank import Allowed, Reranker
    from search.store.filters import Filters


class Asking:
    """The half of an `Index` that only reads.

    Attributes:
        path: the folder of the index.
    """

    def __init__(
        self,
        path: Path,
        encoder: Encoder | None,
        offline: bool,
        engine: str,
    ) -> None:
        self.path = path
        self._offline, self._engine = offline, engine
        self._encoder = encoder
        self._made: Fingerprint | None = None  # what the encoder is right for
        self._seen: tuple[int, ...] = ()  # index.db, as it was when that was read
        self._lock = threading.Lock()
        self._vectors = LoadedVectors(path)
        self._filters: Filters | None = None
        self._cross: CrossEncoder | None = None

    @property
    def encoder(self) -> Encoder:
        """The encoder that the index was made with, found at first use, and anew when the index was rebuilt."""
        with self._lock:
            seen = _state(self.path / DATABASE)
            if self._encoder is None or seen != self._seen:
                made = Fingerprint.from_dict(read_meta(self.path / DATABASE)["fingerprint"])
                if self._encoder is None or self._made not in (None, made):
                    self._encoder = Encoder.of(made, offline=self._offline, engine=self._engine)
                self._made, self._seen = made, seen
            return self._encoder

    @property
    def notes(self) -> tuple[str, ...]:
        """What is wrong with the index though it answers, and what the last filter could not know; empty when all
        is well."""
        vectors = self._vectors
        problems = [vectors.problem, vectors.lexicon.problem, vectors.baseline.problem]
        problems += self._filters.remarks if self._filters else ()
        return tuple(f"{problem} --index {quoted(self.path)}" for problem in problems if problem)

    def query(
        self,
        text: Query,
        k: int = 10,
        *,
        mode: str = "hybrid",
        weight: float | None = None,
        phrases: bool = False,
        where: str | None = None,
        rerank: str | None = None,
        per_document: int = 0,
        group: bool = False,
        offset: int = 0,
        min_score: float | None = None,
        diversity: float = 0.0,
    ) -> list[Hit]:
        """The k passages that answer a text best, best first; exact.

        Args:
            text: a question or description in natural language, at most the model's `max_tokens`. Or several with
                weights, [("keys", 1), ("rotation", 0.5)]; or a `Question` that also says what hits shall be like
                or unlike. See `search.ranking.question`.
            k: how many hits, at least 1; fewer come back only if the index holds fewer passages, or fewer with
                a word of the text where only words count.
            mode: "hybrid" (meaning and words), "dense" (meaning), "lexical" (words) or "rrf".
            weight: what meaning counts in a hybrid score, in [0, 1].
            phrases: look for what stands in double quotes as one term. See `search.ranking.ranking.Ranking`.
            where: a filter such as "path:docs/** and date>=2024-01-01"; see `search.ranking.where`. The best k of
                the passages that pass it come back, with the scores that they have without it.
            rerank: "late" to look at the best 30 (or k) passages again by late interaction, or the name of a
                cross-encoder; see `search.ranking.late` and `search.ranking.cross`.
            per_document: most hits of one document, so that one does not fill the list; 0 for no limit.
                Where fewer than k hits would come back, the others stand behind those within it.
            group: the k best documents instead, with up to `per_document` passages each, which stand together; a
                document is as good as its best passage. With a rerank, passages of those that were looked at again.
            offset: how many hits (documents) to pass over: the rest of a list of `offset + k`, with its ranks.
            min_score: leave out what scores less.
            diversity: from 0, as they rank, to 1, as different as can be; see `search.ranking.diversity`.

        Raises:
            InputError: an empty text, k < 1, a text that is too long for the model, no such mode, or a filter that
                cannot be understood.
            FingerprintMismatch: the model found under the index's name has other weights now.
        """
        query = one_or_more(text)
        wanted = Selection.of(k, offset, per_document, group, min_score, diversity)
        ranking = Ranking.of(mode, weight, phrases, rerank)
        allowed = self._allowed(where)
        asked = self._asked(query, ranking)
        reranker = self._reranker(asked, ranking)
        return ranked(self._vectors, asked, ranking, wanted, allowed, reranker)

    def _reranker(self, asked: Asked, ranking: Ranking) -> Reranker | None:
        """What looks at the best passages again; None for nothing."""
        if not ranking.rerank:
            return None
        if asked.tokens is not None:
            from search.ranking.late import LateInteraction

            return LateInteraction(self._vectors.lexicon, self.encoder, asked.tokens)
        from search.ranking.cross import CrossEncoder

        with self._lock:
            if self._cross is None or self._cross.name != ranking.rerank:
                self._cross = CrossEncoder(ranking.rerank, self._offline)
            return self._cross.of(asked.text)

    def _allowed(self, where: str | None) -> Allowed | None:
        """What tells which passages pass a filter; None for no filter."""
        if where is None:
            if self._filters:
                self._filters.forget_remarks()
            return None
        from search.ranking.where import parse
        from search.store.filters import Filters

        parsed = parse(where)
        with self._lock:
            if self._filters is None:
                self._filters = Filters()
        filters = self._filters
        return lambda connection: filters.matching(connection, parsed)

    def _asked(self, query: str | Question, ranking: Ranking) -> Asked:
        if isinstance(query, Question):
            with query_fits():
                return asked_of(self._vectors, self.encoder, query, ranking)
        if ranking.rerank == "late":
            with query_fits():
                (tokens,) = self.encoder.tokens([query], role="query", layers=[-1])
            return Asked(query, tokens.embedding.astype("float32", copy=False), tokens)
        if not ranking.by_meaning:
            return Asked(query, None)
        with query_fits():
            return Asked(query, self.encoder.encode([query], role="query")[0])

    def explain(
        self,
        query: Query,
        hit: Hit | int | str,
        *,
        mode: str = "hybrid",
        weight: float | None = None,
        phrases: bool = False,
    ) -> Explanation:
        """Why a passage has its score for a query.

        Args:
            query: as it was given to `query`.
            hit: one of the hits, whose score is then explained exactly; a passage id; or any text, whose cosine
                is explained as if it were a passage without headings.
            mode, weight, phrases: as for `query`, for a passage id; a hit knows its own.

        With the poolings `mean`, `mean_sqrt_len` and `max` the addends are exact. With `cls`, `pooler` and models
        that have a Dense module with an activation they are integrated gradients, which takes seconds and
        loads the model in PyTorch; `residual` says what they miss.

        Raises:
            InputError: an empty query, a text that is too long for the model, or an id that is none.
        """
        return self.explain_all(query, [hit], mode=mode, weight=weight, phrases=phrases)[0]

    def explain_all(
        self,
        query: Query,
        hits: Sequence[Hit | int | str],
        *,
        mode: str = "hybrid",
        weight: float | None = None,
        phrases: bool = False,
    ) -> list[Explanation]:
        """As `explain`, for many hits of one query: they go through the encoder together."""
        return self._explainer(query, Ranking.of(mode, weight, phrases)).explain(hits)

    def contrast(
        self,
        query: Query,
        a: Hit | int | str | Path,
        b: Hit | int | str | Path,
        *,
        mode: str = "hybrid",
        weight: float | None = None,
        phrases: bool = False,
    ) -> Contrast:
        """Why one passage stands above another for a query, word by word of the query.

        Args:
            a, b: hits, passage ids, or paths as for `why_not`, of which the best passage is taken.
            mode, weight, phrases: as for `query`; of hits they must be those that they were ranked by.

        Raises:
            InputError: an empty query, an id that is none, a path that is not in the index, or hits of
                different rankings.
        """
        return self._explainer(query, Ranking.of(mode, weight, phrases)).contrast(a, b)

    def why_not(
        self,
        query: Query,
        what: str | Path | int,
        k: int = 10,
        *,
        mode: str = "hybrid",
        weight: float | None = None,
        phrases: bool = False,
        where: str | None = None,
        per_document: int = 0,
    ) -> WhyNot:
        """Where a document stands for a query, and why it is not among the hits.

        Args:
            what: a path: absolute, from the current folder or from the indexed one; also with a record
                or a line, as hits are listed ("table.csv#12", "keys.md:31"). Or a passage id. Of what has
                several passages the best is looked at.
            k, mode, weight, phrases, where, per_document: as for `query`.

        Raises:
            InputError: an empty query, a folder instead of a file, an id or line that there is not.
        """
        allowed = self._allowed(where)
        return self._explainer(query, Ranking.of(mode, weight, phrases)).why_not(
            what, k, per_document, allowed
        )

    def faithfulness(
        self, why: Explanation, *, counts: Sequence[int] = (1, 3, 5), draws: int = 20, seed: int = 0
    ) -> Faithfulness:
        """Whether the words that an explanation says count most are those that its cosine needs.

        They are cut out of the passage, and what is left is encoded again; then as many random words.

        Args:
            why: from `explain`, of this index.
            counts: how many words to cut out, each number of these in turn.
            draws: how many times to draw random words, from `seed`.

        Raises:
            InputError: a count or number of draws below 1, or an explanation that is not of this index.
        """
        from search.explaining.faithfulness import faithfulness

        return faithfulness(why, self.encoder, counts=counts, draws=draws, seed=seed)

    def _explainer(self, query: Query, ranking: Ranking) -> Explainer:
        from search.explaining.explainer import Explainer

        asked: str | Question | Asked = one_or_more(query)
        if isinstance(asked, Question):
            with query_fits():
                asked = asked_of(self._vectors, self.encoder, asked, ranking, explained=True)
        return Explainer(self.path, self._vectors, self.encoder, asked, ranking, self._offline)

    def hit(
        self,
        query: Query,
        passage_id: int,
        *,
        mode: str = "hybrid",
        weight: float | None = None,
        phrases: bool = False,
        rerank: str | None = None,
    ) -> Hit:
        """A passage of the index as a hit of a query, wherever it ranks; its rank is given as 0."""
        ranking = Ranking.of(mode, weight, phrases, rerank)
        asked = self._asked(one_or_more(query), ranking)
        return scored(self._vectors, asked, ranking, passage_id, self._reranker(asked, ranking))

    def similar(
        self,
        what: Example,
        k: int = 10,
        *,
        same_document: bool = False,
        where: str | None = None,
        per_document: int = 0,
        group: bool = False,
        offset: int = 0,
        min_score: float | None = None,
        diversity: float = 0.0,
    ) -> list[Hit]:
        """The k passages whose embeddings are nearest to that of a passage or document, best first; exact.

        Args:
            what: a passage id, or a path as for `why_not`. Of several passages the mean of their embeddings counts,
                scaled to length 1.
            same_document: also other passages of the same document; never the passages themselves.
            where, per_document, group, offset, min_score, diversity: as for `query`.

        Raises:
            InputError: it is not in the index, or another argument cannot be worked with.
        """
        wanted = Selection.of(k, offset, per_document, group, min_score, diversity)
        asked, ids = similar_to(self._vectors, what)
        others = others_than(ids, same_document, self._allowed(where))
        found = ranked(self._vectors, asked, Ranking.of("dense"), wanted, others)
        # The random pairs are of a query and a passage, so they say nothing of two passages.
        return [replace(hit, percentile=None, random_pairs=0) for hit in found]

    def explain_similar(self, what: Example, hit: Hit | int) -> Explanation:
        """Why a passage is similar to a passage or document, by pairs of tokens of the two.

        Of a document with several passages the one that adds most is taken apart; each other is one addend.

        Args:
            what: as for `similar`.
            hit: one of its hits, or a passage id.

        Raises:
            InputError: one of them is not in the index.
        """
        from search.explaining.explainer import Explainer

        asked, _ = similar_to(self._vectors, what)
        ranking = Ranking.of("dense")
        hit = scored(self._vectors, asked, ranking, hit) if isinstance(hit, int) else hit
        taken = one_taken_apart(self._vectors, asked, hit.passage_id)
        with query_fits("passage"):
            explainer = Explainer(self.path, self._vectors, self.encoder, taken, ranking, self._offline)
            return explainer.explain([hit])[0]

    def duplicates(self, threshold: float = 0.95, *, where: str | None = None) -> list[Cluster]:
        """Passages that say the same: all pairs with a cosine of at least `threshold`, joined to clusters.

        Exact. With d = 384, 100,000 passages took 32 s and 0.8 GB (2 cores that other work shared).

        Args:
            threshold: in (0, 1].
            where: a filter, as for `query`; only passages that pass it are compared.

        Returns:
            The largest cluster first.
        """
        from search.ranking.duplicates import near_copies

        return near_copies(self._vectors, threshold, self._allowed(where))

    def surroundings(self, hit: Hit, *, passages: int = 0, lines: int = 0) -> Surroundings:
        """What stands around a hit in its document.

        Args:
            passages: how many passages before it and behind it, from the index.
            lines: how many lines of the source file before it and behind it, read now; a note says why there are
                none where the file is not as it was indexed, or its lines are not those of the text.

        Raises:
            InputError: a number below 0.
        """
        from search.ranking.surroundings import surroundings

        return surroundings(self._vectors, hit, passages, lines)


def _state(database: Path) -> tuple[int, ...]:
    """What differs when a database was written to, or another one put in its place; () where there is none."""
    try:
        found = database.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
