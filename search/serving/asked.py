"""Parameters that pages and API share, with the names that the library and the command line give them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Depends, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from search.records.options import HITS_OF_A_DOCUMENT, QueryOptions
from search.serving.desk import Desk
from search.serving.served import Served


class Asked(BaseModel):
    """A query, and how its hits are ranked and chosen."""

    model_config = ConfigDict(extra="ignore")

    index: Annotated[str | None, Field(description="Name of the index; the first where none is named.")] = (
        None
    )
    q: Annotated[str, Field(description="What to look for, in your own words.")] = ""
    mode: Annotated[Literal["hybrid", "dense", "lexical"], Field(description="What counts.")] = "hybrid"
    weight: Annotated[float | None, Field(ge=0, le=1, description="What meaning counts.")] = None
    where: Annotated[str | None, Field(description="A filter, such as path:docs/**")] = None
    since: Annotated[str | None, Field(description="Only files that changed since: 7d, or 2024-05-01.")] = (
        None
    )
    k: Annotated[int, Field(ge=1, description="How many hits.")] = 10
    per_document: Annotated[int, Field(ge=0, description="Most hits of one document; 0 for no limit.")] = (
        HITS_OF_A_DOCUMENT
    )

    @property
    def options(self) -> QueryOptions:
        """As `Index.query` takes them."""
        return {
            "mode": self.mode,
            "weight": self.weight if self.mode == "hybrid" else None,
            "where": self.where or None,
            "since": self.since or None,
            "per_document": self.per_document,
        }


def _served(request: Request) -> Served:
    return request.app.state.served


def _desk(request: Request) -> Desk:
    return request.app.state.desk


AskedQuery = Annotated[Asked, Query()]
ServedHere = Annotated[Served, Depends(_served)]
DeskHere = Annotated[Desk, Depends(_desk)]
