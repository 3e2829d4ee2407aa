"""Handlers of the web pages (search, document, explanations, comparison of texts), and their scripts and styles."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query
from markupsafe import Markup
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from search.encoding import Encoder
from search.errors import IdMissing, InputError, OptionalDependency
from search.index import Index
from search.records.contents import DocumentText
from search.records.hits import Hit
from search.records.options import (
    CandidateOptions,
    FilterOptions,
    ListOptions,
    QueryOptions,
    RankingOptions,
    RankOptions,
    RerankOptions,
    changed,
    part_of,
)
from search.render import json
from search.render import page as drawn_alone
from search.render.heatmap import units
from search.render.page import hit_list as draw
from search.render.page import laboratory
from search.render.page import map as drawn_map
from search.render.page import reading as drawn_reading
from search.render.page import search as drawn
from search.render.page import why as drawn_why
from search.render.page.document import Page, assets, document
from search.render.page.laboratory import LONGEST
from search.serving.app_state import GenerationGone, in_one_generation
from search.serving.parameters import LARGEST, MOST_TEXTS, Id, IndexName, SearchRequest
from search.serving.problems import FRAGMENT, as_page
from search.texts import compare
from search.texts import explain as explain_two

MOST_NAMES = 50
_REPLY = re.compile(r"^((re|aw|fwd?)\s*:\s*)+", re.IGNORECASE)  # of a mail
_BEST, _EXPLAINED = 30, 10
_OLD_LINK = "the index has changed since this link was made. Search again."
_EXACT = ("mean", "mean_sqrt_len", "max")  # poolings that are explained without a gradient

router = APIRouter()

Question = TypeVar("Question", bound=BaseModel)
View = Callable[[Request, Index, Question], Page]


def page(path: str, model: type[Question], pinned: bool = True) -> Callable[[View[Question]], None]:
    """Return a decorator that registers a function as the handler of a page.

    The function gets the request, the index and the parameters, whose `index` is set to the index's name.

    Args:
        path: path of the page.
        model: class of the parameters.
        pinned: answer from a single generation of the index: the requested one, if the address names one.
    """

    def register(view: View[Question]) -> None:
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
                return in_one_generation(index, generation, lambda: view(request, index, question))[1]

            page = await state.limiter.run(drawn)
            if getattr(question, "file", False):
                return HTMLResponse(document(page), headers=_SAVED)
            return as_page(request, page, name)

        router.get(path, include_in_schema=False)(get)

    return register


_SAVED = {"Content-Disposition": 'attachment; filename="explanation.html"'}


class OnPage(SearchRequest):
    """Parameters of the search page."""

    words: Annotated[bool, Field(description="Rank by keywords only, as while typing.")] = False
    facets: Annotated[bool, Field(description="Include facets.")] = False
    why: Annotated[Id | None, Field(description="Explain this hit.")] = None


@page("/", OnPage, pinned=False)
def search(request: Request, index: Index, params: OnPage) -> Page:
    """The start page, or the hits of a query."""
    served = request.app.state.served
    if not params.q.strip():
        start = params.named()
        drawing = drawn_map.drawing(
            index.map(), lambda point: start.link(f"/documents/{point.document_id}")
        )
        names = tuple(served.indexes)
        return drawn.start(start, index.status(), _examples(index), names, drawing)
    try:
        result = _result(index, params)
    except InputError as error:
        result = drawn.SearchResult(index.generation, problem=str(error))
    return drawn.search(params.named(), result)


def _examples(index: Index) -> list[str]:
    """Return three titles of documents as queries to try."""
    titles = {_REPLY.sub("", document.title) for document in index.documents_named("", 400)}
    fit = sorted(title for title in titles if 2 <= len(title.split()) <= 7 and title.isprintable())
    return fit[:: max(1, len(fit) // 3)][:3]


def _result(index: Index, params: OnPage) -> drawn.SearchResult:
    """Return the hits of a query with their explanations, its keywords, facets and notes."""
    options: QueryOptions = part_of(params.ranking_options(RankOptions), QueryOptions)
    if params.words:
        options["mode"], options["weight"] = "lexical", None
    can_explain = index.fingerprint.pooling in _EXACT and not params.words
    options["explain"] = can_explain
    hits = index.query(params.question, params.k, **options)
    notes = index.notes  # read at once: another query replaces them
    keywords = [] if can_explain else index.highlights(params.q, hits)
    if params.words:
        return drawn.SearchResult(index.generation, draw.viewed(hits, keywords), keywords_only=True)
    words, without = (
        ((), ())
        if params.mode == "dense"
        else index.counted_words(params.q, **params.of(RankingOptions))
    )
    facets = index.facets() if params.facets or params.pick else None
    views = draw.viewed(hits, keywords)
    why = _why(index, params, [view.hit for view in views])
    return drawn.SearchResult(index.generation, views, words, without, facets, notes, why=why)


def _why(index: Index, params: OnPage, hits: Sequence[Hit]) -> tuple[int, Markup] | None:
    """Return the explanation of the requested hit, if it is in the list."""
    hit = next((hit for hit in hits if hit.passage_id == params.why), None)
    if hit is None:
        return None
    explained = hit.explanation or index.explain(params.question, hit)
    return hit.passage_id, Markup(drawn_why.panel(explained, hit, _address(params, RerankOptions)).body)


@router.get("/what-if", include_in_schema=False)
async def what_if(request: Request, params: Annotated[OnPage, Query()]) -> Response:
    """Return the candidates of a query with their scores, so that the page can rank them again with other settings."""
    state = request.app.state

    def answer() -> str:
        index = state.served.index(params.index)
        options = params.ranking_options(CandidateOptions)
        return json.lines([index.candidates(params.question, **options)])

    return Response(await state.limiter.run(answer), media_type="application/json")


class SimilarRequest(SearchRequest):
    """Parameters of the page of similar passages."""

    passage: Id


@page("/similar", SimilarRequest)
def similar(request: Request, index: Index, params: SimilarRequest) -> Page:
    """The passages most similar to a passage."""
    hits = index.similar(params.passage)
    listed = drawn.SearchResult(index.generation, draw.viewed(hits), notes=index.notes)
    return drawn.similar(draw.PageRequest(params.index or ""), index.passage(params.passage), listed)


class OfReading(SearchRequest):
    """Parameters of the page of a document: the passage to open it at, and the query whose hits are marked."""

    passage: Id | None = None


@page("/documents/{document:int}", OfReading, pinned=False)
def read(request: Request, index: Index, params: OfReading) -> Page:
    """A whole document as stored in the index, opened at a passage."""
    document = request.path_params["document"]
    if params.passage:  # the IDs of documents change with the index, those of passages stay
        document = _document_now(index, params.passage, params.generation)
    elif params.generation not in (None, index.generation):
        raise GenerationGone(_OLD_LINK)
    if document > LARGEST:
        raise HTTPException(404)
    whole = index.document(document)
    best = max(params.k, _BEST)
    hits = _hits_in(index, params, whole, best)
    views = draw.viewed(hits, index.highlights(params.q, hits) if hits else ())
    return drawn_reading.reading(params.named(), whole, params.passage, views, best)


def _document_now(index: Index, passage: int, generation: int | None) -> int:
    """Return the ID of the document with the requested passage.

    Raises:
        IdMissing: there is no such passage.
        GenerationGone: the passage of an old link is no longer in the index.
    """
    try:
        return index.passage(passage).document_id
    except IdMissing:
        if generation in (None, index.generation):
            raise
        raise GenerationGone(_OLD_LINK) from None


def _hits_in(index: Index, params: OfReading, document: DocumentText, best: int) -> list[Hit]:
    """Return the requested passage of a document, and its passages among the `best` first hits of the query."""
    if not params.q.strip():
        return []
    chosen: QueryOptions = part_of(params.ranking_options(RankOptions), QueryOptions)
    chosen["per_document"] = 0
    ranked = index.query(params.question, best, **chosen)
    hits = [hit for hit in ranked if hit.document_id == document.document_id]
    ids = {passage.passage_id for passage in document.passages}
    if params.passage in ids - {hit.passage_id for hit in hits}:
        hits.append(index.hit(params.question, params.passage, **params.of(RankingOptions)))
    if index.fingerprint.pooling in _EXACT and hits:
        best_hits = hits[:_EXPLAINED]
        whys = index.explain_all(params.question, best_hits)
        hits = [
            *(replace(hit, explanation=why) for hit, why in zip(best_hits, whys, strict=True)),
            *hits[_EXPLAINED:],
        ]
    return hits


class OfHit(SearchRequest):
    """Parameters of the page of an explanation."""

    passage: Id
    like: Annotated[Id | None, Field(description="Explain similarity to this passage.")] = None
    by: Literal["word", "token"] | None = None
    file: Annotated[bool, Field(description="Return a file that needs no server.")] = False


def _address(params: SearchRequest, *kinds: type) -> dict[str, Any]:
    """Return the query parameters of a page's address: index, query, generation and the changed options of `kinds`."""
    chosen = {name: value for kind in kinds for name, value in changed(params.of(kind), kind).items()}
    chosen |= {"more": params.more, "less": params.less, "generation": params.generation}
    return {"index": params.index, "q": params.q, **chosen}


