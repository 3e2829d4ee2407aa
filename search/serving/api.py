"""The HTTP API, /api/v1: the records of the library as JSON."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from itertools import chain, islice
from operator import add
from typing import Annotated, Any, Literal, TypeVar

from anyio import sleep
from anyio.to_thread import run_sync
from fastapi import APIRouter, Body, Path, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from search.errors import InputError, SearchError
from search.index import Index, searcher_of
from search.indexes import Indexes, absences, highlights, name_of
from search.indexing.document_changes import ChangeFinder
from search.ranking.selection import RERANKED
from search.records.comparisons import Contrast, Similarities, WhyNot
from search.records.hits import Coverage, Hits
from search.records.options import (
    QueryOptions,
    RankingOptions,
    RankOptions,
    RerankOptions,
    SimilarOptions,
)
from search.records.reports import DocumentChanges, Status
from search.render import json
from search.serving import parameters
from search.serving.answers import (
    DocumentList,
    HitList,
    IndexList,
    NamedIndex,
    QueryCoverage,
    QueryResult,
    QueryResults,
)
from search.serving.app_state import AppState, has_documents_from_memory, in_one_generation
from search.serving.fields import LAST_HIT, RequestModel, as_next, of_next
from search.serving.openapi import NDJSON
from search.serving.parameters import Id, IndexParams
from search.serving.problems import Problem

router = APIRouter(prefix="/api/v1")

MOST_EXPLAINED = 10  # hits in an answer with explanations
_SECONDS_BETWEEN = 1  # between looks for changed indexes
_MOST_NAMES = 1_000  # of documents in an event
# Media types of NDJSON, and those that accept a JSON document.
_LINES = {NDJSON, "application/ndjson", "application/jsonl", "application/jsonlines"}
_DOCUMENT = {"application/json", "application/*", "*/*"}
_DOCUMENTS_OF_PART = 100  # that are sent together

Params = TypeVar("Params", bound=RequestModel)
Answer = TypeVar("Answer")
Tag = Literal["search", "explain", "documents", "indexes"]  # `TAGS` of search.serving.openapi


def _get(path: str, model: type[Params], tag: Tag) -> Callable[[Callable[[AppState, Params], Any]], None]:
    """Return a decorator that registers a function as the handler of GET requests to a path."""

    def register(work: Callable[[AppState, Params], Any]) -> None:
        async def get(
            request: Request,
            params: Annotated[model, Query()],  # type: ignore[valid-type]
        ) -> Response:
            return await _answered(request, lambda served: work(served, params))

        router.get(path, operation_id=work.__name__, description=work.__doc__, tags=[tag])(get)

    return register


async def _answered(request: Request, work: Callable[[AppState], Any]) -> Response:
    """Run `work` in a worker thread when the request's turn comes, and return its result as JSON."""
    _require_json(request)
    state = request.app.state
    content = await state.limiter.run(lambda: json.compact(work(state.served)))
    return Response(content, media_type="application/json")


def _require_json(request: Request) -> None:
    """Raise Problem if the client reads JSON line by line: it could not read one document."""
    kinds = {kind.partition(";")[0].strip() for kind in request.headers.get("accept", "").split(",")}
    if kinds & _LINES and not kinds & _DOCUMENT:
        detail = "this address answers with application/json. For NDJSON: GET /api/v1/export"
        raise Problem(406, "not-acceptable", detail)


def _run(served: AppState, params: IndexParams, work: Callable[[Index], Answer]) -> Answer:
    """Call `work` with the requested index, and return its result; it reads a single generation of the index."""
    index = served.index(params.index)
    return in_one_generation(index, params.generation, lambda: work(index))[1]


def _hits(
    served: AppState,
    params: parameters.Search | parameters.Similar,
    find: Callable[[Index], tuple[Hits, list[dict[str, Any]]]],
) -> HitList:
    """Return the requested part of a list of hits, with the value of `next` for the following part.

    Args:
        find: returns the hits as records and as JSON objects.
    """
    index, name = served.index(params.index), params.index or served.first
    if params.next:
        params.generation, params.offset = of_next(params.next)
    generation, (hits, written) = in_one_generation(index, params.generation, lambda: find(index))
    return {
        "index": name,
        "generation": generation,
        "hits": [{**hit, "index": name} for hit in written],
        **_looked_at(searcher_of(index).coverage(hits)),
        "next": as_next(generation, params.offset + params.k) if _goes_on(params, hits) else None,
        "notes": list(index.notes),
    }


