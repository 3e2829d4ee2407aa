"""A text with its entities marked, in the manner of displaCy, and every word with its class."""

from __future__ import annotations

from search.records.annotations import Mention
from search.records.predictions import Tagged, TaggedWord
from search.render.page.document import document, isolated, text
from search.render.tags import field_colours, said_of, scores_line, title_of

_COLOURS = 8  # of tags.css


def tags(found: Tagged) -> str:
    """The page, as the text of an HTML file."""
    title = title_of(found)
    colours = field_colours(found)
    counts = "".join(
        f'<li><mark class="entity e{number % _COLOURS}"><b>{text(field)}</b></mark> '
        f"{sum(one.field == field for one in found.mentions)}</li>"
        for field, number in colours.items()
    )
    legend = f'<ul class="fields">{counts}</ul>' if counts else "<p>Nothing was found.</p>"
    rows = "".join(map(_row, found.words))
    about = " ".join(said_of(found))
    body = f"""<header><div class="title"><h1>{title}</h1>
<button type="button" id="theme" hidden>Dark or light</button></div>
<p class="faint">{isolated(about)}</p>{legend}</header>
<main><section class="panel" aria-label="text"><p class="text tagged" dir="auto">{_flow(found, colours)}</p></section>
<details><summary>Every word with its class</summary><div class="scroll"><table class="words"><thead><tr>
<th scope="col">word</th><th scope="col">tokens</th><th scope="col">class</th><th scope="col">score</th>
<th scope="col">offsets</th></tr></thead><tbody>{rows}</tbody></table></div></details></main>
<footer><p>{scores_line(found)}</p></footer>"""
    return document(title, body, {}, style="tags.css")


def _flow(found: Tagged, colours: dict[str, int]) -> str:
    parts, at = [], 0
    for one in found.mentions:
        parts += [text(found.text[at : one.start]), _mark(one, colours[one.field])]
        at = one.end
    return "".join(parts) + text(found.text[at:])


def _mark(one: Mention, colour: int) -> str:
    about = f"{text(one.field)}, score {one.score:.4f}, characters {one.start} to {one.end}"
    return f'<mark class="entity e{colour % _COLOURS}" title="{about}">{text(one.text)}<b>{text(one.field)}</b></mark>'


def _row(word: TaggedWord) -> str:
    kind = "faint" if word.label.upper() == "O" else "plain"
    return (
        f'<tr class="{kind}"><th scope="row">{isolated(word.text)}</th><td>{isolated(" ".join(word.tokens))}</td>'
        f"<td>{text(word.label)}</td><td>{word.score:.4f}</td><td>{word.start}\u2013{word.end}</td></tr>"
    )
