"""How good a model is on held-out data, before and after, by the same computation.

Correlation   graded sentences: Spearman's correlation of cosines and scores
Ranking       queries: nDCG@10 and its like, over all passages that the data names
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from search.encoding.encoder import Role
from search.encoding.inputs import prompt_for
from search.evaluating.metrics import ranking_values
from search.records.evaluations import Estimate
from search.statistics import mean_of, pearson, spearman
from search.training.examples import Examples, key_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 1999
_RANKED = ("ndcg@10", "mrr@10", "recall@10", "success@1")
_DEPTH = 100


@dataclass(frozen=True)
class Figures:
    """What was measured.

    Attributes:
        metrics: by name, with 95 % bootstrap intervals.
        values: by name, a value of each query or passage; of graded sentences "cosine" of each pair.
    """

    metrics: Mapping[str, Estimate]
    values: Mapping[str, NDArray[np.float64]]


class Measure(Protocol):
    """Held-out data to measure models with."""

    @property
    def primary(self) -> str:
        """The metric that checkpoints are compared by; lower is better if it is called "loss"."""

    def score(self, model: Any) -> float:
        """The primary metric alone."""

    def figures(self, model: Any) -> Figures:
        """Every metric."""

    def difference(self, before: Figures, after: Figures) -> dict[str, Estimate]:
        """After less before, of the same data."""


class Correlation:
    """Graded sentences: how well cosines follow the scores, as the STS benchmark has it (Cer et al. 2017)."""

    primary = "spearman"

    def __init__(self, dev: Examples, seed: int) -> None:
        self._rows, self._seed = dev.rows, seed
        self._scores = np.array([row.score for row in dev.rows])

    def score(self, model: Any) -> float:
        from scipy.stats import spearmanr

        return float(spearmanr(self._cosines(model), self._scores).statistic)

    def figures(self, model: Any) -> Figures:
        cosines = self._cosines(model)
        metrics = {
            name: of(cosines, self._scores, resamples=RESAMPLES, seed=self._seed)
            for name, of in (("spearman", spearman), ("pearson", pearson))
        }
        return Figures(metrics, {"cosine": cosines})

    def difference(self, before: Figures, after: Figures) -> dict[str, Estimate]:
        return {
            "spearman": self._gap(before, after, ranked=True),
            "pearson": self._gap(before, after, ranked=False),
        }

    def _cosines(self, model: Any) -> NDArray[np.float64]:
        texts = list(dict.fromkeys(text for row in self._rows for text in row.texts))
        vectors = embeddings(model, texts)
        place = {text: i for i, text in enumerate(texts)}
        first, second = (vectors[[place[row.texts[side]] for row in self._rows]] for side in (0, 1))
        return np.sum(first.astype(np.float64) * second, axis=1)

    def _gap(self, before: Figures, after: Figures, *, ranked: bool) -> Estimate:
        """The difference of two correlations; pairs are resampled, each with both of its cosines."""
        columns = np.stack([before.values["cosine"], after.values["cosine"], self._scores])
        mean = _gap_of(columns, ranked)
        rng = np.random.default_rng(self._seed)
        n = columns.shape[1]
        gaps = [_gap_of(columns[:, rng.integers(0, n, n)], ranked) for _ in range(RESAMPLES)]
        low, high = np.nanquantile(gaps, [0.025, 0.975])
        return Estimate(mean, float(low), float(high))


def _gap_of(columns: NDArray[np.float64], ranked: bool) -> float:
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
        self._seed = seed
        self._prompts: dict[Role, str] = {role: prompt_for(role, prompts) for role in ("query", "document")}
        every = (text for one in (dev, others) for row in one.rows for text in row.texts[1:])
        self._passages = list({key_of(text): text for text in every}.values())
        place = {key_of(text): i for i, text in enumerate(self._passages)}
        grades: dict[str, dict[int, int]] = defaultdict(dict)
        asked: dict[str, str] = {}
        for row in dev.rows:
            asked.setdefault(key_of(row.texts[0]), row.texts[0])
            grades[key_of(row.texts[0])][place[key_of(row.texts[1])]] = 1
        self._asked = list(asked.values())
        self._grades = [grades[key] for key in asked]
        self._itself = [
            place.get(key) for key in asked
        ]  # a query that is a passage, too, is no hit of itself

    @property
    def queries(self) -> int:
        return len(self._asked)

    @property
    def passages(self) -> int:
        return len(self._passages)

    def score(self, model: Any) -> float:
        return float(self._values(model)[self.primary].mean())

    def figures(self, model: Any) -> Figures:
        values = self._values(model)
        return Figures({name: mean_of(one, seed=self._seed) for name, one in values.items()}, values)

    def difference(self, before: Figures, after: Figures) -> dict[str, Estimate]:
        return {
            name: mean_of(after.values[name] - one, seed=self._seed) for name, one in before.values.items()
        }

    def _values(self, model: Any) -> dict[str, NDArray[np.float64]]:
        queries = embeddings(model, self._asked, self._prompts["query"])
        passages = embeddings(model, self._passages, self._prompts["document"])
        found: dict[str, list[float]] = {name: [] for name in _RANKED}
        for query, grades, itself in zip(queries, self._grades, self._itself, strict=True):
            scores = passages @ query
            if itself is not None and itself not in grades:
                scores[itself] = -np.inf
            best = np.argsort(-scores, kind="stable")[:_DEPTH].tolist()
            values = ranking_values([str(i) for i in best], {str(i): grade for i, grade in grades.items()})
            for name in _RANKED:
                found[name].append(values[name])
        return {name: np.array(one) for name, one in found.items()}


def embeddings(model: Any, texts: list[str], prompt: str = "") -> NDArray[np.float32]:
    """Unit vectors by sentence-transformers, (n, d) float32; what does not fit the model is cut."""
    found = model.encode(
        texts,
        prompt=prompt,
        batch_size=64,
        normalize_embeddings=True,
        show_progress_bar=False,
        convert_to_numpy=True,
    )
    return np.asarray(found, dtype=np.float32)
