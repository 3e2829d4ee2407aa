"""The search page: a form whose whole state is its address, hits, what narrows them down, and other weights to try.

It is a plain form with plain links; the script asks as one types, and takes the parts that differ out of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from search.records.contents import Facet, FacetValue, StoredPassage
from search.records.hits import Verdict
from search.records.options import WEIGHT
from search.records.shown import visible
from search.render.format import fixed, one_line, shortened
from search.render.hits import verdict_line
from search.render.page.document import Page, about, isolated, text
from search.render.page.hits import Asked, Marked, deepest, listed

USES = ("search.css", "explanation.js", "live.js", "hits.js", "whatif.js", "search.js", "weighing.js")
_MODES = {"hybrid": "meaning and words", "dense": "meaning", "lexical": "words"}
_SHOWN = 320  # characters of the passage whose like is looked for
_KEYS = (
    ("/", "to the query"),
    ("j, k or ↓, ↑", "next hit, previous hit"),
    ("Enter", "read the document at the passage"),
    ("e", "explain the score, beside the hit"),
    ("c", "mark for contrast; two that are marked are compared"),
    ("s", "more like this"),
    ("Esc", "close what is open, then back to the query, and out of it"),
    ("?", "this list"),
)
_BESIDE = '<section class="beside" aria-label="Beside the hits" tabindex="-1" hidden></section>'
_START = """<div class="start">
<p>Press <kbd>e</kbd> on a hit for why it was found, and <kbd>?</kbd> for all keys.</p>
<div class="last" hidden><h2>Your last queries</h2><ul></ul></div></div>"""


@dataclass(frozen=True)
class Found:
    """What there is to show of an index, and of a query to it.

    Attributes:
        generation: of the index now.
        marked: the hits.
        every_token: whether marks are of all tokens, not of words alone.
        words: of the query that count as words, as they are named; `without` are those of them that are left out.
        facets: by what hits can be filtered; None where that was not asked for.
        notes: what has to be known of the index.
        problem: why there are no hits.
    """

    generation: int
    marked: Sequence[Marked] = ()
    every_token: bool = False
    words: Sequence[str] = ()
    without: Sequence[str] = ()
    facets: Sequence[Facet] | None = None
    notes: Sequence[str] = ()
    problem: str = ""


def search(asked: Asked, indexes: Sequence[str], found: Found) -> Page:
    """The search page.

    Args:
        indexes: names of all that can be asked.
    """
    title = f"{asked.q} - seewhy" if asked.q else "seewhy"
    body = f"""<search-page data-generation="{found.generation}" data-weight="{WEIGHT:g}">
{_form(asked, indexes, found)}
<div class="found">
{_narrowing(asked, found.facets)}
<hit-list><section class="results" data-part="results" aria-label="Hits">
{_results(asked, found)}</section>
{_BESIDE}</hit-list>
</div>
<p class="unseen said" role="status"></p>
{_keys()}
</search-page>"""
    return Page(title, "Search", "", body, USES)


def similar(asked: Asked, like: StoredPassage, found: Found) -> Page:
    """The passages that are most like one, by meaning."""
    asked = replace(asked, generation=found.generation)
    place = asked.link(f"/documents/{like.document_id}", passage=like.passage_id)
    passage = shortened(one_line(visible(like.text, like.hidden)), _SHOWN)
    facts = (
        ("Passage", f'<a href="{place}#p{like.passage_id}">{isolated(like.document)}</a>'),
        ("Under", isolated(like.heading)),
        ("Text", isolated(passage)),
    )
    hits = listed(asked, found.marked, like=like.passage_id)
    body = f"""<div class="found"><hit-list><section class="results" aria-label="Hits">{hits}
{_notes(found)}</section>
{_BESIDE}</hit-list></div>"""
    return Page(
        "More like this",
        "More like this",
        about(fact for fact in facts if fact[1] != isolated("")),
        body,
        USES,
    )


def _form(asked: Asked, indexes: Sequence[str], found: Found) -> str:
    names = {name: one_line(name) for name in indexes}
    return f"""<form class="ask" role="search" action="/">
<div class="line"><label class="query"><span class="unseen">Query</span><input type="search" name="q"
value="{text(asked.q)}" placeholder="Ask in your own words" autocomplete="off" autocapitalize="off" maxlength="2000"
enterkeyhint="search"></label>
<button class="first">Search</button></div>
<div class="line options">
<label>Index <select name="index">{_options(names, asked.index)}</select></label>
<label>By <select name="mode" data-default="hybrid">{_options(_MODES, asked.mode)}</select></label>
{_limits(asked)}
{_what_if(asked, found)}
</div>
</form>"""


def _limits(asked: Asked) -> str:
    """Which passages may be hits, and how many."""
    default = Asked()
    names = ("where", "since", "k", "per_document", "phrases")
    opened = " open" if any(getattr(asked, name) != getattr(default, name) for name in names) else ""
    return f"""<details class="limits"{opened}><summary>Filter and number</summary><div class="line">
<label class="wide">Filter <input name="where" value="{text(asked.where or "")}" placeholder="path:docs/** and kind=pdf"
autocomplete="off" autocapitalize="off" spellcheck="false"></label>
<label>Changed since <input name="since" value="{text(asked.since or "")}" placeholder="7d" size="8"
autocomplete="off"></label>
<label>Hits <input type="number" name="k" min="1" max="100" required value="{asked.k}"
data-default="{default.k}"></label>
<label>Of one document <input type="number" name="per_document" min="0" max="100" required
value="{asked.per_document}" data-default="{default.per_document}"></label>
<label><input type="checkbox" name="phrases" value="1"{" checked" if asked.phrases else ""}> Quoted words as a
phrase</label></div></details>"""


def _options(names: dict[str, str], chosen: str) -> str:
    return "".join(
        f'<option value="{text(value)}"{" selected" if value == chosen else ""}>{text(name)}</option>'
        for value, name in names.items()
    )


def _what_if(asked: Asked, found: Found) -> str:
    """The weight, and the words of the query as toggles."""
    weight = WEIGHT if asked.weight is None else asked.weight
    opened = " open" if asked.weight not in (None, WEIGHT) or asked.without else ""
    return f"""<what-if><details{opened}><summary>What if …</summary>
