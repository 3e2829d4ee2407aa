"""Build the server's ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from threading import Event
from typing import TYPE_CHECKING, Any

import anyio
from anyio.to_thread import run_sync
from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

import search
from search.errors import SearchError
from search.plugins import plugins
from search.serving import all_views, api, embeddings, pages, problems, reranking, xray_views
from search.serving.app_state import AppState
from search.serving.guard import AGENTS, RequestLimiter, SecurityMiddleware, Settings
from search.serving.openapi import openapi_document
from search.serving.problems import Problem

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

_SECONDS_BETWEEN = 0.1  # between looks whether the server stops, as uvicorn looks


def application(served: AppState, settings: Settings | None = None) -> ASGIApp:
    """Return the server as an ASGI application.

    Args:
        served: the indexes to serve, with their models.
        settings: address, token and allowed origins.
    """
    settings, ends = settings or Settings(), served.ends
    limiter = RequestLimiter(ends)
    writes = RequestLimiter(ends, at_once=1) if settings.writable else None
    agents = Agents(served, partial(_for_agents, limiter)) if find_spec("mcp") else None
    app = FastAPI(
        title="seewhy",
        version=search.__version__,
        description="Search folders of text by meaning; every score is explained.",
        docs_url=None,  # FastAPI's own pages load scripts from another server
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lambda _: _running(ends, [limiter, *([writes] if writes else [])], agents),
    )
    app.openapi = cache(partial(openapi_document, app, needs_token=bool(settings.token)))  # type: ignore[method-assign]
    app.state.served, app.state.limiter, app.state.writes = served, limiter, writes
    app.state.allows_pins = settings.allows_pins
    if agents:
        app.router.routes.append(Route(AGENTS, agents, methods=["POST"], include_in_schema=False))
    app.add_middleware(
        GZipMiddleware, compresslevel=5
    )  # half the time of 9 for a page that is 5 % larger
    app.add_middleware(
        CORSMiddleware,
        allow_origins=settings.origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=settings.trusted_hosts, www_redirect=False)
    problems.install(app)
    app.include_router(api.router)
    app.include_router(embeddings.router)
    app.include_router(reranking.router)
    app.include_router(pages.router)
    app.include_router(xray_views.router)
    app.include_router(all_views.router)
    for plugin in plugins():
        if plugin.router:
            app.include_router(import_module(plugin.router).router)

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> PlainTextResponse:
        """Confirm that the process answers."""
        return PlainTextResponse("ok\n")

    @app.get("/readyz", include_in_schema=False)
    async def readyz() -> PlainTextResponse:
        """Confirm that the models are loaded, so the first query need not wait."""
        if not served.ready.is_set():
            raise problems.busy("the model is still loading. Try again in a moment.", "not-ready")
        return PlainTextResponse("ok\n")

    return SecurityMiddleware(app, settings, ends)


@asynccontextmanager
async def _running(
    ends: Event, limiters: Sequence[RequestLimiter], agents: Agents | None
) -> AsyncIterator[None]:
    """Context manager for the time in which the application runs; refuse waiting requests as soon as it is to end."""

    async def refuse_at_the_end() -> None:
        while not ends.is_set():
            await anyio.sleep(_SECONDS_BETWEEN)
        for limiter in limiters:
            limiter.refuse_waiting()

    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(anyio.create_task_group())
        tasks.start_soon(refuse_at_the_end)
        stack.callback(tasks.cancel_scope.cancel)
        if agents:
            await stack.enter_async_context(agents.answering())
        yield


class Agents:
    """ASGI application for the Model Context Protocol; it handles requests while `answering` is open."""

    def __init__(self, served: AppState, run: Any) -> None:
        self._served, self._run = served, run
        self._manager: StreamableHTTPSessionManager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[None]:
        """Context manager: handle requests until it exits."""
        self._manager = await run_sync(self._load)
        async with self._manager.run():
            yield

    def _load(self) -> StreamableHTTPSessionManager:
        from mcp.server.transport_security import TransportSecuritySettings

        from search.serving.mcp.server import server

        mcp = server(self._served, self._run)
        # search.serving.guard and TrustedHostMiddleware check the headers.
        guarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        mcp.streamable_http_app(json_response=True, stateless_http=True, transport_security=guarded)
        return mcp.session_manager


async def _for_agents(limiter: RequestLimiter, work: Callable[[], Any]) -> Any:
    """Run an agent's request through the limiter, like all other requests."""
    try:
        return await limiter.run(work)
    except Problem as problem:
        raise SearchError(problem.detail) from None
