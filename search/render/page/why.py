"""Pages that explain scores: an interactive explanation; on the server also the comparison of two hits and "why not".

Pointing at a word of one text shades the other text by the contributions of their pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from search.records.comparisons import Contrast, Difference, WhyNot
from search.records.contents import StoredPassage
from search.records.documents import NamedDocument
from search.records.explanations import Explanation, Partner, Share
from search.records.hits import Hit
from search.records.tokens import Word
from search.render.format import (
    counted,
    headings,
    layer_of,
    named,
    percentile_of,
    shortened,
    snippet,
    where,
)
from search.render.heatmap import By, Unit, Units, largest_addend, units
from search.render.page.document import (
    Page,
    about,
    bar,
    data,
    hidden,
    isolated,
    kept,
    link,
    shade,
    signed,
    text,
)
from search.render.page.document import drawn as drawn_template
from search.render.page.hit_list import number, viewed
from search.render.why import REMEDIES, answer, in_order, sentence, share_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHOICE = """<fieldset class="choice" hidden>
<legend>Show</legend>
<label><input type="radio" name="matrix" value="contribution" checked>
<span><b>Contribution</b>: parts of the score; they sum to it</span></label>
<label><input type="radio" name="matrix" value="cosine">
<span><b>Cosine</b> at {layer}: similarity of each pair of {unit}s; not parts of the score</span></label>
</fieldset>"""

_DETAIL = """<section class="detail" aria-live="polite">
<p>Point at a word, or go to it with Tab. Escape shows the whole again.</p>
</section>"""

_FOOT = "<footer><p>An addend belongs to the place of a word. Exact is not causal.</p></footer>"

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
        id: name of the text in scripts.
        name: name of the text on the page.
        source, context: strings that the offsets of words refer to.
        words, units: words and units of the text.
        added: (units,) contribution of each unit.
        by_word: True if units are words, False if they are tokens.
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
        """Largest absolute contribution of a word, which gets the darkest shade."""
        alone = (
            abs(float(value))
            for unit, value in zip(self.units, self.added, strict=True)
            if len(unit.words) == 1
        )
        return max(alone, default=0.0) or 1.0


def _two_texts(why: Explanation, drawn: Units, names: tuple[str, str]) -> tuple[_Side, _Side]:
    """Query and passage of an explanation, with their names on the page."""
    words, by_word = drawn.words, drawn.by == "word"
    query = (words.query, drawn.query, drawn.contributions.sum(axis=1), by_word)
    passage = (words.passage, drawn.passage, drawn.contributions.sum(axis=0), by_word)
    return (
        _Side("query", names[0], why.query, "", *query),
        _Side("passage", names[1], why.passage, why.context, *passage),
    )


def explanation(why: Explanation, drawn: Units, hit: Hit | None = None) -> Page:
    """Return the page of an explanation.

    Args:
        drawn: the units of `why`.
    """
    query, passage = _two_texts(
        why, drawn, names=("First", "Second") if hit is None else ("Query", "Passage")
    )
    body = "\n".join(
        (
            "<why-explanation>",
            _sum(why, drawn),
            _CHOICE.format(layer=layer_of(why), unit=drawn.by),
            f'<div class="texts"><div class="aside">{_panel(query)}',
            f"{_DETAIL}</div>",
            f"{_panel(passage)}</div>",
            _table(query, _others(why), opened=True),
            _table(passage, (), opened=False),
            _FOOT,
            f"{data(_values(why, drawn))}</why-explanation>",
        )
    )
    heading = "Why these texts have their cosine" if hit is None else "Why this passage has its score"
    return Page(f"Why: {why.query}", heading, _about(why, hit), body, ("explanation.js",))


def _values(why: Explanation, drawn: Units) -> dict[str, Any]:
    """Data for the script."""
    return {
        "limit": largest_addend(drawn),
        "score": why.score,
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
    return about((("Query", query), ("Passage", place), *under, *scored), text(sentence(why)))


def _sum(why: Explanation, drawn: Units) -> str:
    """The score as a sum of its addends."""
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
    prefix = f"<i>{sign}</i> " if sign else ""
    return f"<span>{prefix}<b>{number}</b> {name}</span> "


def _others(why: Explanation) -> list[Share]:
    """Addends that are not token pairs."""
    return [share for share in why.shares() if share.kind in ("term", "model", "like", "late")]


def _table(side: _Side, shares: Sequence[Share], *, opened: bool) -> str:
    """Table of the contribution of every unit and of the other addends, with their sum."""
    rows: list[tuple[str, str, float]] = [
        (isolated(unit.label), unit.kind, float(value))
        for unit, value in zip(side.units, side.added, strict=True)
    ]
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


def _name(share: Share) -> str:
    before = {"term": "the word ", "late": "best match of "}.get(share.kind, "")
    return f"{before}{isolated(share.text)}"


def _panel(side: _Side) -> str:
    """A text with its words; below it the other units, a line for each kind, with their contributions."""
    lines = []
    for kind, name in _BESIDE.items():
        numbers = [i for i, unit in enumerate(side.units) if unit.kind == kind]
        if not numbers or (kind == "punctuation" and not side.by_word):
            continue
        if kind == "context":
            content = f"<bdi>{_flow(side, side.context, ('context',))}</bdi>"
        else:
            content = " ".join(_unit(side, i, side.units[i].label) for i in numbers)
        lines.append(
            f"<div><dt>{name}</dt><dd>{content}</dd><dd>added {signed(float(side.added[numbers].sum()))}</dd></div>"
        )
    beside = f'<dl class="apart">{"".join(lines)}</dl>' if lines else ""
    return f"""<section class="panel" data-side="{side.id}" role="group" aria-label="{side.name}">
