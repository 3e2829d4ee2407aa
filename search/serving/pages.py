"""A page as an answer, whole or as a fragment; and the scripts and styles that pages link to."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from search.render.page.document import Page, Site, assets, document, fragment

FRAGMENT = "X-Seewhy-Fragment"

router = APIRouter()


def answered(
    request: Request, page: Page, index: str = "", *, status: int = 200, headers: dict[str, str] | None = None
) -> HTMLResponse:
    """A page as it was asked for: a script that puts it into another asks for the fragment.

    Args:
        index: name of the index that is asked.
    """
    content = fragment(page) if is_part(request) else document(page, Site(request.scope["path"], index))
    return HTMLResponse(content, status, {**(headers or {}), "Vary": FRAGMENT})


def is_part(request: Request) -> bool:
    """Whether a script asks, for a part of its page."""
    return FRAGMENT in request.headers


@router.get("/static/{name}", include_in_schema=False)
async def static(name: str) -> Response:
    """A script or style. Its address holds its hash, so it may be kept for ever."""
    if name not in assets():
        raise HTTPException(404, "There is no such script or style.")
    content, media_type, digest = assets()[name]
    kept = {"Cache-Control": "public, max-age=31536000, immutable", "ETag": f'W/"{digest}"'}
    return Response(content, headers=kept, media_type=media_type)
