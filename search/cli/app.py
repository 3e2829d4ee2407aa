"""Table of the commands, error handling and exit codes.

Exit codes: 0 success, even without hits; 1 failure, with a one-line message that says what to do;
2 wrong usage; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from search import __version__
from search.cli.output import flushed, make_streams_usable, note
from search.errors import SearchError, is_of_memory
from search.plugins import function, plugins

_SETTINGS = {"help_option_names": ["-h", "--help"]}
# Packages whose versions --version prints.
_MATTERING = (
    "openvino torch transformers sentence-transformers faiss-cpu sqlite-utils typer numpy".split()
)
_LEFT_OUT = {
    "torch": "torch sentence-transformers", "transformers": "torch sentence-transformers", "sklearn": "scikit-learn",
    "sentence_transformers": "torch sentence-transformers", "scipy": "scipy",
}  # fmt: skip

# Panel -> command -> its function in `search.cli` and the first sentence of its help, in the order of the help.
_COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Search": {
        "index": ("index:index", "Index folders of text, or update their index."),
        "query": ("query:query", "Find the passages that best answer TEXT."),
        "search": ("search_as_you_type:search", "Search as you type, and read each hit in its document."),
        "similar": ("query:similar", "List the passages most similar to a passage or document."),
        "map": (
            "map:document_map",
            "Draw a map of an index: similar documents are close together.",
        ),
        "duplicates": ("query:duplicates", "List near-duplicate passages, largest cluster first."),
        "serve": ("serve:serve", "Serve a search page and an HTTP API."),
        "mcp": ("serve:mcp", "Let AI agents search, over the Model Context Protocol (MCP)."),
    },
    "Why": {
        "explain": ("explain:explain", "Explain the score of a passage for TEXT, word by word."),
        "contrast": ("explain:contrast", "Explain why passage A ranks above passage B for TEXT."),
        "why-not": ("explain:why_not", "Explain why a document is not among the hits for TEXT."),
        "similarity": ("explain:similarity", "Compare sentences, or with --tokens or --words two texts."),
    },
    "Indexes": {
        "upsert": ("index:upsert", "Add or replace documents by ID, from a JSON Lines or Parquet file."),
        "export": (
            "index:export",
            "Take an index elsewhere: print its documents, or write its embeddings to a file.",
        ),
        "status": ("index:status", "Show the contents of an index, and what was skipped."),
        "list": ("index:list_indexes", "List the indexes in your data folder."),
        "check": ("index:check", "Check whether an index is intact and up to date."),
        "move": ("index:move", "Tell an index the new path of a folder that you moved."),
        "remove": ("index:remove", "Delete an index; your files are not touched."),
        "models": ("index:models", "List embedding models to choose from, with published figures."),
        "config": ("config:config", "Show or set the default values of options."),
    },
    "Measure": {
        "eval": ("eval:evaluate", "Measure the quality of results on judged queries."),
    },
}


def _quick_value(param: Any, convert: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """Return the value of a parameter: texts and defaults unchanged, all others as `convert` returns them.

    Typer's own conversion imports Pydantic, which takes a tenth of the time of a query.
    """
    source = ctx.get_parameter_source(param.name)
    is_default = source is None or source.name in ("DEFAULT", "DEFAULT_MAP")
    is_text = param.type_descriptor.annotation in (str, list[str])
    is_missing = param.required and param.value_is_missing(value)
    if is_missing or not (is_default or is_text):
        return convert(ctx, value)
    return param.callback(ctx, param, value) if param.callback else value


class _Quick:
    """A command or group whose values are converted by `_quick_value`."""

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if not isinstance(param.process_value, partial):
                param.process_value = partial(_quick_value, param, param.process_value)
            if getattr(param, "is_flag", False):
                # Instead of <bool>, which leaves no room for names at 80 columns.
                param.metavar = ""
        return params


class LazyCommand(_Quick, TyperCommand):
    """A command that imports its function only when it runs; importing all takes longer than a query."""

    def __init__(self, path: str, source: str, about: str, panel: str | None) -> None:
        name = path.split()[-1]
        super().__init__(name, help=about, rich_help_panel=panel, context_settings=_SETTINGS)
        self._path, self._source = path, source

    def load(self) -> None:
        """Import the command's function; take the options and the help from its parameters and docstring."""
        from search.cli.options import flattened

        app = typer.Typer(add_completion=False)
        app.command()(flattened(function(self._source)))
        loaded: Any = typer.main.get_command(app)
        self.params, self.callback = loaded.params, loaded.callback
        self.help = re.sub(r"(?<!\n)\n(?!\n)", " ", loaded.help)  # join lines: Typer keeps breaks

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        self.load()
        if self._path != "config" and not extra.get("resilient_parsing"):
            from search.cli.config import defaults

            extra["default_map"] = defaults(self._path)
        return super().make_context(info_name, args, parent, **extra)


