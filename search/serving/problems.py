"""What went wrong, as a program reads it (RFC 9457) and as a person does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from search.errors import (
    AccessDenied,
    ChangedMeanwhile,
    FingerprintMismatch,
    IdMissing,
    IndexDamaged,
    IndexLocked,
    IndexNotFound,
    IndexOutdated,
    InputError,
    ModelError,
    OptionalDependency,
    SearchError,
    StoreUnavailable,
    TextTooLong,
    is_of_memory,
)
from search.render import json
from search.render.page.document import Page, text
from search.serving.pages import answered as shown
from search.serving.served import GenerationGone, IndexBusy

# What pydantic finds wrong with a value -> what it must be.
_MUST_BE = {
    "int": "a whole number",
    "float": "a number",
    "finite_number": "a finite number",
    "bool": "true or false",
    "string": "a text",
    "string_unicode": "a text of whole characters",
    "list": "a list",
    "literal_error": "{expected}",
    "greater_than_equal": "{ge} or more",
    "less_than_equal": "{le} or less",
    "string_too_long": "at most {max_length:,} characters long",
    "string_too_short": "said",
    "too_long": "at most {max_length:,}",
    "too_short": "at least {min_length:,}",
    "model": "one JSON object, sent as application/json",
}


def about_parameters(errors: Sequence[Any]) -> str:
    """What is wrong with parameters, in sentences: of one that may be several things, all that it may be."""
    said: list[str] = []
    must_be: dict[str, list[str]] = {}
    for error in errors:
        kind, about = error["type"], error.get("ctx", {})
        phrase = _MUST_BE.get(kind) or _MUST_BE.get(kind.partition("_")[0])
        if kind == "said":
            said.append(error["msg"])
        elif kind == "extra_forbidden":
            said.append(f"there is no {_name(error)}. Leave it out.")
        elif kind == "missing":
            said.append(f"{_name(error)} is missing.")
        elif kind == "json_invalid":
            said.append(f"the body is no JSON ({about['error']}, at character {error['loc'][-1]}).")
        elif phrase:
            must_be.setdefault(_name(error), []).append(phrase.format(**about))
    said += [f"{name} must be {' or '.join(dict.fromkeys(phrases))}." for name, phrases in must_be.items()]
    return " ".join(said) or "a parameter is no value that it can have."


def _name(error: Any) -> str:
    """What an error of a request is about."""
    return str(error["loc"][1]) if len(error["loc"]) > 1 else "the body"


MEDIA_TYPE = "application/problem+json"

# Every code there is -> its status, and when a request is answered with it. They stay what they are: programs go by
# them.
CODES = {
    "bad-parameter": (422, "a parameter is missing, unknown, or no value that it can have"),
    "bad-input": (400, "that cannot be asked: an empty query, say, or a filter that cannot be read"),
    "bad-cursor": (400, "`next` is not of this query"),
    "bad-request": (400, "the request cannot be read"),
    "token-needed": (401, "the token is missing or wrong"),
    "foreign-origin": (403, "a page of another server sent the request; see `--origin`"),
    "not-found": (404, "there is no such address, document or passage"),
    "index-not-found": (404, "there is no index of that name"),
    "method-not-allowed": (405, "`Allow` says with which methods an address is asked"),
    "index-outdated": (409, "the index has an earlier format"),
    "access-denied": (503, "the server may not read or write the files of the index"),
    "index-locked": (409, "another process is writing to the index"),
    "fingerprint-mismatch": (409, "the model is not the one that the index was made with"),
    "generation-gone": (410, "the index has changed since the generation that was asked for"),
    "body-too-large": (413, "the body is too long"),
    "failed": (500, "the server failed; its log says how"),
    "dependency-missing": (501, "a package that is needed for that is not installed on the server"),
    "busy": (503, "too many requests wait; `Retry-After` says how long to wait"),
    "not-ready": (503, "the first index has not answered yet; of `/readyz`"),
    "index-damaged": (503, "the index cannot be trusted"),
    "store-unavailable": (503, "the index is on another server, which does not answer; `Retry-After`"),
    "model-unusable": (503, "the model cannot be found or loaded"),
    "no-memory": (503, "there is not enough memory for that now"),
}

# Error -> status and code; the first that fits.
_CODES: tuple[tuple[type[SearchError], int, str], ...] = (
    (GenerationGone, 410, "generation-gone"),
    (IndexBusy, 503, "busy"),
    (IndexNotFound, 404, "index-not-found"),
    (IndexOutdated, 409, "index-outdated"),
    (IndexDamaged, 503, "index-damaged"),
    (AccessDenied, 503, "access-denied"),
    (IndexLocked, 409, "index-locked"),
    (StoreUnavailable, 503, "store-unavailable"),
    (ChangedMeanwhile, 503, "busy"),
    (FingerprintMismatch, 409, "fingerprint-mismatch"),
    (ModelError, 503, "model-unusable"),
    (OptionalDependency, 501, "dependency-missing"),
    (IdMissing, 404, "not-found"),
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
        return Problem(422, "bad-parameter", about_parameters(error.errors()))
    if isinstance(error, HTTPException):
        phrase = HTTPStatus(error.status_code).phrase
        said = _SENTENCES.get(error.status_code) or str(error.detail or phrase)
        headers = tuple((error.headers or {}).items())
        code = "body-too-large" if error.status_code == 413 else phrase.lower().replace(" ", "-")
        return Problem(error.status_code, code, said, headers)
    if is_of_memory(error):
        return Problem(503, "no-memory", "there is not enough memory for that now; try again later.")
    if isinstance(error, TextTooLong):
        return Problem(400, "bad-input", f"{str(error).partition('. ')[0]}. Shorten it.")
    for kind, status, code in _CODES:
        if isinstance(error, kind):
            again = code in ("busy", "store-unavailable")
            return Problem(status, code, str(error), (("Retry-After", "1"),) if again else ())
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
        return Response(json.compact(content), problem.status, headers, MEDIA_TYPE)
    page = Page(title, title, "", f'<p role="alert">{text(problem.detail)}</p>{_way_on(request, problem)}')
    return shown(request, page, status=problem.status, headers=headers)


def _way_on(request: Request, problem: Problem) -> str:
    """From an address of another state of an index to the same one of now, without what has no meaning in that."""
    if problem.code != "generation-gone":
        return ""
    query = request.url.remove_query_params(["generation", "document"]).query
    return f'<p><a href="{text(request.scope["path"])}?{text(query)}">Ask the index as it is now</a></p>'


# What Starlette and FastAPI say in a word or two.
_SENTENCES = {
    400: "the request cannot be read. Send parameters in the address, or as one JSON object.",
    404: "there is no such address here. What there is, stands in /openapi.json.",
    405: "this address is not asked with that method. The header Allow says which it takes.",
}


def methods_of(app: FastAPI, scope: Scope) -> list[str]:
    """The methods that an address can be asked with."""
    found = [
        method
        for method in ("GET", "POST")
        if any(route.matches({**scope, "method": method})[0] == Match.FULL for route in app.routes)
    ]
    return sorted([*found, "HEAD"]) if "GET" in found else found


def install(app: FastAPI) -> None:
    """Let every error that is raised by a handler become a problem."""

    async def answered(request: Request, error: Exception) -> Response:
        problem = problem_of(error)
        if problem.status == HTTPStatus.METHOD_NOT_ALLOWED:
            problem.headers = (("Allow", ", ".join(methods_of(app, request.scope))),)
        return as_response(request, problem)

    for kind in (Problem, SearchError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answered)
