"""Options that several commands share, and the conversion of functions to commands.

A parameter of a command's function is an option or a group of options. A group is a frozen dataclass
or a TypedDict of `search.records.options`. `flattened` makes an option of each field of a group.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints, is_typeddict

import typer

from search.cli.output import note, progress_bar, stopped_gently
from search.errors import IndexNotFound, SearchError
from search.records import option_tools, options
from search.records.filter_text import Filter
from search.records.options import EngineName

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.index import Index
    from search.indexes import Indexes
    from search.records.reports import Lazy, Report
    from search.records.tokens import Layer

    Searchable: TypeAlias = Index | Indexes


def flattened(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function for Typer, with a parameter for each field of the groups of options."""
    # In Python 3.10, get_type_hints wraps the hint of a parameter that is None by default, which hides its option.
    hints = inspect.get_annotations(function, eval_str=True)
    groups = {
        name: (hint, _options_of(hint))
        for name, hint in hints.items()
        if is_dataclass(hint) or is_typeddict(hint)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        plain = parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY)
        parameters += groups[name][1] if name in groups else [plain]

    @wraps(function)
    def command(**values: Any) -> None:
        arguments = {
            name: group(**{option.name: values.pop(option.name) for option in of_group})
            for name, (group, of_group) in groups.items()
        }
        function(**values, **arguments)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _options_of(group: Any) -> list[inspect.Parameter]:
    if is_typeddict(group):
        named = [
            (name, option.default, Annotated[_typed(type_), declared_option(group, name)])
            for name, (type_, option) in option_tools.declared(group).items()
        ]
    else:
        hints = get_type_hints(group, include_extras=True)
        named = [(field.name, field.default, hints[field.name]) for field in fields(group)]
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, default, annotation in named
    ]


def declared_option(kind: type, name: str) -> Any:
    """Return the Typer option for the field `name` of a TypedDict of `search.records.options`."""
    type_, option = option_tools.declared(kind)[name]
    return typer.Option(
        *(option.flags or (f"--{name.replace('_', '-')}",)),
        metavar=option.metavar,
        help=f"{option.help[:-1]}; may be repeated." if type_ == Sequence[str] | None else option.help,
        min=option.ge,
        max=option.le,
        rich_help_panel=option.panel,
    )


def _typed(type_: Any) -> Any:
    """Return the type of an option for Typer: list[str] for a sequence, str for `int | str` and for filters."""
    if type_ == Sequence[str] | None:
        return list[str] | None
    return str | None if type_ in (int | str | None, Filter | None) else type_


def panel(name: str) -> Callable[..., Any]:
    """Return a function that declares options, which the help lists under the heading `name`."""
    return partial(typer.Option, rich_help_panel=name)


hits_option, model_option, matrix_option = map(panel, ("Which hits", "Model", "Matrix"))


def checkpoint(help_: str) -> Any:
    """Return the option --model of a command whose model is not the encoder of an index."""
    return typer.Option("--model", metavar="NAME|FOLDER", help=help_)


QueryArgument = Annotated[
    str,
    typer.Argument(metavar="TEXT", help="The query."),
]
# The only argument of a command. Its words are joined, so that TEXT needs no quotes.
WordsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="TEXT",
        help="The query, in your own words. Add '\"two words\" -word path:mail/**' to find only passages with this "
        "phrase, without this word, in this folder.",
    ),
]


def index_option(help_: str, **more: Any) -> Any:
    """Return the option --index (-i) of a command."""
    return typer.Option("--index", "-i", metavar="NAME|PATH", help=help_, **more)


IndexOption = Annotated[
    str | None,
    index_option(
        "Name, path or milvus://HOST:PORT/NAME. Default: $SEEWHY_INDEX, the current folder's, or the only one."
    ),
]
ServedIndexes = Annotated[
    list[str] | None,
    index_option("Name, path or milvus://HOST:PORT/NAME; may be repeated. Default: all indexes."),
]
IndexArgument = Annotated[
    str,
    typer.Argument(metavar="INDEX", help="Name (see seewhy list) or path."),
]
ModelOption = Annotated[str | None, declared_option(options.ModelOptions, "model")]
PoolingOption = Annotated[options.Pooling | None, declared_option(options.ModelOptions, "pooling")]
OfflineOption = Annotated[bool, model_option("--offline", help="Never access the Hugging Face Hub.")]
WhereOption = Annotated[str | None, declared_option(options.FilterOptions, "where")]


LayerOption = Annotated[str | None, declared_option(options.MatrixOptions, "layer")]


@dataclass(frozen=True)
class EngineOptions:
    """Engine of an encoder, and access to the Hugging Face Hub."""

    offline: OfflineOption = False
    engine: Annotated[EngineName, model_option(help="Inference engine.")] = "auto"


@dataclass(frozen=True)
class EncoderChoice(EngineOptions):
    """An encoder and its engine; the keywords of `Encoder`."""

    model: ModelOption = None
    pooling: PoolingOption = None

    def load(self) -> Encoder:
        from search.encoding import Encoder
        from search.encoding.models import DEFAULT_MODEL

        return Encoder(**(vars(self) | {"model": self.model or DEFAULT_MODEL}))


