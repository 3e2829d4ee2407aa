"""How a function becomes a command, and options that several commands share, each declared once.

An option stands alone, or in a group that a command takes as one: a kind of `search.records.options`, or a frozen
dataclass. `spelled_out` makes an option of each of its fields. An option is called as its parameter is, unless it says
otherwise.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial, wraps
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAlias,
    cast,
    get_args,
    get_type_hints,
    is_typeddict,
)

import typer
from typer.core import TyperCommand, TyperGroup

from search.cli.values import in_plain_words
from search.errors import SearchError, quoted
from search.records import options

if TYPE_CHECKING:
    from search.cli.running import Answered
    from search.encoding import Encoder
    from search.index import Index
    from search.ranking.question import Question
    from search.records.hits import Hit
    from search.records.tokens import Layer
    from search.several import Indexes

    Asked: TypeAlias = Index | Indexes | Answered

NUMBER_OR_ONE = "[N]"  # the metavar of an option that means 1 where no number follows
MOST_IN_ONE_LIST = 12  # options and arguments; more are shown in panels

# What the command line could not make sense of, click's ClickException, of which typer names but one kind.
Usage: Any = typer.BadParameter.__mro__[2]

# Options of other programs for what is called otherwise here.
_CALLED_HERE = {
    **dict.fromkeys(("--limit", "--top", "--max-results", "--num-results", "-n"), "-k, the number of hits"),
    "--filter": "--where",
    "--glob": "--where, as in --where path:docs/**",
    "--threshold": "--min-score",
    "--output": "--format",
    "--verbose": "--explain or --timing",
}


class Group(TyperGroup):
    """Commands whose help lists them under the names of their panels, in the order in which these first come."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        in_plain_words(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        there = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        longest = max(len(name) for name, _ in there)
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in there:
            panel = getattr(command, "rich_help_panel", None)
            row = name.ljust(longest), command.get_short_help_str(formatter.width - 6 - longest)
            sections.setdefault(panel if isinstance(panel, str) else "Commands", []).append(row)
        for panel, rows in sections.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


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

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """An error names the way out, where what was meant can be told."""
        typed = list(args)
        in_plain_words(self.get_params(ctx))
        try:
            return super().parse_args(ctx, self._with_many(ctx, args))
        except Usage as error:
            if said := self._meant(error, typed):
                error.message, error.possibilities = said, None
            raise

    def _meant(self, error: Any, typed: list[str]) -> str:
        """What to say of an option that there is not, or of words too many; "" for what click says of it."""
        option = getattr(error, "option_name", "")
        text = next((arg for arg in typed if arg.startswith(option) and option), "")
        if text.startswith("---") or " " in text.partition("=")[0]:
            words = " ".join(map(quoted, (*(arg for arg in typed if arg != text), "--", text)))
            return f"a text that begins with '-' goes behind '--': {error.ctx.command_path} {words}"
        if option in _CALLED_HERE:
            return f"there is no option {option}; here it is {_CALLED_HERE[option]}"
        if "extra argument" in error.format_message() and any(str(p.metavar) == "TEXT" for p in self.params):
            pieces = [str(p.metavar) for p in self.params if p.param_type_name == "argument"]
            if not pieces:
                text = error.format_message().partition(" (")[2][:-1]
                by = "--head DIR" if self.name == "apply" else "--model MODEL"
                return f"Give the text with --text: {error.ctx.command_path} {by} --text {quoted(text)}"
            example = " ".join('"all words of the text"' if piece == "TEXT" else piece for piece in pieces)
            return f"a text of several words goes in quotes: {error.ctx.command_path} {example}"
        return ""

    def _with_many(self, ctx: Any, args: list[str]) -> list[str]:
        """An option that is listed with `WORD...` takes all words up to the next option.

        One with `[N]` takes a number, if there is one.
        """
        many = {name for param in self.params if str(param.metavar).endswith("...") for name in param.opts}
        maybe = {name for param in self.params if param.metavar == NUMBER_OR_ONE for name in param.opts}
        parsed: list[str] = []
        taking = ""
        for i, arg in enumerate(args):
            if arg == "--":
                return [*parsed, *args[i:]]
            if arg in many:
                taking = arg
                if i + 1 == len(args) or args[i + 1].startswith("-"):
                    raise typer.BadParameter(f"{arg} needs a word at least", ctx=ctx)
            elif arg.startswith("-"):
                taking = ""
                parsed.append(arg)
                if arg in maybe and not "".join(args[i + 1 : i + 2]).isdecimal():
                    parsed.append("1")
            else:
                parsed += [taking, arg] if taking else [arg]
        return parsed


