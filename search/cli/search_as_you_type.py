"""seewhy search"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.options import (
    AnyIndexOptions,
)
from search.errors import InputError, OptionalDependency
from search.records import options

if TYPE_CHECKING:
    pass


def search(
    index: AnyIndexOptions,
    mode: options.ModeOptions,
    filters: options.FilterOptions,
    length: options.ListOptions,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="First query.", show_default=False)
    ] = None,
) -> None:
    """Search as you type, and read each hit in its document.

    Press a key to explain the score of a hit, or to open it in your editor; the last line lists the keys.
    """
    streams = (sys.stdin, sys.stdout, sys.stderr)  # Textual draws on stderr
    if not all(stream.isatty() for stream in streams) or os.environ.get("TERM") == "dumb":
        raise InputError(
            "seewhy search needs a terminal for input and output. In a script use: seewhy query TEXT"
        )
    if find_spec("textual") is None:
        raise OptionalDependency("textual", "tui", "seewhy search")
    opened = index.open()
    from search.cli.interactive import SearchApp
    from search.index import searcher_of
    from search.indexes import Indexes
    from search.indexing.background import completing

    all_opened = opened.all if isinstance(opened, Indexes) else [opened]
    to_complete = [item.path for item in all_opened if searcher_of(item).to_complete]
    with completing(to_complete):
        SearchApp(opened, " ".join(words or ()), **mode, **filters, **length).run()
