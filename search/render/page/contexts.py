"""One word in several contexts as a page: its cosines at every layer."""

from __future__ import annotations

from search.records.inspections import ContextualCosines
from search.render.contexts import compared, what_was_compared
from search.render.format import letters
from search.render.page.document import document, isolated, shade, text


def contexts(found: ContextualCosines) -> str:
    """The page of a word's cosines, as the text of an HTML file."""
    names, columns = compared(found)
    listed = "".join(
        f"<div><dt>{letters(i)}</dt><dd>{_marked(one, *found.found[i])}</dd></div>"
        for i, one in enumerate(found.texts)
    )
    head = "".join(f'<th scope="col">{isolated(name)}</th>' for name in names)
    rows = "".join(
        f'<tr><th scope="row">layer {layer}</th>{"".join(_cell(column[layer]) for column in columns)}</tr>'
        for layer in range(len(found.between))
    )
    body = f"""<header><div class="title"><h1>One word, layer by layer: {isolated(found.word)}</h1>
<button type="button" id="theme" hidden>Dark or light</button></div><dl>{listed}</dl></header>
<main><div class="scroll"><table class="matrix narrow"><thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody>
</table></div><p class="faint">{text(what_was_compared(found))} Layer 0 is the embedding layer, which sees no
neighbours: only word, position and segment.</p></main>"""
    return document(f"{found.word} in contexts", body, {}, style="attention.css")


def _cell(value: float) -> str:
    return f'<td class="{shade(value, 1.0)}">{value:.3f}</td>'.replace(">-", ">\u2212")


def _marked(whole: str, start: int, end: int) -> str:
    return f"<bdi>{text(whole[:start])}<b>{text(whole[start:end])}</b>{text(whole[end:])}</bdi>"