<h2>{side.name}</h2>
<p class="text" dir="auto">{_flow(side, side.source, ("word", "punctuation"))}</p>{beside}</section>"""


def _flow(side: _Side, source: str, kinds: tuple[str, ...]) -> str:
    """Return a string as HTML, with its words marked."""
    unit_of = {word: i for i, unit in enumerate(side.units) for word in unit.words}
    parts: list[str] = []
    at = 0
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
    return f"{''.join(parts)}{text(source[at:])}"


def _unit(side: _Side, number: int, label: str) -> str:
    classes = f"unit {shade(float(side.added[number]), side.end)}"
    return (
        f'<span class="{classes}" data-unit="{number}" role="button" tabindex="-1">{text(label)}</span>'
    )


def panel(explained: Explanation, hit: Hit, state: Mapping[str, Any]) -> Page:
    """Return the short explanation that opens inside a hit.

    Args:
        state: as for `why`.
    """
    parts = viewed([replace(hit, explanation=explained)])[0].parts
    body = drawn_template(
        "why.html",
        sentence=sentence(explained),
        parts=parts,
        rest="rest of the sentence" if explained.weight else "rest",
        most=max((abs(value) for part in parts for value in (part.meaning, part.keyword)), default=0.0)
        or 1.0,
        number=number,
        score=hit.score,
        details=link("/explain", **state, passage=hit.passage_id, by="word"),
        file=link("/explain", **state, passage=hit.passage_id, by="word", file=1),
    )
    return Page(f"Why: {explained.query}", "", "", body)


def why(
    explained: Explanation, hit: Hit | StoredPassage, state: Mapping[str, Any], by: By = "word"
) -> Page:
    """Return the page of a hit's explanation.

    Args:
        hit: the hit, or a passage that is similar to another.
        state: URL parameters of the links on the page: index and ranking options, and the query. If `hit` is similar to
            another passage, `like` is the ID of that passage and replaces the query.
        by: units of the explanation.
    """
    page = explanation(explained, units(explained, by), hit if isinstance(hit, Hit) else None)
    return replace(page, body=f"{page.body}\n{_ways(hit, state, by)}")


def _ways(hit: Hit | StoredPassage, state: Mapping[str, Any], by: By) -> str:
    """Links to related pages."""
    unit, name = ("token", "Token by token") if by == "word" else ("word", "Word by word")
    ways = {name: link("/explain", **state, passage=hit.passage_id, by=unit)}
    state = {name: value for name, value in state.items() if name != "like"}
    ways |= {
        "Read it in its document": link(
            f"/documents/{hit.document_id}", **state, passage=hit.passage_id
        ),
        "More like this": link(
            "/similar",
            index=state.get("index"),
            passage=hit.passage_id,
            generation=state.get("generation"),
        ),
    }
    if isinstance(hit, Hit):
        ways["Why is another document not among the hits?"] = link("/why-not", **state)
    listed = "".join(f'<a href="{address}">{name}</a>' for name, address in ways.items())
    return f'<nav class="ways" aria-label="From here">{listed}</nav>'


_NAMES = 3
_LONGEST_NAME = 28
_State = Mapping[str, Any]


def contrast(compared: Contrast, state: _State) -> Page:
    """Return the page of two passages and the gap of their scores word by word.

    Args:
        state: parameters of addresses: index, query and ranking.
    """
    a, b = (shortened(headings(hit) or hit.document, _LONGEST_NAME) for hit in (compared.a, compared.b))
    above, below = (a, b) if compared.gap >= 0 else (b, a)
    heading = (
        f"Why {isolated(above)} ranks above {isolated(below)}"
        if compared.gap
        else "Both have equal scores"
    )
    hits = _hit(text(a), compared.a, state) + _hit(text(b), compared.b, state)
    body = f'<div class="two">{hits}</div>{_gap(compared, text(a), text(b))}'
    return Page(f"Compared: {compared.query}", heading, _query(compared.query), body)


def why_not(standing: WhyNot, state: _State) -> Page:
    """Return the page of a document that is not among the hits: its rank, and the reason."""
    parts = [f'<p class="answer">{text(answer(standing))}</p>']
    if standing.cause == "not indexed" and standing.reason in REMEDIES:
        parts.append(f"<p>{text(REMEDIES[standing.reason])}</p>")
    if standing.hit is not None:
        last = _hit("The last hit", standing.last, state) if standing.contrast and standing.last else ""
        parts.append(f'<div class="two">{last}{_hit("Its best passage", standing.hit, state)}</div>')
    if standing.contrast is not None:
        parts.append(
            f"<h2>What it lacks against the last hit</h2>{_gap(standing.contrast, 'last', 'it')}"
        )
    parts.append(f'<p><a href="{link("/why-not", **state)}">Ask about another document</a></p>')
    is_hit = standing.cause == "found"
    heading = "It is among the hits" if is_hit else "Why it is not among the hits"
    facts = about(
        (("Query", f"<b>{isolated(standing.query)}</b>"), ("Document", isolated(standing.document)))
    )
    return Page(f"Why not {standing.document}", heading, facts, "\n".join(parts))


def choice(typed: str, documents: Sequence[NamedDocument], limit: int, state: _State) -> Page:
    """Return the page that chooses a document by a part of its name.

    Args:
        documents: at most `limit` documents with `typed` in their name.
    """
    names = "".join(
        f'<li><a href="{link("/why-not", **state, document=document.id)}">{isolated(document.name)}</a></li>'
        for document in documents
    )
    count = f"The first {limit:,}" if len(documents) >= limit else counted(len(documents), "document")
    form = f"""<form class="controls" action="/why-not">{hidden(**state)}
