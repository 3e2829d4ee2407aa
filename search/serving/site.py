"""The search page, and more like one of its hits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from search.errors import InputError
from search.index import Index
from search.records.hits import Hit
from search.records.options import (
    WEIGHT,
    CandidateOptions,
    QueryOptions,
    RankingOptions,
    RankOptions,
    part_of,
)
from search.render import json
from search.render.page import hits as draw
from search.render.page import search as drawn
from search.render.page.document import Page
from search.serving.pages import answered, is_part
from search.serving.parameters import Asked, DeskHere, Id, ServedHere
from search.serving.served import Faceting, in_one_generation

router = APIRouter()

_A_MOMENT = 0.05  # seconds that a page waits for facets


class OnPage(Asked):
    """What stands in the address of the search page."""

    words: Annotated[bool, Field(description="Words alone, while one types.")] = False
    shades: Annotated[bool, Field(description="Mark what counts of every token, not of words alone.")] = False
    facets: Annotated[bool, Field(description="Wait for the facets.")] = False

    @property
    def options(self) -> QueryOptions:
        """As `Index.query` takes them: what the form has."""
        options: QueryOptions = part_of(self.of(RankOptions), QueryOptions)
        options["explain"] = self.shades
        if self.words:
            options["mode"], options["weight"] = "lexical", None
        return options


class OfExample(Asked):
    """The passage whose like is looked for."""

    passage: Id


@router.get("/", include_in_schema=False)
async def page(
    request: Request, asked: Annotated[OnPage, Query()], served: ServedHere, desk: DeskHere
) -> HTMLResponse:
    """The form, and the hits of what stands in it."""

    def answer() -> tuple[Page, int]:
        index, question = served.index(asked.index), asked
        try:
            if question.weight == index.ranking().weight:  # a form without scripts always sends one
                question = question.model_copy(update={"weight": None})
            faceting, part = served.faceting[asked.index or served.first], is_part(request)
            find = partial(_found, index, question, faceting, part)
            status, (_, found) = 200, in_one_generation(index, None, find)
        except InputError as error:
            left_out = tuple(asked.without)
            found = drawn.Found(index.generation, words=left_out, without=left_out, problem=str(error))
            status = 400
        return drawn.search(question.named(asked.index or served.first), tuple(served.indexes), found), status

    shown, status = await desk.run(answer)
    return answered(request, shown, asked.index or served.first, status=status)


def _found(index: Index, asked: OnPage, faceting: Faceting, part: bool) -> drawn.Found:
    """What there is to show of an index, and of a query to it.

    Args:
        part: a script asks, which can ask for the facets in a request of its own.
    """
    alone = asked.words or asked.shades  # the page has all else already
    seconds = None if asked.facets else 0 if part else _A_MOMENT
    facets = () if alone else faceting.facets(seconds)
    if not asked.q.strip() or (asked.facets and part):
        return drawn.Found(index.generation, facets=facets, notes=index.notes)
    hits = index.query(asked.q, asked.k, **asked.options)
    notes = index.notes  # of this query: another would leave its own
    weight = WEIGHT
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    if not alone and asked.mode != "dense":
        words, without = index.counted_words(asked.q, **asked.of(RankingOptions))
        weight = index.ranking().weight if asked.mode == "hybrid" else WEIGHT
    marked = _marked(index, asked, hits)
    return drawn.Found(index.generation, weight, marked, asked.shades, words, without, facets, notes)


def _marked(index: Index, asked: OnPage, hits: Sequence[Hit]) -> list[draw.Marked]:
    """Hits with what counts in them: of every token where they are explained, else of the query's words."""
    words = index.highlights(asked.q, hits) if hits else ()
    return [
        draw.Marked(hit, hit.explanation.highlights() if hit.explanation else marks, marks)
        for hit, marks in zip(hits, words, strict=True)
    ]


@router.get("/what-if", include_in_schema=False)
async def what_if(
    request: Request, asked: Annotated[OnPage, Query()], served: ServedHere, desk: DeskHere
) -> Response:
    """What the page needs to rank again by itself."""

    def answer() -> str:
        index = served.index(asked.index)
        return json.lines([index.candidates(asked.q, **asked.of(CandidateOptions))])

    return Response(await desk.run(answer), media_type="application/json")


@router.get("/similar", include_in_schema=False)
async def similar(
    request: Request, asked: Annotated[OfExample, Query()], served: ServedHere, desk: DeskHere
) -> HTMLResponse:
    """The passages that are most like one."""
    name = asked.index or served.first

    def answer() -> Page:
        index = served.index(name)

        def found() -> Page:
            hits = [draw.Marked(hit) for hit in index.similar(asked.passage)]
            listed = drawn.Found(index.generation, marked=hits, notes=index.notes)
            return drawn.similar(draw.Asked(name), index.passage(asked.passage), listed)

        return in_one_generation(index, asked.generation, found)[1]

    return answered(request, await desk.run(answer), name)
