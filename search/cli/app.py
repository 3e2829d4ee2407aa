"""The commands, the way out for errors, exit codes.

Exit codes: 0 success, also with no hit; 1 a failure, with one line that says what to do; 2 wrong
usage; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from search import __version__
from search.cli.ask import ask
from search.cli.check import check, repair
from search.cli.commands import Command, spelled_out
from search.cli.contrast import contrast
from search.cli.duplicates import duplicates
from search.cli.eval import evaluate, evaluate_ner, evaluate_qa
from search.cli.explain import explain
from search.cli.fill import ManyAmong, fill
from search.cli.index import index
from search.cli.inspect import ManyAgainst, inspect
from search.cli.label import label
from search.cli.models import models
from search.cli.next import follows
from search.cli.query import query
from search.cli.similar import similar
from search.cli.similarity import similarity
from search.cli.status import list_indexes, status
from search.cli.tag import tag
from search.cli.train import train
from search.cli.why_not import why_not
from search.errors import SearchError
from search.render.escape import escape

app = typer.Typer(
    name="seewhy",
    help="Semantic search over a folder of text that shows its working.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _add(function: Callable[..., None], name: str | None = None, kind: type[Command] = Command) -> None:
    app.command(name, cls=kind)(spelled_out(function))


_add(index)
_add(query)
_add(ask)
_add(explain)
_add(contrast)
_add(why_not, "why-not")
_add(similar)
_add(similarity)
_add(duplicates)
_add(inspect, kind=ManyAgainst)
_add(fill, kind=ManyAmong)
_add(follows, "next")
_add(tag)
_add(label)
_add(evaluate, "eval")
_add(evaluate_qa, "eval-qa")
_add(evaluate_ner, "eval-ner")
_add(train)
_add(status)
_add(check)
_add(repair)
_add(list_indexes, "list")
_add(models)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"seewhy {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; every expected failure ends in one line on stderr."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a character
    try:
        app(prog_name="seewhy")
    except SearchError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or 'input or output'}: {error.strerror or error}")


def _fail(message: str) -> None:
    print(f"seewhy: {escape(message)}", file=sys.stderr)
    sys.exit(1)
