"""Parameters that pages and API share, with the names that the library and the command line give them.

Those of the API are taken as they are meant or not at all: an unknown one is an error that names the nearest. Pages
take what a form sends and a link of another version holds (`Asked`).
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import Depends, Query
from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from starlette.requests import Request

from search.errors import InputError
from search.index import Index
from search.records.options import (
    FilterOptions,
    ListOptions,
    MatrixOptions,
    RankingOptions,
    RankOptions,
    RerankOptions,
    SelectionOptions,
    declared,
)
from search.render.format import escape
from search.render.page.hits import Asked as Written
from search.serving.desk import Desk
from search.serving.fields import Given, Text, fields_of
from search.serving.served import Served

MOST_HITS = 100  # of one answer
LARGEST = 2**53 - 1  # whole number that every program reads as it is

Id = Annotated[int, Field(ge=1, le=LARGEST, examples=[1])]
IndexName = Annotated[Text | None, Field(description="Name of the index; the first where none is named.")]


class Parameters(Given):
    """What a request of the API may say, and nothing else."""

    @model_validator(mode="before")
    @classmethod
    def taken(cls, given: Any) -> Any:
        """What was sent.

        Raises:
            PydanticCustomError: some of it has no meaning here.
        """
        if not isinstance(given, dict):
            return given
        for name in given:
            if name not in cls.model_fields:
                near = get_close_matches(name, cls.model_fields, 1)
                meant = (
                    f"Did you mean {near[0]}?"
                    if near
                    else f"There are {', '.join(sorted(cls.model_fields))}."
                )
                raise PydanticCustomError(
                    "said",
                    "there is no parameter '{name}'. {meant}",
                    {"name": escape(name[:40]), "meant": meant},
                )
        # 10.0 is a whole number, in JSON too.
        return {
            name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in given.items()
        }


class OfIndex(Parameters):
    """Which index, and in which state."""

    index: IndexName = None
    generation: Annotated[
        Annotated[int, Field(ge=0, le=LARGEST)] | None,
        Field(description="Answer only as long as the index is the one of this generation."),
    ] = None


class OfQuery(OfIndex):
    """A query to an index."""

    q: Annotated[
        Text,
        Field(
            min_length=1, description="What to look for, in your own words.", examples=["where are the keys?"]
        ),
    ]


class Ranked(fields_of(RankingOptions, OfQuery)):  # type: ignore[misc]
    """A query, and how scores are made."""


class Reranked(fields_of(RerankOptions, Parameters, rerank=Literal["late"] | None), Ranked):  # type: ignore[misc]
    """A query, how scores are made, and how the best hits are reranked."""


class Filtered(fields_of(FilterOptions, Parameters)):  # type: ignore[misc]
    """Which passages are chosen from."""


class Counted(fields_of(ListOptions, Parameters, k=Annotated[int, Field(le=MOST_HITS)])):  # type: ignore[misc]
    """How many hits."""


class Selected(fields_of(SelectionOptions, Parameters), Counted, Filtered):  # type: ignore[misc]
    """Which part of a ranking is an answer."""


class Question(Selected, Reranked):
    """A query, how its hits are ranked, and which of them are shown."""


class Asked(Question):
    """A query as a page is asked: what says nothing is passed over, and so is what has no meaning here."""

    model_config = ConfigDict(extra="ignore")

    q: Text = ""

    @model_validator(mode="before")
    @classmethod
    def taken(cls, given: Any) -> Any:
        """What was sent without what a form leaves empty, and the weight where it does not count."""
        said = {name: value for name, value in given.items() if value != ""}
        if said.get("mode", "hybrid") != "hybrid":
            said.pop("weight", None)
        return said

    def named(self, index: str, generation: int | None = None) -> Written:
        """As pages write it.

        Args:
            index: the name of the index that is asked.
            generation: the one that addresses are to be of; None for the one that was asked for.
        """
        return Written(
            index=index, q=self.q, k=self.k, generation=generation or self.generation, **self.of(RankOptions)
        )


async def _served(request: Request) -> Served:  # FastAPI has a thread for what is not async
    return request.app.state.served


async def _desk(request: Request) -> Desk:
    return request.app.state.desk


AskedQuery = Annotated[Asked, Query()]
ServedHere = Annotated[Served, Depends(_served)]
DeskHere = Annotated[Desk, Depends(_desk)]


MOST_EXPLAINED = 10  # hits of one answer, with their matrices
MOST_CANDIDATES = 500  # by each part of a score
MOST_TEXTS = 100  # that are compared with each other

Sentence = Annotated[Text, Field(min_length=1)]
LayerName = Annotated[
    Annotated[int, Field(ge=0, le=1_000)] | Literal["middle", "last"] | None,
    Field(description=declared(MatrixOptions)["layer"][1].help),
]


def _as_digits(given: Any) -> Any:
    """An id as it is written, and in no other way.

    Raises:
        PydanticCustomError: it is another text.
    """
    if isinstance(given, str) and not (given.isascii() and given.isdecimal()):
        raise PydanticCustomError("int_parsing", "no digits")
    return given


IdInPath = Annotated[Id, BeforeValidator(_as_digits)]


class InParts(OfIndex):
    """Which part of a list."""

    next: Annotated[
        Annotated[str, Field(max_length=100)] | None,
        Field(description="What an answer said as `next`, to have what is behind its own part."),
    ] = None


class Listed(Selected, InParts):
    """Which part of a ranking is an answer, or the part behind an answer."""


class Search(fields_of(MatrixOptions, Parameters, layer=LayerName), Listed, Question):  # type: ignore[misc]
    """A query of the API."""

    highlights: Annotated[
        bool, Field(description="Say where words of the query stand in each hit; false for hits sooner.")
    ] = True


class Explain(Reranked):
    """A query and a passage of its index."""

    passage: Annotated[Id, Field(description="The id of a passage, `passage_id` of a hit.")]
    layer: LayerName = None
    check: Annotated[
        bool,
        Field(description="Cut out the words that count most and encode the rest: does the score fall?"),
    ] = False


class Contrast(Ranked):
    """A query and two passages of its index."""

    a: Annotated[Id, Field(description="The id of a passage.")]
    b: Annotated[Id, Field(description="The id of another.")]


class Weighed(Filtered, Ranked):
    """A query whose weight and words are to be changed."""

    n: Annotated[
        int, Field(ge=1, le=MOST_CANDIDATES, description="How many passages by each part of the score.")
    ] = 100


class OfExample(OfIndex):
    """A passage or a document of an index."""

    passage: Annotated[Id | None, Field(description="The id of a passage, `passage_id` of a hit.")] = None
    document: Annotated[
        Id | None,
        Field(description="Instead, the id of a document, `document_id` of a hit: all its passages."),
    ] = None

    def example(self, index: Index) -> int | Path:
        """As `Index.why_not` takes it.

        Raises:
            InputError: it is not there, or not one of the two is given.
        """
        if (self.passage is None) == (self.document is None):
            raise InputError("give passage or document: one of them.")
        return self.passage or index.location(self.document or 0)


class WhyNot(Counted, Filtered, OfExample, Ranked):
    """A query, and what is not among its hits."""


class Similar(Listed, OfExample):
    """A passage or document, and which of those that are like it are shown."""

    same_document: Annotated[bool, Field(description="Also other passages of the same document.")] = False


class Similarity(Parameters):
    """Texts, and the index whose model compares them."""

    index: IndexName = None
    text: Annotated[
        list[Sentence],
        Field(
            min_length=1,
            max_length=MOST_TEXTS,
            description="Texts; say it once for each.",
            examples=[["a key", "a lock"]],
        ),
    ]
    against: Annotated[
        list[Sentence],
        Field(max_length=MOST_TEXTS, description="Compare with these, not with each other."),
    ] = Field(default_factory=list)
    tokens: Annotated[bool, Field(description="Compare two texts token by token, instead.")] = False
    layer: LayerName = None


class Named(InParts):
    """Documents by name."""

    name: Annotated[
        str, Field(max_length=200, description="Words that stand in the name or the title; none for any.")
    ] = ""


class Faceted(OfIndex):
    """Documents by what they have in common."""

    where: Annotated[Text | None, Field(description="A filter: of the documents that pass it.")] = None


class Inspect(Parameters):
    """A text or a pair that the model of an index reads."""

    index: IndexName = None
    text: Annotated[
        Sentence, Field(description="What the model reads.", examples=["The key is in the lock."])
    ]
    text2: Annotated[Sentence | None, Field(description="The second text of a pair.")] = None
