"""The application, put together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp

import search
from search.errors import SearchError
from search.serving import api, laboratory, pages, problems, reading, site, why
from search.serving.desk import Desk
from search.serving.guard import AGENTS, Guard
from search.serving.local import Local
from search.serving.mcp.http import Agents
from search.serving.problems import Problem
from search.serving.served import Served
from search.serving.settings import Settings


def application(served: Served, settings: Settings | None = None) -> ASGIApp:
    """The server as an ASGI application.

    Args:
        served: the indexes that can be asked.
        settings: how it is reached, and what it takes.
    """
    desk = Desk()
    agents = Agents(served, partial(_asked_for, desk)) if find_spec("mcp") else None
    app = FastAPI(
        title="seewhy",
        version=search.__version__,
        description="Semantic search that shows its working: every score comes with the addends that sum to it.",
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=(lambda _: agents.answering()) if agents else None,
    )
    app.state.served, app.state.desk = served, desk
    if agents:
        app.router.routes.append(Route(AGENTS, agents, methods=["POST"], include_in_schema=False))
    settings = settings or Settings()
    app.add_middleware(GZipMiddleware)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=[origin.lower() for origin in settings.origins],
            allow_methods=["GET", "POST"],
            allow_headers=[
                "Authorization",
                "If-None-Match",
                "Mcp-Protocol-Version",
                "Mcp-Method",
                "Mcp-Name",
            ],
            expose_headers=["ETag", "Link", "Retry-After"],
        )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=settings.trusted_hosts, www_redirect=False)
    problems.install(app)
    for part in (api, pages, site, reading, why, laboratory):
        app.include_router(part.router)

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> PlainTextResponse:
        """That the process answers."""
        return PlainTextResponse("ok\n")

    @app.get("/readyz", include_in_schema=False)
    async def readyz() -> PlainTextResponse:
        """That the encoder has answered once, so that queries are quick. Whoever asks may be anyone."""
        if not served.ready.is_set():
            raise Problem(
                503, "not-ready", "the model is being loaded. Ask again in a moment.", (("Retry-After", "1"),)
            )
        if served.first in served.failed:
            code = problems.problem_of(served.failed[served.first]).code
            raise Problem(
                503, "not-ready", f"the first index cannot be asked ({code}); its log and a query say why."
            )
        return PlainTextResponse("ok\n")

    return Local(Guard(app, settings), served, desk)


async def _asked_for(desk: Desk, work: Callable[[], Any]) -> Any:
    """What an agent asks for, which takes turns with all other requests."""
    try:
        return await desk.run(work)
    except Problem as problem:
        raise SearchError(problem.detail) from None
