"""The explanation of a hit on the server's page: with a choice of units and layers, and a test of it on request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from search.records.comparisons import Faithfulness, Removal
from search.records.contents import StoredPassage
from search.records.explanations import Explanation, middle_layer
from search.records.hits import Hit
from search.render.page.document import Page, bar, hidden, isolated, link, options, signed, text
from search.render.page.explanation import explanation
from search.render.units import By, units
from search.render.why import verdict

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
    what = "score" if checked.is_score else "cosine"
    return f"""<section class="panel"><h2>What the {what} loses without the words that count most</h2>
<table class="added"><tbody>{rows}</tbody></table><p>{text(verdict(checked))}</p></section>"""


def _removal(removal: Removal, end: float) -> str:
    """Two lines: what is lost without the words that count most, and without as many others."""
    words = ", ".join(isolated(word.text) for word in removal.words)
    spread = f"mean of {len(removal.random)}, \u00b1 {removal.random_spread:.3f}"
    drawn = f"<small>{len(removal.words)} random: {spread}</small>"
    return "".join(
        f'<tr><th scope="row">{name}</th><td>{signed(value)}</td><td>{bar(value, end)}</td></tr>'
        for name, value in ((words, -removal.drop), (drawn, -removal.random_mean))
    )
