"""An explanation as a page: point at a word of one text, and the other is shaded by what they added together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from search.records.explanations import Explanation, Share
from search.records.hits import Hit
from search.records.tokens import Word
from search.render.format import headings, hub_warning, layer_of, named, percentile_of, where
from search.render.heatmap import COSINES, Ends, Unit, Units, largest_addend
from search.render.page.document import Page, about, bar, data, isolated, shade, signed, text
from search.render.why import sentence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHOICE = """<fieldset class="choice" hidden>
<legend>Show</legend>
<label><input type="radio" name="matrix" value="contribution" checked>
<span><b>Contribution</b>: what made the score; adds up to it</span></label>
<label><input type="radio" name="matrix" value="cosine">
<span><b>Cosine</b> at {layer}: which {unit} is like which; adds up to nothing{ends}</span></label>
</fieldset>"""

_DETAIL = """<section class="detail" aria-live="polite">
<p>Point at a word, or go from word to word with Tab and the arrow keys. Escape shows the whole again.</p>
</section>"""

_FOOT = """<footer><p>An addend belongs to the <em>place</em> of a word: its vector holds something of its neighbours
too. Exact does not mean causal.</p></footer>"""

_BESIDE = {
    "context": "Title and headings",
    "prompt": "The model's prompt",
    "special": "Special tokens",
    "punctuation": "Punctuation",
}


@dataclass(frozen=True, eq=False)
class _Side:
    """One of the two texts.

    Attributes:
        id, name: for scripts, and for people.
        source, context: the strings that words point into.
        words, units: the text's own.
        added: (units,) what each unit added.
        by_word: its units are words, not tokens.
    """

    id: Literal["query", "passage"]
    name: str
    source: str
    context: str
    words: Sequence[Word]
    units: Sequence[Unit]
    added: NDArray[np.float64]
    by_word: bool

    @property
    def end(self) -> float:
        """The largest |sum| of a word: where shades end."""
        alone = (
            abs(float(value))
            for unit, value in zip(self.units, self.added, strict=True)
            if len(unit.words) == 1
        )
        return max(alone, default=0.0) or 1.0


def _two_texts(why: Explanation, drawn: Units, names: tuple[str, str]) -> tuple[_Side, _Side]:
    """Query and passage of an explanation, under the names that they have on the page."""
    words, by_word = drawn.words, drawn.by == "word"
    query = (words.query, drawn.query, drawn.query_added, by_word)
    passage = (words.passage, drawn.passage, drawn.passage_added, by_word)
    return (
        _Side("query", names[0], why.query, "", *query),
        _Side("passage", names[1], why.passage, why.context, *passage),
    )


def explanation(
    why: Explanation, drawn: Units, hit: Hit | None = None, ends: Ends = COSINES, *, tables: bool = True
) -> Page:
    """The page of an explanation.

    Args:
        drawn: the units of `why`.
        ends: of the colours of cosines.
        tables: with both matrices as tables.
    """
    query, passage = _two_texts(
        why, drawn, names=("First", "Second") if hit is None else ("Query", "Passage")
    )
    body = "\n".join(
        (
            "<why-explanation>",
            _sum(why, drawn),
            _CHOICE.format(layer=layer_of(why), unit=drawn.by, ends=ends.said),
            f'<div class="texts"><div class="aside">{_panel(query)}',
            f"{_DETAIL}</div>",
            f"{_panel(passage)}</div>",
            _table(query, _others(why), drawn.total, opened=True),
            _table(passage, (), drawn.total, opened=False),
            _matrices(why, drawn, query, passage) if tables else "",
            _FOOT,
            f"{data(_values(why, drawn, ends))}</why-explanation>",
        )
    )
    heading = "Why these texts have their cosine" if hit is None else "Why this passage has its score"
    return Page(f"Why: {why.query}", heading, _about(why, hit), body, ("explanation.js",))


def _values(why: Explanation, drawn: Units, ends: Ends) -> dict[str, Any]:
    """What the script works on."""
    return {
        "limit": largest_addend(drawn),
        "ends": [ends.low, ends.high],
        "score": why.score,
        "left": drawn.left,
        "added": {"query": drawn.query_added.tolist(), "passage": drawn.passage_added.tolist()},
        "query": [{"label": unit.label, "kind": unit.kind} for unit in drawn.query],
        "passage": [{"label": unit.label, "kind": unit.kind} for unit in drawn.passage],
        "contribution": [[round(cell, 8) for cell in row] for row in drawn.contributions.tolist()],
        "cosine": [[round(cell, 4) for cell in row] for row in drawn.similarity.tolist()],
    }


def _about(why: Explanation, hit: Hit | None) -> str:
    query = f"<b>{isolated(why.query)}</b>"
    if hit is None:
        return about((("First", query), ("Second", isolated(why.passage))))
    place = f'{isolated(where(hit))} <span class="faint">{named(hit)}</span>'
    under = [("Under", isolated(headings(hit)))] if headings(hit) else []
    stands = text(percentile_of(hit))
    scored = [("Score", f"{hit.score:.3f}, {stands}")] if stands else []
    warned = f" {text(hub_warning(hit))}." if hub_warning(hit) else ""
    return about((("Query", query), ("Passage", place), *under, *scored), f"{text(sentence(why))}{warned}")


def _sum(why: Explanation, drawn: Units) -> str:
    """The sum, written out."""
    addends = _addend("", f"{why.score:.6f}", "score")
    addends += _addend("=", f"{drawn.total:.6f}", f"{why.contributions.size:,} token pairs")
    for term in why.terms:
        addends += _addend("+", f"{term.contribution:.6f}", isolated(term.term))
    if why.late is not None:
        addends += _addend("+", f"{float(why.late.sum()):.6f}", "best matches")
    rest = f"completeness error, {why.steps:,} steps" if why.steps else "residual"
    addends += _addend("\u2212" if why.residual < 0 else "+", f"{abs(why.residual):.1e}", rest)
    tokens = f"{len(why.query_tokens)} query tokens \u00d7 {len(why.passage_tokens)} passage tokens"
    return f"""<section class="sum" aria-label="The sum"><p class="equation">{addends}</p>
