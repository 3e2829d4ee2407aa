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
from search.render.page import hits as draw
from search.render.page import laboratory
from search.render.page import reading as drawn_reading
from search.render.page import search as drawn
from search.render.page import why as drawn_why
from search.render.page.document import Page, assets
from search.render.page.laboratory import LONGEST
from search.serving.parameters import LARGEST, MOST_TEXTS, Asked, Id, IndexName
from search.serving.problems import as_page
from search.serving.served import GenerationGone, in_one_generation
from search.texts import compare
from search.texts import explain as explain_two

MOST_NAMES = 50
_BEST = 30

router = APIRouter()

Question = TypeVar("Question", bound=BaseModel)
View = Callable[[Request, Index, Question], Page]


def page(path: str, given: type[Question], pinned: bool = True) -> Callable[[View[Question]], None]:
    """Let a function draw a page of an index for a question, whose `index` is then the name of that.

    Args:
        pinned: all of it is found in one generation of the index: the one that is asked for, if there is one.
    """

    def register(view: View[Question]) -> None:
        async def get(
            request: Request,
            asked: Annotated[given, Query()],  # type: ignore[valid-type]
        ) -> HTMLResponse:
            state = request.app.state
            question: Any = asked
            name = question.index = question.index or state.served.first

            def drawn() -> Page:
                index = state.served.index(name)
                wanted = question.generation if pinned else None
                return in_one_generation(index, wanted, lambda: view(request, index, question))[1]

            return as_page(request, await state.limiter.run(drawn), name)

        router.get(path, include_in_schema=False)(get)

    return register


class OnPage(Asked):
    """What stands in the address of the search page."""

    words: Annotated[bool, Field(description="Words alone, while one types.")] = False
    shades: Annotated[bool, Field(description="Mark every token, not words alone.")] = False
    facets: Annotated[bool, Field(description="With the facets.")] = False

    @property
    def options(self) -> QueryOptions:
        """As `Index.query` takes them: what the form has."""
        options: QueryOptions = part_of(self.of(RankOptions), QueryOptions)
        options["explain"] = self.shades
        if self.words:
            options["mode"], options["weight"] = "lexical", None
        return options


@page("/", OnPage, pinned=False)
def search(request: Request, index: Index, asked: OnPage) -> Page:
    """The form, and the hits of what stands in it."""
    served = request.app.state.served
    try:
        if asked.weight == WEIGHT:  # a form without scripts always sends one
            asked = asked.model_copy(update={"weight": None})
        found = _found(index, asked)
    except InputError as error:
        left_out = tuple(asked.without)
        found = drawn.Found(index.generation, words=left_out, without=left_out, problem=str(error))
    return drawn.search(asked.named(), tuple(served.indexes), found)


def _found(index: Index, asked: OnPage) -> drawn.Found:
    """What there is to show of an index, and of a query to it."""
    alone = asked.words or asked.shades  # the page has all else already
    facets = index.facets() if asked.facets and not alone else None
    if not asked.q.strip():
        return drawn.Found(index.generation, facets=facets, notes=index.notes)
    hits = index.query(asked.q, asked.k, **asked.options)
    notes = index.notes  # of this query: another would leave its own
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    if not alone and asked.mode != "dense":
        words, without = index.counted_words(asked.q, **asked.of(RankingOptions))
    marked = _marked(index, asked.q, hits)
    return drawn.Found(index.generation, marked, asked.shades, words, without, facets, notes)


def _marked(index: Index, query: str, hits: Sequence[Hit]) -> list[draw.Marked]:
    """Hits with what counts in them: of every token where they are explained, else of the query's words."""
    words = index.highlights(query, hits) if hits else ()
    return [
        draw.Marked(hit, hit.explanation.highlights() if hit.explanation else marks, marks)
        for hit, marks in zip(hits, words, strict=True)
    ]


@router.get("/what-if", include_in_schema=False)
async def what_if(request: Request, asked: Annotated[OnPage, Query()]) -> Response:
    """What the page needs to rank again by itself."""
    state = request.app.state

    def answer() -> str:
        index = state.served.index(asked.index)
        return json.lines([index.candidates(asked.q, **asked.of(CandidateOptions))])

    return Response(await state.limiter.run(answer), media_type="application/json")


class OfExample(Asked):
    """The passage whose like is looked for."""

    passage: Id


@page("/similar", OfExample)
def similar(request: Request, index: Index, asked: OfExample) -> Page:
    """The passages that are most like one."""
    hits = [draw.Marked(hit) for hit in index.similar(asked.passage)]
    listed = drawn.Found(index.generation, marked=hits, notes=index.notes)
    return drawn.similar(draw.Asked(asked.index or ""), index.passage(asked.passage), listed)


class OfReading(Asked):
    """Where a document is opened, and the query whose hits are marked in it."""

    passage: Id | None = None


@page("/documents/{document:int}", OfReading, pinned=False)
def read(request: Request, index: Index, asked: OfReading) -> Page:
    """A whole document, as the index holds it; from a link of another generation, that of its passage."""
    document = request.path_params["document"]
    if asked.generation not in (None, index.generation):
        document = _document_now(index, asked)
    if document > LARGEST:
        raise HTTPException(404)
    whole = index.document(document)
    best = max(asked.k, _BEST)
    found = _marked(index, asked.q, _hits_in(index, asked, whole, best))
    return drawn_reading.reading(asked.named(index.generation), whole, asked.passage, found, best)


