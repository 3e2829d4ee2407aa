"""The start page and the page of hits. An address contains the whole state of its page.

Both work without scripts, as a form with links; search.js searches while the user types, and replaces the parts that
have changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from markupsafe import Markup

from search.records.contents import Facet, StoredPassage
from search.records.explanations import STOP_WORDS
from search.records.options import WEIGHT
from search.records.reports import Status
from search.records.visible_text import visible
from search.render.format import counted, one_line, percentile_of, shortened, verdict_of
from search.render.page.document import Page, Site, drawn
from search.render.page.hit_list import HitView, PageRequest, full_width

SCRIPTS = ("reading.css", "whatif.js", "explanation.js", "reading.js", "search.js")
MODES = {"hybrid": "Meaning and keywords", "dense": "Meaning only", "lexical": "Keywords only"}
_LIKE_LENGTH = 320  # characters of the passage on the page of similar ones
_ADDRESS = re.compile(r"\s*<[^<>]*>$")  # of a person: "Ruth <ruth@example.org>"
MOST_FIELDS, MOST_VALUES = 5, 8
_NAMES = {"lang": "Language", "from": "From", "people": "People"}
KEYS = (
    ("/", "to the query"),
    ("j, k", "next hit, previous hit"),
    ("Enter", "open the document at the passage"),
    ("e", "why this hit"),
    ("s", "more like this"),
    ("c", "compare two hits"),
    ("Esc", "close the open panel, then back to the query"),
)


@dataclass(frozen=True)
class SearchResult:
    """Hits of a query, and facts about the index and the query.

    Attributes:
        generation: generation of the index that was searched.
        hits: the hits with their highlights.
        words: keywords of the query; `without` are the ignored ones among them.
        facets: values to filter by, with their counts; None if they were not requested.
        notes: warnings about the index.
        problem: reason why there are no hits.
        keywords_only: True for a first answer by keywords, sent while the user types; the full answer
            follows.
        why: passage ID of the explained hit, and its explanation as HTML.
    """

    generation: int = 0
    hits: Sequence[HitView] = ()
    words: Sequence[str] = ()
    without: Sequence[str] = ()
    facets: Sequence[Facet] | None = None
    notes: Sequence[str] = ()
    problem: str = ""
    keywords_only: bool = False
    why: tuple[int, Markup] | None = None


def search(request: PageRequest, result: SearchResult) -> Page:
    """Return the page of hits."""
    values: dict[str, Any] = {"request": request, "result": result, "full": full_width(result.hits)}
    values |= _head(request, result)
    body = drawn(
        "hits.html",
        site=Site("/", request.index),
        **values,
        pieces=query_pieces(request, result),
        fields=fields(request, result.facets),
        weight=WEIGHT if request.weight is None else request.weight,
        default=WEIGHT,
        modes=MODES,
        keys=KEYS,
    )
    return Page(f"{request.q} \u2013 seewhy", "", "", body, SCRIPTS)


def _head(request: PageRequest, result: SearchResult) -> dict[str, str]:
    """Return the texts above the hits: verdict, counts, and the reason for an empty list."""
    documents = len({view.hit.document_id for view in result.hits})
    counts = f"{counted(len(result.hits), 'passage')} in {counted(documents, 'document')}"
    best = result.hits[0].hit if result.hits else None
    verdict = verdict_of(best) if best else ""
    says = best.verdict.says.split()[0] if best and best.verdict else ""
    if result.keywords_only:
        verdict, counts = "Keyword matches", "meaning follows"
    return {
        "verdict": verdict,
        "says": says,
        "percentile": percentile_of(best) if best and says != "nothing" else "",
        "counts": counts,
        "empty": "" if result.hits or result.problem else _none(request),
    }


def _none(request: PageRequest) -> str:
    """Return the reason for no hits."""
    restricted = (
        request.where or request.pick or request.since or request.until or set(request.q) & set('"-:=<>')
    )
    passes = " that passes the filters" if restricted else ""
    if request.mode == "lexical" or request.weight == 0:
        return f"No passage{passes} has a word of the query."
    return "No passage passes the filters." if passes else "The index has no passages yet."


@dataclass(frozen=True)
class Piece:
    """A piece of the query: text, or a keyword that can be left out.

    Attributes:
        word: the keyword; "" for other text.
        off: True if the keyword is left out.
        href: address of the query with or without the keyword.
    """

    text: str
    word: str = ""
    off: bool = False
    href: str = ""


def query_pieces(request: PageRequest, result: SearchResult) -> list[Piece]:
    """Return the query in pieces: its keywords, and the text between them."""
    pieces, at = [], 0
    content = [word for word in result.words if word.casefold() not in STOP_WORDS] or result.words
    words = sorted(content, key=len, reverse=True)
    names = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in words)
    by_name = {word.casefold(): word for word in words}
    for match in re.finditer(names, request.q, re.IGNORECASE) if names else ():
        word = by_name.get(match[0].casefold(), match[0])
        off = word in result.without
        others = tuple(each for each in request.without or () if each != word)
        without = others if off else (*others, word)
        if before := request.q[at : match.start()].strip():
            pieces.append(Piece(before))
        pieces.append(Piece(match[0], word, off, request.link("/", without=without)))
        at = match.end()
    rest = request.q[at:].strip()
    return [*pieces, *([Piece(rest)] if rest else [])]


def fields(request: PageRequest, facets: Sequence[Facet] | None) -> list[dict[str, Any]]:
    """Return the facets for the page: fields with few values first, then by number of documents."""
    useful = [facet for facet in facets or () if len(facet.values) > 1 and facet.documents > 1]
    few = sorted(useful, key=lambda facet: (facet.others > 4 * MOST_VALUES, -facet.documents))
    return [
        {
            "name": _NAMES.get(facet.field, facet.field.replace("_", " ").capitalize()),
            "values": [
                {
                    "name": _ADDRESS.sub("", value.value) or value.value,
                    "count": value.documents,
                    "where": value.where,
                    "chosen": value.where in request.pick,
                }
                for value in facet.values[:MOST_VALUES]
            ],
        }
        for facet in few[:MOST_FIELDS]
    ]


def picked(pick: Sequence[str]) -> str:
    """Return the filter for chosen facet values: "or" joins values of one field, "and" joins fields."""
    by_field: dict[str, list[str]] = {}
    for condition in pick:
        by_field.setdefault(re.split(r"[=:<>]", condition)[0], []).append(condition)
    return " and ".join(f"({' or '.join(conditions)})" for conditions in by_field.values())


def start(
    request: PageRequest,
    status: Status | None,
    examples: Sequence[str],
    indexes: Sequence[str],
    map_: Markup | None = None,
) -> Page:
    """Return the start page.

    Args:
        status: status of the index; None if it cannot be read.
        examples: queries to try.
        indexes: names of all indexes of the server.
        map_: the map of the documents.
    """
    body = drawn(
        "start.html",
        site=Site("/", request.index),
        request=request,
        documents=counted(status.documents, "document") if status else "",
        updated=ago(status.updated) if status else "",
        examples=examples,
        others=[name for name in indexes if name != request.index],
        map=map_,
    )
    return Page(f"seewhy \u2013 search {request.index}", "", "", body, ("search.js",))


def ago(moment: str) -> str:
    """Return how long ago a time in RFC 3339 was: "5 minutes ago"; "" if there is none."""
    if not moment:
        return ""
    seconds = (
        datetime.now(timezone.utc) - datetime.fromisoformat(moment.replace("Z", "+00:00"))
    ).total_seconds()
    for length, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= length:
            return f"{counted(int(seconds // length), name)} ago"
    return "just now"


def similar(request: PageRequest, like: StoredPassage, result: SearchResult) -> Page:
    """Return the page of the passages most similar in meaning to `like`."""
    request = replace(request, generation=result.generation)
    body = drawn(
        "similar.html",
        site=Site("/", request.index),
        request=request,
        like=like,
        passage=shortened(one_line(visible(like.text, like.hidden)), _LIKE_LENGTH),
        result=result,
        full=full_width(result.hits),
    )
    return Page("More like this", "", "", body, SCRIPTS)