<p class="faint">{tokens}, {text(why.pooling)} pooling</p></section>"""


def _addend(sign: str, number: str, name: str) -> str:
    shown = f"<i>{sign}</i> " if sign else ""
    return f"<span>{shown}<b>{number}</b> {name}</span> "


def _others(why: Explanation) -> list[Share]:
    """The addends that are no token pairs."""
    return [share for share in why.shares() if share.kind in ("term", "model", "like", "late")]


def _table(side: _Side, shares: Sequence[Share], by_pairs: float, *, opened: bool) -> str:
    """Every unit with what it added, as a plain table; the addends besides token pairs too, and the sum.

    Args:
        by_pairs: what all units added, also those that are left out.
    """
    rows: list[tuple[str, str, float]] = [
        (isolated(unit.label), unit.kind, float(value))
        for unit, value in zip(side.units, side.added, strict=True)
    ]
    if abs(rest := by_pairs - float(side.added.sum())) > 1e-9:
        rows.append(("left out", "special", rest))
    rows += [(_name(share), share.kind, share.contribution) for share in shares]
    end = max((abs(value) for _, _, value in rows), default=0.0)
    remark = {"context": " <small>in title and headings</small>"}
    lines = "".join(
        f'<tr><th scope="row" class="{kind}">{name}{remark.get(kind, "")}</th>'
        f"<td>{signed(value)}</td><td>{bar(value, end)}</td></tr>"
        for name, kind, value in rows
    )
    total = sum(value for _, _, value in rows)
    return f"""<details{" open" if opened else ""}><summary>{side.name}: what each part added</summary>
<table class="added"><tbody>{lines}</tbody>
<tfoot><tr><th scope="row">sum</th><td>{signed(total)}</td><td></td></tr></tfoot></table></details>"""


def _matrices(why: Explanation, drawn: Units, query: _Side, passage: _Side) -> str:
    """Both matrices, a row for each unit of the passage and a column for each of the query."""
    added = (f"Contributions, which add up to {drawn.total:.4f}", drawn.contributions, "+.5f")
    alike = (f"Cosines at {layer_of(why)}, which add up to nothing", drawn.similarity, ".2f")
    heads = "".join(f'<th scope="col">{isolated(unit.label)}</th>' for unit in query.units)
    shown = ""
    for name, cells, form in (added, alike):
        rows = "".join(
            f'<tr><th scope="row">{isolated(unit.label)}</th>'
            + "".join(f"<td>{value:{form}}</td>" for value in column).replace(">-", ">\u2212")
            + "</tr>"
            for unit, column in zip(passage.units, cells.T.tolist(), strict=True)
        )
        shown += (
            f'<h3>{name}</h3><div class="scroll" role="region" aria-label="{name}" tabindex="0">'
            f'<table class="numbers"><thead><tr><th scope="col">{passage.name}</th>{heads}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>"
        )
    return f"<details><summary>Both matrices as tables</summary>{shown}</details>"


def _name(share: Share) -> str:
    before = {"term": "the word ", "late": "best match of "}.get(share.kind, "")
    return f"{before}{isolated(share.text)}"


def _panel(side: _Side) -> str:
    """A text as it is written; below it what is no word of it, a line a kind, with what these added."""
    lines = []
    for kind, name in _BESIDE.items():
        at = [i for i, unit in enumerate(side.units) if unit.kind == kind]
        if not at or (kind == "punctuation" and not side.by_word):
            continue
        if kind == "context":
            shown = f"<bdi>{_flow(side, side.context, ('context',))}</bdi>"
        else:
            shown = " ".join(_unit(side, i, side.units[i].label) for i in at)
        lines.append(
            f"<div><dt>{name}</dt><dd>{shown}</dd><dd>added {signed(float(side.added[at].sum()))}</dd></div>"
        )
    beside = f'<dl class="apart">{"".join(lines)}</dl>' if lines else ""
    return f"""<section class="panel" data-side="{side.id}" role="group" aria-label="{side.name}">
<h2>{side.name}</h2>
<p class="text" dir="auto">{_flow(side, side.source, ("word", "punctuation"))}</p>{beside}</section>"""


def _flow(side: _Side, source: str, kinds: tuple[str, ...]) -> str:
    """A string with its words marked; what lies between them stays as it is."""
    unit_of = {word: i for i, unit in enumerate(side.units) for word in unit.words}
    parts, at = [], 0
    for i, word in enumerate(side.words):
        if word.kind not in kinds:
            continue
        start = max(word.start, at)
        inside = source[start : word.end]
        parts.append(text(source[at:start]))
        if word.kind == "punctuation" and side.by_word:  # has a line of its own
            parts.append(f'<span class="mark" data-unit="{unit_of[i]}">{text(inside)}</span>')
        else:
            parts.append(_unit(side, unit_of[i], inside))
        at = max(at, word.end)
    return "".join(parts) + text(source[at:])


def _unit(side: _Side, number: int, shown: str) -> str:
    classes = f"unit {shade(float(side.added[number]), side.end)}"
    return f'<span class="{classes}" data-unit="{number}" role="button" tabindex="-1">{text(shown)}</span>'
