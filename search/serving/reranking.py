"""Reranking in the shape of Cohere's and Jina's APIs: texts of the request, scored by late interaction.

Request and answer: https://docs.cohere.com/reference/rerank and https://api.jina.ai/redoc#tag/rerank
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from search.errors import InputError
from search.index import searcher_of
from search.render import json
from search.serving.answers import RerankList, RerankResult
from search.serving.app_state import AppState
from search.serving.embeddings import index_of
from search.serving.fields import RequestModel
from search.serving.parameters import Sentence

MOST_DOCUMENTS = 1_000
LONGEST_DOCUMENT = 100_000  # characters

router = APIRouter(prefix="/v1", tags=["models"])


Body = Annotated[str, Field(min_length=1, max_length=LONGEST_DOCUMENT)]


class RerankDocument(BaseModel):
    """A document as an object; other fields are ignored."""

    text: Body


class Rerank(RequestModel):
    """A query and documents; fields that only concern other services are ignored."""

    model_config = ConfigDict(extra="ignore")

    model: Annotated[str, Field(description="Name of an index, or of the model of an index.")]
    query: Sentence
    documents: Annotated[
        list[Body | RerankDocument],
        Field(description=f"1 to {MOST_DOCUMENTS:,} texts, or objects with a `text`."),
    ]
    top_n: Annotated[int | None, Field(ge=1, description="Number of results. Default: all.")] = None
    return_documents: Annotated[bool, Field(description="Include the texts.")] = False


@router.post("/rerank", operation_id="rerank")
async def rerank(request: Request, params: Rerank) -> Response:
    """Rank documents of the request by their relevance for a query, in the shape of Cohere's and Jina's APIs.

    `relevance_score` is the score of late interaction in [-1, 1], whose words are weighted by their rarity in the
    index. A text that is longer than the model reads is cut, and has the score of its best part.
    """
    state = request.app.state
    content = await state.limiter.run(lambda: json.compact(_reranked(state.served, params)))
    return Response(content, media_type="application/json")


def _reranked(served: AppState, params: Rerank) -> RerankList:
    texts = [item if isinstance(item, str) else item.text for item in params.documents]
    if not 1 <= len(texts) <= MOST_DOCUMENTS:
        raise InputError(f"documents has {len(texts)} texts. Send 1 to {MOST_DOCUMENTS:,}.")
    index = index_of(served, params.model)
    scores = searcher_of(index).relevance(params.query, texts)
    best = sorted(range(len(texts)), key=lambda number: -scores[number])[: params.top_n]
    results: list[RerankResult] = [
        {"index": number, "relevance_score": scores[number]} for number in best
    ]
    if params.return_documents:
        results = [{**result, "document": {"text": texts[result["index"]]}} for result in results]
    return {"id": "rerank", "model": index.fingerprint.model, "object": "list", "results": results}
