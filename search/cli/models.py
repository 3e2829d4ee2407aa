"""seewhy models"""

from __future__ import annotations

from typing import Annotated

import typer

from search.cli.options import Colour, ColourOption, JsonOption, colour_on, echo, note, page_width

Remove = Annotated[
    str | None,
    typer.Option("--remove", metavar="NAME", help='Delete the converted model of this name, or "all".'),
]


def models(
    remove: Remove = None,
    as_json: JsonOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """List the models that were converted for quick starts on this machine, or remove them.

    A model that was removed is converted again when it is next used.
    """
    from search.encoding import cache
    from search.errors import InputError
    from search.render import json, terminal

    found = cache.all_cached()
    if remove:
        chosen = [entry for entry in found if remove in ("all", entry.files.name)]
        if not chosen and remove != "all":
            known = ", ".join(sorted({entry.files.name for entry in found})) or "none"
            raise InputError(f"no converted model is called '{remove}'. There are: {known}.")
        for entry in chosen:
            freed = terminal.size(entry.bytes)
            cache.remove(entry)
            note(f"removed {entry.files.name} ({freed})")
        return
    rows = [entry.record() for entry in found]
    echo(json.document(rows) if as_json else terminal.model_list(rows, page_width(), colour_on(color)))