def spelled_out(function: Callable[..., None]) -> Callable[..., None]:
    """The function with an option for every field of its groups of options.

    A group is a parameter whose type is a dataclass, whose fields are annotated as the parameters of a command are, or
    a kind of declared options. Typer sees the fields, the function gets the groups.
    """
    # get_type_hints of Python 3.10 hides the options that are None by default.
    hints = inspect.get_annotations(function, eval_str=True)
    groups: dict[str, Any] = {}
    once: list[str] = []
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(hints[name]) or is_typeddict(hints[name]):
            groups[name] = hints[name]
            parameters += _options_of(hints[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))

    for place, parameter in enumerate(parameters):
        if get_args(parameter.annotation)[:1] == (str | None,) and parameter.name == "index":
            _, *option = get_args(parameter.annotation)
            parameters[place] = parameter.replace(annotation=Annotated[(list[str] | None, *option)])
            once.append(parameter.name)

    @wraps(function)
    def command(**given: Any) -> None:
        given |= {name: _only(given[name]) for name in once}
        made = {
            name: group(**{option.name: given.pop(option.name) for option in _options_of(group)})
            for name, group in groups.items()
        }
        function(**given, **made)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _only(named: list[str] | None) -> str | None:
    """The index that is meant by a command that takes one.

    Raises:
        typer.BadParameter: several are named; else the last would win, and nobody would know.
    """
    if named and len(named) > 1:
        raise typer.BadParameter(
            f"this command takes one index, and {' and '.join(named)} are named. Several are for query and explain.",
            param_hint="--index",
        )
    return named[0] if named else None


@cache
def _options_of(group: Any) -> list[inspect.Parameter]:
    if is_typeddict(group):
        return [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=option.default,
                annotation=Annotated[_typed(type_), declared_option(group, name)],
            )
            for name, (type_, option) in options.declared(group).items()
        ]
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(group)
    ]


def declared_option(kind: type, name: str) -> Any:
    """An option of `search.records.options` as Typer takes it."""
    type_, option = options.declared(kind)[name]
    return typer.Option(
        *(option.flags or (f"--{name.replace('_', '-')}",)),
        metavar=option.metavar,
        help=f"{option.help[:-1]}; may be repeated." if type_ == Sequence[str] | None else option.help,
        min=option.ge,
        max=option.le,
        rich_help_panel=option.panel,
    )


def _typed(type_: Any) -> Any:
    """What is typed for an option of a type: words for a sequence, a text where it may be a number or a text."""
    if type_ == Sequence[str] | None:
        return list[str] | None
    return str | None if type_ == int | str | None else type_


Color = Literal["auto", "always", "never"]
COLORS: tuple[str, ...] = get_args(Color)


def panel(name: str) -> Callable[..., Any]:
    """An option that a long help lists in a panel of that name."""
    return partial(typer.Option, rich_help_panel=name)


ranking_option, hits_option, model_option, matrix_option = map(
    panel, ("Ranking", "Which hits", "Model", "Matrix")
)


def checkpoint(help_: str) -> Any:
    """--model of a command that reads with another checkpoint than the index's encoder."""
    return typer.Option("--model", metavar="NAME|FOLDER", help=help_)


def top_k(help_: str) -> Any:
    """-k, as the command counts."""
    return typer.Option("--top-k", "-k", min=1, help=help_)


def index_names(incomplete: str) -> list[str]:
    """The indexes of one's own whose names begin like this, for a shell that completes a word."""
    from search.store.layout import all_indexes

    names = [index.name for index in all_indexes()]
    return [name for name in [*names, *(["milvus://"] if incomplete else [])] if name.startswith(incomplete)]


def _or_stdin(typed: Any) -> Any:
    """What was typed, or what stands in standard input for "-"."""
    if typed not in ("-", ["-"], ("-",)):
        return typed
    from search.cli.output import text_of

    text = text_of("-", "Give a question.").strip()
    return text if isinstance(typed, str) else [text]


