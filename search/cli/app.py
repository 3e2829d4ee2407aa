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
from search.cli.eval import evaluate, evaluate_ner, evaluate_qa
from search.cli.explain import contrast, explain, why_not
from search.cli.index import check, index, list_indexes, models, repair, status
from search.cli.inspect import fill, follows, inspect
from search.cli.label import label_apply, label_explain, label_remove, label_train, tag
from search.cli.options import Command, spelled_out
from search.cli.query import query, similar
from search.cli.similarity import duplicates, similarity
from search.cli.train import train
from search.errors import SearchError
from search.render.format import escape


def _group(help_: str, name: str | None = None) -> typer.Typer:
    return typer.Typer(
        name=name,
        help=help_,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


app = _group("Semantic search over a folder of text that shows its working.", "seewhy")
label = _group("Label passages or texts, by a checkpoint or by a head that is trained here.")


def _add(name: str, function: Callable[..., None], to: typer.Typer = app) -> None:
    to.command(name, cls=Command)(spelled_out(function))


_add("index", index)
_add("query", query)
_add("ask", ask)
_add("explain", explain)
_add("contrast", contrast)
_add("why-not", why_not)
_add("similar", similar)
_add("similarity", similarity)
_add("duplicates", duplicates)
_add("inspect", inspect)
_add("fill", fill)
_add("next", follows)
_add("tag", tag)
app.add_typer(label, name="label")
_add("train", label_train, to=label)
_add("apply", label_apply, to=label)
_add("explain", label_explain, to=label)
_add("remove", label_remove, to=label)
_add("eval", evaluate)
_add("eval-qa", evaluate_qa)
_add("eval-ner", evaluate_ner)
_add("train", train)
_add("status", status)
_add("check", check)
_add("repair", repair)
_add("list", list_indexes)
_add("models", models)


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
