"""The pages that say why: a score, one hit above another, and a document that is not among the hits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import HTMLResponse

from search.records.options import RankingOptions
from search.render.page import contrast as drawn
from search.render.page.document import Page
from search.render.page.why import why
from search.serving.asked import Asked, DeskHere, ServedHere
from search.serving.pages import answered

MOST_NAMES = 50

router = APIRouter()
Id = Annotated[int, Field(ge=1, le=2**63 - 1)]


class OfHit(Asked):
    """A hit, and how its explanation is shown."""

    passage: Id
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


def _ranking(asked: Asked) -> RankingOptions:
    """How a hit was ranked, as `Index.explain` takes it."""
    return {"mode": asked.options["mode"], "weight": asked.options["weight"]}


def _address(asked: Asked, index: str) -> dict[str, Any]:
    """Index, query and ranking, as addresses have them."""
    mode = "" if asked.mode == "hybrid" else asked.mode
    return {"index": index, "q": asked.q, "mode": mode, "weight": asked.options["weight"]}


@router.get("/explain", include_in_schema=False)
async def explain(
    request: Request, asked: Annotated[OfHit, Query()], served: ServedHere, desk: DeskHere
) -> HTMLResponse:
    """Why a passage has its score."""
    name = asked.index or served.first

    def answer() -> Page:
        index = served.index(name)
        hit = index.hit(asked.q, asked.passage, **_ranking(asked))
        explained = index.explain(asked.q, hit, layer=asked.layer)
        checked = index.faithfulness(explained) if asked.check else None
        address = _address(asked, name)
        return why(explained, hit, address, by=asked.by, tables=asked.tables, checked=checked)

    return answered(request, await desk.run(request, answer), name)


@router.get("/contrast", include_in_schema=False)
async def contrast(
    request: Request, asked: Annotated[OfTwo, Query()], served: ServedHere, desk: DeskHere
) -> HTMLResponse:
    """Why one hit stands above another."""
    name = asked.index or served.first

    def answer() -> Page:
        compared = served.index(name).contrast(asked.q, asked.a, asked.b, **_ranking(asked))
        return drawn.contrast(compared, _address(asked, name))

    return answered(request, await desk.run(request, answer), name)


@router.get("/why-not", include_in_schema=False)
async def why_not(
    request: Request, asked: Annotated[OfDocument, Query()], served: ServedHere, desk: DeskHere
) -> HTMLResponse:
    """Where a document stands; of none, documents to choose from."""
    name = asked.index or served.first

    def answer() -> Page:
        index = served.index(name)
        kept = {**_address(asked, name), "where": asked.where, "since": asked.since, "k": asked.k}
        kept["per_document"] = asked.per_document
        if asked.document is None:
            return drawn.choice(asked.name, index.documents_named(asked.name, MOST_NAMES), MOST_NAMES, kept)
        standing = index.why_not(
            asked.q,
            index.location(asked.document),
            asked.k,
            where=asked.where or None,
            since=asked.since or None,
            per_document=asked.per_document,
            **_ranking(asked),
        )
        return drawn.why_not(standing, kept)

    return answered(request, await desk.run(request, answer), name)
