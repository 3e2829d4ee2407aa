"""The API, /api/v1: what the library and the command answer, as JSON. Nothing is changed by asking."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from search.errors import InputError, SearchError
from search.index import Index
from search.ranking.selection import RERANKED
from search.records.hits import Hits
from search.records.options import (
    QueryOptions,
    RankingOptions,
    RankOptions,
    RerankOptions,
    SimilarOptions,
)
from search.render import json
from search.serving import parameters
from search.serving.fields import LAST_HIT, Given, as_next, of_next
from search.serving.parameters import Id, OfIndex
from search.serving.served import Served, in_one_generation

_PROBLEM = {
    "description": "A problem.",
    "content": {"application/problem+json": {"schema": {"type": "object"}}},
}
router = APIRouter(prefix="/api/v1", responses={"default": _PROBLEM})

MOST_EXPLAINED = 10  # hits of one answer, with their matrices

Asked = TypeVar("Asked", bound=Given)


def _get(path: str, given: type[Asked]) -> Callable[[Callable[[Served, Asked], Any]], None]:
    """Let a function answer GET with its parameters."""

    def register(work: Callable[[Served, Asked], Any]) -> None:
        async def get(
            request: Request,
            asked: Annotated[given, Query()],  # type: ignore[valid-type]
        ) -> Response:
            return await _answered(request, lambda served: work(served, asked))

        router.get(path, operation_id=work.__name__, description=work.__doc__)(get)

    return register


async def _answered(request: Request, work: Callable[[Served], Any]) -> Response:
    """An answer that is made when it is the request's turn."""
    state = request.app.state
    content = await state.limiter.run(lambda: json.compact(work(state.served)))
    return Response(content, media_type="application/json")


def _found(served: Served, asked: OfIndex, work: Callable[[Index], Any]) -> Any:
    """What is found in one generation of an index."""
    index = served.index(asked.index)
    return in_one_generation(index, asked.generation, lambda: work(index))[1]


def _hits(
    served: Served,
    asked: parameters.Search | parameters.Similar,
    find: Callable[[Index], tuple[Hits, list[dict[str, Any]]]],
) -> dict[str, Any]:
    """A part of a list of hits, and what asks for the next.

    Args:
        find: finds the hits, and gives them as JSON, too.
    """
    index, name = served.index(asked.index), asked.index or served.first
    if asked.next:
        asked.generation, asked.offset = of_next(asked.next)
    generation, (hits, written) = in_one_generation(index, asked.generation, lambda: find(index))
    return {
        "index": name,
        "generation": generation,
        "hits": [{**hit, "index": name} for hit in written],
        "next": as_next(generation, asked.offset + asked.k) if _goes_on(asked, hits) else None,
        "notes": index.notes,
    }


def _goes_on(asked: parameters.Search | parameters.Similar, hits: Hits) -> bool:
    """Whether there may be hits behind these; a list that is reranked ends with them."""
    count = len({hit.document_id for hit in hits}) if asked.group else len(hits)
    is_reranked = bool(hits) and bool(hits[0].ranking.rerank)
    return count == asked.k and not is_reranked and asked.offset + asked.k <= LAST_HIT


@_get("/search", parameters.Search)
def search(served: Served, asked: parameters.Search) -> Any:
    """The passages that answer a query best, best first.

    What comes back as `next` asks for the hits behind these, in the same state of the index. With `explain`, k is 10 at
    most; with `rerank`, offset + k is 30 at most.
    """
    if asked.explain and asked.k > MOST_EXPLAINED:
        raise InputError(f"k is {asked.k}, but with explain it must be {MOST_EXPLAINED} or less.")
    if asked.rerank and asked.offset + asked.k > RERANKED:
        raise InputError(f"with rerank offset + k must be {RERANKED} or less.")

    def find(index: Index) -> tuple[Hits, list[dict[str, Any]]]:
        hits = index.query(asked.q, asked.k, **asked.of(QueryOptions))
        return hits, json.hits(hits, None, index.highlights(asked.q, hits) if asked.highlights else None)

    return _hits(served, asked, find)


@_get("/explain", parameters.Explain)
def explain(served: Served, asked: parameters.Explain) -> Any:
    """Why a passage has its score for a query: tokens, both matrices, every addend."""

    def find(index: Index) -> dict[str, Any]:
        hit = index.hit(asked.q, asked.passage, **asked.of(RerankOptions))
        why = index.explain(asked.q, hit, layer=asked.layer)
        return {"hit": replace(hit, index=asked.index or served.first), **json.plain(why)}

    return _found(served, asked, find)


@_get("/contrast", parameters.Contrast)
def contrast(served: Served, asked: parameters.Contrast) -> Any:
    """Why one passage stands above another for a query, by word of the query."""
    how = asked.of(RankingOptions)
    return _found(served, asked, lambda index: index.contrast(asked.q, asked.a, asked.b, **how))


@_get("/why-not", parameters.WhyNot)
def why_not(served: Served, asked: parameters.WhyNot) -> Any:
    """Where a passage or document stands for a query, and why it is not among the hits."""
    how = asked.of(RankOptions)
    return _found(
        served, asked, lambda index: index.why_not(asked.q, asked.example(index), asked.k, **how)
    )


@_get("/similar", parameters.Similar)
def similar(served: Served, asked: parameters.Similar) -> Any:
    """The passages that are most like a passage or document, the most like first."""

    def find(index: Index) -> tuple[Hits, list[dict[str, Any]]]:
        how = asked.of(SimilarOptions)
        hits = index.similar(asked.example(index), asked.k, same_document=asked.same_document, **how)
        return hits, json.hits(hits, None, [()] * len(hits))

    return _hits(served, asked, find)


@_get("/similarity", parameters.Similarity)
def similarity(served: Served, asked: parameters.Similarity) -> Any:
    """How alike texts are."""
    from search.texts import compare

    if len([*asked.text, *asked.against]) < 2:
        raise InputError(
            "two texts at least are needed to compare. Give text twice, or text and against."
        )
    return compare(asked.text, asked.against or None, model=served.index(asked.index).encoder)


@_get("/status", OfIndex)
def status(served: Served, asked: OfIndex) -> Any:
    """What an index is and holds."""
    return _found(served, asked, lambda index: index.status())


@_get("/indexes", Given)
def indexes(served: Served, asked: Given) -> Any:
    """The indexes that can be asked, first the one that is asked where none is named."""

    def each(name: str) -> dict[str, Any]:
        try:
            index = served.index(name)
            return {"name": name, "generation": index.generation, "status": index.status(), "problem": ""}
        except SearchError as error:
            return {"name": name, "generation": None, "status": None, "problem": str(error)}

    return {"indexes": list(map(each, served.indexes)), "notes": served.notes}


@router.get("/documents/{id}")
async def document(
    request: Request,
    id: Annotated[Id, Path(description="`document_id` of a hit, of the same generation.")],
    asked: Annotated[OfIndex, Query()],
) -> Response:
    """A whole document as far as the index holds it, with its passages; its file is not read."""
    return await _answered(
        request, lambda served: _found(served, asked, lambda index: index.document(id))
    )
