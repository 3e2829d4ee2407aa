"""Handlers of the web pages (search, document, explanations, comparison of texts), and their scripts and styles."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from search.errors import IdMissing, InputError, OptionalDependency
from search.explaining.tracers import can_trace
from search.index import Index, searcher_of
from search.indexes import absences
from search.ranking.question import name_of_example, without_operators
from search.ranking.selection import Selection
from search.ranking.sentences import AnsweringSentences, by_keywords
from search.records import option_tools
from search.records import options as declared
from search.records.contents import DocumentText, Facet
from search.records.document_map import DocumentMap
from search.records.explanations import Highlight
from search.records.hits import Hit, Hits
from search.records.options import FilterOptions, RankingOptions, RankOptions
from search.records.shares import Share
from search.records.suggestions import Suggestion
from search.render import json, page
from search.render.format import no_hits
from search.render.hits import body_start
from search.render.page import comparison, reading, search, start, why
from search.render.page import map as map_page
from search.render.page.document import Page, Site, assets, document
from search.render.page.hit_list import viewed
from search.render.page.reference import api_reference
from search.serving.app_state import GenerationGone, in_one_generation
from search.serving.parameters import LARGEST, MOST_TEXTS, Id, SearchRequest
from search.serving.problems import FRAGMENT, Problem, as_page
from search.store.pins import pin, pins
from search.texts import compare

_BEST, _EXPLAINED, _COUNTED = 30, 10, 100
_EXCERPT = 240  # characters of the sentences that are shown
_NEWEST = 6  # documents of the start page
_MOST_DATED = 2_000  # documents among which the newest are looked for
_NEAR = 8  # documents that are near to one and not linked with it
_OLD_LINK = "the index has changed since this link was made. Search again."

router = APIRouter()

Typed = Annotated[str, Field(max_length=comparison.LONGEST)]


class PageParams(SearchRequest):
    """Parameters of a page."""

    words: Annotated[bool, Field(description="Rank by keywords only, as while typing.")] = False
    facets: Annotated[bool, Field(description="Include facets.")] = False
    unshaded: Annotated[bool, Field(description="Leave out the shades of passages, which take long.")] = (
        False
    )
    doc: Annotated[
        Id | None, Field(description="Hit whose document, explanation, ... stands beside the hits.")
    ] = None
    tab: Annotated[
        Literal["why", "compare", "tokens"] | None,
        Field(description="What stands beside the hits; the document if it is missing."),
    ] = None
    other: Annotated[Id | None, Field(description="Hit to compare `doc` with.")] = None
    why: Annotated[
        Id | None, Field(description="The same as `doc` with `tab=why`, in links of before.")
    ] = None
    passage: Annotated[Id | None, Field(description="Open the document at this passage.")] = None
    source: Annotated[bool, Field(description="Show the source of the document.")] = False
    near: Annotated[bool, Field(description="List near documents that it is not linked with.")] = False
    document: Annotated[Id | None, Field(description="Document that is missing.")] = None
    name: Annotated[str, Field(max_length=200, description="Part of its name.")] = ""
    text: Annotated[list[Typed], Field(max_length=MOST_TEXTS)] = Field(default_factory=list)


class PassageParams(PageParams):
    """Parameters of a page about a passage."""

    passage: Id


class ContrastPageParams(PageParams):
    """Parameters of the page that compares two hits."""

    a: Id
    b: Id


Params = TypeVar("Params", bound=PageParams)
View = Callable[[Index, Params, Request], Page]


def view(
    path: str, model: type[Params], pinned: bool = True, router: APIRouter = router
) -> Callable[[View[Params]], None]:
    """Return a decorator that registers a function as the handler of a page.

    The function gets the index, the parameters, whose `index` is set to the index's name, and the request.

    Args:
        path: path of the page.
        model: class of the parameters.
        pinned: answer from a single generation of the index: the requested one, if the address names one.
        router: router of the page, if it belongs to an extension.
    """

    def register(function: View[Params]) -> None:
        async def get(
            request: Request,
            params: Annotated[model, Query()],  # type: ignore[valid-type]
        ) -> HTMLResponse:
            state = request.app.state
            question: Any = params
            name = question.index = question.index or state.served.first

            def drawn() -> Page:
                index = state.served.index(name)
                generation = question.generation if pinned else None
                return in_one_generation(index, generation, lambda: function(index, question, request))[1]

            answer = await state.limiter.run(drawn)
            if getattr(question, "file", False):
                saved = {"Content-Disposition": 'attachment; filename="xray.html"'}
                return HTMLResponse(document(answer), headers=saved)
            return as_page(request, answer, name)

        router.get(path, include_in_schema=False)(get)

    return register


@view("/", PageParams, pinned=False)
def hits(index: Index, params: PageParams, request: Request) -> Page:
    """The start page, or the hits of a query."""
    names = request.app.state.served.indexes
    if not (params.q.strip() or params.more):
        return start.start(params.named(), _start_view(index, params, request), names)
    is_for_facets = params.facets and FRAGMENT in request.headers  # the page has the hits already
    try:
        result = (
            search.SearchView(index.generation, facets=_facets(index, params))
            if is_for_facets
            else _result(index, params)
        )
    except InputError as error:
        result = search.SearchView(index.generation, problem=str(error))
    pinned = params.q.strip() in pins(index.path) if request.app.state.allows_pins else None
    return search.search(params.named(), result, names, pinned)


def _start_view(index: Index, params: PageParams, request: Request) -> start.StartView:
    """Return what the start page says about an index; suggestions only if they have been made.

    Args:
        params: its filter lists documents instead of questions.
    """
    suggested = searcher_of(index).latest_suggestions
    map_, status = DocumentMap((), {}, 0, 0.0), index.status()
    with suppress(InputError):  # an index on a server cannot list its documents
        map_ = searcher_of(index).map()
    is_small = map_.points and map_.grouped_by != "topic" and status.documents <= _MOST_DATED
    folders = [facet for facet in index.facets() if facet.field == "folder"] if is_small else []
    newest = Selection.of(_NEWEST, sort="date")
    listed = None
    if params.named().is_filtered:
        options = option_tools.select_options(params.ranking_options(FilterOptions), FilterOptions)
        listed = index.query("", start.MOST_LISTED, **options)
    return start.StartView(
        status,
        map_,
        folders[0].values if folders else (),
        searcher_of(index).listed(None, newest) if is_small else (),
        listed,
        None if suggested is None else _questions(index, suggested),
        pins(index.path),
        request.app.state.allows_pins,
    )


@view("/map", PageParams)
def on_map(index: Index, params: PageParams, request: Request) -> Page:
    """The map of the documents; those of the hits are emphasised."""
    return map_page.document_map(
        searcher_of(index).map(), params.named(), _query(index, params, params.k)
    )


@view("/questions", PageParams, pinned=False)
def questions(index: Index, params: PageParams, request: Request) -> Page:
    """Questions that the index can answer; the start page inserts them when they have been made."""
    return start.questions(params.named(), _questions(index, searcher_of(index).suggestions()))


def _questions(index: Index, suggested: Sequence[Suggestion]) -> start.QuestionList:
    """Return suggestions with the first hit of the first one, as the page of hits has it."""
    hits = [suggestion.hit for suggestion in suggested[:1]]
    shaded = bool(hits and hits[0].explanation)
    keywords = searcher_of(index).highlights(suggested[0].question, hits) if hits and not shaded else ()
    views = viewed(hits, keywords, answering(hits, keywords))
    return start.QuestionList(suggested, views[0] if views else None)


@router.post("/pins", include_in_schema=False)
async def pin_question(request: Request) -> Response:
    """Pin a question, or remove it: a form with `index`, `q`, `keep` (1 or 0), and `to`, the page to return to."""
    state = request.app.state
    if not state.allows_pins:
        detail = "questions can be pinned on the machine of the server, or with: seewhy serve --writable"
        raise Problem(403, "read-only", detail)
    body = (await request.body()).decode("utf-8", "replace")
    fields = {name: values[-1] for name, values in parse_qs(body).items()}
    name, question = fields.get("index") or state.served.first, fields.get("q", "")

    def store() -> None:
        pin(state.served.index(name).path, question, keep=fields.get("keep") != "0")

    await state.limiter.run(store)
    if FRAGMENT in request.headers:
        return Response(status_code=204)
    query = {"index": name, "q": question} if fields.get("to") == "hits" else {"index": name}
    return RedirectResponse(f"/?{urlencode(query, errors='replace')}", 303)


def _query(index: Index, params: PageParams, k: int, **more: Any) -> Hits:
    """Return the hits of a request; `more` overrides its options."""
    return index.query(params.question, k, **{**_query_options(params), **more})


def _query_options(params: PageParams) -> declared.QueryOptions:
    return option_tools.select_options(params.ranking_options(RankOptions), declared.QueryOptions)


def why_none(params: PageParams, passages: int) -> str:
    """Return why a request has no hits.

    Args:
        passages: number of passages that were searched.
    """
    words, restricts = without_operators(params.q)
    return no_hits(
        words,
        passages,
        ["the filters"] if params.named().is_filtered else [],
        restricts=restricts,
        by_keywords=params.words or params.mode == "lexical" or params.weight == 0,
        ignored=params.without or (),
    )


def _result(index: Index, params: PageParams) -> search.SearchView:
    """Return the hits of a query with their explanations, its keywords, facets and notes."""
    can_explain = not params.words and can_trace(index.encoder)
    by_keywords = {"mode": "lexical", "weight": None} if params.words else {}
    shaded, shares = can_explain and not params.unshaded, list[tuple[Share, ...]]()
    if can_explain and not shaded:
        searcher = searcher_of(index)
        hits, shares = searcher.query_with_shares(params.question, params.k, **_query_options(params))
    else:
        hits = _query(index, params, params.k, explain=shaded, **by_keywords)
    notes = index.notes  # read at once: another query replaces them
    if hits.coverage:
        notes = (*notes, f"{hits.coverage.sentence}.")
    keywords = () if shaded else searcher_of(index).highlights(params.q, hits)
    views = viewed(hits, keywords, answering(hits, keywords), shares)
    passages = searcher_of(index).store.facts.passages
    none = "" if hits else why_none(params, passages)
    if params.words:
        return search.SearchView(index.generation, views, no_hits=none, keywords_only=True)
    absent = absences(index, params.q)
    dense, options = params.mode == "dense", params.of(RankingOptions)
    words, without = ((), ()) if dense else searcher_of(index).counted_words(params.q, **options)
    facets = _facets(index, params) if params.facets or params.pick else None
    opened, explained_id = {}, params.doc if params.tab == "why" else params.why
    for hit in hits:
        if hit.passage_id == explained_id:
            explained = hit.explanation or index.explain(params.question, hit)
            opened[hit.passage_id] = why.panel(explained, hit, params.named()).body
    return search.SearchView(
        index.generation,
        views,
        words,
        without,
        facets,
        notes,
        absent,
        no_hits=none,
        why=opened,
        examples={id_: name_of_example(index.passage(id_)) for id_ in (*params.more, *params.less)},
        passages=passages,
    )


def _facets(index: Index, params: PageParams) -> Sequence[Facet]:
    """Return the facets of the best passages; the current choice is ignored, so that users can add to it."""
    return index.facets(among=_query(index, params, _COUNTED, where=params.where, per_document=0))


def answering(hits: Sequence[Hit], keywords: Sequence[Sequence[Highlight]]) -> list[tuple[int, int]]:
    """Return the span of the sentences of each hit with the largest contributions; of an unread one, most keywords."""
    below = []
    for at, hit in enumerate(hits):
        start = body_start(hit)
        why = hit.explanation
        marks = why.content_highlights() if why else keywords[at] if keywords else ()
        below.append([mark for mark in marks if mark.start >= start])
    return AnsweringSentences([hit.text for hit in hits], by_keywords(below)).spans(_EXCERPT)


@router.get("/what-if", include_in_schema=False)
async def what_if(request: Request, params: Annotated[PageParams, Query()]) -> Response:
    """Return the candidates of a query with their scores, so that the page can rank them again with other settings."""
    state = request.app.state

    def answer() -> str:
        index = state.served.index(params.index)
        options = params.ranking_options(declared.CandidateOptions)
        return json.lines([searcher_of(index).candidates(params.question, **options)])

    return Response(await state.limiter.run(answer), media_type="application/json")


@view("/documents/{document:int}", PageParams, pinned=False)
def read(index: Index, params: PageParams, request: Request) -> Page:
    """A whole document as stored in the index, opened at a passage."""
    id_, is_old = request.path_params["document"], params.generation not in (None, index.generation)
    try:
        if params.passage:  # the IDs of documents change with the index, those of passages stay
            id_ = index.passage(params.passage).document_id
        elif is_old:
            raise GenerationGone(_OLD_LINK)
    except IdMissing as error:
        raise GenerationGone(_OLD_LINK) if is_old else error from None
    if id_ > LARGEST:
        raise HTTPException(404)
    whole = index.document(id_)
    best = max(params.k, _BEST)
    hits = _hits_in(index, params, whole, best)
    return reading.reading(
        params.named(),
        whole,
        params.passage,
        viewed(hits, searcher_of(index).highlights(params.q, hits) if hits else ()),
        best=best,
        source=params.source,
        near=index.similar(searcher_of(index).location(id_), _NEAR, unlinked=True, per_document=1)
        if params.near
        else None,
        file_text=searcher_of(index).file_text(id_),
    )


def _hits_in(index: Index, params: PageParams, document: DocumentText, best: int) -> list[Hit]:
    """Return the requested passage of a document, and its passages among the `best` first hits of the query."""
    if not params.q.strip():
        return []
    ranked = _query(index, params, best, per_document=0)
    hits = [hit for hit in ranked if hit.document_id == document.document_id]
    ids = {passage.passage_id for passage in document.passages}
    if params.passage in ids - {hit.passage_id for hit in hits}:
        hits.append(searcher_of(index).hit(params.question, params.passage, **params.of(RankingOptions)))
    if hits and can_trace(index.encoder):
        whys = index.explain(params.question, hits[:_EXPLAINED])
        hits[:_EXPLAINED] = [replace(hit, explanation=why) for hit, why in zip(hits, whys, strict=False)]
    return hits


@view("/explain", PassageParams)
def explain(index: Index, params: PassageParams, request: Request) -> Page:
    """The explanation of a passage's score, word by word."""
    hit = searcher_of(index).hit(params.question, params.passage, **params.of(declared.RerankOptions))
    explained = index.explain(params.question, hit)
    panel = why.panel(explained, hit, params.named())
    if FRAGMENT in request.headers:
        return panel
    return why.alone(panel, replace(hit, explanation=explained), params.named())


