"""Parameters that pages and API share, with the names that the library and the command line give them.

Those of the API are taken as they are meant or not at all: an unknown one is an error that names the nearest. Pages
take what a form sends and a link of another version holds (`Asked`).
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any, Literal, cast

from fastapi import Depends, Query
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from starlette.requests import Request

from search.records.options import (
    HITS_OF_A_DOCUMENT,
    QueryOptions,
    RankingOptions,
    RerankOptions,
    SimilarOptions,
)
from search.render.format import escape
from search.render.page.hits import Asked as Named
from search.serving.desk import Desk
from search.serving.served import Served

LONGEST_QUERY = 2_000  # characters; of a filter likewise
MOST_HITS = 100  # of one answer
LAST_HIT = 10_000  # how far a list of hits goes
LARGEST = 2**53 - 1  # whole number that every program reads as it is

Id = Annotated[int, Field(ge=1, le=LARGEST, examples=[1])]
Text = Annotated[str, Field(max_length=LONGEST_QUERY)]
IndexName = Annotated[Text | None, Field(description="Name of the index; the first where none is named.")]
Number = Annotated[float, Field(allow_inf_nan=False)]


class Parameters(BaseModel):
    """What a request of the API may say, and nothing else."""

    model_config = ConfigDict(extra="forbid")

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


class Ranked(OfIndex):
    """A query, and how scores are made."""

    q: Annotated[
        Text,
        Field(
            min_length=1, description="What to look for, in your own words.", examples=["where are the keys?"]
        ),
    ]
    mode: Annotated[
        Literal["hybrid", "dense", "lexical"],
        Field(description="What counts: meaning and words, meaning alone, words alone."),
    ] = "hybrid"
    weight: Annotated[
        Number | None,
        Field(
            ge=0, le=1, description="What meaning counts in the mode hybrid, from 0 to 1.", examples=[0.75]
        ),
    ] = None
    phrases: Annotated[bool, Field(description="Look for what stands in double quotes as one term.")] = False
    without: Annotated[
        list[Annotated[str, Field(max_length=100)]],
        Field(
            max_length=50, description="A word of the query that does not count as a word; say it for each."
        ),
    ] = Field(default_factory=list)

    @property
    def ranking(self) -> RankingOptions:
        """As `Index.explain` takes them."""
        return {"mode": self.mode, "weight": self.weight, "phrases": self.phrases, "without": self.without}


class Reranked(Ranked):
    """A query, how scores are made, and what looks at the best hits again."""

    rerank: Annotated[
        Literal["late"] | None,
        Field(description="Look at the best 30 hits again, by late interaction of tokens."),
    ] = None

    @property
    def ranking_and_rerank(self) -> RerankOptions:
        """As `Index.hit` takes them."""
        return {**self.ranking, "rerank": self.rerank}


class Filtered(Parameters):
    """Which passages are chosen from."""

    where: Annotated[
        Text | None, Field(description="A filter.", examples=["kind=markdown and not path:drafts/**"])
    ] = None
    since: Annotated[
        Annotated[str, Field(max_length=40)] | None,
        Field(description="Only files that changed at this time or later.", examples=["2020-05-01"]),
    ] = None


class Counted(Parameters):
    """How many hits."""

    k: Annotated[int, Field(ge=1, le=MOST_HITS, description="How many hits; with `group` documents.")] = 10
    per_document: Annotated[
        int, Field(ge=0, le=LAST_HIT, description="Most hits of one document; 0 for no limit.")
    ] = HITS_OF_A_DOCUMENT


class Selected(Counted, Filtered):
    """Which part of a ranking is an answer."""

    group: Annotated[bool, Field(description="The best documents, each with its best passages.")] = False
    offset: Annotated[
        int, Field(ge=0, le=LAST_HIT, description="How many hits to pass over; ranks go on counting.")
    ] = 0
    min_score: Annotated[Number | None, Field(description="Leave out what scores less.")] = None
    all_copies: Annotated[
        bool, Field(description="Show a text that stands in many documents for each of them.")
    ] = False

    @property
    def selection(self) -> SimilarOptions:
        """As `Index.similar` takes them."""
        return {
            "where": self.where,
            "since": self.since,
            "per_document": self.per_document,
            "group": self.group,
            "offset": self.offset,
            "min_score": self.min_score,
            "all_copies": self.all_copies,
        }


class Question(Selected, Reranked):
    """A query, how its hits are ranked, and which of them are shown."""

    @property
    def options(self) -> QueryOptions:
        """As `Index.query` takes them."""
        return cast(QueryOptions, {**self.ranking_and_rerank, **self.selection})


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

    def named(self, index: str, generation: int | None = None) -> Named:
        """As pages write it.

        Args:
            index: the name of the index that is asked.
            generation: the one that addresses are to be of; None for the one that was asked for.
        """
        return Named(
            index,
            self.q,
            self.mode,
            self.weight,
            self.where or "",
            self.since or "",
            self.k,
            self.per_document,
            tuple(self.without),
            generation or self.generation,
            int(self.phrases),
        )


async def _served(request: Request) -> Served:  # FastAPI has a thread for what is not async
    return request.app.state.served


async def _desk(request: Request) -> Desk:
    return request.app.state.desk


AskedQuery = Annotated[Asked, Query()]
ServedHere = Annotated[Served, Depends(_served)]
DeskHere = Annotated[Desk, Depends(_desk)]
