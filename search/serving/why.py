"""The pages that say why: a score, one hit above another, and a document that is not among the hits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import HTMLResponse

from search.index import Index
from search.records.comparisons import WhyNot
from search.records.options import (
    FilterOptions,
    ListOptions,
    RankingOptions,
    RankOptions,
    RerankOptions,
    changed,
)
from search.render.page import why as drawn
from search.render.page.document import Page
from search.render.page.why import why
from search.serving.pages import answered
from search.serving.parameters import Asked, DeskHere, Id, ServedHere
from search.serving.served import in_one_generation

MOST_NAMES = 50

router = APIRouter()


class OfHit(Asked):
    """A hit, and how its explanation is shown."""

    passage: Id
    like: Annotated[Id | None, Field(description="Why it is like this passage, instead.")] = None
    by: Literal["word", "token"] = "word"
    layer: Annotated[int | None, Field(ge=0, le=1000)] = None
    tables: bool = False
    check: bool = False


class OfTwo(Asked):
    """Two hits."""

    a: Id
    b: Id


class OfDocument(Asked):
    """A document, or a part of its name."""

    document: Id | None = None
    name: Annotated[str, Field(max_length=200)] = ""


def _address(asked: Asked, index: str, *kinds: type) -> dict[str, Any]:
    """Index, query and options of some kinds, as addresses have them."""
    chosen = {name: value for kind in kinds for name, value in changed(asked.of(kind), kind).items()}
    return {"index": index, "q": asked.q, **chosen, "generation": asked.generation}


@router.get("/explain", include_in_schema=False)
async def explain(
    request: Request, asked: Annotated[OfHit, Query()], served: ServedHere, desk: DeskHere
) -> HTMLResponse:
    """Why a passage has its score."""
    name = asked.index or served.first

    def answer() -> Page:
        index = served.index(name)

        def explained() -> Page:
            if asked.like is not None:
                return _likeness(index, asked, asked.like, name)
            hit = index.hit(asked.q, asked.passage, **asked.of(RerankOptions))
            found = index.explain(asked.q, hit, layer=asked.layer)
            checked = index.faithfulness(found) if asked.check else None
            address = _address(asked, name, RerankOptions)
            return why(found, hit, address, by=asked.by, tables=asked.tables, checked=checked)

        return in_one_generation(index, asked.generation, explained)[1]

    return answered(request, await desk.run(answer), name)


def _likeness(index: Index, asked: OfHit, like: int, name: str) -> Page:
    """Why a passage is like another."""
    found, place = index.explain_similar(like, asked.passage), index.passage(asked.passage)
    address = {"index": name, "like": like, "generation": asked.generation}
    return why(found, place, address, by=asked.by, tables=asked.tables)


@router.get("/contrast", include_in_schema=False)
async def contrast(
    request: Request, asked: Annotated[OfTwo, Query()], served: ServedHere, desk: DeskHere
) -> HTMLResponse:
    """Why one hit stands above another."""
    name = asked.index or served.first

    def answer() -> Page:
        index = served.index(name)
        _, compared = in_one_generation(
            index,
            asked.generation,
            lambda: index.contrast(asked.q, asked.a, asked.b, **asked.of(RankingOptions)),
        )
        return drawn.contrast(compared, _address(asked, name, RerankOptions))

    return answered(request, await desk.run(answer), name)


@router.get("/why-not", include_in_schema=False)
async def why_not(
    request: Request, asked: Annotated[OfDocument, Query()], served: ServedHere, desk: DeskHere
) -> HTMLResponse:
    """Where a document stands; of none, documents to choose from."""
    name = asked.index or served.first

    def answer() -> Page:
        index = served.index(name)
        address = _address(asked, name, RerankOptions, FilterOptions, ListOptions)
        address["generation"] = index.generation
        if (document := asked.document) is None:
            return drawn.choice(
                asked.name, index.documents_named(asked.name, MOST_NAMES), MOST_NAMES, address
            )

        def standing() -> WhyNot:
            return index.why_not(asked.q, index.location(document), asked.k, **asked.of(RankOptions))

        return drawn.why_not(in_one_generation(index, asked.generation, standing)[1], address)

    return answered(request, await desk.run(answer), name)
