"""Probabilities as a page: tables with bars. The numbers stand in it; there is nothing to be loaded or run."""

from __future__ import annotations

from search.render.bars import Chart, Group
from search.render.page.document import bar, document, isolated, text


def bars(found: Chart) -> str:
    """The page of a chart, as the text of an HTML file."""
    about = "".join(
        f"<div><dt>{text(name)}</dt><dd>{isolated(value)}</dd></div>" for name, value in found.about
    )
    result = f'<p class="sum">{isolated(found.result)}</p>' if found.result else ""
    notes = "".join(f'<p class="faint">{text(note)}</p>' for note in found.notes)
    body = f"""<header><div class="title"><h1>{text(found.title)}</h1>
<button type="button" id="theme" hidden>Dark or light</button></div><dl>{about}</dl></header>
<main>{"".join(map(_group, found.groups))}{result}{notes}</main>"""
    return document(found.title, body, {}, style="bars.css")


def _group(group: Group) -> str:
    title = f"<h2>{isolated(group.title)}</h2>" if group.title else ""
    head = "".join(f'<th scope="col">{text(header)}</th>' for header in group.headers)
    rows = "".join(
        f'<tr class="{"faint" if one.faint else "plain"}"><th scope="row">{isolated(one.name)}</th>'
        f"{''.join(f'<td>{text(number)}</td>' for number in one.numbers)}<td>{bar(one.value, 1.0)}</td></tr>"
        for one in group.bars
    )
    return f'{title}<table class="bars"><thead><tr>{head}<td></td></tr></thead><tbody>{rows}</tbody></table>'
