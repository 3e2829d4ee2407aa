"""seewhy move, seewhy remove"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from search.cli.options import IndexArgument
from search.cli.output import Output
from search.cli.streams import note
from search.errors import InputError, SearchError, quoted


def move(
    index: IndexArgument,
    folder: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER", help="Where its folder is now; of several folders, each of them."),
    ],
    output: Output,
) -> None:
    """Keep an index whose folder was renamed or moved.

    At least half of its files have to be there as they were indexed. Nothing is encoded; the next run of seewhy index
    sees to the rest.
    """
    from search.indexing.move import move as moved
    from search.render import reports
    from search.store.layout import existing_place

    output.show(moved(existing_place(index), folder), reports.moved)


def remove(
    index: IndexArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing.")] = False,
) -> None:
    """Delete an index; the folder that was indexed stays as it is.

    Of an index on a server (milvus://...) what is there is deleted.
    """
    from search.files import bytes_in
    from search.render.format import size
    from search.store.files import remove_index
    from search.store.layout import existing_place, folders_of, is_address, streamed
    from search.store.opening import opened, store_at

    if is_address(index):
        _confirm(index, index, yes)
        opened(index).remove()
        note(f"Deleted {index}.", quiet)
        return
    place = existing_place(index)
    held = (
        f"the index in '{place}' ({size(bytes_in(place))}, of {folders_of(place) or 'what cannot be told'})"
    )
    server = {}
    with suppress(SearchError):  # an index is deleted also where it is damaged
        server = streamed(place)
    held += f" and {server['address']}" if server else ""
    _confirm(held, index, yes)
    if server:
        store_at(place).remove()
    else:
        remove_index(place)
    left = f" What is not of seewhy stays in '{place}'." if place.exists() else ""
    note(f"Deleted {held}.{left}", quiet)


def _confirm(held: str, named: str, yes: bool) -> None:
    """Ask whether to delete something, where that was not said."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"{held} is not deleted without a yes: seewhy remove {quoted(named)} --yes")
    typer.confirm(f"Delete {held}?", abort=True, err=True)
