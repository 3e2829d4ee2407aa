"""A matrix of sentences, and a word's cosines over the layers, as pages."""

from __future__ import annotations

from search.records.comparisons import Similarities
from search.records.inspections import ContextualCosines
from search.render.escape import one_line
from search.render.format import letters
from search.render.inspection import compared, what_was_compared
from search.render.page.document import document, header, isolated, matrix, shade, text

MOST_CELLS = 40_000  # more make a page that no browser scrolls well


def sentences(similarities: Similarities) -> str:
    """The page of a matrix of sentences, as the text of an HTML file.

    Raises:
        ValueError: it has more than MOST_CELLS cells.
    """
    n, m = similarities.cosines.shape
    if n * m > MOST_CELLS:
        raise ValueError(f"{n} x {m} cosines are more than the {MOST_CELLS:,} that a page can hold")
    names = [str(j + 1) if similarities.itself else letters(j) for j in range(m)]
    heads = "".join(
        f'<th scope="col" data-column="{j}"><span class="unit" tabindex="-1" role="button">{name}</span></th>'
        for j, name in enumerate(names)
    )
    rows = "".join(
        f'<tr><th scope="row" data-row="{i}"><span class="unit" tabindex="-1" role="button">'
        f"<i>{i + 1}</i> {isolated(sentence)}</span></th>{_cells(i, cosines)}</tr>"
        for i, (sentence, cosines) in enumerate(
            zip(similarities.rows, similarities.cosines.tolist(), strict=True)
        )
    )
    made = f"{isolated(similarities.model)}, {text(similarities.pooling)} pooling"
    said = f"{n} \u00d7 {m} cosines of sentence embeddings: {made}"
    body = f"""{header("How alike these sentences are", said=said)}
<main><div class="scroll"><table class="matrix" id="matrix">
<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>
<section class="detail" id="detail" aria-live="polite">
<p>Point at a cell or a sentence, or go from cell to cell with Tab and the arrow keys.</p></section>
{_legend(similarities, names)}</main>"""
    data = {
        "rows": [one_line(sentence) for sentence in similarities.rows],
        "columns": [one_line(sentence) for sentence in similarities.columns],
        "names": names,
        "itself": similarities.itself,
        "cosine": [[round(cell, 4) for cell in row] for row in similarities.cosines.tolist()],
    }
    return document("How alike these sentences are", body, data, "sentences.js")


def _cells(row: int, cosines: list[float]) -> str:
    return "".join(
        f'<td class="{shade(value, 1.0)}" data-row="{row}" data-column="{j}" tabindex="-1">'
        f"{value:.2f}</td>".replace(">-", ">\u2212")
        for j, value in enumerate(cosines)
    )


def _legend(similarities: Similarities, names: list[str]) -> str:
    """The sentences of the columns, where they are not those of the rows."""
    if similarities.itself:
        return ""
    lines = "".join(
        f"<div><dt>{name}</dt><dd>{isolated(sentence)}</dd></div>"
        for name, sentence in zip(names, similarities.columns, strict=True)
    )
    return f'<h2>Columns</h2><dl class="legend">{lines}</dl>'


def contexts(cosines: ContextualCosines) -> str:
    """The page of a word's cosines, as the text of an HTML file."""
    names, columns = compared(cosines)
    texts = [
        (letters(i), _marked(context, *span))
        for i, (context, span) in enumerate(zip(cosines.texts, cosines.found, strict=True))
    ]
    layers = [
        (f"layer {layer}", [_cosine(column[layer]) for column in columns])
        for layer in range(len(cosines.between))
    ]
    body = f"""{header(f"One word, layer by layer: {isolated(cosines.word)}", texts)}
<main>{matrix([isolated(name) for name in names], layers)}
<p class="faint">{text(what_was_compared(cosines))} Layer 0 is the embedding layer, which sees no neighbours: only word,
position and segment.</p></main>"""
    return document(f"{cosines.word} in contexts", body, {}, style="attention.css")


def _cosine(value: float) -> str:
    return f'<td class="{shade(value, 1.0)}">{value:.3f}</td>'.replace(">-", ">\u2212")


def _marked(whole: str, start: int, end: int) -> str:
    return f"<bdi>{text(whole[:start])}<b>{text(whole[start:end])}</b>{text(whole[end:])}</bdi>"
