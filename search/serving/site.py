"""The search page."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse

from search.render.page.document import document, header, isolated, text
from search.serving.asked import AskedQuery, DeskHere, ServedHere

router = APIRouter()


@router.get("/", include_in_schema=False)
async def page(request: Request, asked: AskedQuery, served: ServedHere, desk: DeskHere) -> HTMLResponse:
    """The form, and the hits of what stands in it."""

    def answer() -> str:
        hits = served.index(asked.index).query(asked.q, asked.k, **asked.options) if asked.q else []
        lines = "".join(f"<li>{hit.score:.3f} {isolated(hit.document)} {text(hit.text)}</li>" for hit in hits)
        form = f'<form><input name="q" aria-label="Query" value="{text(asked.q)}"></form>'
        return document("seewhy", f"{header('seewhy')}<main>{form}<ol>{lines}</ol></main>", {})

    return HTMLResponse(await desk.run(request, answer))
