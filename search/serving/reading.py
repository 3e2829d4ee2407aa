"""The page of a document."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse

from search.errors import IdMissing
from search.index import Index
from search.records.contents import DocumentText
from search.records.options import RankingOptions, RankOptions
from search.render.page import reading as drawn
from search.render.page.document import Page
from search.render.page.hits import Marked
from search.serving.pages import answered
from search.serving.parameters import Asked, DeskHere, Id, ServedHere
from search.serving.served import in_one_generation

router = APIRouter()

_BEST = 30


class OfReading(Asked):
    """Where a document is opened, and the query whose hits are marked in it."""

    passage: Id | None = None


@router.get("/documents/{document}", include_in_schema=False)
async def read(
    request: Request,
    document: Annotated[int, Path(ge=1, le=2**63 - 1)],
    asked: Annotated[OfReading, Query()],
    served: ServedHere,
    desk: DeskHere,
) -> HTMLResponse:
    """A whole document, as the index holds it."""
    name = asked.index or served.first

    def answer() -> tuple[Page, int]:
        index = served.index(name)
        if asked.generation not in (None, index.generation):
            return _changed(index, asked, name), 410

        def opened() -> tuple[DocumentText, list[Marked]]:
            whole = index.document(document)
            return whole, _found(index, asked, whole)

        generation, (whole, found) = in_one_generation(index, None, opened)
        return drawn.reading(asked.named(name, generation), whole, asked.passage, found, _best(asked)), 200

    page, status = await desk.run(answer)
    return answered(request, page, name, status=status)


def _best(asked: OfReading) -> int:
    """How many of the best passages of the index are hits that are marked."""
    return max(asked.k, _BEST)


def _found(index: Index, asked: OfReading, document: DocumentText) -> list[Marked]:
    """The passages of a document that are among the best hits of the index, and the one that was asked for."""
    if not asked.q.strip():
        return []
    chosen = asked.of(RankOptions)
    chosen["per_document"] = 0
    hits = [
        hit for hit in index.query(asked.q, _best(asked), **chosen) if hit.document_id == document.document_id
    ]
    ids = {one.passage_id for one in document.passages}
    if asked.passage in ids - {hit.passage_id for hit in hits}:
        hits.append(index.hit(asked.q, asked.passage, **asked.of(RankingOptions)))
    marks = index.highlights(asked.q, hits) if hits else []
    return [Marked(hit, its) for hit, its in zip(hits, marks, strict=True)]


def _changed(index: Index, asked: OfReading, name: str) -> Page:
    """What a link to another generation shows, with the way to its passage if that is still there."""
    document = None
    if asked.passage is not None:
        with suppress(IdMissing):
            document = index.passage(asked.passage).document_id
    return drawn.index_changed(asked.named(name, index.generation), document, asked.passage)
