"""The frame of a page, how text and numbers get into it, and the pages of a single matrix.

The policy in the head lets the browser load nothing and run only the scripts and styles whose hashes it names, so
that no text, whatever it holds, can do anything.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from search.records.comparisons import Similarities
from search.render.format import escape, letters, one_line
from search.render.scale import COSINES, Ends

LEVELS = 9


def document(title: str, body: str, data: dict[str, Any], script: str = "", style: str = "") -> str:
    """A whole page.

    Args:
        title: shown in the browser's tab.
        body: HTML, every text in it made harmless with `text`.
        data: what the script works on.
        script: name of the script file, if the page needs more than the one that all have.
        style: name of a style file, likewise.
    """
    styles = "".join(_asset(name) for name in ("page.css", style) if name)
    scripts = [_asset(name) for name in ("page.js", script) if name]
    hashes = " ".join(map(_hash, scripts))
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(styles)}; script-src {hashes}; "
        "base-uri 'none'; form-action 'none'"
    )
    runs = "\n".join(f"<script>{code}</script>" for code in scripts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{text(one_line(title))}</title>
<link rel="icon" href="data:,">
<style>{styles}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{embedded(data)}</script>
{runs}
</body>
</html>
"""


def header(title: str, facts: Iterable[tuple[str, str]] = (), said: str = "") -> str:
    """The head of a page, of HTML: its title, names with what they stand for, and a line about it."""
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    listed = f"<dl>{listed}</dl>" if listed else ""
    about = f'<p class="faint">{said}</p>' if said else ""
    return (
        f'<header><div class="title"><h1>{title}</h1>\n'
        '<button type="button" id="theme" hidden>Dark or light</button></div>\n'
        f"{listed}{about}</header>"
    )


def text(value: str) -> str:
    """Text for a page: no markup, control characters as visible codes."""
    return html.escape(escape(value), quote=True)


def isolated(value: str) -> str:
    """One line of text that does not disturb the direction of what stands around it."""
    return f"<bdi>{text(one_line(value))}</bdi>"


def embedded(data: dict[str, Any]) -> str:
    """JSON that can stand in a script element: it holds no `<`, `>` or `&`."""
    source = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return source.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def shade(value: float, end: float) -> str:
    """The classes that colour a value on a scale that ends at `end`."""
    level = round(LEVELS * min(abs(value) / end, 1.0)) if end else 0
    return f"l{level}{' minus' if value < 0 and level else ''}"


def bar(value: float, end: float) -> str:
    """A bar for a value; its number stands beside it."""
    share = 100 * min(abs(value) / end, 1.0) if end else 0.0
    sign = "minus" if value < 0 else "plus"
    return (
        f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{sign}" width="{share:.1f}" height="10"/></svg>'
    )


def signed(value: float) -> str:
    """+0.1234, or with a minus sign that is as wide."""
    return f"{value:+.4f}".replace("-", "\u2212")


def _asset(name: str) -> str:
    return "\n" + files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


MOST_CELLS = 40_000  # more make a page that no browser scrolls well


def sentences(similarities: Similarities, ends: Ends = COSINES) -> str:
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
        f"<i>{i + 1}</i> {isolated(sentence)}</span></th>{_cells(i, cosines, ends)}</tr>"
        for i, (sentence, cosines) in enumerate(
            zip(similarities.rows, similarities.cosines.tolist(), strict=True)
        )
    )
    made = f"{isolated(similarities.model)}, {text(similarities.pooling)} pooling"
    said = f"{n} \u00d7 {m} cosines of sentence embeddings: {made}{ends.said}"
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