<label>Part of its name or title <input type="search" name="name" value="{kept(typed)}" autocomplete="off"></label>
<button>Find</button></form>"""
    body = f"""<live-part>{form}
<p class="faint" role="status">{count}</p><ul class="names">{names}</ul></live-part>"""
    heading = "Which document did you expect?"
    return Page(heading, heading, _query(str(state.get("q", ""))), body, ("live.js",))


def _query(query: str) -> str:
    return about((("Query", f"<b>{isolated(query)}</b>"),))


def _hit(name: str, hit: Hit, state: _State) -> str:
    """A passage with its score, location and beginning."""
    stands = f' <span class="faint">{text(percentile_of(hit))}</span>' if percentile_of(hit) else ""
    under = f"<p><b>{isolated(headings(hit))}</b></p>" if headings(hit) else ""
    why = link("/explain", **state, passage=hit.passage_id)
    return f"""<section class="panel"><h2>{name}</h2><p><b class="score">{hit.score:.4f}</b>{stands}</p>
<p>{isolated(where(hit))} <span class="faint">{named(hit)}</span></p>{under}
<p dir="auto">{text(snippet(hit))}</p><p><a href="{why}">Why this score</a></p></section>"""


def _gap(compared: Contrast, a: str, b: str) -> str:
    """Return the gap as a sum, and a table with the share of each query word."""
    total = sum(word.gap for word in compared.words)
    end = max((abs(word.gap) for word in compared.words), default=0.0)
    sign = "\u2212" if compared.residual < 0 else "+"
    rows = "".join(_difference(word, end) for word in in_order(compared))
    sums = [sum(word.in_a for word in compared.words), sum(word.in_b for word in compared.words)]
    foot = "".join(f"<td>{signed(value)}</td>" for value in sums)
    return f"""<section class="sum" aria-label="The gap"><p class="equation">
<span><b>{signed(compared.gap)}</b> gap of the scores, {a} less {b}</span>
<span><i>=</i> <b>{signed(total)}</b> all lines below</span>
<span><i>{sign}</i> <b>{abs(compared.residual):.1e}</b> residual</span></p></section>
<table class="gap"><thead><tr><th scope="col">Query word</th><th scope="col">{a} \u2212 {b}</th><td></td>
<th scope="col">in {a}</th><th scope="col">in {b}</th></tr></thead><tbody>{rows}</tbody>
<tfoot><tr><th scope="row">sum</th><td>{signed(total)}</td><td></td>{foot}</tr></tfoot></table>"""


def _difference(word: Difference, end: float) -> str:
    other = "" if word.kind in ("word", "term") else ' class="faint"'
    return (
        f'<tr{other}><th scope="row">{text(share_name(word))}</th><td>{signed(word.gap)}</td>'
        f"<td>{bar(word.gap, end)}</td>"
        f"<td>{signed(word.in_a)}{_with(word.found_in_a)}</td><td>{signed(word.in_b)}{_with(word.found_in_b)}</td></tr>"
    )


def _with(partners: Sequence[Partner]) -> str:
    """Words of the passage with the largest contributions."""
    names = ", ".join(isolated(partner.text) for partner in partners[:_NAMES])
    return f"<small>with {names}</small>" if names else ""