class Commands(_Quick, TyperGroup):
    """A group of commands."""


@cache
def commands() -> TyperGroup:
    """Return the root group of all commands; each command loads its options only when it runs."""
    app = typer.Typer(cls=Commands, no_args_is_help=True, context_settings=_SETTINGS)
    app.callback(help="Search folders of text by meaning; every score is explained.")(_root)
    groups = {"": cast("TyperGroup", typer.main.get_command(app))}
    for panel, of_panel in _COMMANDS.items():
        for name, (source, about) in of_panel.items():
            groups[""].add_command(LazyCommand(name, f"search.cli.{source}", about, panel))
    for plugin in plugins():
        for path, about in plugin.groups.items():
            above, _, name = path.rpartition(" ")
            groups[path] = Commands(
                name=name,
                help=about,
                no_args_is_help=True,
                rich_help_panel=None if above else plugin.panel,
                context_settings=_SETTINGS,
            )
            groups[above].add_command(groups[path])
        for path, (source, about) in plugin.commands.items():
            groups[path.rpartition(" ")[0]].add_command(LazyCommand(path, source, about, None))
    return groups[""]


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import PackageNotFoundError, version

        lines = [f"seewhy {__version__}", f"Python {sys.version.split()[0]}"]
        for package in _MATTERING:
            with suppress(PackageNotFoundError):
                lines.append(f"{package} {version(package)}")
        typer.echo("\n".join(lines))
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line and exit; every expected failure prints one line to stderr."""
    make_streams_usable()
    code = 1
    try:
        code = commands()(prog_name="seewhy", standalone_mode=False) or 0
    except typer.TyperException as error:  # wrong usage
        if wrong := " ".join(
            error.format_message().replace("Value error, ", "").split()
        ):  # "" if help was shown
            context: Any = getattr(error, "ctx", None)
            help_ = f" Help: {context.command_path} --help" if context else ""
            _complain(f"{wrong}{'' if wrong.endswith(('.', '?')) else '.'}{help_}")
        code = error.exit_code
    except typer.Abort:
        note("seewhy: stopped.")
    except SearchError as error:
        _complain(str(error))
    except ModuleNotFoundError as error:  # of a package that a slim installation leaves out
        if error.name not in _LEFT_OUT:
            raise
        _complain(f"this needs the package '{error.name}'. Run: pip install {_LEFT_OUT[error.name]}")
    except Exception as error:
        if (message := _of_the_system(error)) is None:
            raise
        _complain(message)
    sys.exit(code if flushed() else code or 1)


def _of_the_system(error: Exception) -> str | None:
    """Return the message for an error of the operating system; None for any other error, which is a bug."""
    if is_of_memory(error):
        return "not enough memory. Close other programs, or raise the limit (ulimit -v)."
    if isinstance(error, OSError):
        return f"{error.filename or 'input or output'}: {error.strerror or error}"
    if isinstance(error, UnicodeEncodeError) or "home directory" in str(error):
        return f"invalid argument: {error}"
    return None


def _complain(message: str) -> None:
    note(f"seewhy: {message}")
