"""Error responses: JSON for programs (RFC 9457), a page for people."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from search import errors
from search.render.page import search as drawn
from search.render.page.document import Page, Site, document, fragment, text
from search.render.page.hit_list import PageRequest
from search.serving.answers import ProblemDetails
from search.serving.app_state import GenerationGone, IndexBusy
from search.serving.fields import LONGEST_QUERY
from search.serving.request_errors import sentences

OF_OTHERS = "/v1/"  # requests in the shape of other services
API = ("/api/", OF_OTHERS)
# Header with which a script requests a part of its page.
FRAGMENT = "X-Seewhy-Fragment"

# Error -> status and code; the first match counts. Programs depend on the codes, so they must not change.
_CODES: tuple[tuple[type[errors.SearchError], int, str], ...] = (
    (GenerationGone, 410, "generation-gone"),
    (IndexBusy, 503, "busy"),
    (errors.ChangedMeanwhile, 503, "busy"),
    (errors.IndexNotFound, 404, "index-not-found"),
    (errors.IndexOutdated, 409, "index-outdated"),
    (errors.IndexDamaged, 503, "index-damaged"),
    (errors.IndexLocked, 409, "index-locked"),
    (errors.StorageFull, 507, "storage-full"),
    (errors.AccessDenied, 503, "access-denied"),
    (errors.StoreUnavailable, 503, "store-unavailable"),
    (errors.FingerprintMismatch, 409, "fingerprint-mismatch"),
    (errors.ModelError, 503, "model-unusable"),
    (errors.OptionalDependency, 501, "dependency-missing"),
    (errors.IdMissing, 404, "not-found"),
    (errors.InputError, 400, "bad-input"),
)
_AGAIN = {"Retry-After": "1"}


class Problem(HTTPException):
    """Error response to a request.

    It is an HTTPException, because FastAPI answers 400 for any other exception while it reads a body.

    Args:
        status: HTTP status code.
        code: stable name of the error, for programs.
        detail: one sentence for people, with the remedy.
        headers: headers of the response.
    """

    def __init__(
        self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, headers)
        self.code = code


def busy(detail: str, code: str = "busy") -> Problem:
    """Return a temporary problem; the client may try again soon."""
    return Problem(503, code, detail, _AGAIN)


def stopping() -> Problem:
    """Return the problem of a request that a stopping server does not answer."""
    return busy("the server is stopping. Try again in a moment.")


def problem_of(error: Exception, request: Request) -> Problem:
    """Convert an exception to a problem."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestValidationError):
        return Problem(422, "bad-parameter", sentences(error.errors(), _operation(request)))
    if isinstance(error, HTTPException):
        code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
        return Problem(error.status_code, code, str(error.detail), error.headers)
    if errors.is_of_memory(error):
        return Problem(503, "no-memory", "not enough memory at the moment. Try again later.")
    if isinstance(error, errors.TextTooLong):
        return Problem(400, "bad-input", f"{str(error).partition('. ')[0]}. Shorten it.")
    for kind, status, code in _CODES:
        if isinstance(error, kind):
            return Problem(
                status, code, str(error), _AGAIN if code in ("busy", "store-unavailable") else None
            )
    return Problem(500, "failed", "internal error. Details are in the server's log.")


def _operation(request: Request) -> dict[str, Any]:
    """Return the operation of a request in the OpenAPI document, with the schema of its body; {} for a page."""
    document = request.app.openapi()
    methods = document["paths"].get(getattr(request.scope.get("route"), "path_format", ""), {})
    operation: dict[str, Any] = dict(methods.get(request.method.lower(), {}))
    if body := operation.get("requestBody"):
        schema = body["content"]["application/json"]["schema"]
        name = schema.get("$ref", "").rpartition("/")[2]
        schema = document["components"]["schemas"].get(name, schema)
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return operation


def is_for_programs(request: Request) -> bool:
    """Return True if the request comes from a program; False if from a person, who gets a page."""
    accepted = request.headers.get("accept", "*/*")
    return request.scope["path"].startswith(API) or "text/html" not in accepted


def as_response(request: Request, problem: Problem) -> Response:
    """Return a problem as JSON for a program, as a page for a person."""
    headers = dict(problem.headers or {})
    title = HTTPStatus(problem.status_code).phrase
    if not is_for_programs(request) and request.scope["path"] == "/" and problem.status_code != 401:
        query = PageRequest(
            request.query_params.get("index", ""), request.query_params.get("q", "")[:LONGEST_QUERY]
        )
        page = drawn.search(query, drawn.SearchView(problem=problem.detail))
        return as_page(request, page, query.index, status=problem.status_code, headers=headers)
    if not is_for_programs(request):
        body = Markup('<p role="alert">{}</p>{}').format(text(problem.detail), _link(request, problem))
        page = Page(title, title, body)
        return as_page(request, page, status=problem.status_code, headers=headers)
    content: ProblemDetails = {
        "type": f"urn:seewhy:problem:{problem.code}",
        "title": title,
        "status": problem.status_code,
        "code": problem.code,
        "detail": problem.detail,
    }
    if request.scope["path"].startswith(OF_OTHERS):  # whose clients show this message
        content["error"] = {
            "message": problem.detail,
            "type": problem.code,
            "param": None,
            "code": problem.code,
        }
    return JSONResponse(content, problem.status_code, headers, "application/problem+json")


def as_page(
    request: Request,
    page: Page,
    index: str = "",
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> HTMLResponse:
    """Return a page as a whole HTML document, or as a fragment if a script requests one to insert.

    Args:
        index: name of the index that the page is about.
    """
    site = Site(request.scope["path"], index, tuple(request.app.state.served.indexes) if index else ())
    content = fragment(page) if FRAGMENT in request.headers else document(page, site)
    return HTMLResponse(content, status, {**(headers or {}), "Vary": FRAGMENT})


def _link(request: Request, problem: Problem) -> Markup:
    """Return a link that repeats the query, if the requested generation of the index is gone; else ""."""
    if problem.code != "generation-gone":
        return Markup("")
    query = request.url.remove_query_params(["generation", "document"]).query
    address = f"{request.scope['path']}?{query}"
    return Markup('<p><a href="{}">Repeat the query on the current index</a></p>').format(text(address))


def install(app: FastAPI) -> None:
    """Register handlers that convert every error of a request to an error response."""

    async def answered(request: Request, error: Exception) -> Response:
        return as_response(request, problem_of(error, request))

    for kind in (errors.SearchError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answered)
