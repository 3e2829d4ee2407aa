"""The API, /api/v1."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from search.render import json
from search.serving.asked import AskedQuery, DeskHere, ServedHere

router = APIRouter(prefix="/api/v1")


@router.get("/search")
async def search(request: Request, asked: AskedQuery, served: ServedHere, desk: DeskHere) -> Response:
    """The passages that answer a query best, best first."""

    def answer() -> dict[str, Any]:
        index = served.index(asked.index)
        hits = index.query(asked.q, asked.k, **asked.options)
        return {"hits": json.hits(hits, None, index.highlights(asked.q, hits))}

    found = await desk.run(request, answer)
    return Response(json.document(found), media_type="application/json")
