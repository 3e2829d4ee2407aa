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
    """List or remove the models that were converted here.

    A model that was removed is converted again when it is next used. One that could not be converted is listed
    with the reason, and tried again when it is removed from the list.
    """
    from search.encoding import cache, failures
    from search.errors import InputError
    from search.render import json, reports, terminal

    found, failed = cache.all_cached(), failures.all_failures()
    rows = [*(entry.record() for entry in found), *(failure.record() for failure in failed)]
    if remove:
        if remove != "all" and remove not in {row.name for row in rows}:
            known = ", ".join(sorted({row.name for row in rows})) or "none"
            raise InputError(f"no converted model is called '{remove}'. There are: {known}.")
        for entry in found:
            if remove in ("all", entry.files.name):
                freed = terminal.size(entry.bytes)
                cache.remove(entry)
                note(f"removed {entry.files.name} ({freed})")
        for failure in failed:
            if remove in ("all", failure.name):
                failures.forget_failure(failure)
                note(f"forgot that {failure.name} could not be converted")
        return
    echo(json.document(rows) if as_json else reports.model_list(rows, page_width(), colour_on(color)))
