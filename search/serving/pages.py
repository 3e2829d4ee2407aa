"""The pages: the search, a document, why, texts compared and looked into; and the scripts and styles they link to."""

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
    """Let a function draw a page of an index for a question, whose `index` is then the name of that.

    Args:
        pinned: answer from a single generation of the index: the requested one, if any.
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
    """Parameters in the address of the search page."""

    words: Annotated[bool, Field(description="Keywords only, while typing.")] = False
    shades: Annotated[bool, Field(description="Highlight all tokens, not only words.")] = False
    facets: Annotated[bool, Field(description="Include facets.")] = False

    @property
    def options(self) -> QueryOptions:
        """Options of the form, for `Index.query`."""
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
        if params.weight == WEIGHT:  # a form without scripts always sends one
            params = params.model_copy(update={"weight": None})
        results = _results(index, params)
    except InputError as error:
        left_out = tuple(params.without)
        results = drawn.SearchResult(
            index.generation, words=left_out, without=left_out, problem=str(error)
        )
    return drawn.search(params.named(), tuple(served.indexes), results)


def _results(index: Index, params: OnPage) -> drawn.SearchResult:
    """Content of the search page: hits, counted words, facets and notes."""
    alone = params.words or params.shades  # the page has all else already
    facets = index.facets() if params.facets and not alone else None
    if not params.q.strip():
        return drawn.SearchResult(index.generation, facets=facets, notes=index.notes)
    hits = index.query(params.q, params.k, **params.options)
    notes = index.notes  # of this query: another would leave its own
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    if not alone and params.mode != "dense":
        words, without = index.counted_words(params.q, **params.of(RankingOptions))
    marked = _marked(index, params.q, hits)
    return drawn.SearchResult(index.generation, marked, params.shades, words, without, facets, notes)


def _marked(index: Index, query: str, hits: Sequence[Hit]) -> list[draw.Marked]:
    """Hits with what counts in them: of every token where they are explained, else of the query's words."""
    words = index.highlights(query, hits) if hits else ()
    return [
        draw.Marked(hit, hit.explanation.highlights() if hit.explanation else marks, marks)
        for hit, marks in zip(hits, words, strict=True)
    ]


@router.get("/what-if", include_in_schema=False)
async def what_if(request: Request, params: Annotated[OnPage, Query()]) -> Response:
    """Candidates and their scores, with which the page ranks again by itself."""
    state = request.app.state

    def answer() -> str:
        index = state.served.index(params.index)
        return json.lines([index.candidates(params.q, **params.of(CandidateOptions))])

    return Response(await state.limiter.run(answer), media_type="application/json")


class SimilarRequest(SearchRequest):
    """The passage that others are compared with."""

    passage: Id


@page("/similar", SimilarRequest)
def similar(request: Request, index: Index, params: SimilarRequest) -> Page:
    """The passages that are most similar to one."""
    hits = [draw.Marked(hit) for hit in index.similar(params.passage)]
    listed = drawn.SearchResult(index.generation, marked=hits, notes=index.notes)
    return drawn.similar(draw.PageRequest(params.index or ""), index.passage(params.passage), listed)


class OfReading(SearchRequest):
    """Passage at which a document is opened, and the query whose hits are marked in it."""

    passage: Id | None = None


@page("/documents/{document:int}", OfReading, pinned=False)
def read(request: Request, index: Index, params: OfReading) -> Page:
    """A whole document, as the index holds it; from a link of another generation, that of its passage."""
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
    """The document of a passage in the current generation.

    Raises:
        GenerationGone: the passage is gone, or none was named.
    """
    with suppress(IdMissing):
        if params.passage:
            return index.passage(params.passage).document_id
    raise GenerationGone("the index has changed since this link was made. Search again.")


def _hits_in(index: Index, params: OfReading, document: DocumentText, best: int) -> list[Hit]:
    """The passages of a document that are among the best hits of the index, and the one that was asked for."""
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
    """A hit, and how its explanation is shown."""

    passage: Id
    like: Annotated[Id | None, Field(description="Explain similarity to this passage.")] = None
    by: Literal["word", "token"] = "word"


