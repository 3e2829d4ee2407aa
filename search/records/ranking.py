"""Definition of the score of a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.errors import InputError
from search.records.option_tools import complete
from search.records.options import LATE_SHARE, WEIGHT, Mode, RerankOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Ranking:
    """Definition of the score; create one with `Ranking.of`.

    Attributes:
        mode: "hybrid": `score = weight * cosine + (1 - weight) * lexical`, with the keyword score `lexical` (see
            `Hit`). "dense": the cosine alone. "lexical": the keyword score alone; passages without any word of the
            query are left out.
        weight: weight of the cosine, in [0, 1].
        rerank: "late" to rerank the best passages by late interaction, the name of a cross-encoder to rerank them with
            it (ranking/rerank.py), "" for neither.
        without: query words to ignore in keyword matching. They add nothing to the keyword score, and its scale stays;
            the query's embedding still includes them.
    """

    mode: Mode
    weight: float
    rerank: str
    without: tuple[str, ...]

    @classmethod
    def of(cls, **options: Unpack[RerankOptions]) -> Ranking:
        """Create a ranking from options; missing options have their defaults.

        Raises:
            InputError: a value is not one of the choices or out of range, a weight with another mode than "hybrid",
                or `without` in the mode "dense".
        """
        own = complete(options, RerankOptions)
        mode, weight, without = own["mode"], own["weight"], own["without"]
        if weight is not None and mode != "hybrid":
            raise InputError(f"weight applies only to mode 'hybrid', not to '{mode}'. Omit one of them.")
        if without and mode == "dense":
            raise InputError(
                "mode 'dense' uses no keywords, so none can be ignored. Choose another mode."
            )
        fixed = {"dense": 1.0, "lexical": 0.0}
        own["weight"] = fixed.get(mode, WEIGHT if weight is None else float(weight))
        own["without"] = (without,) if isinstance(without, str) else tuple(without or ())
        return cls(**{**own, "rerank": own["rerank"] or ""})

    @property
    def first_share(self) -> float:
        """Weight of the score before reranking in the final score: 1 without a reranker, 0 with a cross-encoder."""
        return {"": 1.0, "late": 1 - LATE_SHARE}.get(self.rerank, 0.0)

    @property
    def by_meaning(self) -> bool:
        """True if the score uses embeddings."""
        return self.weight > 0
