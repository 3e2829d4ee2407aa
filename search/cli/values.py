"""What was typed -> the values of arguments and options, by plain Python, with errors in plain words.

Typer has Pydantic do that, which takes as long to load as a tenth of a query, and speaks in its own words. What is no
text, number, path or choice is left to Typer.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

_ON, _OFF = ("true", "1", "yes", "on", "y", "t"), ("false", "0", "no", "off", "n", "f", "")
_NUMBERS: dict[Any, str] = {int: "a whole number", float: "a number"}


def in_plain_words(parameters: list[Any]) -> None:
    """Have the values of a command's parameters made here, where Typer has a place for that."""
    for parameter in parameters:
        descriptor = getattr(parameter, "type_descriptor", None)
        if descriptor is not None and hasattr(parameter, "_runtime_param"):
            annotation = descriptor.annotation
            many = get_origin(annotation) is list
            if make := _maker(
                (get_args(annotation) or (str,))[0] if many else annotation, descriptor.parameter_info
            ):
                parameter._runtime_param = _Values(make, many)


class _Values:
    """Makes the values of one parameter; stands where Typer has its own."""

    def __init__(self, make: Callable[[Any], Any], many: bool) -> None:
        self._make, self._many = make, many

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """
        Raises:
            typer.BadParameter: what was typed is none.
        """
        if value is None:
            return () if self._many else None
        try:
            return [self._make(one) for one in value] if self._many else self._make(value)
        except ValueError as error:
            raise typer.BadParameter(f"{error}.", ctx=ctx, param=param) from None


def _maker(kind: Any, info: Any) -> Callable[[Any], Any] | None:
    """What makes a value of a kind out of what was typed; None for kinds that are not known here."""
    if kind is str:
        return str
    if kind is Path:
        return Path
    if kind is bool:
        return _switch
    if kind in _NUMBERS:
        return lambda typed: _number(kind, typed, info.min, info.max)
    if get_origin(kind) is Literal:
        return lambda typed: _choice(typed, get_args(kind))
    return None


def _number(kind: Any, typed: Any, least: float | None, most: float | None) -> Any:
    try:
        value = kind(typed)
    except ValueError:
        raise ValueError(f"'{typed}' is not {_NUMBERS[kind]}") from None
    if (least is not None and not value >= least) or (most is not None and not value <= most):
        bounds = [
            f"{least:g} or more" if least is not None else "",
            f"{most:g} or less" if most is not None else "",
        ]
        raise ValueError(f"{typed} is out of range: give {' and '.join(filter(None, bounds))}")
    return value


def _switch(typed: Any) -> bool:
    """A switch that was given, or what a variable says of it."""
    said = str(typed).strip().lower()
    if said in _ON or said in _OFF:
        return said in _ON
    raise ValueError(f"'{typed}' is neither on nor off: write 1 or 0")


def _choice(typed: Any, choices: tuple[Any, ...]) -> Any:
    if typed in choices:
        return typed
    raise ValueError(f"'{typed}' is none of {', '.join(choices)}")
