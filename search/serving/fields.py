"""Declared options -> fields of the models that HTTP and MCP take, with limits for what comes over a wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from search.records.options import declared, part_of

LONGEST_QUERY = 2_000  # characters; of a filter likewise
LAST_HIT = 10_000  # how far a list of hits goes

Text = Annotated[str, Field(max_length=LONGEST_QUERY)]
T = TypeVar("T")

_LIMITED: dict[Any, Any] = {
    int: Annotated[int, Field(le=LAST_HIT)],
    float | None: Annotated[float, Field(allow_inf_nan=False)] | None,
    str | None: Text | None,
    Sequence[str] | None: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=50)],
}


class Given(BaseModel):
    """What a request may say, and nothing else."""

    model_config = ConfigDict(extra="forbid")

    def of(self, kind: type[T]) -> T:
        """The options of a kind, as the library takes them."""
        return part_of(dict(self), kind)


def fields_of(kind: type, base: type[Given] = Given, **types: Any) -> Any:
    """A model with a field for each option of a kind.

    Args:
        types: of options that HTTP or MCP takes in another form.
    """
    fields: Any = {}
    for name, (type_, option) in declared(kind).items():
        limited = types.get(name, _LIMITED.get(type_, type_))
        examples = None if option.example is None else [option.example]
        about = Field(description=option.help, ge=option.ge, le=option.le, examples=examples)
        default = Field(default_factory=list) if type_ == Sequence[str] | None else option.default
        fields[name] = (Annotated[limited, about], default)
    return create_model(kind.__name__, __base__=base, **fields)
