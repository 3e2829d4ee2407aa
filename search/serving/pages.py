"""Handlers of the web pages (search, document, explanations, comparison of texts), and their scripts and styles."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query
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
    WEIGHT,
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
from search.render.page import reading as drawn_reading
from search.render.page import search as drawn
from search.render.page import why as drawn_why
from search.render.page.document import Page, assets
from search.render.page.laboratory import LONGEST
from search.serving.app_state import GenerationGone, in_one_generation
from search.serving.parameters import LARGEST, MOST_TEXTS, Id, IndexName, SearchRequest
from search.serving.problems import as_page
from search.texts import compare
from search.texts import explain as explain_two

MOST_NAMES = 50
_BEST = 30

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

            return as_page(request, await state.limiter.run(drawn), name)

        router.get(path, include_in_schema=False)(get)

    return register


class OnPage(SearchRequest):
    """Parameters of the search page."""

    words: Annotated[bool, Field(description="Rank by keywords only, as while typing.")] = False
    shades: Annotated[bool, Field(description="Highlight words by meaning, too.")] = False
    facets: Annotated[bool, Field(description="Include facets.")] = False

    @property
    def options(self) -> QueryOptions:
        """The ranking options of the form, as arguments of `Index.query`."""
        options: QueryOptions = part_of(self.of(RankOptions), QueryOptions)
        options["explain"] = self.shades
        if self.words:
            options["mode"], options["weight"] = "lexical", None
        return options


@page("/", OnPage, pinned=False)
def search(request: Request, index: Index, params: OnPage) -> Page:
    """The search form with its hits."""
    served = request.app.state.served
    try:
        if params.weight == WEIGHT:  # without scripts, the form always sends a weight
            params = params.model_copy(update={"weight": None})
        results = _results(index, params)
    except InputError as error:
        left_out = tuple(params.without)
        results = drawn.SearchResult(
            index.generation, words=left_out, without=left_out, problem=str(error)
        )
    return drawn.search(params.named(), tuple(served.indexes), results)


def _results(index: Index, params: OnPage) -> drawn.SearchResult:
    """Return the content of the search page: hits, keywords, facets and notes."""
    alone = params.words or params.shades  # the page already has everything else
    facets = index.facets() if params.facets and not alone else None
    if not params.q.strip():
        return drawn.SearchResult(index.generation, facets=facets, notes=index.notes)
    hits = index.query(params.q, params.k, **params.options)
    notes = index.notes  # read at once: another query replaces them
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    if not alone and params.mode != "dense":
        words, without = index.counted_words(params.q, **params.of(RankingOptions))
    marked = _marked(index, params.q, hits)
    return drawn.SearchResult(index.generation, marked, params.shades, words, without, facets, notes)


def _marked(index: Index, query: str, hits: Sequence[Hit]) -> list[draw.Marked]:
    """Return hits with highlights: all words that contribute if the hit has an explanation, else the query's words."""
    words = index.highlights(query, hits) if hits else ()
    return [
        draw.Marked(hit, hit.explanation.content_highlights() if hit.explanation else marks, marks)
        for hit, marks in zip(hits, words, strict=True)
    ]


@router.get("/what-if", include_in_schema=False)
async def what_if(request: Request, params: Annotated[OnPage, Query()]) -> Response:
    """Return the candidates of a query with their scores, so that the page can rank them again with other settings."""
    state = request.app.state

    def answer() -> str:
        index = state.served.index(params.index)
        return json.lines([index.candidates(params.q, **params.of(CandidateOptions))])

    return Response(await state.limiter.run(answer), media_type="application/json")


class SimilarRequest(SearchRequest):
    """Parameters of the page of similar passages."""

    passage: Id


@page("/similar", SimilarRequest)
def similar(request: Request, index: Index, params: SimilarRequest) -> Page:
    """The passages most similar to a passage."""
    hits = [draw.Marked(hit) for hit in index.similar(params.passage)]
    listed = drawn.SearchResult(index.generation, marked=hits, notes=index.notes)
    return drawn.similar(draw.PageRequest(params.index or ""), index.passage(params.passage), listed)


