"""A matrix of sentences as a page: point at a cell or a sentence."""

from __future__ import annotations

from search.records.comparisons import Similarities
from search.render.format import letters, one_line
from search.render.page.document import Page, about, data, isolated, shade, text
from search.render.units import COSINES, Ends

MOST_CELLS = 40_000  # more make a page that no browser scrolls well


def sentences(similarities: Similarities, ends: Ends = COSINES) -> Page:
    """The page of a matrix of sentences.

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
        f"<i>{i + 1}</i> {isolated(sentence)}</span></th>{_cells(i, cosines, ends)}</tr>"
        for i, (sentence, cosines) in enumerate(
            zip(similarities.rows, similarities.cosines.tolist(), strict=True)
        )
    )
    made = f"{isolated(similarities.model)}, {text(similarities.pooling)} pooling"
    said = f"{n} \u00d7 {m} cosines of sentence embeddings: {made}{ends.said}"
    values = {
        "rows": [one_line(sentence) for sentence in similarities.rows],
        "columns": [one_line(sentence) for sentence in similarities.columns],
        "names": names,
        "itself": similarities.itself,
        "cosine": [[round(cell, 4) for cell in row] for row in similarities.cosines.tolist()],
    }
    body = f"""<sentence-matrix>
<div class="scroll"><table class="matrix">
<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>
<section class="detail" aria-live="polite">
<p>Point at a cell or a sentence, or go from cell to cell with Tab and the arrow keys.</p></section>
{_legend(similarities, names)}
{data(values)}</sentence-matrix>"""
    title = "How alike these sentences are"
    return Page(title, title, about(said=said), body, ("sentences.js",))


def _cells(row: int, cosines: list[float], ends: Ends) -> str:
    return "".join(
        f'<td class="{shade(float(ends.share(value)), 1.0)}" data-row="{row}" data-column="{j}" tabindex="-1">'
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