@view("/counterfactual", PassageParams)
def counterfactual(index: Index, params: PassageParams, request: Request) -> Page:
    """The changes that would move a hit out of the list, or another passage into it."""
    options = params.ranking_options(RankOptions)
    changed = index.counterfactual(params.question, params.passage, params.k, **options)
    return why.changes(changed, params.named())


@view("/contrast", ContrastPageParams)
def contrast(index: Index, params: ContrastPageParams, request: Request) -> Page:
    """The comparison of two hits: why one ranks above the other."""
    compared = index.contrast(params.question, params.a, params.b, **params.of(RankingOptions))
    return why.contrast(compared, params.named())


@view("/why-not", PageParams)
def why_not(index: Index, params: PageParams, request: Request) -> Page:
    """The rank of a document for a query, or a list of documents to choose from."""
    if params.document is None:
        named = searcher_of(index).documents_named(params.name, 50)
        return why.choice(params.name, named, 50, params.named())
    place, options = searcher_of(index).location(params.document), params.of(RankOptions)
    standing = index.why_not(params.question, place, params.k, **options)
    changed = None
    if standing.can_change and standing.hit:
        with suppress(InputError):  # of several parts, or of an index that is not complete
            changed = index.counterfactual(params.question, standing.hit.passage_id, params.k, **options)
    return why.why_not(standing, params.named(), changed)


