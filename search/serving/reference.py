"""The page of the API."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse

from search.render.page.reference import reference
from search.serving.asked import AskedQuery, ServedHere
from search.serving.pages import answered

router = APIRouter()


@router.get("/reference", include_in_schema=False)
async def page(request: Request, asked: AskedQuery, served: ServedHere) -> HTMLResponse:
    """What its OpenAPI document says, to be read."""
    base = str(request.base_url).rstrip("/")
    return answered(request, reference(request.app.openapi(), base), asked.index or served.first)