@dataclass(frozen=True)
class IndexOptions(EngineOptions):
    """An index, and the engine of its encoder."""

    index: IndexOption = None

    def open(self) -> Index:
        from search.index import Index

        return Index.open(self.index, offline=self.offline, engine=self.engine)


@dataclass(frozen=True)
class AnyIndexOptions(EngineOptions):
    """Options that choose the indexes to search, and whether to update them first."""

    index: Annotated[
        list[str] | None,
        index_option(
            "Name or path; may be repeated. Default: $SEEWHY_INDEX, the current folder's, or the only one."
        ),
    ] = None
    folder: Annotated[
        Path | None,
        hits_option(
            "--in", metavar="FOLDER", help="Search this folder, which need not have been indexed before."
        ),
    ] = None
    all_indexes: Annotated[
        bool, hits_option("--all-indexes", help="Search all indexes in your data folder.")
    ] = False
    update: Annotated[
        bool | None,
        hits_option(
            "--update/--no-update",
            envvar="SEEWHY_UPDATE",
            help="Update the index first. Default: only if the update takes less than a second.",
        ),
    ] = None

    def open(self, quiet: bool = False) -> Index | Indexes:
        """Open the index, or several as one; update each on request, or by default if that is quick."""
        from search.index import Index
        from search.indexes import Indexes

        named = self.index or []
        keywords: dict[str, Any] = {"offline": self.offline, "engine": self.engine}
        opened: Index | Indexes
        if self.folder:
            if named or self.all_indexes:
                raise typer.BadParameter("give either a folder or an index.")
            opened = self._of_folder(self.folder, quiet, keywords)
        elif self.all_indexes or len(named) > 1:
            opened = Indexes.open(None if self.all_indexes else named, **keywords)
        else:
            opened = Index.open(*named, **keywords)
        for index in opened.all if isinstance(opened, Indexes) else [opened]:
            if index.report:  # it was just made
                continue
            if self.update:
                _update(index, quiet)
            elif self.update is None:
                _catch_up(index, quiet)
        return opened

    def _of_folder(self, folder: Path, quiet: bool, keywords: dict[str, Any]) -> Index:
        """Open the index of a folder; if there is none, store its text, so that it can be asked for."""
        from search.cli.config import model_for_new_indexes
        from search.index import Index
        from search.store.layout import index_path_for, is_index
        from search.store.settings import Folders

        if is_index(index_path_for(Folders.of(folder), None)):
            with suppress(IndexNotFound):
                return Index.open(folder, **keywords)
        model: dict[str, Any] = {"model": model_for_new_indexes()}
        with stopped_gently(quiet), progress_bar(quiet) as progress:
            return Index.build(folder, lazy="once", progress=progress, **keywords, **model)


def split_folder(words: Sequence[str]) -> tuple[str, Path | None]:
    """Return the text of a query, and the folder that was typed after it; None if there is none.

    The last argument is a folder if there is one of this name, and if it is written as a path, or the text before it is
    a single argument in quotes.
    """
    *text, last = words
    is_path = last in (".", "..") or last.startswith("~") or "/" in last or os.sep in last
    is_apart = len(text) == 1 and " " in text[0]
    if text and (is_path or is_apart):
        folder = Path(last).expanduser()
        if folder.is_dir():
            return " ".join(text), folder
    return " ".join(words), None


def _update(opened: Index, quiet: bool, lazy: Lazy | None = None) -> None:
    """Update an index and note the changes; only note a failure, as the old index can be searched."""
    try:
        with stopped_gently(quiet), progress_bar(quiet) as progress:
            _note_changes(opened.update(progress=progress, lazy=lazy), quiet)
    except (SearchError, OSError) as error:
        note(f"note: the index could not be updated: {error}", quiet)


def _catch_up(opened: Index, quiet: bool) -> None:
    """Update an index if that is quick; note what is left, as the old index can be searched."""
    try:
        from search.index import searcher_of

        pending = searcher_of(opened).pending_update()
    except (SearchError, OSError):  # the query itself meets the same error
        return
    if pending == "small":
        # In an index that is not complete, the update does not wait for the other passages.
        is_incomplete = searcher_of(opened).store.incomplete
        _update(opened, quiet, "once" if is_incomplete else None)
    elif pending == "large":
        from search.store.home import index_command

        command = index_command(opened.path, searcher_of(opened).store.facts.folders)
        note(
            f"note: the folder has changed since it was indexed. To update the index, run: {command}",
            quiet,
        )


def _note_changes(report: Report, quiet: bool) -> None:
    from search.render.reports import update_line

    if not report.nothing_changed:
        note(update_line(report), quiet)


def layer_of(typed: str | None) -> Layer | None:
    """Convert the text of --layer: return 3 for "3", and "middle", "last" or None unchanged."""
    return int(typed) if re.fullmatch(r"[+-]?\d{1,9}", typed or "") else typed  # type: ignore[arg-type]


def passage_id(typed: str) -> int | None:
    """Parse a passage ID: return 812 for "p812", and None for any other text."""
    number = re.fullmatch(r"p(\d{1,18})", typed.strip())
    return int(number[1]) if number else None


def passage_or_path(typed: str) -> str | int:
    """Parse a passage ID or a path: return 812 for "p812", and a path unchanged."""
    id_ = passage_id(typed)
    return typed if id_ is None else id_