def _looked_at(coverage: Coverage) -> QueryCoverage:
    return {
        "complete": coverage.complete,
        "encoded": coverage.encoded,
        "passages": coverage.passages,
    }


def _goes_on(params: parameters.Search | parameters.Similar, hits: Hits) -> bool:
    """Return True if more hits may follow; after reranking, the list is complete."""
    count = len({hit.document_id for hit in hits}) if params.group else len(hits)
    is_reranked = bool(hits) and bool(hits[0].ranking.rerank)
    return count == params.k and not is_reranked and params.offset + params.k <= LAST_HIT


@_get("/search", parameters.Search, "search")
def search(served: AppState, params: parameters.Search) -> HitList:
    """Find the passages that best answer a query, best first.

    Pass `next` from the answer to get the next hits, from the same generation of the index. With `explain`, k is at
    most 10; with `rerank`, offset + k is at most 30.
    """
    if params.explain and params.k > MOST_EXPLAINED:
        raise InputError(f"k is {params.k}, but with explain it must be {MOST_EXPLAINED} or less.")
    _require_few(params)

    def find(index: Index) -> tuple[Hits, list[dict[str, Any]]]:
        hits = index.query(params.q, params.k, **params.of(QueryOptions))
        marks = highlights(index, params.q, hits) if params.highlights else None
        return hits, json.hits(hits, None, marks)

    answer = _hits(served, params, find)
    absent = absences(served.index(params.index), params.q)
    return {**answer, "notes": [*answer["notes"], *(absence.sentence for absence in absent)]}


@router.post("/search", operation_id="search_many", tags=["search"])
async def search_many(request: Request, params: parameters.ManySearches) -> Response:
    """Find the best passages for each of several queries, in one index or in several as one.

    With `explain`, k times the number of queries is at most 10; with `rerank`, offset + k is at most 30.
    """
    return await _answered(request, lambda served: _search_many(served, params))


def _search_many(served: AppState, params: parameters.ManySearches) -> QueryResults:
    if params.explain and params.k * len(params.queries) > MOST_EXPLAINED:
        raise InputError(f"with explain, k times the number of queries must be {MOST_EXPLAINED} or less.")
    _require_few(params)
    members = [served.index(name) for name in params.indexes or [served.first]]
    opened = members[0] if len(members) == 1 else Indexes(members)

    def answer(query: str) -> QueryResult:
        hits = opened.query(query, params.k, **params.of(QueryOptions))
        marks = highlights(opened, query, hits) if params.highlights else None
        named = [
            {**hit, "index": hit["index"] or name_of(members[0])} for hit in json.hits(hits, None, marks)
        ]
        coverages = (searcher_of(member).coverage(Hits()) for member in members)
        looked_at = _looked_at(hits.coverage or reduce(add, coverages))
        notes = [*opened.notes, *(absence.sentence for absence in absences(opened, query))]
        return {"query": query, "hits": named, **looked_at, "notes": notes}

    generation, results = in_one_generation(opened, None, lambda: list(map(answer, params.queries)))
    return {"generation": generation, "results": results}


def _require_few(params: parameters.Search | parameters.ManySearches) -> None:
    if params.rerank and params.offset + params.k > RERANKED:
        raise InputError(f"with rerank, offset + k must be {RERANKED} or less.")


@_get("/explain", parameters.Explain, "explain")
def explain(served: AppState, params: parameters.Explain) -> Any:
    """Explain a passage's score for a query: tokens, similarity and contribution matrix, every addend."""

    def find(index: Index) -> dict[str, Any]:
        hit = searcher_of(index).hit(params.q, params.passage, **params.of(RerankOptions))
        why = index.explain(params.q, hit, layer=params.layer)
        answer = {"hit": replace(hit, index=params.index or served.first), **json.plain(why)}
        if params.counterfactual:
            answer["counterfactual"] = index.counterfactual(
                params.q, hit, params.k, **params.of(RankOptions)
            )
        return answer

    return _run(served, params, find)


@_get("/contrast", parameters.ContrastParams, "explain")
def contrast(served: AppState, params: parameters.ContrastParams) -> Contrast:
    """Compare the scores of two passages for a query, by query word."""
    options = params.of(RankingOptions)
    return _run(served, params, lambda index: index.contrast(params.q, params.a, params.b, **options))


