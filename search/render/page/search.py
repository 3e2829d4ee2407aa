"""The page of hits. An address contains the whole state of its page.

They work without scripts, as forms with links; the scripts search while the user types, and replace the parts that
have changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from search.records.contents import Facet
from search.records.explanations import STOP_WORDS
from search.records.hits import Absence, Hit
from search.records.options import WEIGHT
from search.render.format import counted, verdict_line
from search.render.page.document import Page, Site, drawn
from search.render.page.hit_list import NEVER_FOLDED, WEAKER, HitView, PageRequest
from search.render.page.score_bar import full_width

SCRIPTS = ("reading.js", "grid.js", "xray.js", "start.js", "search.js")
MOST_FIELDS, MOST_VALUES = 5, 8
# What a verdict on a question says on the page.
VERDICTS = {
    "answered": "Good match",
    "probably answered": "Good match",
    "perhaps": "Weak match",
    "probably not here": "No match. These are the nearest passages.",
}


@dataclass(frozen=True)
class SearchView:
    """Hits of a query, and facts about the index and the query.

    Attributes:
        generation: generation of the index that was searched.
        hits: the hits with their highlights.
        words: keywords of the query; `without` are the ignored ones among them.
        facets: values to filter by, with their counts among the best passages; None if they were not requested.
        notes: warnings about the index.
        absent: words of the query that no passage has.
        problem: reason why the query cannot be answered.
        no_hits: reason why no passage is a hit.
        keywords_only: True for a first answer by keywords, sent while the user types; the full answer
            follows.
        why: passage ID of an opened hit -> its explanation as HTML.
        examples: passage ID of an example, which hits should resemble or not -> its name.
        passages: number of passages of the index.
    """

    generation: int = 0
    hits: Sequence[HitView] = ()
    words: Sequence[str] = ()
    without: Sequence[str] = ()
    facets: Sequence[Facet] | None = None
    notes: Sequence[str] = ()
    absent: Sequence[Absence] = ()
    problem: str = ""
    no_hits: str = ""
    keywords_only: bool = False
    why: Mapping[int, Markup] = field(default_factory=dict)
    examples: Mapping[int, str] = field(default_factory=dict)
    passages: int = 0


def search(
    request: PageRequest, result: SearchView, indexes: Iterable[str] = (), pinned: bool | None = None
) -> Page:
    """Return the page of hits.

    Args:
        indexes: names of all indexes of the server.
        pinned: True if the query is a pinned question; None if no question can be pinned.
    """
    ranked_by_default = request.weight is None and result.hits
    default = result.hits[0].hit.weight if ranked_by_default else WEIGHT
    body = drawn(
        "hits.html",
        site=Site("/", request.index, tuple(indexes)),
        request=request,
        result=result,
        full=full_width(view.bar for view in result.hits),
        best=result.hits[0].hit if result.hits else None,
        verdict=verdict_words([view.hit for view in result.hits]) if result.hits else "",
        counted_hits=_counted_hits(request, result),
        words=content_words(result.words),
        left_out=_left_out(result),
        weaker=sum(view.is_weaker for view in result.hits),
        weaker_share=WEAKER,
        never_folded=NEVER_FOLDED,
        fields=fields(result.facets or ()),
        most=MOST_VALUES,
        weight=default if request.weight is None else request.weight,
        default=default,
        pinned=pinned,
    )
    return Page(f"{request.q} \u2013 seewhy", "", body, SCRIPTS)


def verdict_words(ranked: Sequence[Hit]) -> str:
    """Return the verdict on a list of hits in words, without a probability; identifiers are counted."""
    verdict = ranked[0].verdict
    if verdict is None or verdict.probability is None:
        return verdict_line(ranked)
    see_also = verdict_line(ranked).partition(";")
    return VERDICTS[verdict.says] + "".join(see_also[1:])


def _counted_hits(request: PageRequest, result: SearchView) -> str:
    """Return how many passages are listed: "10 best of 91 passages"; a filter leaves fewer, which are not counted."""
    if request.is_filtered:
        return f"the best {counted(len(result.hits), 'passage')}"
    return f"{len(result.hits):,} best of {counted(result.passages, 'passage')}"


def content_words(words: Sequence[str]) -> Sequence[str]:
    """Return the words that are no stop words; all words if there are no others."""
    return [word for word in words if word.casefold() not in STOP_WORDS] or words


def _left_out(result: SearchView) -> str:
    """Return what it means that words are left out."""
    names = ", ".join(f"\u201c{word}\u201d" for word in result.without)
    return f"The scores are without {names}: neither its meaning nor the keyword counts." if names else ""


def fields(facets: Sequence[Facet]) -> list[Facet]:
    """Return the most useful facets: fields with few values first, then by number of documents."""
    useful = [facet for facet in facets if len(facet.values) > 1 and facet.documents > 1]
    useful.sort(key=lambda facet: (facet.others > 4 * MOST_VALUES, -facet.documents))
    return useful[:MOST_FIELDS]


def picked(pick: Sequence[str]) -> str:
    """Return the filter for chosen facet values: "or" joins values of one field, "and" joins fields."""
    by_field: dict[str, list[str]] = {}
    for condition in pick:
        whole = f"({condition})" if " and " in condition else condition
        by_field.setdefault(re.split(r"[=:<>]", condition)[0], []).append(whole)
    return " and ".join(f"({' or '.join(conditions)})" for conditions in by_field.values())