def _address(params: SearchRequest, *kinds: type) -> dict[str, Any]:
    """Index, query and options of some kinds, as addresses have them."""
    chosen = {name: value for kind in kinds for name, value in changed(params.of(kind), kind).items()}
    return {"index": params.index, "q": params.q, **chosen, "generation": params.generation}


@page("/explain", OfHit)
def explain(request: Request, index: Index, params: OfHit) -> Page:
    """Why a passage has its score; or why it is like another."""
    if params.like is not None:
        why, place = index.explain_similar(params.like, params.passage), index.passage(params.passage)
        address = {"index": params.index, "like": params.like, "generation": params.generation}
        return drawn_why.why(why, place, address, params.by)
    hit = index.hit(params.q, params.passage, **params.of(RerankOptions))
    return drawn_why.why(index.explain(params.q, hit), hit, _address(params, RerankOptions), params.by)


class OfTwo(SearchRequest):
    """Two hits."""

    a: Id
    b: Id


@page("/contrast", OfTwo)
def contrast(request: Request, index: Index, params: OfTwo) -> Page:
    """Why one hit stands above another."""
    compared = index.contrast(params.q, params.a, params.b, **params.of(RankingOptions))
    return drawn_why.contrast(compared, _address(params, RerankOptions))


class OfDocument(SearchRequest):
    """A document, or a part of its name."""

    document: Id | None = None
    name: Annotated[str, Field(max_length=200)] = ""


@page("/why-not", OfDocument)
def why_not(request: Request, index: Index, params: OfDocument) -> Page:
    """Position of a document; without one, documents to choose from."""
    address = _address(params, RerankOptions, FilterOptions, ListOptions)
    address["generation"] = index.generation
    if params.document is None:
        named = index.documents_named(params.name, MOST_NAMES)
        return drawn_why.choice(params.name, named, MOST_NAMES, address)
    place = index.location(params.document)
    return drawn_why.why_not(index.why_not(params.q, place, params.k, **params.of(RankOptions)), address)


Typed = Annotated[str, Field(max_length=LONGEST)]


class OfTexts(BaseModel):
    """Texts and settings that a form sends."""

    index: IndexName = None
    text: Annotated[list[Typed], Field(max_length=MOST_TEXTS)] = Field(default_factory=list)
    show: Literal["tokens", "attention"] = "tokens"


@page("/similarity", OfTexts, pinned=False)
def similarity(request: Request, index: Index, params: OfTexts) -> Page:
    """Similarities of sentences, or of the tokens of two of them."""
    content, problem = _answer(params, lambda: _compared(params, index.encoder))
    return laboratory.of_sentences(params.text, params.index or "", content, problem)


@page("/inspect", OfTexts, pinned=False)
def inspect(request: Request, index: Index, params: OfTexts) -> Page:
    """Tokens or attention of a model for a text."""
    content, problem = _answer(params, lambda: _looked(params, index.encoder.model))
    return laboratory.of_text(params.text, params.index or "", content, problem, params.show)


def _answer(params: OfTexts, work: Callable[[], Page]) -> tuple[Page | None, str]:
    """Page for the texts in a form and the message of an error: one of them, or neither if there are no texts."""
    if not any(text.strip() for text in params.text):
        return None, ""
    try:
        return work(), ""
    except (InputError, OptionalDependency) as error:
        return None, str(error)


def _compared(params: OfTexts, encoder: Encoder) -> Page:
    """Raise InputError for too few sentences, and too many."""
    lines = [line for text in params.text for line in text.splitlines() if line.strip()]
    if not 2 <= len(lines) <= MOST_TEXTS:
        raise InputError(
            f"2 to {MOST_TEXTS} sentences are compared, each on a line; there are {len(lines)}."
        )
    if len(lines) == 2:
        why = explain_two(*lines, model=encoder)
        return drawn_alone.explanation(why, units(why, "token"))
    return drawn_alone.sentences(compare(lines, model=encoder))


def _looked(params: OfTexts, model: str) -> Page:
    """Raise InputError for what the model cannot read."""
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
    """A script or style. Its address holds its hash, so it may be kept for ever."""
    if name not in assets():
        raise HTTPException(404)
    content, media_type, _ = assets()[name]
    return Response(
        content, headers={"Cache-Control": "public, max-age=31536000, immutable"}, media_type=media_type
    )
