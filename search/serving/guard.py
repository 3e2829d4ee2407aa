"""Before any routing: who may ask, and how much."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from search.serving.settings import Settings


class Guard:
    """An ASGI application around another, which sees only requests that may be answered."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
