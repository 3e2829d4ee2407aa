"""What the adaptors say of a hit, as names and values that every framework can write as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from search.records.hits import Hit

OF_HIT = (
    "score", "cosine", "lexical", "mode", "weight", "addends", "percentile", "rank", "path", "document", "title",
    "heading", "kind", "line_start", "line_end", "page", "start", "end", "passage_id", "changed", "index",
    "approximate",
)  # fmt: skip


def described(hit: Hit) -> dict[str, Any]:
    """Where a passage stands, and what its score is the sum of.

    Returns:
        What the document's metadata and the passage's annotations say, each under its name; where they have the same
        name as one of these, these: the fields of a `Hit`, `addends` included; `source`, its address; `verdict`;
        `shares` and `residual` of a query that was asked with `explain=True`.
    """
    of_hit = {name: getattr(hit, name) for name in OF_HIT}
    why = hit.explanation
    return {
        **hit.metadata,
        **hit.annotations,
        **of_hit,
        "source": hit.uri,
        "verdict": asdict(hit.verdict) if hit.verdict else None,
        **({"shares": [asdict(share) for share in why.shares()], "residual": why.residual} if why else {}),
    }


def id_of(hit: Hit) -> str:
    """The id of a passage for as long as it is in the index: "p77", or "notes/p77" where several are asked."""
    return f"{hit.index}/p{hit.passage_id}" if hit.index else f"p{hit.passage_id}"
