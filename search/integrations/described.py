"""What the adaptors say of a hit, as names and values that every framework can write as JSON."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from search.index import Index
from search.integrations import Opens, opened
from search.records.hits import Hit
from search.several import name_of

OF_PASSAGE = (
    "path", "document", "title", "heading", "kind", "line_start", "line_end", "page", "start", "end", "passage_id",
    "changed", "index",
)  # fmt: skip
OF_QUERY = ("score", "cosine", "lexical", "mode", "weight", "addends", "percentile", "rank", "approximate")


def hits_of(index: Opens, query: str, k: int, **options: Any) -> list[Hit]:
    """The hits of a query, each with the name of its index, also where one index is asked."""
    index = opened(index)
    name = name_of(index) if isinstance(index, Index) else ""
    return [replace(hit, index=hit.index or name) for hit in index.query(query, k, **options)]


def described(hit: Hit, figures: bool = False) -> dict[str, Any]:
    """Metadata of a passage, the same for every query that finds it.

    Args:
        figures: add those of the query: score, rank, addends, verdict. A query with `explain=True` has them always, and
            `shares` and `residual`.

    Returns:
        What the document's metadata and the passage's annotations say, each under its name; where they have the same
        name as one of these, these: the fields of a `Hit`, `addends` included; `source`, its address; `verdict`.
    """
    why = hit.explanation
    names = (*OF_PASSAGE, *OF_QUERY) if figures or why else OF_PASSAGE
    metadata = {**hit.metadata, **hit.annotations, **{name: getattr(hit, name) for name in names}}
    metadata["source"] = hit.uri
    if figures or why:
        metadata["verdict"] = asdict(hit.verdict) if hit.verdict else None
    if why:
        metadata |= {"shares": [asdict(share) for share in why.shares()], "residual": why.residual}
    return metadata


def id_of(hit: Hit) -> str:
    """The id of a passage for as long as it is in the index: "notes/p77"."""
    return f"{hit.index}/p{hit.passage_id}"