class OfReading(SearchRequest):
    """Parameters of the page of a document: the passage to open it at, and the query whose hits are marked."""

    passage: Id | None = None


@page("/documents/{document:int}", OfReading, pinned=False)
def read(request: Request, index: Index, params: OfReading) -> Page:
    """A whole document as stored in the index, opened at a passage."""
    document = request.path_params["document"]
    if params.generation not in (None, index.generation):
        document = _document_now(index, params)
    if document > LARGEST:
        raise HTTPException(404)
    whole = index.document(document)
    best = max(params.k, _BEST)
    marked = _marked(index, params.q, _hits_in(index, params, whole, best))
    return drawn_reading.reading(params.named(index.generation), whole, params.passage, marked, best)


def _document_now(index: Index, params: OfReading) -> int:
    """Return the ID, in the current generation, of the document with the requested passage.

    Raises:
        GenerationGone: the passage is no longer in the index, or the link names none.
    """
    with suppress(IdMissing):
        if params.passage:
            return index.passage(params.passage).document_id
    raise GenerationGone("the index has changed since this link was made. Search again.")


def _hits_in(index: Index, params: OfReading, document: DocumentText, best: int) -> list[Hit]:
    """Return the requested passage of a document, and its passages among the `best` first hits of the query."""
    if not params.q.strip():
        return []
    chosen = params.of(RankOptions)
    chosen["per_document"] = 0
    hits = [
        hit for hit in index.query(params.q, best, **chosen) if hit.document_id == document.document_id
    ]
    ids = {passage.passage_id for passage in document.passages}
    if params.passage in ids - {hit.passage_id for hit in hits}:
        hits.append(index.hit(params.q, params.passage, **params.of(RankingOptions)))
    return hits


class OfHit(SearchRequest):
    """Parameters of the page of an explanation."""

    passage: Id
    like: Annotated[Id | None, Field(description="Explain similarity to this passage.")] = None
    by: Literal["word", "token"] = "word"


def _address(params: SearchRequest, *kinds: type) -> dict[str, Any]:
    """Return the query parameters of a page's address: index, query, generation and the changed options of `kinds`."""
    chosen = {name: value for kind in kinds for name, value in changed(params.of(kind), kind).items()}
    return {"index": params.index, "q": params.q, **chosen, "generation": params.generation}


@page("/explain", OfHit)
def explain(request: Request, index: Index, params: OfHit) -> Page:
    """The explanation of a passage's score, or of its similarity to another passage."""
    if params.like is not None:
        why, place = index.explain_similar(params.like, params.passage), index.passage(params.passage)
        address = {"index": params.index, "like": params.like, "generation": params.generation}
        return drawn_why.why(why, place, address, params.by)
    hit = index.hit(params.q, params.passage, **params.of(RerankOptions))
    return drawn_why.why(index.explain(params.q, hit), hit, _address(params, RerankOptions), params.by)


class OfTwo(SearchRequest):
    """Parameters of the page that compares two hits."""

    a: Id
    b: Id


@page("/contrast", OfTwo)
def contrast(request: Request, index: Index, params: OfTwo) -> Page:
    """The comparison of two hits: why one ranks above the other."""
    compared = index.contrast(params.q, params.a, params.b, **params.of(RankingOptions))
    return drawn_why.contrast(compared, _address(params, RerankOptions))


class OfDocument(SearchRequest):
    """Parameters of the page "why not": a document, or a part of its name to search for."""

    document: Id | None = None
    name: Annotated[str, Field(max_length=200)] = ""


@page("/why-not", OfDocument)
def why_not(request: Request, index: Index, params: OfDocument) -> Page:
    """The rank of a document for a query, or a list of documents to choose from."""
    address = _address(params, RerankOptions, FilterOptions, ListOptions)
    address["generation"] = index.generation
    if params.document is None:
        named = index.documents_named(params.name, MOST_NAMES)
        return drawn_why.choice(params.name, named, MOST_NAMES, address)
    place = index.location(params.document)
    return drawn_why.why_not(index.why_not(params.q, place, params.k, **params.of(RankOptions)), address)


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
