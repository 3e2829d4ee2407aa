"""Pages of the server about a hit, two hits and a missed document: why a score, why above another, why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from search.records.comparisons import Contrast, Difference, Faithfulness, Removal, WhyNot
from search.records.contents import StoredPassage
from search.records.documents import NamedDocument
from search.records.explanations import Explanation, Partner, middle_layer
from search.records.hits import Hit
from search.render.format import counted, headings, named, percentile_of, snippet, where
from search.render.heatmap import By, units
from search.render.page.document import (
    Page,
    about,
    bar,
    diverging,
    hidden,
    isolated,
    kept,
    link,
    options,
    signed,
    text,
)
from search.render.page.explanation import explanation
from search.render.why import WAYS_OUT, answer, in_order, share_name, verdict

_UNITS = {"word": "words", "token": "tokens"}
_LAYERS = {0: "the embedding layer"}


def why(
    explained: Explanation,
    hit: Hit | StoredPassage,
    asked: Mapping[str, Any],
    *,
    by: By = "word",
    tables: bool = False,
    checked: Faithfulness | None = None,
) -> Page:
    """The page of a hit's explanation.

    Args:
        hit: or the passage, of one that is like another.
        asked: index, query and ranking, or the other passage as `like`, as addresses have them.
        by: units of the explanation.
        tables: with both matrices as tables.
        checked: what a test of the explanation found; None for none.
    """
    of_query = hit if isinstance(hit, Hit) else None
    shown = explanation(explained, units(explained, by), of_query, tables=tables)
    here = {**asked, "passage": hit.passage_id}
    chosen = {
        "by": "" if by == "word" else by,
        "layer": explained.similarity_layer if of_query else None,
        "tables": int(tables) or None,
    }
    form = _form(explained, here, by, tables)
    test = _test(checked, {**here, **chosen}) if of_query else ""
    body = f"<live-part>{form}{test}{shown.body}</live-part>\n{_ways(hit, asked)}"
    return replace(shown, body=body, uses=(*shown.uses, "live.js"))


def _ways(hit: Hit | StoredPassage, asked: Mapping[str, Any]) -> str:
    """Where to go from here."""
    asked = {name: value for name, value in asked.items() if name != "like"}
    ways = {
        "Read it in its document": link(f"/documents/{hit.document_id}", **asked, passage=hit.passage_id),
        "More like this": link(
            "/similar", index=asked.get("index"), passage=hit.passage_id, generation=asked.get("generation")
        ),
    }
    if isinstance(hit, Hit):
        ways["Why is another document not among the hits?"] = link("/why-not", **asked)
    listed = "".join(f'<a href="{address}">{name}</a>' for name, address in ways.items())
    return f'<nav class="ways" aria-label="From here">{listed}</nav>'


def _form(explained: Explanation, here: Mapping[str, Any], by: By, tables: bool) -> str:
    layer = explained.similarity_layer
    layers = None if "like" in here else explained.n_layers or layer
    chosen = choices(layers, layer, by, tables)
    return f'<form class="controls" action="/explain">{hidden(**here)}{chosen}<button>Show</button></form>'


def choices(layers: int | None, layer: int, by: By, tables: bool) -> str:
    """Controls of an explanation: its units, the layer of its cosines unless there is only one, and its tables."""
    chosen = "" if layers is None else _layers(layers, layer)
    return f"""<label>Show <select name="by">{options(_UNITS, by)}</select></label>
{chosen}<label><input type="checkbox" name="tables" value="1"{" checked" if tables else ""}> as tables, too</label>"""


def _layers(layers: int, layer: int) -> str:
    names = {str(number): _LAYERS.get(number, f"layer {number}") for number in range(layers + 1)}
    names[str(middle_layer(layers))] += ", the middle"
    names[str(layers)] += ", the last"
    return f'<label>Cosines of <select name="layer">{options(names, str(layer))}</select></label>\n'


def _test(checked: Faithfulness | None, here: Mapping[str, Any]) -> str:
    """Whether the score needs the words that count most; a link to find out, where that was not asked for."""
    if checked is None:
        return (
            f'<p><a class="live" href="{link("/explain", **here, check=1)}">Does the score need these words?</a> '
            '<span class="faint">Cuts out those that count most, and encodes the rest again; takes seconds.</span></p>'
        )
    end = max((max(abs(one.drop), abs(one.random_mean)) for one in checked.removals), default=0.0)
    rows = "".join(_removal(one, end) for one in checked.removals)
    return f"""<section class="panel"><h2>What the cosine loses without the words that count most</h2>
