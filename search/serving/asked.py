"""Parameters that pages and API share, with the names that the library and the command line give them.

Those of the API are taken as they are meant or not at all: an unknown one is an error that names the nearest. Pages
take what a form sends and a link of another version holds (`Asked`).
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any, Literal

from fastapi import Depends, Query
from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from starlette.requests import Request

from search.records.options import (
    FilterOptions,
    ListOptions,
    RankingOptions,
    RankOptions,
    RerankOptions,
    SelectionOptions,
)
from search.render.format import escape
from search.render.page.hits import Asked as Named
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

    def named(self, index: str, generation: int | None = None) -> Named:
        """As pages write it.

        Args:
            index: the name of the index that is asked.
            generation: the one that addresses are to be of; None for the one that was asked for.
        """
        return Named(
            index=index, q=self.q, k=self.k, generation=generation or self.generation, **self.of(RankOptions)
        )


async def _served(request: Request) -> Served:  # FastAPI has a thread for what is not async
    return request.app.state.served


async def _desk(request: Request) -> Desk:
    return request.app.state.desk


AskedQuery = Annotated[Asked, Query()]
ServedHere = Annotated[Served, Depends(_served)]
DeskHere = Annotated[Desk, Depends(_desk)]
