"""What went wrong, as a program reads it (RFC 9457) and as a person does."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from search.errors import (
    FingerprintMismatch,
    IndexDamaged,
    IndexLocked,
    IndexNotFound,
    IndexOutdated,
    InputError,
    ModelError,
    OptionalDependency,
    SearchError,
    is_of_memory,
)
from search.render.page.document import Page, text
from search.serving.pages import answered as shown

MEDIA_TYPE = "application/problem+json"

# Error -> status and code; the first that fits. Codes stay what they are: programs go by them.
_CODES: tuple[tuple[type[SearchError], int, str], ...] = (
    (IndexNotFound, 404, "index-not-found"),
    (IndexOutdated, 409, "index-outdated"),
    (IndexDamaged, 503, "index-damaged"),
    (IndexLocked, 409, "index-locked"),
    (FingerprintMismatch, 409, "fingerprint-mismatch"),
    (ModelError, 503, "model-unusable"),
    (OptionalDependency, 501, "dependency-missing"),
    (InputError, 400, "bad-input"),
    (SearchError, 500, "failed"),
)


@dataclass(eq=False)  # not frozen: contexts that it passes through set its attributes
class Problem(Exception):
    """What a request is answered with that cannot be answered otherwise.

    Attributes:
        status: of HTTP.
        code: stable, for programs.
        detail: one sentence for people, with the way out.
        headers: of the answer.
    """

    status: int
    code: str
    detail: str
    headers: tuple[tuple[str, str], ...] = ()


def problem_of(error: Exception) -> Problem:
    """The problem that an error is."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestValidationError):
        said = "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors())
        return Problem(422, "bad-parameter", said or "a parameter cannot be worked with")
    if isinstance(error, HTTPException):
        phrase = HTTPStatus(error.status_code).phrase
        return Problem(error.status_code, phrase.lower().replace(" ", "-"), str(error.detail or phrase))
    if is_of_memory(error):
        return Problem(503, "no-memory", "there is not enough memory for that now; try again later.")
    for kind, status, code in _CODES:
        if isinstance(error, kind):
            return Problem(status, code, str(error))
    return Problem(500, "failed", "the server failed at that; its log says how.")


def is_for_programs(request: Request) -> bool:
    """Whether an answer is read by a program; else it is a page."""
    return request.scope["path"].startswith("/api/") or "text/html" not in request.headers.get(
        "accept", "*/*"
    )


def as_response(request: Request, problem: Problem) -> Response:
    """JSON for the API, a page for people."""
    headers = dict(problem.headers)
    title = HTTPStatus(problem.status).phrase
    if is_for_programs(request):
        content = {
            "type": f"urn:seewhy:problem:{problem.code}",
            "title": title,
            "status": problem.status,
            "code": problem.code,
            "detail": problem.detail,
        }
        return JSONResponse(content, problem.status, headers, MEDIA_TYPE)
    page = Page(title, title, "", f'<p role="alert">{text(problem.detail)}</p>')
    return shown(request, page, status=problem.status, headers=headers)


def install(app: FastAPI) -> None:
    """Let every error that is raised by a handler become a problem."""

    async def answered(request: Request, error: Exception) -> Response:
        return as_response(request, problem_of(error))

    for kind in (Problem, SearchError, RequestValidationError, HTTPException, MemoryError):
        app.add_exception_handler(kind, answered)
