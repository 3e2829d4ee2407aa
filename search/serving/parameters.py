"""Parameters of the API and the pages; names and help are the same as in the library and the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

from pydantic import ConfigDict, Field, model_validator

from search.errors import InputError
from search.index import Index, searcher_of
from search.ranking.question import Question
from search.ranking.where import parse
from search.records.option_tools import declared
from search.records.options import (
    WEIGHT,
    CandidateOptions,
    CounterfactualOptions,
    CountOptions,
    FilterOptions,
    ListOptions,
    MatrixOptions,
    QueryOptions,
    RankingOptions,
    RankOptions,
    RerankOptions,
    SelectionOptions,
    SimilarOptions,
)
from search.render.page.hit_list import PageRequest
from search.render.page.search import picked
from search.serving.fields import LayerName, RequestModel, Text, with_options

LARGEST = 2**53 - 1  # the largest ID that JavaScript represents exactly
MOST_TEXTS = 100  # texts in one comparison
MOST_QUERIES = 32  # in one request

T = TypeVar("T")

Id = Annotated[int, Field(ge=1, le=LARGEST, examples=[1])]
IndexName = Annotated[Text | None, Field(description="Name of an index. Default: the first.")]
Sentence = Annotated[Text, Field(min_length=1)]


class IndexParams(RequestModel):
    """Parameters that select an index, and the generation (state) that it must have."""

    index: IndexName = None
    generation: Annotated[
        Annotated[int, Field(ge=0, le=LARGEST)] | None,
        Field(description="Fail if the index is no longer at this generation."),
    ] = None


class QueryParams(IndexParams):
    """A query to an index."""

    q: Annotated[
        Sentence,
        Field(description="The question, in natural language.", examples=["where are the keys?"]),
    ]


class ListParams(IndexParams):
    """A part of a list of hits."""

    next: Annotated[
        Annotated[str, Field(max_length=100)] | None,
        Field(description="`next` from the previous answer, for the next hits."),
    ] = None


@with_options(CountOptions, QueryOptions)
class Search(ListParams, QueryParams):
    """A query of the API."""

    highlights: Annotated[bool, Field(description="Include the positions of keywords.")] = True


@with_options(CountOptions, QueryOptions)
class ManySearches(RequestModel):
    """Queries of the API, and the indexes in which each of them is searched."""

    queries: Annotated[
        list[Sentence], Field(min_length=1, max_length=MOST_QUERIES, examples=[["where are the keys?"]])
    ]
    indexes: Annotated[
        list[Text],
        Field(max_length=50, description="Names of indexes, ranked as one. Default: the first."),
    ] = Field(default_factory=list)
    highlights: Annotated[bool, Field(description="Include the positions of keywords.")] = True


class Documents(ListParams):
    """A part of the list of documents."""

    q: Annotated[Text, Field(description="Words that the name or the title must have.")] = ""
    k: Annotated[int, Field(ge=1, le=1_000, description="Number of documents.")] = 100


class Write(RequestModel):
    """The index of documents from memory to change or to export."""

    index: IndexName = None


class Delete(Write):
    """Documents to delete."""

    id: Annotated[
        list[str], Field(min_length=1, description="ID of a document; repeat the parameter for each.")
    ]


@with_options(RerankOptions, CounterfactualOptions, FilterOptions, ListOptions)
class Explain(QueryParams):
    """A query, and a passage of the same index. Filters, `k` and `per_document` only count for `counterfactual`."""

    passage: Annotated[Id, Field(description="`passage_id` of a hit.")]
    layer: Annotated[LayerName, Field(description=declared(MatrixOptions)["layer"][1].help)] = None


@with_options(RankingOptions)
class ContrastParams(QueryParams):
    """A query and two passages of its index."""

    a: Annotated[Id, Field(description="`passage_id` of the first passage.")]
    b: Annotated[Id, Field(description="`passage_id` of the second passage.")]


class ExampleParams(IndexParams):
    """A passage or a document of an index."""

    passage: Annotated[Id | None, Field(description="`passage_id` of a hit.")] = None
    document: Annotated[
        Id | None,
        Field(description="`document_id` of a hit, for all its passages."),
    ] = None

    def example(self, index: Index) -> int | str | Path:
        """Return the passage ID or the path of the document, as `Index.why_not` and `Index.similar` take it.

        Raises:
            InputError: the document is not in the index, or not exactly one of the two is set.
        """
        if (self.passage is None) == (self.document is None):
            raise InputError("give either passage or document.")
        return self.passage or searcher_of(index).location(self.document or 0)


@with_options(CandidateOptions, ListOptions, CounterfactualOptions)
class WhyNotParams(ExampleParams, QueryParams):
    """A query, and a passage or document that is missing among its hits."""


@with_options(CountOptions, SimilarOptions)
class Similar(ListParams, ExampleParams):
    """A passage or document, and limits for the similar passages."""

    same_document: Annotated[bool, Field(description="Include passages of the same document.")] = False


class Similarity(RequestModel):
    """Texts, and the index whose model compares them."""

    index: IndexName = None
    text: Annotated[
        list[Sentence],
        Field(
            min_length=1,
            max_length=MOST_TEXTS,
            description="Texts; repeat the parameter for each.",
            examples=[["a key", "a lock"]],
        ),
    ]
    against: Annotated[
        list[Sentence],
        Field(max_length=MOST_TEXTS, description="Texts to compare `text` with, instead of each other."),
    ] = Field(default_factory=list)


@with_options(CountOptions, RerankOptions, CandidateOptions, SelectionOptions)
class SearchRequest(QueryParams):
    """Query of a page; empty fields of a form and unknown parameters are ignored."""

    model_config = ConfigDict(extra="ignore")

    q: Text = ""
    pick: Annotated[
        list[Text], Field(max_length=50, description="Conditions of chosen facet values.")
    ] = Field(default_factory=list)
    more: Annotated[list[Id], Field(max_length=20, description="Prefer passages like these.")] = Field(
        default_factory=list
    )
    less: Annotated[list[Id], Field(max_length=20, description="Avoid passages like these.")] = Field(
        default_factory=list
    )

    @property
    def question(self) -> Question | str:
        """The query with its examples, as `Index.query` takes it."""
        return Question.of(self.q, like=self.more, unlike=self.less) if self.more or self.less else self.q

    @property
    def filters(self) -> str | None:
        """The typed filter and the chosen facet values.

        Raises:
            InputError: the typed filter is invalid; the message shows it as it was typed.
        """
        if not (self.where and self.pick):
            return self.where or (picked(self.pick) if self.pick else None)
        parse(self.where)
        return f"({self.where}) and {picked(self.pick)}"

    def ranking_options(self, kind: type[T]) -> T:
        """Return the options of class `kind`, with the chosen facet values in the filter."""
        chosen: Any = self.of(kind)
        return cast("T", chosen | {"where": self.filters})

    @model_validator(mode="before")
    @classmethod
    def drop_empty_fields(cls, data: Any) -> Any:
        """Drop the empty fields of a form, and the weight if it is the default or the mode is not hybrid."""
        values = {name: value for name, value in data.items() if value != ""}
        if values.get("mode", "hybrid") != "hybrid" or str(values.get("weight")) == f"{WEIGHT:g}":
            values.pop("weight", None)
        return values

    def named(self, generation: int | None = None) -> PageRequest:
        """Return the request for the renderer, which builds addresses and forms from it.

        Args:
            generation: generation for addresses; None for that of the request.
        """
        return PageRequest(
            index=self.index or "",
            q=self.q,
            pick=tuple(self.pick),
            more=tuple(self.more),
            less=tuple(self.less),
            k=self.k,
            generation=generation or self.generation,
            **self.of(RankOptions),
        )
