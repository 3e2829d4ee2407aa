"""The application, put together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp

import search
from search.errors import SearchError
from search.serving import api, laboratory, pages, problems, reading, reference, site, why
from search.serving.desk import Desk
from search.serving.guard import AGENTS, Guard
from search.serving.local import Local
from search.serving.mcp.http import Agents
from search.serving.openapi import document_of
from search.serving.problems import Problem
from search.serving.served import Served
from search.serving.settings import Settings


def application(served: Served, settings: Settings | None = None, nearby: bool = False) -> ASGIApp:
    """The server as an ASGI application.

    Args:
        served: the indexes that can be asked.
        settings: how it is reached, and what it takes.
        nearby: let agents of the same user find it without an address, too, once `served` is ready.
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
        lifespan=(lambda _: agents.answering(nearby)) if agents else None,
    )
    app.state.served, app.state.desk, app.state.settings = served, desk, settings or Settings()
    if agents:
        app.router.routes.append(Route(AGENTS, agents, methods=["POST"], include_in_schema=False))
    app.add_middleware(GZipMiddleware)
    problems.install(app)
    app.openapi = partial(document_of, app)  # type: ignore[method-assign]
    for part in (api, pages, site, reading, why, laboratory, reference):
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

    return Local(Guard(app, app.state.settings), served, app.state.desk)


async def _asked_for(desk: Desk, work: Callable[[], Any]) -> Any:
    """What an agent asks for, which takes turns with all other requests."""
    try:
        return await desk.run(None, work)
    except Problem as problem:
        raise SearchError(problem.detail) from None