@page("/explain", OfHit)
def explain(request: Request, index: Index, params: OfHit) -> Page:
    """The explanation of a passage's score, or of its similarity to another passage."""
    if params.like is not None:
        why, place = index.explain_similar(params.like, params.passage), index.passage(params.passage)
        address = {"index": params.index, "like": params.like, "generation": params.generation}
        return drawn_why.why(why, place, address, params.by or "word")
    hit = index.hit(params.question, params.passage, **params.of(RerankOptions))
    explained, address = index.explain(params.question, hit), _address(params, RerankOptions)
    if params.file:
        return drawn_why.explanation(explained, units(explained, params.by or "word"), hit)
    if FRAGMENT in request.headers and params.by is None:
        return drawn_why.panel(explained, hit, address)
    return drawn_why.why(explained, hit, address, params.by or "word")


class OfTwo(SearchRequest):
    """Parameters of the page that compares two hits."""

    a: Id
    b: Id


@page("/contrast", OfTwo)
def contrast(request: Request, index: Index, params: OfTwo) -> Page:
    """The comparison of two hits: why one ranks above the other."""
    compared = index.contrast(params.question, params.a, params.b, **params.of(RankingOptions))
    return drawn_why.contrast(compared, _address(params, RerankOptions))


class OfDocument(SearchRequest):
    """Parameters of the page "why not": a document, or a part of its name to search for."""

    document: Id | None = None
    name: Annotated[str, Field(max_length=200)] = ""