<table class="added"><tbody>{rows}</tbody></table><p>{text(verdict(checked))}</p></section>"""


def _removal(removal: Removal, end: float) -> str:
    """Two lines: what is lost without the words that count most, and without as many others."""
    words = ", ".join(isolated(word.text) for word in removal.words)
    drawn = f"<small>{len(removal.words)} random: mean of {len(removal.random)}</small>"
    return "".join(
        f'<tr><th scope="row">{name}</th><td>{signed(value)}</td><td>{bar(value, end)}</td></tr>'
        for name, value in ((words, -removal.drop), (drawn, -removal.random_mean))
    )


_NAMES = 3
_Asked = Mapping[str, Any]


def contrast(compared: Contrast, asked: _Asked) -> Page:
    """The two passages, and the gap of their scores word by word.

    Args:
        asked: index, query and ranking, as addresses have them.
    """
    above, below = ("A", "B") if compared.gap >= 0 else ("B", "A")
    heading = f"Why {above} stands above {below}" if compared.gap else "A and B have equal scores"
    hits = _hit("A", compared.a, asked) + _hit("B", compared.b, asked)
    body = f'<div class="two">{hits}</div>{_gap(compared, "A", "B")}'
    return Page(f"{heading}: {compared.query}", heading, _query(compared.query), body)


def why_not(standing: WhyNot, asked: _Asked) -> Page:
    """Where a document stands for a query, and why it is not among the hits."""
    parts = [f'<p class="answer">{text(answer(standing))}</p>']
    if standing.cause == "not indexed" and standing.reason in WAYS_OUT:
        parts.append(f"<p>{text(WAYS_OUT[standing.reason])}</p>")
    if standing.hit is not None:
        last = _hit("The last hit", standing.last, asked) if standing.contrast and standing.last else ""
        parts.append(f'<div class="two">{last}{_hit("Its best passage", standing.hit, asked)}</div>')
    parts.append(_matched(standing))
    if standing.contrast is not None:
        parts.append(f"<h2>What it lacks against the last hit</h2>{_gap(standing.contrast, 'last', 'it')}")
    parts.append(f'<p><a href="{link("/why-not", **asked)}">Ask about another document</a></p>')
    found = standing.cause == "found"
    heading = "It is among the hits" if found else "Why it is not among the hits"
    facts = about(
        (("Query", f"<b>{isolated(standing.query)}</b>"), ("Document", isolated(standing.document)))
    )
    return Page(f"Why not {standing.document}", heading, facts, "\n".join(parts))


def choice(typed: str, found: Sequence[NamedDocument], most: int, asked: _Asked) -> Page:
    """A document to be chosen by typing a part of its name.

    Args:
        found: the documents with what was typed in their name, at most `most`.
    """
    names = "".join(
        f'<li><a href="{link("/why-not", **asked, document=one.id)}">{isolated(one.name)}</a>{_titled(one)}</li>'
        for one in found
    )
    said = f"The first {most:,}; type more of the name." if len(found) >= most else ""
    if not found:
        said = "No document of the index has that in its name or title." if typed else ""
    form = f"""<form class="controls" action="/why-not">{hidden(**asked)}
<label>Part of its name or title <input type="search" name="name" value="{kept(typed)}" autocomplete="off"></label>
<button>Find</button></form>"""
    body = f"""<live-part>{form}
<p class="faint" role="status">{said or counted(len(found), "document")}</p><ul class="names">{names}</ul></live-part>
<p class="faint">Of a file that is not in the index, <code>seewhy why-not QUERY PATH</code> says why.</p>"""
    heading = "Which document do you miss?"
    return Page(heading, heading, _query(str(asked.get("q", ""))), body, ("live.js",))


def _titled(document: NamedDocument) -> str:
    return f' <span class="faint">{isolated(document.title)}</span>' if document.title else ""


def _query(query: str) -> str:
    return about((("Query", f"<b>{isolated(query)}</b>"),))


def _hit(name: str, hit: Hit, asked: _Asked) -> str:
    """A passage with its score, its place and its beginning."""
    stands = f' <span class="faint">{text(percentile_of(hit))}</span>' if percentile_of(hit) else ""
    under = f"<p><b>{isolated(headings(hit))}</b></p>" if headings(hit) else ""
    why = link("/explain", **asked, passage=hit.passage_id)
    return f"""<section class="panel"><h2>{name}</h2><p><b class="score">{hit.score:.4f}</b>{stands}</p>
<p>{isolated(where(hit))} <span class="faint">{named(hit)}</span></p>{under}
<p dir="auto">{text(snippet(hit))}</p><p><a href="{why}">Why this score</a></p></section>"""


def _matched(standing: WhyNot) -> str:
    """The words of the query that its best passage was matched on."""
    end = max((share.contribution for share in standing.matched_on), default=0.0)
    rows = "".join(
        f'<tr><th scope="row">{text(share_name(share))}{_with(share.partners)}</th>'
        f"<td>{signed(share.contribution)}</td><td>{bar(share.contribution, end)}</td></tr>"
        for share in standing.matched_on
    )
    return (
        f'<h2>What it was matched on</h2><table class="added"><tbody>{rows}</tbody></table>' if rows else ""
    )


def _gap(compared: Contrast, a: str, b: str) -> str:
    """The sum that makes the gap, then what each query word has to do with it."""
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
        f"<td>{diverging(word.gap, end)}</td>"
        f"<td>{signed(word.in_a)}{_with(word.found_in_a)}</td><td>{signed(word.in_b)}{_with(word.found_in_b)}</td></tr>"
    )


def _with(partners: Sequence[Partner]) -> str:
    """The words of the passage that it added most with."""
    names = ", ".join(isolated(partner.text) for partner in partners[:_NAMES])
    return f"<small>with {names}</small>" if names else ""
