"""Build Pydantic models for HTTP and MCP requests from the declared options, with limits on sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from search.errors import InputError, quoted
from search.records.filter_text import Filter
from search.records.option_tools import declared, select_options

LONGEST_QUERY = 2_000  # characters of a query or filter
LAST_HIT = 10_000  # highest rank of a hit
MOST_HITS = 100  # hits in one answer

Text = Annotated[str, Field(max_length=LONGEST_QUERY)]
LayerName = (
    Annotated[int, Field(ge=0, le=1_000)]
    | Annotated[str, Field(pattern=r"^(middle|last|(mean|sum|concat):\d{1,3})$")]
    | None
)
T = TypeVar("T")

_BY_TYPE: dict[Any, Any] = {
    int: Annotated[int, Field(le=LAST_HIT)],
    float | None: Annotated[float, Field(allow_inf_nan=False)] | None,
    str | None: Text | None,
    Filter | None: Text | None,
    Sequence[str] | None: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=50)],
}
_BY_NAME: dict[str, Any] = {
    "k": Annotated[int, Field(le=MOST_HITS)],
    "rerank": Literal["late"] | None,  # a cross-encoder would be downloaded
    "layer": LayerName,
}


class RequestModel(BaseModel):
    """Base class of parameters and request bodies; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    if TYPE_CHECKING:

        def __getattr__(self, option: str) -> Any:
            """Stand for the fields that `with_options` adds."""

        def __setattr__(self, option: str, value: Any) -> None: ...

    def of(self, kind: type[T]) -> T:
        """Return the request's fields as an instance of the option class `kind`."""
        return select_options(dict(self), kind)


Model = TypeVar("Model", bound=RequestModel)


def with_options(*kinds: type) -> Callable[[type[Model]], type[Model]]:
    """Return a class decorator that adds a field for each option of the option classes `kinds`."""
    fields: Any = {}
    for kind in kinds:
        for name, (type_, option) in declared(kind).items():
            limited = _BY_NAME.get(name, _BY_TYPE.get(type_, type_))
            about = Field(description=option.help, ge=option.ge, le=option.le)
            default = Field(default_factory=list) if type_ == Sequence[str] | None else option.default
            fields[name] = (Annotated[limited, about], default)

    def add(model: type[Model]) -> type[Model]:
        return create_model(
            model.__name__, __base__=model, __doc__=model.__doc__, __module__=model.__module__, **fields
        )

    return add


def as_next(generation: int, offset: int) -> str:
    """Return the value of `next` that requests the items after the first `offset`."""
    return f"{generation}-{offset}"


def of_next(value: str) -> tuple[int, int]:
    """Return the generation and the offset in a value of `next`.

    Raises:
        InputError: the value does not come from `as_next`.
    """
    match = re.fullmatch(r"([0-9]{1,16})-([0-9]{1,16})", value)
    if match is None or int(match[2]) > LAST_HIT:
        raise InputError(f"{quoted(value[:80])} is not valid for next. Copy it from an answer.")
    return int(match[1]), int(match[2])