@page("/why-not", OfDocument)
def why_not(request: Request, index: Index, params: OfDocument) -> Page:
    """The rank of a document for a query, or a list of documents to choose from."""
    address = _address(params, RerankOptions, FilterOptions, ListOptions)
    if params.document is None:
        named = index.documents_named(params.name, MOST_NAMES)
        return drawn_why.choice(params.name, named, MOST_NAMES, address)
    place = index.location(params.document)
    return drawn_why.why_not(
        index.why_not(params.question, place, params.k, **params.of(RankOptions)), address
    )


Typed = Annotated[str, Field(max_length=LONGEST)]


class OfTexts(BaseModel):
    """Parameters of the pages that compare or inspect texts."""

    index: IndexName = None
    text: Annotated[list[Typed], Field(max_length=MOST_TEXTS)] = Field(default_factory=list)
    show: Literal["tokens", "attention"] = "tokens"


@page("/similarity", OfTexts, pinned=False)
def similarity(request: Request, index: Index, params: OfTexts) -> Page:
    """Similarities of several sentences; of two sentences, of their tokens."""
    content, problem = _answer(params, lambda: _compared(params, index.encoder))
    return laboratory.of_sentences(params.text, params.index or "", content, problem)


@page("/inspect", OfTexts, pinned=False)
def inspect(request: Request, index: Index, params: OfTexts) -> Page:
    """Tokens or attention of a model for a text."""
    content, problem = _answer(params, lambda: _looked(params, index.encoder.model))
    return laboratory.of_text(params.text, params.index or "", content, problem, params.show)


def _answer(params: OfTexts, work: Callable[[], Page]) -> tuple[Page | None, str]:
    """Return (page, "") for the texts in a form, (None, error message), or (None, "") if there are no texts."""
    if not any(text.strip() for text in params.text):
        return None, ""
    try:
        return work(), ""
    except (InputError, OptionalDependency) as error:
        return None, str(error)


def _compared(params: OfTexts, encoder: Encoder) -> Page:
    """Return the comparison of the sentences in a form; raise InputError if there are too few or too many."""
    lines = [line for text in params.text for line in text.splitlines() if line.strip()]
    if not 2 <= len(lines) <= MOST_TEXTS:
        raise InputError(
            f"give 2 to {MOST_TEXTS} sentences, each on its own line; there are {len(lines)}."
        )
    if len(lines) == 2:
        why = explain_two(*lines, model=encoder)
        return drawn_alone.explanation(why, units(why, "token"))
    return drawn_alone.sentences(compare(lines, model=encoder))


def _looked(params: OfTexts, model: str) -> Page:
    """Return the inspection of the texts in a form; raise InputError if the model cannot read them."""
    from search import bert

    texts = [text for text in params.text if text.strip()]
    looked = bert.inspect(*texts[:2], model=model, offline=True)
    return (
        laboratory.inspection(looked)
        if params.show == "tokens"
        else drawn_alone.attention(looked.attention)
    )


@router.get("/static/{name}", include_in_schema=False)
async def static(name: str) -> Response:
    """A script or style sheet; browsers may cache it without limit, because its address contains its hash."""
    if name not in assets():
        raise HTTPException(404)
    content, media_type, _ = assets()[name]
    return Response(
        content, headers={"Cache-Control": "public, max-age=31536000, immutable"}, media_type=media_type
    )
