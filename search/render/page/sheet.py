"""Tables as a page. The numbers stand in it; there is nothing to be loaded or run."""

from __future__ import annotations

from search.render.page.document import document, isolated, shade, text
from search.render.sheet import Cell, Grid, Sheet


def sheet(found: Sheet) -> str:
    """The page of some tables, as the text of an HTML file."""
    about = "".join(
        f"<div><dt>{text(name)}</dt><dd>{isolated(value)}</dd></div>" for name, value in found.about
    )
    body = f"""<header><div class="title"><h1>{text(found.title)}</h1>
<button type="button" id="theme" hidden>Dark or light</button></div><dl>{about}</dl></header>
<main>{"".join(map(_section, found.grids))}</main>"""
    return document(found.title, body, {}, style="attention.css")


def folded(found: Grid) -> str:
    """A table that opens when its title is asked for."""
    return f"<details><summary>{isolated(found.title)}</summary>{_table(found)}</details>"


def _section(found: Grid) -> str:
    title = f"<h2>{isolated(found.title)}</h2>" if found.title else ""
    return f"<section>{title}{_table(found)}</section>"


def _table(found: Grid) -> str:
    sides = ["words" if number in found.texts else "number" for number in range(len(found.headers))]
    head = "".join(
        f'<th scope="col" class="{side}">{isolated(header)}</th>'
        for side, header in zip(sides, found.headers, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            _cell(cell, side, number == found.named)
            for number, (side, cell) in enumerate(zip(sides, row, strict=True))
        )
        + "</tr>"
        for row in found.rows
    )
    notes = "".join(f'<p class="faint">{isolated(note)}</p>' for note in found.notes)
    return (
        f'<div class="wide"><table class="plain"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        f"{notes}"
    )


def _cell(cell: Cell, side: str, names: bool) -> str:
    classes = [
        side,
        *(["faint"] if cell.faint else []),
        *(["shaded", shade(cell.share, 1.0)] if cell.share else []),
    ]
    inner = isolated(cell.text) if side == "words" else text(cell.text)
    inner = f"<b>{inner}</b>" if cell.strong else inner
    tag = 'th scope="row"' if names else "td"
    return f'<{tag} class="{" ".join(classes)}">{inner}</{tag.split()[0]}>'
