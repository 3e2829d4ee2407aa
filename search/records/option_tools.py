"""Options in use: defaults, validation, the options in a docstring; and `Ranking`, the definition of a score.

An option class is one of the TypedDicts in `search.records.options`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

from search.errors import InputError
from search.records.options import LATE_SHARE, WEIGHT, Mode, Option, RerankOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def declared(kind: type) -> dict[str, tuple[Any, Option]]:
    """Return name -> (type, declaration) of each option of an option class, in the order of declaration."""
    return {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in kind.__annotations__.items()}


@cache
def defaults(kind: type) -> dict[str, Any]:
    """Return name -> default of each option of an option class."""
    return {name: option.default for name, (_, option) in declared(kind).items()}


def changed(options: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """Return the options of an option class that differ from their defaults."""
    return {
        name: options[name]
        for name, value in defaults(kind).items()
        if options[name] not in (value, [], ())
    }


def documented(kind: type) -> Callable[[Function], Function]:
    """Decorator that appends the options of an option class to the docstring of a function."""

    def document(function: Function) -> Function:
        lines = (f"    {name}: {option.help}" for name, (_, option) in declared(kind).items())
        function.__doc__ = "\n".join((cleandoc(function.__doc__ or ""), "", "Options:", *lines))
        return function

    return document


def select_options(options: Mapping[str, Any], kind: type[T]) -> T:
    """Return the options that belong to the option class `kind`."""
    selected = {name: value for name, value in options.items() if name in kind.__annotations__}
    return selected  # type: ignore[return-value]


def split_options(options: Mapping[str, Any], *kinds: type) -> list[dict[str, Any]]:
    """Split options by option class.

    Raises:
        TypeError: an option belongs to no class, so it is an unknown keyword argument.
    """
    names = {name: None for kind in kinds for name in kind.__annotations__}
    if unknown := options.keys() - names.keys():
        raise TypeError(f"unknown option '{min(unknown)}'. Choose from: {', '.join(names)}")
    return [select_options(options, kind) for kind in kinds]


def complete(options: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """Validate options of an option class, and add the defaults of missing options.

    Raises:
        TypeError: unknown option.
        InputError: a value is not one of the choices, not a number, or out of range.
    """
    split_options(options, kind)
    for name, value in options.items():
        type_, option = declared(kind)[name]
        if value is not None or option.default is not None:
            _require_valid(name, value, type_, option)
    return {**defaults(kind), **options}


def _require_valid(name: str, value: Any, type_: Any, option: Option) -> None:
    if get_origin(type_) is Literal and value not in get_args(type_):
        raise InputError(f"unknown {name} '{value}'. Choose one of: {', '.join(get_args(type_))}.")
    if value is None:
        raise InputError(f"{name} is None. Leave it out for the default, {option.default}.")
    if isinstance(value, float) and math.isnan(value):
        raise InputError(f"{name} is not a number.")
    if option.le is not None and value > option.le:
        raise InputError(f"{name} is {value}; the maximum is {option.le:g}.")
    if option.ge is not None and value < option.ge:
        raise InputError(f"{name} is {value}; the minimum is {option.ge:g}.")


@dataclass(frozen=True)
class Ranking:
    """Definition of the score; create one with `Ranking.of`.

    Attributes:
        mode: "hybrid": `score = weight * cosine + (1 - weight) * lexical`, with the keyword score `lexical` (see
            `Hit`). "dense": the cosine alone. "lexical": the keyword score alone; passages without any word of the
            query are left out.
        weight: weight of the cosine, in [0, 1].
        rerank: "late" to rerank the best passages by late interaction, the name of a cross-encoder to rerank them with
            it (ranking/rerank.py), "" for neither.
        without: query words that are left out. They add nothing to the keyword score, whose scale stays, and what they
            add to the query's embedding is taken out (`search.explaining.left_out`). Rerankers read the whole query.
    """

    mode: Mode
    weight: float
    rerank: str
    without: tuple[str, ...]

    @classmethod
    def of(cls, **options: "Unpack[RerankOptions]") -> "Ranking":
        """Create a ranking from options; missing options have their defaults.

        Raises:
            InputError: a value is not one of the choices or out of range, or a weight with another mode than "hybrid".
        """
        own = complete(options, RerankOptions)
        mode, weight, without = own["mode"], own["weight"], own["without"]
        if weight is not None and mode != "hybrid":
            raise InputError(f"weight applies only to mode 'hybrid', not to '{mode}'. Omit one of them.")
        fixed = {"dense": 1.0, "lexical": 0.0}
        own["weight"] = fixed.get(mode, WEIGHT if weight is None else float(weight))
        own["without"] = (without,) if isinstance(without, str) else tuple(without or ())
        return cls(**{**own, "rerank": own["rerank"] or ""})

    @property
    def first_share(self) -> float:
        """Weight of the score before reranking in the final score: 1 without a reranker, 0 with a cross-encoder."""
        return {"": 1.0, "late": 1 - LATE_SHARE}.get(self.rerank, 0.0)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Words that are left out of the query's embedding."""
        return self.without if self.by_meaning else ()

    @property
    def by_meaning(self) -> bool:
        """True if the score uses embeddings."""
        return self.weight > 0
