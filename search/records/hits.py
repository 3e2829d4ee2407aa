"""Hits: what the query stage makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Hit:
    """One ranked passage.

    Attributes:
        rank: 1 for the best.
        score: what hits are ranked by; higher is better.
        cosine: the meaning part, in [-1, 1]; None when the ranking did not use it.
        lexical: the word part; None when the ranking did not use it.
        mode: "dense", "lexical" or "hybrid": how `score` was made of the two.
        path: absolute path of the source file.
        document: the document's name within the indexed folder, with forward slashes;
            "table.csv#12" for record 12 of a file.
        text: the passage; `start`, `end` its span in the document's text.
        line_start, line_end: 1-based lines of the source file, both included; of its extracted text where
            the format has pages.
        page: 1-based page, slide or sheet on which the passage begins; None for a format without.
    """

    rank: int
    score: float
    cosine: float | None
    lexical: float | None
    mode: str
    path: str
    document: str
    title: str
    heading: str
    text: str
    start: int
    end: int
    line_start: int
    line_end: int
    passage_id: int
    metadata: Mapping[str, Any] = field(default_factory=dict)
    context: str = ""
    page: int | None = None
