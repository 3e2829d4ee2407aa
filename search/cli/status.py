"""seewhy status, seewhy list"""

from __future__ import annotations

from search.cli.options import (
    Colour,
    ColourOption,
    IndexOption,
    JsonOption,
    colour_on,
    echo,
    note,
    page_width,
)


def status(
    index: IndexOption = None,
    as_json: JsonOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Say what an index is made of and what was left out of it."""
    from search.index import Index
    from search.render import json, reports

    found = Index.open(index).status()
    echo(
        json.document(found)
        if as_json
        else reports.status(found, width=page_width(), colour=colour_on(color))
    )


def list_indexes(
    as_json: JsonOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """List the indexes in your data folder."""
    from search.errors import SearchError
    from search.index import Index
    from search.render import json, reports
    from search.store.layout import all_indexes

    found, unreadable = [], False
    for path in all_indexes():
        try:
            found.append(Index.open(path).status())
        except SearchError as error:
            note(f"note: {error}")
            unreadable = True
    if unreadable and not found and not as_json:
        return
    echo(
        json.document(found)
        if as_json
        else reports.index_list(found, width=page_width(), colour=colour_on(color))
    )