QueryArgument = Annotated[
    str,
    typer.Argument(metavar="TEXT", help="The query; - for standard input.", callback=_or_stdin),
]
# Of a command that takes nothing else, so that no quotes are needed; the words are joined.
WordsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="TEXT",
        help="What to look for, in your own words; - for standard input.",
        callback=_or_stdin,
    ),
]
IndexOption = Annotated[
    str | None,
    typer.Option(
        "--index",
        "-i",
        metavar="NAME|PATH",
        autocompletion=index_names,
        help="Which index, also milvus://HOST:PORT/NAME. Default: $SEEWHY_INDEX, the index of the folder you are in, "
        "or the only one.",
    ),
]
ServedIndexes = Annotated[
    list[str] | None,
    typer.Option(
        "--index",
        "-i",
        metavar="NAME|PATH",
        autocompletion=index_names,
        help="Which index, also milvus://HOST:PORT/NAME; may be repeated. Default: all of yours, first that of the "
        "folder you are in.",
    ),
]
IndexArgument = Annotated[
    str,
    typer.Argument(metavar="INDEX", autocompletion=index_names, help="Its name, as listed, or its path."),
]
ModelOption = Annotated[str | None, declared_option(options.ModelOptions, "model")]
PoolingOption = Annotated[str | None, declared_option(options.ModelOptions, "pooling")]
DeviceOption = Annotated[
    str | None,
    model_option(
        "--device", help="What the checkpoint runs on: cpu or cuda. Default: a GPU where there is one."
    ),
]
OfflineOption = Annotated[bool, model_option("--offline", help="Never call out to the Hugging Face hub.")]
WhereOption = Annotated[str | None, declared_option(options.FilterOptions, "where")]


LayerOption = Annotated[list[str] | None, declared_option(options.MatrixOptions, "layer")]


@dataclass(frozen=True)
class EngineOptions:
    """What an encoder runs on."""

    offline: OfflineOption = False
    engine: Annotated[str, model_option(help="auto, openvino or torch.")] = "auto"


@dataclass(frozen=True)
class EncoderOptions(EngineOptions):
    """Which encoder, and what it runs on; the keywords of `Encoder`."""

    model: ModelOption = None
    pooling: PoolingOption = None

    def load(self) -> Encoder:
        from search.encoding import Encoder
        from search.encoding.models import DEFAULT_MODEL

        return Encoder(**(vars(self) | {"model": self.model or DEFAULT_MODEL}))


@dataclass(frozen=True)
class IndexOptions(EngineOptions):
    """Which index, and what its encoder runs on."""

    index: IndexOption = None

    def open(self, model: str | None = None, pooling: str | None = None) -> Index:
        """The index; what `model` and `pooling` say has to be what it was made with."""
        from search.index import Index

        return Index.open(self.index, model=model, pooling=pooling, offline=self.offline, engine=self.engine)


UpdateOption = Annotated[
    bool,
    hits_option(
        "--update/--no-update",
        envvar="SEEWHY_UPDATE",
        help="First bring the index up to date with its folder.",
    ),
]


@dataclass(frozen=True)
class FreshIndexOptions(IndexOptions):
    """Which index, and whether it is brought up to date before it is asked."""

    update: UpdateOption = False

    def open(self, model: str | None = None, pooling: str | None = None, quiet: bool = False) -> Index:
        """The index, up to date if that was asked for and can be; else a note says why not, and it answers as it is."""
        opened = super().open(model, pooling)
        if self.update:
            _update(opened, quiet)
        return opened


@dataclass(frozen=True)
class AnyIndexOptions(EngineOptions):
    """Which index, or several that are asked as one, and whether they are brought up to date before."""

    index: Annotated[
        list[str] | None,
        typer.Option(
            "--index",
            "-i",
            metavar="NAME|PATH",
            autocompletion=index_names,
            help="Which index, also milvus://HOST:PORT/NAME; several are asked as one. Default: $SEEWHY_INDEX, that of "
            "the folder you are in, or the only one.",
        ),
    ] = None
    all_indexes: Annotated[
        bool, hits_option("--all-indexes", help="Ask all indexes of your data folder as one.")
    ] = False
    update: UpdateOption = False

    @property
    def may_be_served(self) -> bool:
        """Whether one index is meant, and it is asked as it is, by the usual engine."""
        several = self.all_indexes or len(self.index or ()) > 1
        return not several and not self.update and self.engine == "auto"

    @property
    def named(self) -> str | None:
        """The first that was named."""
        return self.index[0] if self.index else None

    def open(
        self, model: str | None = None, pooling: str | None = None, quiet: bool = False
    ) -> Index | Indexes:
        """As `FreshIndexOptions.open`; the `Indexes` where several are meant."""
        named = self.index or []
        if self.all_indexes and named:
            from search.cli.config import settings

            named = [] if named == [settings().get("index")] else named  # it was not typed
        if self.all_indexes and named:
            raise typer.BadParameter("--all-indexes asks all there are: leave --index out.")
        if not self.all_indexes and len(named) < 2:
            one = FreshIndexOptions(self.offline, self.engine, named[0] if named else None, self.update)
            return one.open(model, pooling, quiet)
        from search.several import Indexes

        opened = Indexes.open(
            named or None, model=model, pooling=pooling, offline=self.offline, engine=self.engine
        )
        for index in opened.all if self.update else ():
            _update(index, quiet)
        return opened