<div class="line"><label class="weight">Meaning counts <output>{weight:.2f}</output>, words the rest
<input type="range" name="weight" min="0" max="1" step="0.01" value="{weight:g}"></label>
<fieldset data-part="words"{"" if found.words else " hidden"}><legend>Words that do not count</legend>
{_toggles(found)}</fieldset></div>
<p class="faint" role="status"></p></details></what-if>"""


def _toggles(found: Found) -> str:
    return "".join(
        f'<label><input type="checkbox" name="without" value="{text(word)}"'
        f"{' checked' if word in found.without else ''}> {isolated(word)}</label> "
        for word in found.words
    )


def _narrowing(asked: Asked, facets: Sequence[Facet] | None) -> str:
    """Facets: each value is a link to the same query with one more condition, or without it."""
    if facets is None:
        inner = f'<a class="later" href="{asked.link("/", facets=1)}">Filter by \u2026</a>'
    else:
        groups = "".join(_group(asked, facet) for facet in facets)
        inner = f'<details class="narrow" open><summary>Filter by</summary>{groups}</details>'
    return f'<nav aria-label="Filter by" data-part="facets">{inner}</nav>'


def _group(asked: Asked, facet: Facet) -> str:
    values = "".join(_value(asked, value) for value in facet.values)
    return f"<h2>{isolated(facet.field)}</h2><ul>{values}</ul>"


def _value(asked: Asked, value: FacetValue) -> str:
    where, is_set = toggled(asked.where or "", value.where)
    chosen = ' aria-current="true"' if is_set else ""
    address = asked.link("/", where=where, generation=None, facets=1)
    return (
        f'<li><a href="{address}" data-where="{text(where)}"{chosen}>{isolated(value.value)}</a> '
        f'<span class="faint">{value.documents:,}</span></li>'
    )


def toggled(where: str, condition: str) -> tuple[str, bool]:
    """A filter with a condition added, or removed if it was set, and whether it was set."""
    conditions, one = f" and {where} and ", f" and {condition} and "
    if one in conditions:
        return conditions.replace(one, " and ", 1)[5:-5], True
    before = f"({where})" if " or " in where else where
    return f"{before} and {condition}" if before else condition, False


def _results(asked: Asked, found: Found) -> str:
    return "\n".join(filter(None, (_said(asked, found), *_parts(asked, found), _notes(found))))


def _parts(asked: Asked, found: Found) -> Iterator[str]:
    if asked.generation is not None and asked.generation != found.generation:
        now = replace(asked, generation=found.generation).link("/")
        yield (
            '<p class="warn">The index has changed since this address was made. '
            f'<a href="{now}">Ask it as it is now</a></p>'
        )
    if not asked.q.strip():
        yield _START
    elif found.marked:
        yield listed(replace(asked, generation=found.generation), found.marked)
        yield _legend(found)
    if asked.q.strip():
        missed = replace(asked, generation=found.generation).link("/why-not")
        yield f'<p class="ways"><a href="{missed}">Why is another document not among the hits?</a></p>'


def _said(asked: Asked, found: Found) -> str:
    """What has come of the query, in a line."""
    if found.problem:
        return f'<p role="alert" class="warn">{text(found.problem)}</p>'
    if not asked.q.strip():
        return ""
    if not found.marked:
        return f'<p class="verdict">{_none(asked)}</p>'
    verdict = found.marked[0].hit.verdict
    return _verdict(verdict) if verdict else ""


def _none(asked: Asked) -> str:
    """Why there is no hit."""
    passes = " that passes the filter" if asked.where or asked.since else ""
    if asked.mode == "lexical" or asked.weight == 0:
        return f"No passage{passes} has a word of the query."
    return "No passage passes the filter." if passes else "The index holds no passages yet."


def _verdict(verdict: Verdict) -> str:
    return f'<p class="verdict {verdict.says.split()[0]}">{text(verdict_line(verdict))}</p>'


def _legend(found: Found) -> str:
    of = "every token" if found.every_token else "the query's words"
    end = fixed(deepest(found.marked), 3, signed=True)
    minus = ', <mark class="l5 minus">taken from it</mark>' if found.every_token else ""
    return (
        f'<p class="faint legend">Shades: what {of} <mark class="l5">added to the score</mark>{minus}; '
        f"the deepest from {end} on, none below a quarter of it.</p>"
    )


def _notes(found: Found) -> str:
    return "".join(f'<p class="faint">{text(note)}</p>' for note in found.notes)


def _keys() -> str:
    rows = "".join(
        f"<div><dt><kbd>{text(key)}</kbd></dt><dd>{text(does)}</dd></div>" for key, does in _KEYS
    )
    return f"""<footer class="foot" hidden><button type="button" class="quiet keys">Keys and settings</button></footer>
<dialog aria-labelledby="keys"><h2 id="keys">Keys</h2><dl>{rows}</dl>
<form class="settings"><h2>Settings</h2>
<p><label><input type="checkbox" name="keys" checked> These keys work</label></p>
<p>Your last queries are kept in this browser alone. <button type="button" class="forget">Forget them</button></p>
</form>
<form method="dialog"><button class="first">Close</button></form></dialog>"""
