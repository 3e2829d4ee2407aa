"""The commands, the way out for errors, exit codes.

Exit codes: 0 success, also with no hit (but for query --fail-if-nothing, then 1); 1 a failure, with one line that says
what to do; 2 wrong usage; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from functools import cache
from inspect import getdoc
from typing import Annotated

import typer

from search import __version__
from search.cli.ask import ask
from search.cli.config import config, defaults
from search.cli.eval import evaluate, evaluate_ner, evaluate_qa
from search.cli.explain import contrast, explain, why_not
from search.cli.fill import fill, follows
from search.cli.index import check, index, list_indexes, models, repair, status
from search.cli.inspect import inspect
from search.cli.interactive.command import search
from search.cli.label import label_apply, label_explain, label_remove, label_train, tag
from search.cli.options import Command, Group, GroupWithDefault, Usage, spelled_out
from search.cli.output import flushed, make_streams_usable, note
from search.cli.places import move, remove
from search.cli.query import query, similar
from search.cli.similarity import duplicates, similarity
from search.cli.train import train_classify, train_encoder, train_read, train_tag
from search.cli.vocabulary import vocabulary
from search.errors import SearchError, is_of_memory
from search.render.format import cut_in_the_middle, escape

# They answer and end, so garbage may lie about; see `search.__main__`.
_SOON_OVER = ("query", "explain", "contrast", "why-not", "similar", "similarity", "status", "list")


def _group(help_: str, name: str | None = None, kind: type[Group] = Group) -> typer.Typer:
    return typer.Typer(
        name=name,
        help=help_,
        cls=kind,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


# What Python says of arguments that it can do nothing with.
_NO_ARGUMENT = ("embedded null", "integer string conversion")

_LONGEST_NAME = 300  # of a path in a message

app = _group("Semantic search over a folder of text that shows its working.", "seewhy")
label = _group("Label passages or texts by a checkpoint or a trained head.")
train = _group("Train the encoder, or a head on it, on examples.", kind=GroupWithDefault)


# Panel -> command -> its function, in the order of the help.
_COMMANDS: dict[str, dict[str, Callable[..., None]]] = {
    "Search": {
        "index": index,
        "query": query,
        "search": search,
        "similar": similar,
        "duplicates": duplicates,
        "ask": ask,
    },
    "Why": {"explain": explain, "contrast": contrast, "why-not": why_not},
    "Indexes": {
        "status": status,
        "check": check,
        "repair": repair,
        "list": list_indexes,
        "move": move,
        "remove": remove,
        "models": models,
        "config": config,
    },
    "Laboratory": {
        "similarity": similarity,
        "inspect": inspect,
        "vocabulary": vocabulary,
        "fill": fill,
        "next": follows,
        "tag": tag,
        "eval": evaluate,
        "eval-qa": evaluate_qa,
        "eval-ner": evaluate_ner,
    },
}
_LABELS: dict[str, Callable[..., None]] = {
    "train": label_train,
    "apply": label_apply,
    "explain": label_explain,
    "remove": label_remove,
}

_TRAININGS: dict[str, Callable[..., None]] = {
    "encoder": train_encoder,
    "classify": train_classify,
    "tag": train_tag,
    "read": train_read,
}
_GROUPS = {"label": (label, _LABELS), "train": (train, _TRAININGS)}

for panel, commands in _COMMANDS.items():
    for name, function in commands.items():
        app.command(name, cls=Command, rich_help_panel=panel)(spelled_out(function))
for name, (group, commands) in _GROUPS.items():
    for of_group, function in commands.items():
        group.command(of_group, cls=Command)(spelled_out(function))
    app.add_typer(group, name=name, rich_help_panel="Laboratory")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"seewhy {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand not in (None, "config"):
        command, found = context.invoked_subcommand, defaults(context.invoked_subcommand)
        context.default_map = {
            command: dict.fromkeys(_GROUPS[command][1], found) if command in _GROUPS else found
        }
    if context.invoked_subcommand not in _SOON_OVER and not gc.isenabled():
        gc.freeze()
        gc.enable()


@cache
def _needed(first: str) -> typer.Typer:
    """As much of the command line as what is typed first needs, as making the options of every command takes 20 ms.

    A command that is named is there alone. Where commands are listed, they are there without their options. Anything
    else, as a name with a slip or a shell that completes it, needs all.
    """
    alone = copy(app)
    alone.registered_commands = [info for info in app.registered_commands if info.name == first]
    alone.registered_groups = [info for info in app.registered_groups if info.name == first]
    if alone.registered_commands or alone.registered_groups:
        return alone
    if first not in ("-h", "--help"):
        return app
    alone.registered_commands = list(map(copy, app.registered_commands))
    for info in alone.registered_commands:
        info.help, info.callback = getdoc(info.callback), lambda: None
    alone.registered_groups = app.registered_groups
    return alone


def main() -> None:
    """Run the command line; every expected failure ends in one line on stderr."""
    make_streams_usable()
    code = 1
    try:
        code = _needed("".join(sys.argv[1:2]))(prog_name="seewhy", standalone_mode=False) or 0
    except Usage as error:
        error.message = escape(error.message)
        with suppress(OSError):
            error.show()
        code = error.exit_code
    except typer.Abort:
        note("seewhy: stopped.")
    except SearchError as error:
        _complain(str(error))
    except Exception as error:
        if (message := _of_the_system(error)) is None:
            raise
        _complain(message)
    sys.exit(code if flushed() else code or 1)


def _of_the_system(error: Exception) -> str | None:
    """What to say of an error that the system gave, whoever asked it; None for any other error, which is a bug."""
    if is_of_memory(error):
        return "there is not enough memory. Close other programs, or allow this one more (ulimit -v)."
    if isinstance(error, FileNotFoundError) and not error.filename:
        return "the folder you are in is not there any more. Go to another with: cd"
    if isinstance(error, OSError):
        named = cut_in_the_middle(str(error.filename or "input or output"), _LONGEST_NAME)
        return f"{named}: {error.strerror or error}"
    if isinstance(error, UnicodeEncodeError) or any(words in str(error) for words in _NO_ARGUMENT):
        return "an argument is no text, no number or no name of a file that there can be. Type it anew."
    if "home directory" in str(error):  # pathlib's RuntimeError
        return "a path begins with ~ and the name of a user who has no home folder here. Write it out."
    return None


def _complain(message: str) -> None:
    note(f"seewhy: {message}")
