"""Parameters of the API: those that it shares with pages, put together for each of its addresses."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

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
    Text,
)

MOST_EXPLAINED = 10  # hits of one answer, with their matrices
MOST_TEXTS = 100  # that are compared with each other

Sentence = Annotated[Text, Field(min_length=1)]
LayerName = Annotated[
    Annotated[int, Field(ge=0, le=1_000)] | Literal["middle", "last"],
    Field(description="Whose token vectors `similarity` compares: a number, 0 for the embedding layer."),
]


class Listed(Selected):
    """Which part of a ranking is an answer, or the part behind an answer."""

    next: Annotated[
        Annotated[str, Field(max_length=100)] | None,
        Field(description="What an answer said as `next`, to have the hits behind its own."),
    ] = None


class Search(Listed, Question):
    """A query of the API."""

    explain: Annotated[
        bool,
        Field(
            description=f"Give each hit its explanation, with all matrices; k is {MOST_EXPLAINED} at most."
        ),
    ] = False
    layer: LayerName | None = None

    @model_validator(mode="after")
    def not_too_much(self) -> Search:
        """
        Raises:
            PydanticCustomError: more matrices than one answer holds.
        """
        if self.explain and self.k > MOST_EXPLAINED:
            raise PydanticCustomError(
                "said",
                f"k is {self.k}, and with explain it must be {MOST_EXPLAINED} or less. Ask in parts, by next.",
            )
        return self


class Explain(Reranked):
    """A query and a passage of its index."""

    passage: Annotated[Id, Field(description="The id of a passage, `passage_id` of a hit.")]
    layer: LayerName | None = None
    check: Annotated[
        bool,
        Field(description="Cut out the words that count most and encode the rest: does the score fall?"),
    ] = False


class Contrast(Ranked):
    """A query and two passages of its index."""

    a: Annotated[Id, Field(description="The id of a passage.")]
    b: Annotated[Id, Field(description="The id of another.")]


class WhyNot(Counted, Filtered, Ranked):
    """A query, and a passage that is not among its hits."""

    passage: Annotated[Id, Field(description="The id of the passage.")]


class Similar(Listed, OfIndex):
    """A passage, and which of those that are like it are shown."""

    passage: Annotated[Id, Field(description="The id of the passage.")]
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
    layer: LayerName | None = None


class Inspect(Parameters):
    """A text or a pair that the model of an index reads."""

    index: IndexName = None
    text: Annotated[
        Sentence, Field(description="What the model reads.", examples=["The key is in the lock."])
    ]
    text2: Annotated[Sentence | None, Field(description="The second text of a pair.")] = None
