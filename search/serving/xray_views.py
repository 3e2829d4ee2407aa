"""Handlers of the X-ray: from a hit, or for any two texts, with the model of an index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from search.errors import InputError
from search.explaining.deletion_test import deletion_test
from search.explaining.explanation import HitNumbers, Layers, TracedHits
from search.explaining.xray import rank_by_meaning
from search.explaining.xray import xray as xray_of
from search.index import Index, searcher_of
from search.records import options as declared
from search.records.explanations import Explanation, Side
from search.records.hits import Hit
from search.records.xrays import RankByMeaning
from search.render import json
from search.render.page import xray_page as page
from search.render.page.document import Page
from search.render.page.token_grid import layer_matrices
from search.serving.fields import LayerName
from search.serving.pages import PageParams, view
from search.serving.parameters import Id

EXAMPLE = ("the bank of the river", "she sat by the water's edge and counted her money")
"""Texts of the page before anything is typed."""

router = APIRouter()


class GridParams(PageParams):
    """Parameters of two texts, of which the second may be a passage, as stored or edited; and of a layer."""

    passage: Annotated[Id | None, Field(description="The hit whose passage is the second text.")] = None
    layer: LayerName = None


class XRayParams(GridParams):
    """Parameters of an X-ray."""

    by: Literal["word", "token"] | None = None
    side: Annotated[Side, Field(description="Text whose attention is listed.")] = "query"
    at: Annotated[int | None, Field(ge=1, le=1_000, description="Layer of the attention.")] = None
    head: Annotated[
        int | None, Field(ge=1, le=1_000, description="Head of the attention; empty for the mean.")
    ] = None
    part: Annotated[Literal["heads"] | None, Field(description="Answer with the attention only.")] = None
    test: Annotated[bool, Field(description="Test the explanation.")] = False
    file: Annotated[bool, Field(description="Return a file that needs no server.")] = False


@dataclass(frozen=True)
class _Pair:
    """Two texts with the explanation of their score.

    Attributes:
        hit: the hit whose passage the second text is, or was; None for two free texts.
        is_edited: True if it is another text now.
    """

    texts: tuple[str, str]
    why: Explanation
    hit: Hit | None
    is_edited: bool

    @classmethod
    def of(cls, index: Index, params: GridParams) -> _Pair:
        """Explain the texts of a request."""
        hit = _hit(index, params) if params.passage else None
        texts = _texts(params, hit)
        is_edited = hit is not None and texts != _texts_of_hit(params, hit)
        if hit and not is_edited:
            why = index.explain(params.question, hit, layer=params.layer)
        else:
            why = _explained(index, texts, params, hit)
        return cls(texts, why, hit, is_edited)


@view("/xray", XRayParams, router=router)
def xray(index: Index, params: XRayParams, request: Request) -> Page:
    """X-ray of two texts."""
    pair = _Pair.of(index, params)
    hit, why, is_edited = pair.hit, pair.why, pair.is_edited
    rank = None if hit and not is_edited else _rank(index, why, hit)
    of = xray_of(why, rank)
    head = None
    if params.model_fields_set & {"side", "at", "head"}:
        head = page.HeadChoice(params.side, params.at or max(why.n_layers, 1), params.head)
    if params.part == "heads" and head:
        return Page("Attention", "", page.attention(of, head))
    origin = page.Origin(params.named(), pair.texts, hit, is_edited, _grid_source(request, params))
    return page.xray(
        of,
        by=params.by or "token",
        hit=None if is_edited else hit,
        origin=None if params.file else origin,
        head=head,
        test=deletion_test(index.encoder, why) if params.test else None,
    )


def _grid_source(request: Request, params: GridParams) -> str:
    """Return the address of the matrices of the texts of a request, without the layer."""
    query = [
        (name, value)
        for name, value in request.query_params.multi_items()
        if name in GridParams.model_fields and name not in ("layer", "index")
    ]
    return f"/token-grid?{urlencode([*query, ('index', params.index or '')], errors='replace')}"


@router.get("/token-grid", include_in_schema=False)
async def matrices(request: Request, params: Annotated[GridParams, Query()]) -> Response:
    """Return both matrices of two texts at one layer."""
    state = request.app.state

    def answer() -> str:
        pair = _Pair.of(state.served.index(params.index), params)
        return json.compact(layer_matrices(pair.why))

    return Response(await state.limiter.run(answer), media_type="application/json")


def _hit(index: Index, params: GridParams) -> Hit:
    assert params.passage is not None
    options = params.of(declared.RerankOptions)
    return searcher_of(index).hit(params.question, params.passage, **options)


def _texts(params: GridParams, hit: Hit | None) -> tuple[str, str]:
    """Return the texts of a request: as typed, those of the hit, or the example."""
    typed = [text for text in params.text if text.strip()]
    if len(typed) == 2:
        return typed[0], typed[1].replace("\r\n", "\n")
    if typed:
        raise InputError(f"give two texts; there is {len(typed)}.")
    return _texts_of_hit(params, hit) if hit else EXAMPLE


def _texts_of_hit(params: GridParams, hit: Hit) -> tuple[str, str]:
    """Return the query and the passage as the model reads it: below its title and headings, without markup."""
    context = f"{hit.context}\n" if hit.context else ""
    return params.q, f"{context}{hit.visible_text}"


def _explained(index: Index, texts: tuple[str, str], params: GridParams, hit: Hit | None) -> Explanation:
    """Explain the cosine of two texts; those of a hit are read as a query and a document."""
    encoder, (first, second) = index.encoder, texts
    (query,) = encoder.inputs([first], role="query" if hit else None)
    (passage,) = encoder.inputs([second], role="document" if hit else None)
    layers = Layers.of(params.layer, encoder.n_layers)
    return TracedHits.of_pair(encoder, query, passage, layers).explanation(0)


def _rank(index: Index, why: Explanation, hit: Hit | None) -> RankByMeaning:
    """Return the rank of the second text among the passages of the index, for the first text as a query."""
    numbers = why.numbers
    assert isinstance(numbers, HitNumbers)
    with searcher_of(index).store.reading() as snapshot:
        without = [hit.passage_id] if hit else []
        return rank_by_meaning(snapshot, numbers.embedding, why.cosine, without)
