"""Parameters of the API: those that it shares with pages, put together for each of its addresses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from search.errors import InputError
from search.index import Index
from search.records.options import MatrixOptions, declared
from search.serving.asked import (
    Counted,
    Filtered,
    Id,
    IndexName,
    OfIndex,
    Parameters,
    Question,
    Ranked,
    Reranked,
    Selected,
)
from search.serving.fields import Text, fields_of

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
