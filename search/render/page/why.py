"""Pages that explain scores word by word: of a hit, as a comparison of two hits, and "why not"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from search.records.comparisons import Contrast, WhyNot
from search.records.counterfactuals import Counterfactual
from search.records.documents import NamedDocument
from search.records.explanations import Explanation
from search.records.hits import Hit
from search.render import why as written
from search.render.format import shortened
from search.render.page.document import Page, drawn, isolated
from search.render.page.hit_list import HitView, PageRequest, viewed
from search.render.page.mirror import OTHER, mirror_lines, verdict_on

_LONGEST_NAME = 28


def panel(explained: Explanation, hit: Hit, request: PageRequest) -> Page:
    """Return the short explanation that opens inside a hit."""
    parts = viewed([replace(hit, explanation=explained)])[0].parts
    body = drawn(
        "why.html",
        why=explained,
        parts=parts,
        most=max((abs(value) for part in parts for value in (part.meaning, part.keyword)), default=0.0)
        or 1.0,
        hit=hit,
        request=request,
        can_change=not (hit.ranking.rerank or request.more or request.less),
    )
    return Page(f"Why: {explained.query}", "", body)


def alone(panel: Page, hit: Hit, request: PageRequest) -> Page:
    """Return a short explanation as a page of its own, with the passage that it explains."""
    (view,) = viewed([hit])
    body = drawn("why_alone.html", panel=panel.body, view=view, hit=hit, request=request)
    return Page(panel.title, "Why this passage has its score", body)


def changes(counterfactual: Counterfactual, request: PageRequest) -> Page:
    """Return what would move a hit out of the list, or a passage into it."""
    body = drawn("changes.html", counterfactual=counterfactual, request=request)
    return Page(f"What would change: {counterfactual.query}", "What would change the rank", body)


def contrast(compared: Contrast, request: PageRequest) -> Page:
    """Return the page of two passages and the gap of their scores word by word."""
    names = [HitView(hit).heading or hit.document for hit in (compared.a, compared.b)]
    a, b = (shortened(name, _LONGEST_NAME) for name in names)
    above, below = (a, b) if compared.gap >= 0 else (b, a)
    heading = Markup("Why {} ranks above {}").format(isolated(above), isolated(below))
    lines = mirror_lines(compared)
    body = drawn(
        "contrast.html",
        compared=compared,
        a=a,
        b=b,
        request=request,
        lines=lines,
        other=OTHER,
        verdict=verdict_on(lines, above, below, compared.gap),
    )
    return Page(
        f"Compared: {compared.query}", heading if compared.gap else "Both have equal scores", body
    )


def why_not(standing: WhyNot, request: PageRequest, counterfactual: Counterfactual | None = None) -> Page:
    """Return the page of a document that is not among the hits: its rank, the reason, and what would bring it there."""
    compared = standing.contrast
    lines = mirror_lines(compared) if compared else []
    body = drawn(
        "contrast.html",
        standing=standing,
        compared=compared,
        written=written,
        request=request,
        lines=lines,
        other=OTHER,
        verdict=verdict_on(lines, "The last hit", "It", compared.gap) if compared else "",
        change=changes(counterfactual, request).body if counterfactual else "",
    )
    heading = "It is among the hits" if standing.cause == "found" else "Why it is not among the hits"
    return Page(f"Why not {standing.document}", heading, body)


def choice(typed: str, documents: Sequence[NamedDocument], limit: int, request: PageRequest) -> Page:
    """Return the page that chooses a document by a part of its name.

    Args:
        documents: at most `limit` documents with `typed` in their name.
    """
    body = drawn("choice.html", typed=typed, limit=limit, documents=documents, request=request)
    heading = "Which document did you expect?"
    return Page(heading, heading, body, ("live.js",))