def _document_now(index: Index, asked: OfReading) -> int:
    """The document of a passage in the index as it is.

    Raises:
        GenerationGone: the passage is gone, or none was named.
    """
    with suppress(IdMissing):
        if asked.passage:
            return index.passage(asked.passage).document_id
    raise GenerationGone("the index has changed since this link was made. Search again.")


def _hits_in(index: Index, asked: OfReading, document: DocumentText, best: int) -> list[Hit]:
    """The passages of a document that are among the best hits of the index, and the one that was asked for."""
    if not asked.q.strip():
        return []
    chosen = asked.of(RankOptions)
    chosen["per_document"] = 0
    hits = [
        hit for hit in index.query(asked.q, best, **chosen) if hit.document_id == document.document_id
    ]
    ids = {one.passage_id for one in document.passages}
    if asked.passage in ids - {hit.passage_id for hit in hits}:
        hits.append(index.hit(asked.q, asked.passage, **asked.of(RankingOptions)))
    return hits


class OfHit(Asked):
    """A hit, and how its explanation is shown."""

    passage: Id
    like: Annotated[Id | None, Field(description="Why it is like this passage, instead.")] = None
    by: Literal["word", "token"] = "word"


def _address(asked: Asked, *kinds: type) -> dict[str, Any]:
    """Index, query and options of some kinds, as addresses have them."""
    chosen = {name: value for kind in kinds for name, value in changed(asked.of(kind), kind).items()}
    return {"index": asked.index, "q": asked.q, **chosen, "generation": asked.generation}


@page("/explain", OfHit)
def explain(request: Request, index: Index, asked: OfHit) -> Page:
    """Why a passage has its score; or why it is like another."""
    if asked.like is not None:
        found, place = index.explain_similar(asked.like, asked.passage), index.passage(asked.passage)
        address = {"index": asked.index, "like": asked.like, "generation": asked.generation}
        return drawn_why.why(found, place, address, asked.by)
    hit = index.hit(asked.q, asked.passage, **asked.of(RerankOptions))
    return drawn_why.why(index.explain(asked.q, hit), hit, _address(asked, RerankOptions), asked.by)


class OfTwo(Asked):
    """Two hits."""

    a: Id
    b: Id


@page("/contrast", OfTwo)
def contrast(request: Request, index: Index, asked: OfTwo) -> Page:
    """Why one hit stands above another."""
    compared = index.contrast(asked.q, asked.a, asked.b, **asked.of(RankingOptions))
    return drawn_why.contrast(compared, _address(asked, RerankOptions))


class OfDocument(Asked):
    """A document, or a part of its name."""

    document: Id | None = None
    name: Annotated[str, Field(max_length=200)] = ""


@page("/why-not", OfDocument)
def why_not(request: Request, index: Index, asked: OfDocument) -> Page:
    """Where a document stands; of none, documents to choose from."""
    address = _address(asked, RerankOptions, FilterOptions, ListOptions)
    address["generation"] = index.generation
    if asked.document is None:
        named = index.documents_named(asked.name, MOST_NAMES)
        return drawn_why.choice(asked.name, named, MOST_NAMES, address)
    document = index.location(asked.document)
    return drawn_why.why_not(index.why_not(asked.q, document, asked.k, **asked.of(RankOptions)), address)


Typed = Annotated[str, Field(max_length=LONGEST)]


class OfTexts(BaseModel):
    """What a form sends."""

    index: IndexName = None
    text: Annotated[list[Typed], Field(max_length=MOST_TEXTS)] = Field(default_factory=list)
    show: Literal["tokens", "attention"] = "tokens"


@page("/similarity", OfTexts, pinned=False)
def similarity(request: Request, index: Index, asked: OfTexts) -> Page:
    """How alike sentences are, or the tokens of two of them."""
    found, problem = _answer(asked, lambda: _compared(asked, index.encoder))
    return laboratory.of_sentences(asked.text, asked.index or "", found, problem)


@page("/inspect", OfTexts, pinned=False)
def inspect(request: Request, index: Index, asked: OfTexts) -> Page:
    """What a model makes of a text."""
    found, problem = _answer(asked, lambda: _looked(asked, index.encoder.model))
    return laboratory.of_text(asked.text, asked.index or "", found, problem, asked.show)


def _answer(asked: OfTexts, work: Callable[[], Page]) -> tuple[Page | None, str]:
    """What came of the texts in a form, and why it cannot be."""
    if not any(text.strip() for text in asked.text):
        return None, ""
    try:
        return work(), ""
    except (InputError, OptionalDependency) as error:
        return None, str(error)


def _compared(asked: OfTexts, encoder: Encoder) -> Page:
    """Raise InputError for too few sentences, and too many."""
    lines = [line for text in asked.text for line in text.splitlines() if line.strip()]
    if not 2 <= len(lines) <= MOST_TEXTS:
        raise InputError(
            f"2 to {MOST_TEXTS} sentences are compared, each on a line; there are {len(lines)}."
        )
    if len(lines) == 2:
        why = explain_two(*lines, model=encoder)
        return drawn_alone.explanation(why, units(why, "token"))
    return drawn_alone.sentences(compare(lines, model=encoder))


def _looked(asked: OfTexts, model: str) -> Page:
    """Raise InputError for what the model cannot read."""
    from search import bert

    texts = [text for text in asked.text if text.strip()]
    looked = bert.inspect(*texts[:2], model=model, offline=True)
    return (
        laboratory.inspection(looked)
        if asked.show == "tokens"
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