def _update(opened: Index, quiet: bool) -> None:
    """Bring an index up to date, and say what changed; or why it is not, as it answers all the same."""
    from search.cli.output import progress_bar, stopped_gently
    from search.cli.streams import note
    from search.render.reports import update_line

    try:
        with stopped_gently(quiet), progress_bar(quiet) as progress:
            report = opened.update(progress=progress)
    except SearchError as error:
        note(f"note: the index was not brought up to date: {error}", quiet)
    else:
        if not report.nothing_changed:
            note(update_line(report), quiet)


def index_of(opened: Any, hit: Hit) -> Index:
    """The index that a hit is of, among those that were asked."""
    return cast("Index", opened.of(hit) if hit.index else opened)


def to_update(opened: Index) -> str:
    """The command that brings an index up to date, as it is to be typed."""
    from search.render.format import shown_path
    from search.store.layout import is_address, place_for

    usual = is_address(opened.name) or place_for(opened.folders, None).resolve() == opened.path.resolve()
    shown = (shown_path(str(folder)) for folder in opened.folders.paths)
    return to_type("index", *shown, options="" if usual else f" --index {quoted(opened.name)}")


@dataclass(frozen=True)
class QuestionOptions:
    """What a query consists of beside its text."""

    also: Annotated[
        list[str] | None,
        ranking_option(
            "--and",
            metavar="TEXT[^W]",
            help="One more text that counts W times as much as the first; may be repeated.",
        ),
    ] = None
    like: Annotated[
        list[str] | None,
        ranking_option(
            metavar="PATH|ID[^W]", help="A passage or document that hits shall be like; may be repeated."
        ),
    ] = None
    unlike: Annotated[
        list[str] | None,
        ranking_option(
            metavar="PATH|ID[^W]", help="One that hits shall not be like; counts half if no W is given."
        ),
    ] = None

    def question(self, text: str) -> str | Question:
        """What is asked for: the text alone, or a question of several parts."""
        if not (self.also or self.like or self.unlike):
            return text
        from search.ranking.question import Question

        return Question.of(
            text,
            *map(_weighted, self.also or ()),
            like=list(map(_example, self.like or ())),
            unlike=list(map(_example, self.unlike or ())),
        )


def retyped(context: typer.Context, *names: str) -> str:
    """The options of these parameters that were given, once more, for another command."""
    words: list[str] = []
    for param in context.command.params:
        value = context.params[str(param.name)]
        configured = context.lookup_default(str(param.name))
        if param.name in names and value != (param.default if configured is None else configured):
            option = "-k" if param.name == "k" else param.opts[0]
            for one in value if isinstance(value, list | tuple) else [value]:
                words += [option] if one is True else [option, str(one)]
    return "".join(f" {quoted(word)}" for word in words)


def to_type(command: str, *arguments: str, options: str = "") -> str:
    """A command as it is to be typed, its options from `retyped`."""
    typed = " ".join(map(quoted, arguments))
    if any(argument.startswith("-") for argument in arguments):
        return f"seewhy {command}{options} -- {typed}"
    return f"seewhy {command} {typed}{options}"


def layer_of(typed: list[str] | None) -> Layer | None:
    """A layer as the library takes it, which says what is wrong with one that there is not.

    Raises:
        typer.BadParameter: there are several.
    """
    named = ",".join(typed or ())
    if "," in named:
        raise typer.BadParameter(f"--layer {named}: one at a time; several: layer=range(7) in Python")
    return int(named) if re.fullmatch(r"[+-]?\d+", named) else named or None  # type: ignore[return-value]


def passage_id(typed: str) -> int | None:
    """812 for "p812"; None for anything else."""
    number = re.fullmatch(r"p(\d+)", typed.strip())
    return int(number[1]) if number else None


def passage_or_path(typed: str) -> str | int:
    """A passage as it is listed (p812), or a path."""
    id_ = passage_id(typed)
    return typed if id_ is None else id_


def _weighted(typed: str) -> Any:
    """The text, or text and weight: "rotation^0.5"."""
    parts = re.fullmatch(r"(.+)\^(-?\d+(?:\.\d+)?)", typed, re.DOTALL)
    return (parts[1], float(parts[2])) if parts else typed


def _example(typed: str) -> Any:
    example = _weighted(typed)
    if isinstance(example, tuple):
        return passage_or_path(example[0]), example[1]
    return passage_or_path(example)
