"""The start page: the field, pinned and recent questions, questions that the index answers, and the map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from search.records.contents import FacetValue
from search.records.document_map import DocumentMap
from search.records.hits import Hit
from search.records.reports import Status
from search.records.suggestions import Suggestion
from search.render.format import counted, shortened
from search.render.page.document import Page, Site, drawn
from search.render.page.hit_list import HitView, PageRequest
from search.render.page.map import MapGroup, map_groups, position
from search.render.page.score_bar import full_width
from search.render.page.search import SCRIPTS

MOST_LISTED = 50  # documents that pass a filter
_LONGEST_PLACE = 48  # characters


@dataclass(frozen=True)
class QuestionList:
    """Questions that an index can answer.

    Attributes:
        suggestions: the questions with their first hits.
        sample: the first hit of the first question, with its bar; None without questions.
    """

    suggestions: Sequence[Suggestion] = ()
    sample: HitView | None = None


@dataclass(frozen=True)
class StartView:
    """Facts about an index for its start page.

    Attributes:
        status: status of the index.
        map: the map of its documents.
        folders: folders with their numbers of documents, instead of a map without topics.
        newest: the newest documents, as hits, likewise.
        listed: documents that pass the filter of the request, as hits; None without a filter.
        questions: the questions to try; None if they have not been made yet.
        pins: pinned questions, newest first.
        allows_pins: True if questions can be pinned.
    """

    status: Status
    map: DocumentMap
    folders: Sequence[FacetValue] = ()
    newest: Sequence[Hit] = ()
    listed: Sequence[Hit] | None = None
    questions: QuestionList | None = None
    pins: Sequence[str] = ()
    allows_pins: bool = False


def start(request: PageRequest, view: StartView, indexes: Iterable[str]) -> Page:
    """Return the start page.

    Args:
        indexes: names of all indexes of the server.
    """
    body = drawn(
        "start.html",
        site=Site("/", request.index, names := tuple(indexes)),
        request=request,
        view=view,
        groups=(groups := map_groups(view.map, request)),
        filtered_by=_filtered_by(request, groups.values()),
        position=position,
        newest=[HitView(hit) for hit in view.newest],
        listed=[HitView(hit) for hit in view.listed or ()],
        most=MOST_LISTED,
        documents=counted(view.status.documents, "document"),
        updated=ago(view.status.updated),
        others=[name for name in names if name != request.index],
        **_values(request, view.questions),
    )
    return Page(f"seewhy \u2013 search {request.index}", "", body, SCRIPTS)


def _filtered_by(request: PageRequest, groups: Iterable[MapGroup]) -> str:
    """Return what documents are listed by: the name of a topic, the filter, or the dates."""
    topic = next((group.name for group in groups if group.is_chosen), "")
    dates = (
        f"{request.since or ''} \u2013 {request.until or ''}" if request.since or request.until else ""
    )
    return topic or " and ".join(filter(None, (request.where, *request.pick, dates)))


def questions(request: PageRequest, listed: QuestionList) -> Page:
    """Return the part of the start page with the questions that the index can answer."""
    title = f"Questions that {request.index} answers"
    return Page(
        title, title, drawn("questions.html", request=request, **_values(request, listed)), SCRIPTS
    )


def _place(hit: Hit) -> str:
    """Return title and headings of a hit in a few words, or its location."""
    view = HitView(hit)
    return shortened(view.heading or view.place, _LONGEST_PLACE)


def _values(request: PageRequest, listed: QuestionList | None) -> dict[str, object]:
    """Return the values of the template `questions.html`."""
    sample = listed.sample if listed else None
    return {
        "questions": [
            (suggestion.question, _place(suggestion.hit))
            for suggestion in (listed.suggestions if listed else ())
        ],
        "sample": sample,
        "asked": replace(request, q=listed.suggestions[0].question) if listed and sample else None,
        "full": full_width([sample.bar]) if sample else 1.0,
    }


def ago(moment: str) -> str:
    """Return how long ago a time in RFC 3339 was: "5 minutes ago"; "" if there is none."""
    if not moment:
        return ""
    then = datetime.fromisoformat(moment.replace("Z", "+00:00"))
    seconds = (datetime.now(timezone.utc) - then).total_seconds()
    for length, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= length:
            return f"{counted(int(seconds // length), name)} ago"
    return "just now"
