"""An explanation as a page: point at a word of one text, and the other is shaded by what they added together."""

from __future__ import annotations

from collections.abc import Sequence

from search.records.explanations import Explanation, Share
from search.records.hits import Hit
from search.render.format import headings, where
from search.render.page.document import bar, document, isolated, signed, text
from search.render.page.texts import Side, panel, two_texts
from search.render.units import Units, largest_addend

_CHOICE = """<fieldset class="choice" id="choice">
<legend>Show</legend>
<label><input type="radio" name="matrix" value="contribution" checked>
<span><b>Contribution</b>: what made the score; adds up to it</span></label>
<label><input type="radio" name="matrix" value="cosine">
<span><b>Cosine</b> at layer {layer}: which word is like which; adds up to nothing</span></label>
</fieldset>"""

_DETAIL = """<section class="detail" id="detail" aria-live="polite">
<p>Point at a word, or go from word to word with Tab and the arrow keys. Escape shows the whole again.</p>
</section>"""

_FOOT = """<footer><p>An addend belongs to the <em>place</em> of a word: its vector holds something of its neighbours
too. Exact does not mean causal.</p></footer>"""


def explanation(why: Explanation, drawn: Units, hit: Hit | None = None) -> str:
    """The page of an explanation, as the text of an HTML file.

    Args:
        drawn: the units of `why`, all of which are shown.
    """
    query, passage = two_texts(why, drawn, names=("First", "Second") if hit is None else ("Query", "Passage"))
    body = "\n".join(
        (
            _head(why, hit),
            _sum(why, drawn),
            _CHOICE.format(layer=why.similarity_layer),
            f'<main class="texts"><div class="aside">{panel(query)}',
            f"{_DETAIL}</div>",
            f"{panel(passage)}</main>",
            _table(query, _others(why), opened=True),
            _table(passage, (), opened=False),
            _FOOT,
        )
    )
    data = {
        "limit": largest_addend(drawn),
        "score": why.score,
        "query": [{"label": unit.label, "kind": unit.kind} for unit in drawn.query],
        "passage": [{"label": unit.label, "kind": unit.kind} for unit in drawn.passage],
        "contribution": [[round(cell, 8) for cell in row] for row in drawn.contributions.tolist()],
        "cosine": [[round(cell, 4) for cell in row] for row in drawn.similarity.tolist()],
    }
    return document(f"Why: {why.query}", body, data, "explanation.js")


def _head(why: Explanation, hit: Hit | None) -> str:
    if hit is None:
        rows = [("First", f"<b>{isolated(why.query)}</b>"), ("Second", isolated(why.passage))]
    else:
        rows = [("Query", f"<b>{isolated(why.query)}</b>")]
        rank = f"rank {hit.rank}, " if hit.rank else ""
        rows.append(
            ("Passage", f'{isolated(where(hit))} <span class="faint">({rank}p{hit.passage_id})</span>')
        )
        if headings(hit):
            rows.append(("Under", isolated(headings(hit))))
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows)
    title = "Why these texts have their cosine" if hit is None else "Why this passage has its score"
    return f"""<header><div class="title"><h1>{title}</h1>
<button type="button" id="theme" hidden>Dark or light</button></div>
<dl>{listed}</dl></header>"""


def _sum(why: Explanation, drawn: Units) -> str:
    """The sum, written out."""
    found = _addend("", f"{why.score:.6f}", "score")
    found += _addend(
        "=", f"{float(drawn.contributions.sum()):.6f}", f"{why.contributions.size:,} token pairs"
    )
    for term in why.terms:
        found += _addend("+", f"{term.contribution:.6f}", isolated(term.term))
    if why.late is not None:
        found += _addend("+", f"{float(why.late.sum()):.6f}", "best matches")
    rest = f"completeness error, {why.steps:,} steps" if why.steps else "residual"
    found += _addend("\u2212" if why.residual < 0 else "+", f"{abs(why.residual):.1e}", rest)
    tokens = f"{len(why.query_tokens)} query tokens \u00d7 {len(why.passage_tokens)} passage tokens"
    return f"""<section class="sum" aria-label="The sum"><p class="equation">{found}</p>
<p class="faint">{tokens}, {text(why.pooling)} pooling</p></section>"""


def _addend(sign: str, number: str, name: str) -> str:
    shown = f"<i>{sign}</i> " if sign else ""
    return f"<span>{shown}<b>{number}</b> {name}</span> "


def _others(why: Explanation) -> list[Share]:
    """The addends that are no token pairs."""
    return [share for share in why.shares() if share.kind in ("term", "rank", "model", "like", "late")]


def _table(side: Side, shares: Sequence[Share], *, opened: bool) -> str:
    """Every unit with what it added, as a plain table; the addends besides token pairs too, and the sum."""
    rows: list[tuple[str, str, float]] = [
        (isolated(unit.label), unit.kind, float(value))
        for unit, value in zip(side.units, side.added, strict=True)
    ]
    rows += [(_name(share), share.kind, share.contribution) for share in shares]
    end = max((abs(value) for _, _, value in rows), default=0.0)
    lines = "".join(
        f'<tr><th scope="row" class="{kind}">{name}{_remark(kind)}</th>'
        f"<td>{signed(value)}</td><td>{bar(value, end)}</td></tr>"
        for name, kind, value in rows
    )
    total = sum(value for _, _, value in rows)
    return f"""<details{" open" if opened else ""}><summary>{side.name}: what each part added</summary>
<table class="added"><tbody>{lines}</tbody>
<tfoot><tr><th scope="row">sum</th><td>{signed(total)}</td><td></td></tr></tfoot></table></details>"""


def _name(share: Share) -> str:
    before = {"term": "the word ", "late": "best match of "}.get(share.kind, "")
    return f"{before}{isolated(share.text)}"


def _remark(kind: str) -> str:
    return " <small>in title and headings</small>" if kind == "context" else ""
