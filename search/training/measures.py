"""How good a model is on held-out data, before and after, by the same computation.

Correlation   graded sentences: Spearman's correlation of cosines and scores
Ranking       queries: nDCG@10 and its like, over all passages that the data names
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from search.encoding.tokenizer import prompt_for
from search.evaluating.metrics import ranking_values
from search.records.evaluations import ClassReport, Estimate
from search.statistics import mean_of, pearson, spearman
from search.training.examples import Examples, key_of

_RESAMPLES = 1999
_RANKED = ("ndcg@10", "mrr@10", "recall@10", "success@1")
_DEPTH = 100


@dataclass(frozen=True)
class Figures:
    """What was measured.

    Attributes:
        metrics: by name, with 95 % bootstrap intervals.
        values: by name, a value of each query or passage; of graded sentences "cosine" of each pair.
        classes: of a head that tells classes.
    """

    metrics: Mapping[str, Estimate]
    values: Mapping[str, NDArray[np.float64]]
    classes: ClassReport | None = None


class Measure(Protocol):
    """Held-out data to measure models with, before and after.

    Attributes:
        primary: the metric that checkpoints are compared by, which `score` gives alone.
    """

    primary: str

    def score(self, model: Any) -> float: ...

    def figures(self, model: Any) -> Figures: ...

    def difference(self, before: Figures, after: Figures) -> dict[str, Estimate]:
        """After less before; what both measured is resampled together."""
        ...


class Correlation:
    """Graded sentences: how well cosines follow the scores, as the STS benchmark has it (Cer et al. 2017)."""

    primary = "spearman"

    def __init__(self, dev: Examples, seed: int) -> None:
        self._rows, self._seed = dev.rows, seed
        self._texts = dev.texts(0, 1)
        self._scores = np.array([row.score for row in dev.rows])

    def score(self, model: Any) -> float:
        from scipy.stats import spearmanr

        return float(spearmanr(self._cosines(model), self._scores).statistic)

    def figures(self, model: Any) -> Figures:
        cosines = self._cosines(model)
        metrics = {
            name: correlation(cosines, self._scores, resamples=_RESAMPLES, seed=self._seed)
            for name, correlation in (("spearman", spearman), ("pearson", pearson))
        }
        return Figures(metrics, {"cosine": cosines})

    def difference(self, before: Figures, after: Figures) -> dict[str, Estimate]:
        """The difference of two correlations; pairs are resampled, each with both of its cosines."""
        columns = np.stack([before.values["cosine"], after.values["cosine"], self._scores])
        n = columns.shape[1]
        gaps = {}
        for name, ranked in (("spearman", True), ("pearson", False)):
            chance = np.random.default_rng(self._seed)
            drawn = [_gap(columns[:, chance.integers(0, n, n)], ranked) for _ in range(_RESAMPLES)]
            low, high = np.nanquantile(drawn, [0.025, 0.975])
            gaps[name] = Estimate(_gap(columns, ranked), float(low), float(high))
        return gaps

    def _cosines(self, model: Any) -> NDArray[np.float64]:
        vectors = dict(zip(self._texts, embeddings(model, self._texts).astype(np.float64), strict=True))
        return np.array([vectors[row.texts[0]] @ vectors[row.texts[1]] for row in self._rows])


def _gap(columns: NDArray[np.float64], ranked: bool) -> float:
    """(3, n) cosines before, cosines after, scores -> the difference of the correlations with the scores."""
    from scipy.stats import rankdata

    values = rankdata(columns, axis=1) if ranked else columns
    values = values - values.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(values, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):  # a resample of one pair only has no correlation
        before, after = (values[i] @ values[2] / (lengths[i] * lengths[2]) for i in (0, 1))
    return float(after - before)


class Ranking:
    """Queries with their passages, among all passages that the data names.

    Args:
        dev: the queries to measure with.
        others: other examples of the data, whose passages are ranked beside them.
        prompts: of the model, for queries and documents.

    Attributes:
        queries, passages: how many there are.
    """

    primary = "ndcg@10"

    def __init__(self, dev: Examples, others: Examples, prompts: Mapping[str, str], seed: int) -> None:
        self._seed, self._prompts = seed, prompts
        texts = (text for part in (dev, others) for row in part.rows for text in row.texts[1:])
        self._passages = list({key_of(text): text for text in texts}.values())
        place = {key_of(text): i for i, text in enumerate(self._passages)}
        queries: dict[str, str] = {}
        grades: dict[str, dict[int, int]] = defaultdict(dict)
        for row in dev.rows:
            key = key_of(row.texts[0])
            queries.setdefault(key, row.texts[0])
            grades[key][place[key_of(row.texts[1])]] = 1
        self._queries = list(queries.values())
        self._grades = [grades[key] for key in queries]
        self._itself = [
            place.get(key) for key in queries
        ]  # a query that is a passage, too, is no hit of itself
        self.queries, self.passages = len(self._queries), len(self._passages)

    def score(self, model: Any) -> float:
        return float(self._values(model)[self.primary].mean())

    def figures(self, model: Any) -> Figures:
        values = self._values(model)
        return Figures({name: mean_of(each, seed=self._seed) for name, each in values.items()}, values)

    def difference(self, before: Figures, after: Figures) -> dict[str, Estimate]:
        """After less before, of the same queries."""
        return {
            name: mean_of(after.values[name] - each, seed=self._seed) for name, each in before.values.items()
        }

    def _values(self, model: Any) -> dict[str, NDArray[np.float64]]:
        queries = embeddings(model, self._queries, prompt_for("query", self._prompts))
        passages = embeddings(model, self._passages, prompt_for("document", self._prompts))
        judged = []
        for query, grades, itself in zip(queries, self._grades, self._itself, strict=True):
            scores = passages @ query
            if itself is not None and itself not in grades:
                scores[itself] = -np.inf
            best = np.argsort(-scores, kind="stable")[:_DEPTH].tolist()
            judged.append(
                ranking_values([str(i) for i in best], {str(i): grade for i, grade in grades.items()})
            )
        return {name: np.array([values[name] for values in judged]) for name in _RANKED}


def embeddings(model: Any, texts: list[str], prompt: str = "") -> NDArray[np.float32]:
    """Unit vectors by sentence-transformers, (n, d) float32; what does not fit the model is cut."""
    vectors = model.encode(
        texts, prompt=prompt, batch_size=64, normalize_embeddings=True, show_progress_bar=False
    )
    return np.asarray(vectors, dtype=np.float32)
