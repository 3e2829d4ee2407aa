"""The search page, and more like one of its hits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import HTMLResponse

from search.errors import InputError
from search.index import Index
from search.ranking.options import WEIGHT
from search.records.hits import Hit
from search.records.options import QueryOptions
from search.render.page import hits as draw
from search.render.page import search as drawn
from search.render.page.document import Page
from search.serving.asked import Asked, DeskHere, ServedHere
from search.serving.pages import answered
from search.serving.served import Served

router = APIRouter()


class OnPage(Asked):
    """What stands in the address of the search page."""

    shades: Annotated[bool, Field(description="Mark what counts of every token, not of words alone.")] = False

    @property
    def options(self) -> QueryOptions:
        """As `Index.query` takes them: what the form has."""
        return {
            "mode": self.mode,
            "weight": self.weight,
            "without": self.without,
            "where": self.where,
            "since": self.since,
            "per_document": self.per_document,
            "explain": self.shades,
        }

    def named(self, served: Served) -> draw.Asked:
        """As pages write it."""
        return draw.Asked(
            self.index or served.first,
            self.q,
            self.mode,
            self.weight,
            self.where or "",
            self.since or "",
            self.k,
            self.per_document,
            tuple(self.without),
            self.generation,
        )


@router.get("/", include_in_schema=False)
async def page(
    request: Request, asked: Annotated[OnPage, Query()], served: ServedHere, desk: DeskHere
) -> HTMLResponse:
    """The form, and the hits of what stands in it."""

    def answer() -> tuple[Page, int]:
        index = served.index(asked.index)
        named = asked.named(served)
        generation = index.generation
        problem = ""
        hits: Sequence[Hit] = ()
        try:
            if asked.q.strip():
                hits = index.query(asked.q, asked.k, **asked.options)
        except InputError as error:
            problem = str(error)
        found = drawn.Found(
            tuple(served.indexes),
            generation,
            hits[0].weight if hits and asked.mode == "hybrid" and asked.weight is None else WEIGHT,
            _marked(index, asked, hits),
            asked.shades,
            notes=index.notes,
            problem=problem,
        )
        return drawn.search(named, found), 400 if problem else 200

    shown, status = await desk.run(request, answer)
    return answered(request, shown, asked.index or served.first, status=status)


def _marked(index: Index, asked: OnPage, hits: Sequence[Hit]) -> list[draw.Marked]:
    """Hits with what counts in them: of every token where they are explained, else of the query's words."""
    words = index.highlights(asked.q, hits) if hits else ()
    return [
        draw.Marked(hit, hit.explanation.highlights() if hit.explanation else marks, marks)
        for hit, marks in zip(hits, words, strict=True)
    ]


@router.get("/similar", include_in_schema=False)
async def similar(
    request: Request,
    passage: Annotated[int, Query(ge=1, description="Whose like is looked for.")],
    served: ServedHere,
    desk: DeskHere,
    index: str | None = None,
) -> HTMLResponse:
    """The passages that are most like one."""

    def answer() -> Page:
        opened = served.index(index)
        found = drawn.Found(
            tuple(served.indexes),
            opened.generation,
            WEIGHT,
            [draw.Marked(hit) for hit in opened.similar(passage)],
            notes=opened.notes,
        )
        return drawn.similar(draw.Asked(index or served.first), passage, found)

    return answered(request, await desk.run(request, answer), index or served.first)
