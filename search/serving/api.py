"""The API, /api/v1: what the library and the command answer, as JSON. Nothing is changed by asking."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Body, Path, Query
from pydantic import ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from search.errors import InputError, SearchError
from search.index import Index
from search.ranking.options import RERANKED
from search.records.comparisons import Contrast, Similarities, WhyNot
from search.records.contents import DocumentText, StoredPassage
from search.records.explanations import Explanation
from search.records.hits import Hits
from search.records.options import (
    CandidateOptions,
    QueryOptions,
    RankingOptions,
    RankOptions,
    RerankOptions,
    SimilarOptions,
)
from search.records.reports import Status
from search.records.whatif import Candidates
from search.render import json
from search.render.inspection import facts
from search.serving import models, parameters
from search.serving.answers import LINES, Lines, answer, cursor, place_of
from search.serving.desk import Desk
from search.serving.fields import LAST_HIT
from search.serving.parameters import LARGEST, DeskHere, OfIndex, Parameters, ServedHere
from search.serving.problems import MEDIA_TYPE, Problem
from search.serving.served import Served, in_one_generation

_FAILED = {
    "description": "A problem.",
    "content": {MEDIA_TYPE: {"schema": models.Problem.model_json_schema()}},
}
router = APIRouter(prefix="/api/v1", responses={"default": _FAILED})

MOST_DOCUMENTS = 50

Given = TypeVar("Given", bound=Parameters)
Work = Callable[[Request, Served, Given], Response]


def _responses(answered: Any = None) -> dict[int | str, dict[str, Any]]:
    """The responses of an operation; `answered`, the model of its answer."""
    ok = {"description": "The answer.", **({"model": answered} if answered else {})}
    return {200: ok, 304: {"description": "The answer has not changed since the ETag of If-None-Match."}}


def _asked(
    path: str, given: type[Given], answered: Any, /, *, lines: bool = False
) -> Callable[[Work[Given]], None]:
    """Let a function answer GET with parameters, and POST with the same names as JSON.

    Args:
        answered: the model of its answer.
        lines: also from PATH.ndjson, one record a line.
    """
    body = type(
        f"Asked{given.__name__}", (given,), {"model_config": ConfigDict(strict=True), "__module__": __name__}
    )

    def register(work: Work[Given]) -> None:
        async def get(
            request: Request,
            asked: Annotated[given, Query()],  # type: ignore[valid-type]
            served: ServedHere,
            desk: DeskHere,
        ) -> Response:
            return await _done(request, asked, desk, lambda: work(request, served, asked))

        async def post(
            request: Request,
            asked: Annotated[body, Body()],  # type: ignore[valid-type]
            served: ServedHere,
            desk: DeskHere,
        ) -> Response:
            return await _done(request, asked, desk, lambda: work(request, served, asked))

        for handler in (get, post):
            router.add_api_route(
                path,
                handler,
                methods=[handler.__name__.upper()],
                operation_id=f"{work.__name__}_{handler.__name__}",
                description=work.__doc__,
                responses=_responses(answered),
            )
        if lines:
            router.add_api_route(
                path + LINES,
                get,
                operation_id=f"{work.__name__}_lines",
                description=f"{work.__doc__}\n\nOne record a line.",
                response_class=Lines,
                responses=_responses(),
            )

    return register


async def _done(request: Request, asked: Parameters, desk: Desk, work: Callable[[], Response]) -> Response:
    """An answer that is made at the desk, with how long that took.

    Raises:
        Problem: a parameter that has one value stands in the address twice.
    """
    given = request.query_params
    for name in given if len(given) < len(given.multi_items()) else ():
        if len(given.getlist(name)) > 1 and not isinstance(getattr(asked, name, None), list):
            raise Problem(422, "bad-parameter", f"{name} is there twice. Say it once.")
    begun = time.perf_counter()
    response = await desk.run(work)
    response.headers["Server-Timing"] = f"total;dur={1000 * (time.perf_counter() - begun):.1f}"
    return response


def _found(request: Request, served: Served, asked: OfIndex, work: Callable[[Index], Any]) -> Response:
    """What is found in one generation of an index."""
    index = served.index(asked.index)
    return answer(request, in_one_generation(index, asked.generation, lambda: work(index))[1])


def _hits(
    request: Request,
    served: Served,
    asked: parameters.Search | parameters.Similar,
    work: Callable[[Index, SimilarOptions], tuple[Hits, list[dict[str, Any]]]],
) -> Response:
    """A part of a list of hits, and the way to the next.

    Args:
        work: finds them, and says them as JSON.
    """
    index, name = served.index(asked.index), asked.index or served.first
    wanted, offset = place_of(asked.next, asked, name) if asked.next else (asked.generation, asked.offset)
    selection: SimilarOptions = {**asked.of(SimilarOptions), "offset": offset}
    generation, (hits, written) = in_one_generation(index, wanted, lambda: work(index, selection))
    more = cursor(asked, name, generation, offset + asked.k) if _go_on(asked, offset, hits) else None
    written = [{**hit, "index": name} for hit in written]
    content = {"index": name, "generation": generation, "hits": written, "next": more, "notes": index.notes}
    return answer(request, content, written, _following(request, asked, more))


def _following(request: Request, asked: Parameters, more: str | None) -> str:
    """The address of the next part; "" for none."""
    said = asked.model_dump(mode="json", exclude_unset=True, exclude_none=True) | {"next": more}
    typed = {key: str(value).lower() if isinstance(value, bool) else value for key, value in said.items()}
    return f"{request.url.path}?{urlencode(typed, doseq=True)}" if more else ""


def _go_on(asked: parameters.Search | parameters.Similar, offset: int, hits: Hits) -> bool:
    """Whether there may be hits behind these, in the same list."""
    found = len({hit.document_id for hit in hits}) if asked.group else len(hits)
    following = offset + asked.k
    is_reranked = bool(hits and hits[0].ranking.rerank)
    ends = _reranked(asked, following) > RERANKED if is_reranked else following > LAST_HIT
    return found == asked.k and not ends


def _reranked(asked: parameters.Listed, offset: int) -> int:
    """How many passages a rerank looks at so that there are hits behind `offset`; more than 30 are another list."""
    of_each = (asked.per_document or LAST_HIT) if asked.group else 1
    return (offset + asked.k) * of_each


@_asked("/search", parameters.Search, models.Found, lines=True)
def search(request: Request, served: Served, asked: parameters.Search) -> Response:
    """The passages that answer a query best, best first.

    What comes back as `next` asks for the hits behind these, in the same state of the index. With `explain`, k is 10 at
    most.
    """
    if asked.explain and asked.k > parameters.MOST_EXPLAINED:
        raise InputError(
            f"k is {asked.k}, but with explain it must be {parameters.MOST_EXPLAINED} or less. "
            "Ask for the hits behind them by next."
        )

    def find(index: Index, selection: SimilarOptions) -> tuple[Hits, list[dict[str, Any]]]:
        by = index.ranking(asked.q, **asked.of(RerankOptions)).rerank
        if by and _reranked(asked, selection["offset"]) > RERANKED:
            what = "(offset + k) * per_document" if asked.group else "offset + k"
            raise Problem(
                422,
                "bad-parameter",
                f"with rerank {what} must be {RERANKED} or less: no more passages are looked at again.",
            )
        options = asked.of(QueryOptions)
        options["offset"] = selection["offset"]
        hits = index.query(asked.q, asked.k, **options)
        return hits, json.hits(hits, None, index.highlights(asked.q, hits) if asked.highlights else None)

    return _hits(request, served, asked, find)


@_asked("/explain", parameters.Explain, models.Explained)
def explain(request: Request, served: Served, asked: parameters.Explain) -> Response:
    """Why a passage has its score for a query: tokens, both matrices, every addend."""

    def find(index: Index) -> dict[str, Any]:
        hit = index.hit(asked.q, asked.passage, **asked.of(RerankOptions))
        why = index.explain(asked.q, hit, layer=asked.layer)
        tested = {"faithfulness": index.faithfulness(why)} if asked.check else {}
        return {"hit": replace(hit, index=asked.index or served.first), **json.plain(why), **tested}

    return _found(request, served, asked, find)


@_asked("/contrast", parameters.Contrast, models.model_of(Contrast))
def contrast(request: Request, served: Served, asked: parameters.Contrast) -> Response:
    """Why one passage stands above another for a query, by word of the query."""
    return _found(
        request,
        served,
        asked,
        lambda index: index.contrast(asked.q, asked.a, asked.b, **asked.of(RankingOptions)),
    )


@_asked("/why-not", parameters.WhyNot, models.model_of(WhyNot))
def why_not(request: Request, served: Served, asked: parameters.WhyNot) -> Response:
    """Where a passage or document stands for a query, and why it is not among the hits."""
    return _found(
        request,
        served,
        asked,
        lambda index: index.why_not(asked.q, asked.example(index), asked.k, **asked.of(RankOptions)),
    )


@_asked("/candidates", parameters.Weighed, models.model_of(Candidates))
def candidates(request: Request, served: Served, asked: parameters.Weighed) -> Response:
    """What can be best by another weight or without some words: the parts of scores, and a bound on all others."""
    how = asked.of(CandidateOptions)
    return _found(request, served, asked, lambda index: index.candidates(asked.q, asked.n, **how))


@_asked("/similar", parameters.Similar, models.Found, lines=True)
def similar(request: Request, served: Served, asked: parameters.Similar) -> Response:
    """The passages that are most like a passage or document, the most like first."""

    def find(index: Index, selection: SimilarOptions) -> tuple[Hits, list[dict[str, Any]]]:
        hits = index.similar(asked.example(index), asked.k, same_document=asked.same_document, **selection)
        return hits, json.hits(hits, None, [()] * len(hits))

    return _hits(request, served, asked, find)


@_asked("/similarity", parameters.Similarity, models.model_of(Similarities) | models.model_of(Explanation))
def similarity(request: Request, served: Served, asked: parameters.Similarity) -> Response:
    """How like each other texts are; or of two, token by token."""
    from search.texts import compare, explain

    encoder, texts = served.index(asked.index).encoder, [*asked.text, *asked.against]
    if not all(text.strip() for text in texts):
        raise InputError("a text is empty. Leave it out.")
    if asked.tokens:
        if len(texts) != 2:
            raise InputError(f"tokens compares two texts, and there are {len(texts)}. Give two.")
        return answer(request, explain(*texts, layer=asked.layer, model=encoder))
    if asked.layer is not None:
        raise InputError("layer compares the tokens of two texts: give tokens=true, or leave it out.")
    if len(texts) < 2:
        raise InputError("two texts at least are needed to compare. Give text twice, or text and against.")
    return answer(request, compare(asked.text, asked.against or None, model=encoder))


@_asked("/inspect", parameters.Inspect, models.Inspected)
def inspect(request: Request, served: Served, asked: parameters.Inspect) -> Response:
    """A look inside the model of an index while it reads a text: tokens, the embedding layer, hidden states, pooler."""
    from search.bert import inspect

    return answer(
        request,
        facts(inspect(asked.text, asked.text2, model=served.index(asked.index).encoder.model, offline=True)),
    )


@_asked("/documents", parameters.Named, models.Documents, lines=True)
def documents(request: Request, served: Served, asked: parameters.Named) -> Response:
    """Documents of an index by a part of their name, in parts of 50."""
    index, name = served.index(asked.index), asked.index or served.first
    wanted, offset = place_of(asked.next, asked, name, LARGEST) if asked.next else (asked.generation, 0)
    generation, found = in_one_generation(
        index, wanted, lambda: index.documents_named(asked.name, MOST_DOCUMENTS + 1, offset)
    )
    behind = offset + MOST_DOCUMENTS
    more = cursor(asked, name, generation, behind) if len(found) > MOST_DOCUMENTS else None
    shown = found[:MOST_DOCUMENTS]
    content = {"index": name, "generation": generation, "documents": shown, "next": more}
    return answer(request, content, shown, _following(request, asked, more))


@_asked("/facets", parameters.Faceted, models.Facets)
def facets(request: Request, served: Served, asked: parameters.Faceted) -> Response:
    """By which fields documents can be told apart: the most frequent values of each, with their filters."""
    index, name = served.index(asked.index), asked.index or served.first
    generation, found = in_one_generation(index, asked.generation, lambda: index.facets(asked.where))
    return answer(request, {"index": name, "generation": generation, "facets": found})


@_asked("/status", OfIndex, models.model_of(Status))
def status(request: Request, served: Served, asked: OfIndex) -> Response:
    """What an index is and holds."""
    return _found(request, served, asked, lambda index: index.status())


@_asked("/indexes", Parameters, models.Indexes)
def indexes(request: Request, served: Served, asked: Parameters) -> Response:
    """The indexes that can be asked, first the one that is asked where none is named."""

    def each(name: str) -> dict[str, Any]:
        try:
            index = served.index(name)
            return {"name": name, "generation": index.generation, "status": index.status(), "problem": ""}
        except SearchError as error:
            return {"name": name, "generation": None, "status": None, "problem": str(error)}

    return answer(request, {"indexes": list(map(each, served.indexes)), "notes": served.notes})


@router.get("/documents/{id}", responses=_responses(models.model_of(DocumentText)))
async def document(
    request: Request,
    id: Annotated[parameters.IdInPath, Path(description="`document_id` of a hit, of the same generation.")],
    asked: Annotated[OfIndex, Query()],
    served: ServedHere,
    desk: DeskHere,
) -> Response:
    """A whole document as far as the index holds it, with its passages; its file is not read."""

    def find() -> Response:
        index = served.index(asked.index)
        _, found = in_one_generation(index, asked.generation, lambda: index.document(id))
        return answer(request, found)

    return await _done(request, asked, desk, find)


@router.get("/passages/{id}", responses=_responses(models.model_of(StoredPassage)))
async def passage(
    request: Request,
    id: Annotated[parameters.IdInPath, Path(description="`passage_id` of a hit.")],
    asked: Annotated[OfIndex, Query()],
    served: ServedHere,
    desk: DeskHere,
) -> Response:
    """A passage as the index holds it."""

    work = partial(_found, request, served, asked, lambda index: index.passage(id))
    return await _done(request, asked, desk, work)
