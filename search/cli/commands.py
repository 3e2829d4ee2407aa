"""How a function becomes a command: groups of options spelled out, and help in sections."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache, wraps
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand

MOST_IN_ONE_LIST = 12  # options and arguments; more are shown in panels


class Command(TyperCommand):
    """A command whose help lists options under the names of their panels, if there are many, as plain text.

    Typer draws panels with rich, which a quick `--help` has no time to load.
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:
        params = self.get_params(ctx)
        in_panels = len(params) > MOST_IN_ONE_LIST
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in params:
            main = "Arguments" if param.param_type_name == "argument" else "Options"
            panel = getattr(param, "rich_help_panel", None) if in_panels else None
            if record := param.get_help_record(ctx):
                sections.setdefault(panel or main, []).append(record)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class ManyWords(Command):
    """A command one of whose options takes all words up to the next option."""

    option = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        parsed: list[str] = []
        taking = False
        for i, arg in enumerate(args):
            if arg == "--":
                return super().parse_args(ctx, [*parsed, *args[i:]])
            if arg == self.option:
                taking = True
                if i + 1 == len(args) or args[i + 1].startswith("-"):
                    raise typer.BadParameter(f"{self.option} needs a word at least", ctx=ctx)
            elif arg.startswith("-"):
                taking = False
                parsed.append(arg)
            else:
                parsed += [self.option, arg] if taking else [arg]
        return super().parse_args(ctx, parsed)


def spelled_out(function: Callable[..., None]) -> Callable[..., None]:
    """The function with an option for every field of its groups of options.

    A group is a parameter whose type is a dataclass; its fields are annotated as the parameters of a command are.
    Typer sees the fields, the function gets the groups.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            parameters += _options_of(hints[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))

    @wraps(function)
    def command(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        function(**given, **made)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


@cache
def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(group)
    ]
