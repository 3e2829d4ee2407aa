"""The server of `seewhy serve`: one process with loaded models that serves web pages and an HTTP API.

    uvicorn.run(search.serving.create_app("notes"))

app.py        builds the ASGI application
    guard.py      protection: Origin and Host, token, size of a body, number of waiting requests
    life.py       runs uvicorn and background threads, and shuts them down
    app_state.py  the open indexes; answers from a single generation (state) of an index
    problems.py   errors as JSON (RFC 9457) or as a page; request_errors.py: errors of parameters and bodies
    openapi.py    /openapi.json: the operations with the schemas of their answers
    answers.py    answers that are more than a record
    api.py        /api/v1; fields.py and parameters.py define its parameters; embeddings.py
                  and reranking.py: /v1/models, /v1/embeddings and /v1/rerank
    pages.py      web pages, their scripts and styles; xray_views.py: the X-ray;
                  all_views.py: hits of all indexes
    mcp/          the same answers for agents, over the Model Context Protocol; without FastAPI

`search.render.page` makes the HTML from records. Requests change an index only if the server is `writable`. Importing
this package loads none of the packages of the extra `server`; importing its modules does.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from search.index import Index
    from search.records.options import EngineName


def create_app(
    *indexes: Index | str | Path, offline: bool = False, engine: EngineName = "auto", **settings: Any
) -> ASGIApp:
    """Return an ASGI application with the web pages, the HTTP API and `/mcp`.

    Args:
        indexes: open indexes, or their folders, paths or names; none serves all indexes of the user.
        offline, engine: as for `Index.open`.
        settings: `host`, the address to listen on; `token`, which clients must send; `origins`, web sites whose pages
            may use the API; `writable=True` to let clients change documents from memory.

    Raises:
        IndexNotFound: there is no such index.
        InputError: a setting is invalid, or the server would be open to other machines without a token.
    """
    from search.serving.app import application
    from search.serving.app_state import AppState
    from search.serving.guard import Settings

    return application(AppState.open(indexes, offline=offline, engine=engine), Settings(**settings))
