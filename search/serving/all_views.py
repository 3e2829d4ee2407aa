"""Handler of the page that searches all indexes of a server as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse

from search.errors import InputError
from search.index import searcher_of
from search.indexes import Indexes, highlights, name_of
from search.records.option_tools import select_options
from search.records.options import QueryOptions, RankOptions
from search.render.page import all_page
from search.render.page.document import Page
from search.render.page.hit_list import viewed
from search.serving.app_state import in_one_generation
from search.serving.pages import PageParams, answering, why_none
from search.serving.problems import as_page

router = APIRouter()


@router.get("/all", include_in_schema=False)
async def hits_of_all(request: Request, params: Annotated[PageParams, Query()]) -> HTMLResponse:
    """The hits of a query in all indexes, ranked as one; their scores are split by meaning and keywords."""
    state = request.app.state
    served = dict(state.served.indexes)
    opened = Indexes(list(served.values()))

    def drawn() -> Page:
        return in_one_generation(opened, None, lambda: _page(opened, list(served), params))[1]

    return as_page(request, await state.limiter.run(drawn), state.served.first)


def _page(opened: Indexes, names: list[str], params: PageParams) -> Page:
    """Return the page.

    Args:
        names: name of each index on this server, in their order.
    """
    if not params.q.strip():
        return all_page.all_hits(params.named(), names)
    options: Any = select_options(params.ranking_options(RankOptions), QueryOptions)
    try:
        hits = opened.query(params.question, params.k, **options)
    except InputError as error:
        return all_page.all_hits(params.named(), names, problem=str(error))
    marks = highlights(opened, params.q, hits)
    on_server = {name_of(index): name for index, name in zip(opened.all, names, strict=True)}
    named = [replace(hit, index=on_server.get(hit.index, names[0])) for hit in hits]
    views = viewed(named, marks, answering(named, marks))
    passages = sum(searcher_of(index).store.facts.passages for index in opened.all)
    none = "" if named else why_none(params, passages)
    return all_page.all_hits(params.named(), names, views, opened.notes, no_hits=none)