@_get("/why-not", parameters.WhyNotParams, "explain")
def why_not(served: AppState, params: parameters.WhyNotParams) -> WhyNot:
    """Find the rank of a passage or document for a query, and why it is not among the hits."""
    options = params.of(RankOptions)

    def find(index: Index) -> Any:
        example = params.example(index)
        standing = index.why_not(params.q, example, params.k, **options)
        if not params.counterfactual:
            return standing
        changes = None
        if standing.can_change:
            changes = index.counterfactual(params.q, example, params.k, **options)
        return {**json.plain(standing), "counterfactual": changes}

    return _run(served, params, find)


@_get("/similar", parameters.Similar, "search")
def similar(served: AppState, params: parameters.Similar) -> HitList:
    """Find the passages most similar to a passage or document, best first."""

    def find(index: Index) -> tuple[Hits, list[dict[str, Any]]]:
        example, options = params.example(index), params.of(SimilarOptions)
        hits = index.similar(example, params.k, same_document=params.same_document, **options)
        return hits, json.hits(hits, None, [()] * len(hits))

    return _hits(served, params, find)


@_get("/similarity", parameters.Similarity, "search")
def similarity(served: AppState, params: parameters.Similarity) -> Similarities:
    """Compare texts by the cosines of their embeddings."""
    from search.texts import compare

    if len([*params.text, *params.against]) < 2:
        raise InputError("give at least two texts: `text` twice, or `text` and `against`.")
    return compare(params.text, params.against or None, model=served.index(params.index).encoder)


@_get("/status", IndexParams, "indexes")
def status(served: AppState, params: IndexParams) -> Status:
    """Return the folder, model, contents and state of an index."""
    return _run(served, params, lambda index: index.status())


@_get("/indexes", RequestModel, "indexes")
def indexes(served: AppState, params: RequestModel) -> IndexList:
    """List the available indexes; the first one is the default."""

    def described(name: str) -> NamedIndex:
        try:
            index = served.index(name)
            return {
                "name": name,
                "generation": index.generation,
                "status": index.status(),
                "problem": "",
            }
        except SearchError as error:
            return {"name": name, "generation": None, "status": None, "problem": str(error)}

    return {"indexes": list(map(described, served.indexes)), "notes": list(served.notes)}


@_get("/documents", parameters.Documents, "documents")
def documents(served: AppState, params: parameters.Documents) -> DocumentList:
    """List the documents of an index by name, in pages.

    Pass `next` from the answer to get the next page.
    """
    index, offset = served.index(params.index), 0
    if params.next:
        params.generation, offset = of_next(params.next)
    generation, listed = in_one_generation(
        index,
        params.generation,
        lambda: searcher_of(index).documents_named(params.q, params.k + 1, offset=offset),
    )
    return {
        "index": params.index or served.first,
        "generation": generation,
        "documents": listed[: params.k],
        "next": as_next(generation, offset + params.k) if len(listed) > params.k else None,
    }


@router.post("/documents", operation_id="upsert", tags=["documents"])
async def upsert(
    request: Request,
    documents: Annotated[list[dict[str, Any]], Body(examples=[[{"id": "a", "text": "a key"}]])],
    params: Annotated[parameters.Write, Query()],
) -> Response:
    """Store documents, replacing those with the same IDs: all of them, or none.

    Only `serve --writable` allows it. Each document has an `id` and a `text`, and maybe a `title`, a `kind`
    ("markdown"), a `vector` or `passages`; other keys are fields to filter by. `index=tickets@acme` stores them in a
    namespace.
    """
    return await _written(request, params, lambda index: index.upsert(documents), create=True)


@router.delete("/documents", operation_id="delete", tags=["documents"])
async def delete(request: Request, params: Annotated[parameters.Delete, Query()]) -> Response:
    """Delete documents by ID; IDs that do not exist are ignored.

    Only `serve --writable` allows it.
    """
    return await _written(request, params, lambda index: index.delete(params.id))


async def _written(
    request: Request, params: parameters.Write, work: Callable[[Index], Any], *, create: bool = False
) -> Response:
    """Change an index in a thread for changes, so that queries need not wait; return the report as JSON.

    Args:
        create: create the namespace that the request names, if it does not exist.
    """
    _require_json(request)
    state = request.app.state
    if state.writes is None:
        detail = "this server is read-only. To allow changes, run: seewhy serve --writable --token new"
        raise Problem(403, "read-only", detail)
    content = await state.writes.run(
        lambda: json.compact(work(_of_memory(state.served, params.index, create=create)))
    )
    return Response(content, media_type="application/json")


