"""seewhy search"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from search.cli.options import AnyIndexOptions
from search.errors import InputError, OptionalDependency
from search.records import options


def search(
    index: AnyIndexOptions,
    mode: options.ModeOptions,
    filters: options.FilterOptions,
    length: options.ListOptions,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="What to begin with.", show_default=False)
    ] = None,
) -> None:
    """Search as you type, and look around in what is found.

    Each hit with the document around it, why it is there, and your editor at one key; F1 lists the keys.
    """
    _require_terminal()
    if find_spec("textual") is None:
        raise OptionalDependency("textual", "tui", "the search that stays open")
    opened = index.open()
    from search.cli.interactive.app import SearchApp

    SearchApp(opened, " ".join(words or ()), **mode, **filters, **length).run()


def _require_terminal() -> None:
    streams = (sys.stdin, sys.stdout, sys.stderr)  # Textual draws on the last
    if not all(stream.isatty() for stream in streams) or os.environ.get("TERM") == "dumb":
        raise InputError(
            "a search that stays open needs a terminal for its input and output. "
            "In a script or a pipe ask once: seewhy query TEXT"
        )
