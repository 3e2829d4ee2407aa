"""One warm process that answers a page and an HTTP API: `seewhy serve`.

    uvicorn.run(search.serving.create_app("notes"))

app.py        the application, put together
guard.py      who may ask, and how much: the Origin rule, the token, the size of a body, the queue
life.py       from the first socket to the last answer: how uvicorn runs, what runs beside, how it ends
app_state.py  the indexes, each opened once, and answers from one state
local.py      what `seewhy query` asks instead of the API; nearby.py, the socket by which it finds a server
problems.py   what went wrong -> RFC 9457, or a page
api.py        /api/v1; fields.py and parameters.py, what goes in
pages.py      the pages, their scripts and styles
mcp/          the same answers for agents, by the Model Context Protocol; without FastAPI

HTML is made in `search.render.page`, of records, as for files. Nothing is written over HTTP. The packages of the extra
`server` are imported only here, and with this package alone none of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from search.index import Index


def create_app(
    *indexes: Index | str | Path, offline: bool = False, engine: str = "auto", **settings: Any
) -> ASGIApp:
    """The page, the HTTP API and `/mcp` as an ASGI application.

    Args:
        indexes: open ones, or their folders, paths or names; none for all of the user's own.
        offline, engine: as of `Index.open`.
        settings: `host` it is reached by, `token` that clients send, `origins` of pages that may ask the API.

    Raises:
        IndexNotFound: there is no such index.
        InputError: others could ask without a token, or a setting is invalid.
    """
    from search.serving.app import application
    from search.serving.app_state import AppState
    from search.serving.guard import Settings

    return application(AppState.open(indexes, offline=offline, engine=engine), Settings(**settings))