def form_view(
    form: comparison.Form, model: type[Params], work: View[Params], router: APIRouter = router
) -> None:
    """Register the page of a form; `work` answers what was typed into it, or raises InputError."""

    def answered(index: Index, params: Params, request: Request) -> Page:
        answer: Page | str | None = None
        if any(text.strip() for text in params.text):
            try:
                answer = work(index, params, request)
            except (InputError, OptionalDependency) as error:
                answer = str(error)
        return comparison.form(form, params.text, params.index or "", answer, getattr(params, "show", ""))

    view(form.action, model, pinned=False, router=router)(answered)


def _compared(index: Index, params: PageParams, request: Request) -> Page:
    """Return the comparison of the sentences in a form; raise InputError if there are too few or too many."""
    lines = _lines(params)
    if not 2 <= len(lines) <= MOST_TEXTS:
        raise InputError(
            f"give 2 to {MOST_TEXTS} sentences, each on its own line; there are {len(lines)}."
        )
    return page.sentences(compare(lines, model=index.encoder), params.index or "")


def _lines(params: PageParams) -> list[str]:
    return [line for text in params.text for line in text.splitlines() if line.strip()]


form_view(comparison.COMPARE, PageParams, _compared)


@router.get("/api/v1/docs", include_in_schema=False)
async def api_docs(request: Request) -> HTMLResponse:
    """The reference of the HTTP API, drawn from its OpenAPI document."""
    name = request.app.state.served.first
    return as_page(request, api_reference(request.app.openapi(), Site("/api/v1/docs", name)), name)


@router.get("/static/{version}/{name}", include_in_schema=False)
async def static(version: str, name: str) -> Response:
    """A script or style sheet; browsers may cache it without limit, because its address contains a hash."""
    if name not in assets() or not version.isalnum():
        raise HTTPException(404)
    content, media_type = assets()[name]
    return Response(
        content, headers={"Cache-Control": "public, max-age=31536000, immutable"}, media_type=media_type
    )
