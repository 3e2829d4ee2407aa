"""Answers of the HTTP API that are more than a record of the library, each declared once.

The handlers return them, which mypy checks, and `search.serving.openapi` describes them. Where a handler has converted
records to dictionaries already, the second argument of `Annotated` is the type of the records.
"""

from typing import Annotated, Any

from typing_extensions import NotRequired, TypedDict

from search.records.documents import NamedDocument
from search.records.hits import Hit
from search.records.reports import Status


class QueryCoverage(TypedDict):
    """Passages that a query has looked at; see `Coverage`."""

    complete: bool
    encoded: int
    passages: int


class HitList(QueryCoverage):
    """Hits, best first.

    Attributes:
        index: name of the index.
        generation: generation (state) of the index.
        complete: false if better passages may be missing, because the index is not complete.
        encoded: number of passages that are encoded.
        passages: number of passages in the index.
        next: value of `next` that requests the next hits; null if there are none.
        notes: sentences for the user, such as a word that no passage has.
    """

    index: str
    generation: int
    hits: Annotated[list[dict[str, Any]], list[Hit]]
    next: str | None
    notes: list[str]


class QueryResult(QueryCoverage):
    """The hits of one of several queries; see `HitList`."""

    query: str
    hits: Annotated[list[dict[str, Any]], list[Hit]]
    notes: list[str]


class QueryResults(TypedDict):
    """The hits of several queries, in their order.

    Attributes:
        generation: generation of the index; of several indexes, a number that changes if one of them does.
    """

    generation: int
    results: list[QueryResult]


class HitExplanation(TypedDict):
    """Explanation of the score of a hit; it has the keys of the explanation, too."""

    hit: Hit


class NamedIndex(TypedDict):
    """An index of the server.

    Attributes:
        name: value of the parameter `index`.
        generation: generation (state) of the index; null if it cannot be opened.
        status: null if it cannot be opened.
        problem: reason why it cannot be opened; "" if it can.
    """

    name: str
    generation: int | None
    status: Status | None
    problem: str


class IndexList(TypedDict):
    """The indexes of the server; the first one is the default.

    Attributes:
        notes: sentences about indexes that were skipped.
    """

    indexes: list[NamedIndex]
    notes: list[str]


class DocumentList(TypedDict):
    """A page of the documents of an index, sorted by name.

    Attributes:
        next: value of `next` that requests the next page; null if there is none.
    """

    index: str
    generation: int
    documents: list[NamedDocument]
    next: str | None


class EmbeddingItem(TypedDict):
    """The embedding of one text.

    Attributes:
        index: number of the text in the request, from 0.
        embedding: numbers, or little-endian float32 in Base64.
    """

    object: str
    index: int
    embedding: list[float] | str


class TokenUsage(TypedDict):
    """Number of tokens of a request."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingList(TypedDict):
    """Embeddings in the shape of OpenAI's API."""

    object: str
    model: str
    data: list[EmbeddingItem]
    usage: TokenUsage


class ModelItem(TypedDict):
    """A name that `model` takes, in the shape of OpenAI's API."""

    id: str
    object: str
    created: int
    owned_by: str


class ModelList(TypedDict):
    """Names that `model` takes, in the shape of OpenAI's API."""

    object: str
    data: list[ModelItem]


class DocumentBody(TypedDict):
    """A document of a reranking request."""

    text: str


class RerankResult(TypedDict):
    """The relevance of a document.

    Attributes:
        index: number of the document in the request, from 0.
        relevance_score: score of late interaction in [-1, 1].
        document: only with `return_documents`.
    """

    index: int
    relevance_score: float
    document: NotRequired[DocumentBody]


class RerankList(TypedDict):
    """Documents by their relevance, in the shape of Cohere's and Jina's APIs."""

    id: str
    model: str
    object: str
    results: list[RerankResult]


class ErrorMessage(TypedDict):
    """An error in the shape of OpenAI's API.

    Attributes:
        type: as `code`.
    """

    message: str
    type: str
    param: str | None
    code: str


class ProblemDetails(TypedDict):
    """An error in the format of RFC 9457.

    Attributes:
        type: URN of the code.
        title: phrase of the status.
        status: HTTP status code.
        code: stable name of the error, for programs.
        detail: what is wrong, and what to do, for people.
        error: only for addresses that begin with /v1/.
    """

    type: str
    title: str
    status: int
    code: str
    detail: str
    error: NotRequired[ErrorMessage]
