"""Cosines of sentences; on the server also the forms that take texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from search.records.comparisons import Similarities
from search.render.format import letters, one_line
from search.render.page.document import Page, drawn

LONGEST = 8_000  # characters of a text, as it is part of an address
MOST_CELLS = 40_000  # browsers scroll larger tables badly


@dataclass(frozen=True)
class Form:
    """A page with a form for texts, which are answered below it.

    Attributes:
        action: address of the page.
        title: heading of the page.
        template: template of its fields, which extends form.html.
        uses: scripts and styles of the answers.
    """

    action: str
    title: str
    template: str
    uses: tuple[str, ...] = ()


COMPARE = Form(
    "/similarity",
    "How similar are these sentences?",
    "compare.html",
    ("sentences.js",),
)


def form(
    empty: Form, texts: Sequence[str], index: str, answer: Page | str | None, show: str = ""
) -> Page:
    """Return the page of a form with the typed texts and the answer to them.

    Args:
        texts: the typed texts.
        index: name of the index whose model is used.
        answer: the result, the reason why there is none, or None if nothing was typed.
        show: chosen view of the answer, if the form has several.
    """
    values = {"action": empty.action, "texts": [*texts, "", ""], "index": index, "show": show}
    body = drawn(empty.template, **values, answer=answer, longest=LONGEST)
    return Page(empty.title, empty.title, body, ("live.js", *empty.uses))


def sentences(similarities: Similarities, index: str = "") -> Page:
    """Return the page of a similarity matrix of sentences.

    Args:
        index: name of an index, whose model the X-ray of two sentences uses; "" for a file.

    Raises:
        ValueError: the matrix has more than MOST_CELLS cells.
    """
    n, m = similarities.cosines.shape
    if n * m > MOST_CELLS:
        raise ValueError(f"{n} x {m} cosines are too many: a page can show {MOST_CELLS:,}")
    names = [str(j + 1) if similarities.itself else letters(j) for j in range(m)]
    cosines = similarities.cosines.tolist()
    values = {
        "rows": [one_line(sentence) for sentence in similarities.rows],
        "columns": [one_line(sentence) for sentence in similarities.columns],
        "names": names,
        "itself": similarities.itself,
        "cosine": [[round(cell, 4) for cell in row] for row in cosines],
    }
    body = drawn(
        "sentences.html", names=names, of=similarities, cosines=cosines, values=values, index=index
    )
    title = "Similarity of these sentences"
    return Page(title, title, body, ("sentences.js",))
