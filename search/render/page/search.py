"""The search page: a form, hits, facets, and a control for the weight. Its address contains its whole state.

It works without scripts, as a form with links; the script searches while the user types, and replaces the parts that
have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from search.records.contents import Facet, FacetValue, StoredPassage
from search.records.hits import Hit
from search.records.options import WEIGHT
from search.records.visible_text import visible
from search.render.format import fixed, one_line, shortened, verdict_line
from search.render.page.document import Page, about, isolated, text
from search.render.page.hit_list import Marked, PageRequest, deepest, listed

USES = ("search.css", "explanation.js", "live.js", "hits.js", "whatif.js", "search.js", "weighing.js")
_MODES = {"hybrid": "meaning and words", "dense": "meaning", "lexical": "words"}
_LIKE_LENGTH = 320  # characters of the passage on the page of similar ones
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
class SearchResult:
    """Hits of a query, and facts about the index and the query.

    Attributes:
        generation: generation of the index that was searched.
        marked: the hits with their highlights.
        every_token: True if all contributing tokens are highlighted, not only keywords.
        words: keywords of the query; `without` are the ignored ones among them.
        facets: counts of values to filter by; None if not requested.
        notes: warnings about the index.
        problem: reason why there are no hits.
    """

    generation: int
    marked: Sequence[Marked] = ()
    every_token: bool = False
    words: Sequence[str] = ()
    without: Sequence[str] = ()
    facets: Sequence[Facet] | None = None
    notes: Sequence[str] = ()
    problem: str = ""


def search(request: PageRequest, indexes: Sequence[str], result: SearchResult) -> Page:
    """Return the search page.

    Args:
        indexes: names of all indexes of the server.
    """
    title = f"{request.q} - seewhy" if request.q else "seewhy"
    body = f"""<search-page data-generation="{result.generation}" data-weight="{WEIGHT:g}">
{_form(request, indexes, result)}
<div class="found">
{_narrowing(request, result.facets)}
<hit-list><section class="results" data-part="results" aria-label="Hits">
{_results(request, result)}</section>
{_BESIDE}</hit-list>
</div>
<p class="unseen said" role="status"></p>
{_keys()}
</search-page>"""
    return Page(title, "Search", "", body, USES)


def similar(request: PageRequest, like: StoredPassage, result: SearchResult) -> Page:
    """Return the page of the passages most similar in meaning to `like`."""
    request = replace(request, generation=result.generation)
    place = request.link(f"/documents/{like.document_id}", passage=like.passage_id)
    passage = shortened(one_line(visible(like.text, like.hidden)), _LIKE_LENGTH)
    facts = (
        ("Passage", f'<a href="{place}#p{like.passage_id}">{isolated(like.document)}</a>'),
        ("Under", isolated(like.heading)),
        ("Text", isolated(passage)),
    )
    hits = listed(request, result.marked, like=like.passage_id)
    body = f"""<div class="found"><hit-list><section class="results" aria-label="Hits">{hits}
{_notes(result)}</section>
{_BESIDE}</hit-list></div>"""
    return Page(
        "More like this",
        "More like this",
        about(fact for fact in facts if fact[1] != isolated("")),
        body,
        USES,
    )


def _form(request: PageRequest, indexes: Sequence[str], result: SearchResult) -> str:
    names = {name: one_line(name) for name in indexes}
    return f"""<form class="ask" role="search" action="/">
<div class="line"><label class="query"><span class="unseen">Query</span><input type="search" name="q"
value="{text(request.q)}" placeholder="Ask in your own words" autocomplete="off" autocapitalize="off" maxlength="2000"
enterkeyhint="search"></label>
<button class="first">Search</button></div>
<div class="line options">
<label>Index <select name="index">{_options(names, request.index)}</select></label>
<label>By <select name="mode" data-default="hybrid">{_options(_MODES, request.mode)}</select></label>
{_limits(request)}
{_what_if(request, result)}
</div>
</form>"""


def _limits(request: PageRequest) -> str:
    """Fields for filters and the number of hits."""
    default = PageRequest()
    names = ("where", "since", "until", "k", "per_document")
    opened = " open" if any(getattr(request, name) != getattr(default, name) for name in names) else ""
    return f"""<details class="limits"{opened}><summary>Filter and number</summary><div class="line">
<label class="wide">Filter <input name="where" value="{text(request.where or "")}"
placeholder="path:docs/** and kind=pdf" autocomplete="off" autocapitalize="off" spellcheck="false"></label>
<label>Since <input name="since" value="{text(request.since or "")}" placeholder="7d" size="8"
autocomplete="off"></label>
<label>Until <input name="until" value="{text(request.until or "")}" placeholder="2024-05-01" size="10"
autocomplete="off"></label>
<label>Hits <input type="number" name="k" min="1" max="100" required value="{request.k}"
data-default="{default.k}"></label>
<label>Of one document <input type="number" name="per_document" min="0" max="100" required
value="{request.per_document}" data-default="{default.per_document}"></label></div></details>"""


def _options(names: dict[str, str], chosen: str) -> str:
    return "".join(
        f'<option value="{text(value)}"{" selected" if value == chosen else ""}>{text(name)}</option>'
        for value, name in names.items()
    )


def _what_if(request: PageRequest, result: SearchResult) -> str:
    """Fields for the weight, and the keywords of the query as toggles."""
    weight = WEIGHT if request.weight is None else request.weight
    opened = " open" if request.weight not in (None, WEIGHT) or request.without else ""
    return f"""<what-if><details{opened}><summary>What if …</summary>
