"""The search page."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse

from search.render.page.document import Page, isolated, text
from search.serving.asked import AskedQuery, DeskHere, ServedHere
from search.serving.pages import answered

router = APIRouter()


@router.get("/", include_in_schema=False)
async def page(request: Request, asked: AskedQuery, served: ServedHere, desk: DeskHere) -> HTMLResponse:
    """The form, and the hits of what stands in it."""

    def answer() -> Page:
        hits = served.index(asked.index).query(asked.q, asked.k, **asked.options) if asked.q else []
        lines = "".join(f"<li>{hit.score:.3f} {isolated(hit.document)} {text(hit.text)}</li>" for hit in hits)
        form = f'<form><input name="q" aria-label="Query" value="{text(asked.q)}"></form>'
        return Page("seewhy", "seewhy", "", f"{form}<ol>{lines}</ol>")

    return answered(request, await desk.run(request, answer), asked.index or served.first)