def _of_memory(served: AppState, name: str | None, *, create: bool = False) -> Index:
    """Return an index of documents from memory; see `AppState.index`.

    Raises:
        InputError: the index belongs to a folder.
    """
    index = served.index(name, create=create)
    if has_documents_from_memory(index):
        return index
    others = [other for other, opened in served.indexes.items() if has_documents_from_memory(opened)]
    advice = "This server has none. To make one, run: seewhy upsert -i NAME FILE.jsonl"
    if others:
        advice = f"Add the parameter `index`, one of: {', '.join(others)}."
    raise InputError(
        f"the index '{name or served.first}' belongs to a folder, so its documents are files. This address is for an "
        f"index of documents from memory. {advice}"
    )


@router.get("/export", operation_id="export", tags=["documents"])
async def export(request: Request, params: Annotated[parameters.Write, Query()]) -> StreamingResponse:
    """Export the documents of an index of documents from memory, as NDJSON.

    Each line is a document in the form in which it is upserted, in the order in which they were added: one state of the
    index. If a document is damaged, the connection is closed before the end of the answer.
    """
    state = request.app.state

    def begin() -> tuple[str, Iterator[str]]:
        parts = _exported(_of_memory(state.served, params.index))
        return next(parts, ""), parts

    first, others = await state.limiter.run(begin)
    return StreamingResponse(chain([first], others), media_type=NDJSON)


def _exported(index: Index) -> Iterator[str]:
    """Yield the documents of an index as lines of JSON, in parts."""
    documents = Index.export(index.path)
    while part := list(islice(documents, _DOCUMENTS_OF_PART)):
        yield json.lines([document.record for document in part]) + "\n"


@router.get("/events", operation_id="events", tags=["indexes"])
async def events(request: Request) -> StreamingResponse:
    """Follow changes of the indexes by server-sent events.

    The event "changed" has the name and the generation of an index; it is sent for each index, and again if one changes
    or is new. Then `added`, `changed` and `removed` name the documents that have changed, at most 1,000 in all, and
    `documents` is their number.
    """
    return StreamingResponse(_changes(request.app.state.served), media_type="text/event-stream")


class _OnServer:
    """Finds changes of an index on a server, which does not tell the documents."""

    def __init__(self, index: Index) -> None:
        self._index, self.generation = index, index.generation

    def changes(self) -> DocumentChanges | None:
        before, self.generation = self.generation, self._index.generation
        return DocumentChanges(self.generation) if self.generation != before else None


async def _changes(served: AppState) -> AsyncIterator[str]:
    finders: dict[str, ChangeFinder | _OnServer] = {}
    yield f"retry: {1000 * _SECONDS_BETWEEN}\n\n"
    while not served.ends.is_set():
        for event in await run_sync(_events, served, finders):
            yield f"event: changed\ndata: {json.compact(event)}\n\n"
        yield ":\n\n"  # fails if the client is gone
        await sleep(_SECONDS_BETWEEN)


def _events(served: AppState, finders: dict[str, ChangeFinder | _OnServer]) -> list[dict[str, Any]]:
    """Return the events since the last call.

    Args:
        finders: name of an index -> what finds its changes; new indexes are added.
    """
    served.refresh()
    events: list[dict[str, Any]] = []
    for name in finders.keys() - served.indexes.keys():
        del finders[name]
    for name, index in served.indexes.items():
        with suppress(SearchError):
            if name not in finders:
                is_local = searcher_of(index).store.local
                finders[name] = ChangeFinder(index.path) if is_local else _OnServer(index)
                events.append({"index": name, "generation": finders[name].generation})
            elif changes := finders[name].changes():
                events.append({"index": name, **_named_changes(changes)})
    return events


def _named_changes(changes: DocumentChanges) -> dict[str, Any]:
    """Return changes as JSON, with at most `_MOST_NAMES` names."""
    room = _MOST_NAMES
    names: dict[str, list[str]] = {}
    for kind in ("added", "changed", "removed"):
        names[kind] = list(getattr(changes, kind)[:room])
        room -= len(names[kind])
    return {"generation": changes.generation, "documents": changes.documents, **names}


@router.get("/documents/{id}", operation_id="document", tags=["documents"])
async def document(
    request: Request,
    id: Annotated[Id, Path(description="`document_id` of a hit from this generation.")],
    params: Annotated[IndexParams, Query()],
) -> Response:
    """Return a document as stored in the index, with its passages.

    Its file is not read.
    """
    return await _answered(request, lambda served: _run(served, params, lambda index: index.document(id)))
