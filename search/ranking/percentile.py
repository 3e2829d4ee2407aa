"""How high a score is among those of random pairs, and whether a passage is near everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from search.ranking.ranking import Ranking

if TYPE_CHECKING:
    from search.store.baseline import Baseline


class Scale:
    """The sample of random pairs of an index, as scores of one ranking.

    Attributes:
        pairs: how many scores there are; 0 where nothing can be said.
    """

    def __init__(self, baseline: Baseline | None, ranking: Ranking) -> None:
        self._baseline, self._ranking = baseline, ranking
        unlike = ranking.mode == "rrf"  # the pairs were not scored so
        self._scores = None if baseline is None or unlike else baseline.scores(ranking.weight)
        self.pairs = 0 if self._scores is None else len(self._scores)

    def percentile(self, score: float) -> float | None:
        """How many in a hundred random pairs score less."""
        if self._scores is None or not self.pairs:
            return None
        return 100 * int(np.searchsorted(self._scores, score, side="left")) / self.pairs

    def hub(self, passage: int) -> float | None:
        """For how many in a hundred random queries a hub is among the nearest; None for any other passage."""
        if self._baseline is None or not self._ranking.by_meaning or passage not in self._baseline.hubs:
            return None
        return 100 * self._baseline.hubs[passage] / self._baseline.queries
