"""What tools are asked: the arguments of each, with what a client is told of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from search.records.options import FilterOptions, ModeOptions
from search.serving.fields import LONGEST_QUERY, Given, fields_of

MOST_TOKENS = 8_000
FEWEST_TOKENS = 300
LINES = r"^([0-9]{1,9})-([0-9]{1,9})$"

Text = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]
IndexName = Annotated[Text | None, Field(description="Name of an index; all where none is named.")]
Id = Annotated[str, Field(max_length=4_500, description="The id of a hit of search.")]
Query = Annotated[Text, Field(description="What to look for, in your own words.")]
Tokens = Annotated[
    int,
    Field(
        ge=FEWEST_TOKENS,
        le=MOST_TOKENS,
        description="How long the answer may be; four characters count as a token.",
    ),
]


class Ranked(Given):
    """A query; the options of its ranking follow."""

    query: Query


class Search(fields_of(FilterOptions, fields_of(ModeOptions, Ranked))):  # type: ignore[misc]
    """A query, and how much is wanted."""

    index: IndexName = None
    k: Annotated[int, Field(ge=1, le=20, description="How many hits.")] = 5
    next: Annotated[
        Text | None, Field(description="What an answer said as `next`; with the same query, the hits behind.")
    ] = None
    max_tokens: Tokens = 1_500


class Fetch(Given):
    """A passage, or lines of its document."""

    id: Id
    around: Annotated[
        int, Field(ge=0, le=10_000, description="How many lines before the passage and behind it, too.")
    ] = 20
    lines: Annotated[
        str | None,
        Field(
            max_length=30,
            description="Instead, these lines of its document, first and last: 120-180",
            json_schema_extra={"pattern": LINES},
        ),
    ] = None
    max_tokens: Tokens = 2_000


class Explain(fields_of(ModeOptions, Ranked)):  # type: ignore[misc]
    """A query, and a passage."""

    id: Id


class WhyNot(fields_of(FilterOptions, fields_of(ModeOptions, Ranked))):  # type: ignore[misc]
    """A query, and a document or passage."""

    document: Annotated[
        Text,
        Field(
            description="Path of a file within the indexed folder, maybe with a line (keys.md:31); or an id."
        ),
    ]
    index: IndexName = None
    k: Annotated[int, Field(ge=1, le=100, description="How many hits there were to be.")] = 5


class Status(Given):
    """Which index; all of them where none is named."""

    index: IndexName = None
