"""The commands, the way out for errors, exit codes.

Exit codes: 0 success, also with no hit (but for query --fail-if-nothing, then 1); 1 a failure, with one line that says
what to do; 2 wrong usage; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Annotated, cast

import typer

from search import __version__
from search.cli.options import Command, Group, GroupWithDefault, Usage, spelled_out
from search.cli.streams import flushed, make_streams_usable, note
from search.errors import SearchError, is_of_memory
from search.render.format import cut_in_the_middle, escape

# They answer and end, so garbage may lie about; see `search.__main__`.
_SOON_OVER = ("query", "explain", "contrast", "why-not", "similar", "similarity", "status", "list")
_LOOK_FOR_IT_LATER = ("mcp",)  # they load much before they run long


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

# Panel -> command -> where its function is, and the first sentence of what it says of itself, in the order of the help.
_COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Search": {
        "index": ("index:index", "Index folders of text, or bring their index up to date."),
        "query": ("query:query", "Rank the passages of an index by how well they answer TEXT."),
        "search": ("interactive.command:search", "Search as you type, and look around in what is found."),
        "similar": ("query:similar", "List the passages that are most like a passage or a document."),
        "duplicates": (
            "similarity:duplicates",
            "List passages that say the same, the largest cluster first.",
        ),
        "ask": ("ask:ask", "Answer QUESTION with a span of the best passages for it."),
        "serve": ("serve:serve", "Serve a page to search in, and an HTTP API."),
        "mcp": ("mcp:mcp", "Let agents search, by the Model Context Protocol."),
    },
    "Why": {
        "explain": ("explain:explain", "Say why a passage has its score for TEXT, addend by addend."),
        "contrast": ("explain:contrast", "Say why passage A is above passage B for TEXT."),
        "why-not": ("explain:why_not", "Say why a document is not among the hits for TEXT."),
    },
    "Indexes": {
        "status": ("index:status", "Say what an index is made of and what was left out of it."),
        "check": ("index:check", "Check whether an index is intact and up to date."),
        "list": ("index:list_indexes", "List the indexes in your data folder."),
        "move": ("places:move", "Keep an index whose folder was renamed or moved."),
        "remove": ("places:remove", "Delete an index; the folder that was indexed stays as it is."),
        "models": ("index:models", "List or remove the models that were converted here."),
        "config": ("config:config", "Show or set what options are where they are not given."),
    },
    "Laboratory": {
        "similarity": ("similarity:similarity", "Compare sentences, or two texts token by token."),
        "inspect": ("inspect:inspect", "Look inside BERT while it reads a text, or a pair of texts."),
        "vocabulary": (
            "vocabulary:vocabulary",
            "Ask a model's vocabulary: by number, by spelling, by likeness.",
        ),
        "fill": ("fill:fill", "Say which words BERT puts in the place of [MASK]."),
        "next": ("fill:follows", "Say how likely each text follows the one before it."),
        "tag": ("label:tag", "Find entities or parts of speech in all passages."),
        "eval": ("eval:evaluate", "Ask judged queries, and say how good the answers are."),
        "eval-qa": ("eval:evaluate_qa", "Ask a reader questions whose answers are known."),
        "eval-ner": ("eval:evaluate_ner", "Compare entities that a model finds with known ones."),
    },
}
_LABELS = {
    "train": "label_train",
    "apply": "label_apply",
    "explain": "label_explain",
    "remove": "label_remove",
}
_TRAININGS = {
    "encoder": "train_encoder",
    "classify": "train_classify",
    "tag": "train_tag",
    "read": "train_read",
}
_GROUPS = {
    "label": ("Label passages or texts by a checkpoint or a trained head.", Group, _LABELS),
    "train": ("Train the encoder, or a head on it, on examples.", GroupWithDefault, _TRAININGS),
}


def _function(place: str) -> Callable[..., None]:
    module, name = place.split(":")
    return cast("Callable[..., None]", getattr(import_module(f"search.cli.{module}"), name))


def _silent(about: str) -> Callable[..., None]:
    """What stands for a command where commands are only listed."""

    def nothing() -> None:
        pass

    nothing.__doc__ = about
    return nothing


@cache
def app(first: str | None = None) -> typer.Typer:
    """The command line, as much of it as what is typed first needs: to load every command takes longer than a query.

    A command that is named is there alone. Where commands are listed, they are there without their options. Anything
    else, as a name with a slip or a shell that completes it, needs all.

    Args:
        first: what is typed first; None for all.
    """
    named = {name for commands in _COMMANDS.values() for name in commands} | _GROUPS.keys()
    listed = first in ("-h", "--help")
    wanted = {first} if first in named else named
    made = _group("Semantic search over a folder of text that shows its working.", "seewhy")
    for panel, commands in _COMMANDS.items():
        for name, (place, about) in commands.items():
            if name in wanted:
                function = _silent(about) if listed else spelled_out(_function(place))
                made.command(name, cls=Command, rich_help_panel=panel)(function)
    for name, (about, kind, functions) in _GROUPS.items():
        if name in wanted:
            group = _group(about, kind=kind)
            for of_group, function_name in functions.items():
                function = _silent("") if listed else spelled_out(_function(f"{name}:{function_name}"))
                group.command(of_group, cls=Command)(function)
            made.add_typer(group, name=name, rich_help_panel="Laboratory")
    made.callback()(_root)
    return made


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"seewhy {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand not in (None, "config"):
        from search.cli.config import defaults

        command, found = context.invoked_subcommand, defaults(context.invoked_subcommand)
        context.default_map = {
            command: dict.fromkeys(_GROUPS[command][2], found) if command in _GROUPS else found
        }
    if context.invoked_subcommand not in (*_SOON_OVER, *_LOOK_FOR_IT_LATER) and not gc.isenabled():
        gc.freeze()
        gc.enable()


def main() -> None:
    """Run the command line; every expected failure ends in one line on stderr."""
    make_streams_usable()
    code = 1
    try:
        code = app("".join(sys.argv[1:2]))(prog_name="seewhy", standalone_mode=False) or 0
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
