"""The page of hits of all indexes of a server. Everything about a hit is on the page of its own index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from search.render.page.document import Page, Site, drawn
from search.render.page.hit_list import HitView, PageRequest
from search.render.page.score_bar import full_width
from search.render.page.search import verdict_words

PATH = "/all"


def all_hits(
    request: PageRequest,
    indexes: Sequence[str],
    views: Sequence[HitView] = (),
    notes: Sequence[str] = (),
    *,
    problem: str = "",
    no_hits: str = "",
) -> Page:
    """Return the page.

    Args:
        indexes: names of all indexes of the server.
        views: hits, each of which names its index.
        notes: warnings about the indexes.
        problem: reason why the query cannot be answered.
        no_hits: reason why no passage is a hit.
    """
    requests = {name: replace(request, index=name) for name in indexes}
    body = drawn(
        "all.html",
        site=Site(PATH, request.index or indexes[0], tuple(indexes)),
        request=request,
        hits=[(view, requests[view.hit.index]) for view in views],
        full=full_width(view.bar for view in views),
        verdict=verdict_words([view.hit for view in views]) if views else "",
        best=views[0].hit if views else None,
        notes=notes,
        problem=problem,
        no_hits=no_hits,
        indexes=indexes,
    )
    return Page(f"{request.q or 'All indexes'} \u2013 seewhy", "", body)