<div class="line"><label class="weight">Meaning counts <output>{weight:.2f}</output>, words the rest
<input type="range" name="weight" min="0" max="1" step="0.01" value="{weight:g}"></label>
<fieldset data-part="words"{"" if result.words else " hidden"}><legend>Words that do not count</legend>
{_toggles(result)}</fieldset></div>
<p class="faint" role="status"></p></details></what-if>"""


def _toggles(result: SearchResult) -> str:
    return "".join(
        f'<label><input type="checkbox" name="without" value="{text(word)}"'
        f"{' checked' if word in result.without else ''}> {isolated(word)}</label> "
        for word in result.words
    )


def _narrowing(request: PageRequest, facets: Sequence[Facet] | None) -> str:
    """Facets: each value is a link to the same query with one more condition, or without it."""
    if facets is None:
        inner = f'<a class="later" href="{request.link("/", facets=1)}">Filter by \u2026</a>'
    else:
        groups = "".join(_group(request, facet) for facet in facets)
        inner = f'<details class="narrow" open><summary>Filter by</summary>{groups}</details>'
    return f'<nav aria-label="Filter by" data-part="facets">{inner}</nav>'


def _group(request: PageRequest, facet: Facet) -> str:
    values = "".join(_value(request, value) for value in facet.values)
    return f"<h2>{isolated(facet.field)}</h2><ul>{values}</ul>"


def _value(request: PageRequest, value: FacetValue) -> str:
    where, is_set = toggled(request.where or "", value.where)
    chosen = ' aria-current="true"' if is_set else ""
    address = request.link("/", where=where, generation=None, facets=1)
    return (
        f'<li><a href="{address}" data-where="{text(where)}"{chosen}>{isolated(value.value)}</a> '
        f'<span class="faint">{value.documents:,}</span></li>'
    )


def toggled(where: str, condition: str) -> tuple[str, bool]:
    """Add a condition to a filter, or remove it if it is present; return the filter, and True if it was present."""
    conditions, term = f" and {where} and ", f" and {condition} and "
    if term in conditions:
        return conditions.replace(term, " and ", 1)[5:-5], True
    before = f"({where})" if " or " in where else where
    return f"{before} and {condition}" if before else condition, False


def _results(request: PageRequest, result: SearchResult) -> str:
    return "\n".join(filter(None, (_summary(request, result), *_parts(request, result), _notes(result))))


def _parts(request: PageRequest, result: SearchResult) -> Iterator[str]:
    if request.generation is not None and request.generation != result.generation:
        now = replace(request, generation=result.generation).link("/")
        yield (
            '<p class="warn">The index has changed since this address was made. '
            f'<a href="{now}">Ask it as it is now</a></p>'
        )
    if not request.q.strip():
        yield _START
    elif result.marked:
        yield listed(replace(request, generation=result.generation), result.marked)
        yield _legend(result)
    if request.q.strip():
        missed = replace(request, generation=result.generation).link("/why-not")
        yield f'<p class="ways"><a href="{missed}">Why is another document not among the hits?</a></p>'


def _summary(request: PageRequest, result: SearchResult) -> str:
    """Problem, answerability verdict, or reason for no hits, in one line."""
    if result.problem:
        return f'<p role="alert" class="warn">{text(result.problem)}</p>'
    if not request.q.strip():
        return ""
    if not result.marked:
        return f'<p class="verdict">{_none(request)}</p>'
    best = result.marked[0].hit
    return _verdict(best) if best.verdict else ""


def _none(request: PageRequest) -> str:
    """Reason for no hits."""
    restricted = request.where or request.since or request.until or set(request.q) & set('"-:=<>')
    passes = " that passes the filter" if restricted else ""
    if request.mode == "lexical" or request.weight == 0:
        return f"No passage{passes} has a word of the query."
    return "No passage passes the filter." if passes else "The index holds no passages yet."


def _verdict(best: Hit) -> str:
    kind = best.verdict.says.split()[0] if best.verdict else ""
    return f'<p class="verdict {kind}">{text(verdict_line(best))}</p>'


def _legend(result: SearchResult) -> str:
    of = "every token" if result.every_token else "the query's words"
    end = fixed(deepest(result.marked), 3, signed=True)
    minus = ', <mark class="l5 minus">taken from it</mark>' if result.every_token else ""
    return (
        f'<p class="faint legend">Shades: what {of} <mark class="l5">added to the score</mark>{minus}; '
        f"the deepest from {end} on, none below a quarter of it.</p>"
    )


def _notes(result: SearchResult) -> str:
    return "".join(f'<p class="faint">{text(note)}</p>' for note in result.notes)


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
