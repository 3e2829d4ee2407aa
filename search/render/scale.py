"""How high scores are among those of random pairs, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from search.records.hits import Hit
from search.records.reports import RandomPairs

_HIGH = 95.0  # percentile from which on a score is worth a look


def of_hit(hit: Hit) -> str:
    """Where a score stands: "above 99.8 % of 2,000 random pairs"; "" where there is no sample."""
    if hit.percentile is None:
        return ""
    return f"above {_share(hit.percentile)} {hit.random_pairs:,} random pairs"


def of_hits(hits: Sequence[Hit]) -> str:
    """Where the scores of a ranking stand, in one sentence; "" where there is no sample.

    "Hits 1-4 score above all of 2,000 random pairs, hit 10 above 98.6 %." Where scores fall to what one in twenty
    random pairs reaches, it says from which hit on.
    """
    found = [hit.percentile for hit in hits if hit.percentile is not None]
    if not found or len(found) < len(hits):
        return ""
    alike = sum(share == found[0] for share in found) if found[0] == 100 else 1
    which = "Hit 1 scores" if alike == 1 else f"Hits 1-{alike} score"
    said = f"{which} {of_hit(hits[0])}"
    if alike < len(found):
        said += f", hit {len(found)} above {_number(found[-1])} %"
    high = sum(share >= _HIGH for share in found)
    if 1 <= high < len(found) - 1:
        said += f"; from hit {high + 1} on less than {_HIGH:.0f} %"
    return f"{said}."


def hub(hit: Hit) -> str:
    """A warning of a passage that is near everything; "" for others, and where its score needs no excuse."""
    if hit.hub is None or hit.percentile == 100:
        return ""
    return (
        f"p{hit.passage_id} comes up for {hit.hub:.0f} % of random queries: it may be here for its style, not for "
        "your question"
    )


def spread(found: RandomPairs | None) -> str:
    """What random pairs score: "median 0.13, 95 % below 0.33, 99 % below 0.44 (2,000 pairs)"."""
    if found is None:
        return "no sample (it takes a run of indexing, and 50 passages or more)"
    return (
        f"median {found.median:.2f}, 95 % below {found.p95:.2f}, 99 % below {found.p99:.2f} "
        f"({found.pairs:,} pairs)"
    )


def _share(percentile: float) -> str:
    return "all of" if percentile == 100 else f"{_number(percentile)} % of"


def _number(percentile: float) -> str:
    """Rounded down, so that only what is above all is 100."""
    return f"{math.floor(percentile * 10 + 1e-9) / 10:g}"
