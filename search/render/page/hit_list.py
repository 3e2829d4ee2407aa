"""Hits on a page: location, headings, an excerpt of the passage with highlights, and the parts of the score.

The script adds navigation by keyboard, and loads explanations and comparisons beside the hits; all of these are links,
too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, make_dataclass, replace
from itertools import groupby
from typing import Any

from search.records.explanations import Highlight
from search.records.hits import Hit
from search.records.options import (
    CountOptions,
    FilterOptions,
    ListOptions,
    RankOptions,
    declared,
    defaults,
)
from search.render.format import (
    copies_of,
    fixed,
    headings,
    percentile_of,
    since_indexed,
    where,
)
from search.render.hits import cut
from search.render.page.document import isolated, link, shade, text

IN_COLUMNS = tuple(
    "code csv jsonl xlsx ods ics vcf notebook".split()
)  # kinds whose lines are not joined
HIDDEN = "hidden"
_GOES_ON = re.compile(r"(?m)^([^#>|\s].*)\n(?=[^\s>|#*+\-•`~$\d])")  # a line that the next one continues


_Options: Any = make_dataclass(
    "_Options",
    [
        (name, type_, field(default=option.default))
        for kind in (CountOptions, RankOptions)
        for name, (type_, option) in declared(kind).items()
    ],
    frozen=True,
    kw_only=True,
)


@dataclass(frozen=True)
class PageRequest(_Options):  # type: ignore[misc]
    """Query and options by their names in an address, which leaves out defaults.

    Attributes:
        generation: generation of the index when the address was made; None for an address that is valid for every
            generation.
        weight: weight of the cosine; None for the default.
    """

    index: str = ""
    q: str = ""
    generation: int | None = None

    def link(self, path: str, **more: str | float | Sequence[str] | None) -> str:
        """Return the address of this request for an attribute."""
        default = PageRequest()
        values = {
            name: None if value == getattr(default, name) else value
            for name, value in vars(self).items()
        }
        return link(path, **({"index": None, "q": None} | values | more))


@dataclass(frozen=True)
class Marked:
    """A hit and its highlights.

    Attributes:
        marks: highlights, each with its contribution to the score.
        words: highlights of keywords only. If there are any, they determine the excerpt, so that it stays the same when
            the highlights of all tokens are loaded.
    """

    hit: Hit
    marks: Sequence[Highlight] = ()
    words: Sequence[Highlight] = ()


def listed(request: PageRequest, hits: Sequence[Marked], like: int | None = None) -> str:
    """Return hits as an ordered list; all of them have the same scale of shades, so they can be compared.

    Args:
        request: the request, with the generation of the hits, because document IDs are valid for that generation only.
        like: ID of the passage that the hits are similar to; None for hits of a query.
    """
    end = deepest(hits)
    reranked = " data-reranked" if any(item.hit.ranking.rerank for item in hits) else ""
    items = "".join(_hit(request, item, end, like, hits) for item in hits)
    return f'<ol class="hits"{reranked}>{items}</ol>'


def deepest(hits: Sequence[Marked]) -> float:
    """Return the contribution with the darkest shade: the 98th percentile.

    The maximum would make all other shades pale if one word contributes very much.
    """
    addends = sorted(abs(mark.weight) for item in hits for mark in item.marks)
    return addends[-1 - len(addends) // 50] if addends else 0.0


def _hit(
    request: PageRequest, item: Marked, end: float, like: int | None, hits: Sequence[Marked]
) -> str:
    hit = item.hit
    title = isolated(headings(hit) or hit.document)
    beside = f'<p class="faint">{text(copies_of(hit))}</p>' if hit.copies else ""
    return f"""<li class="hit" data-passage="{hit.passage_id}">
<h2><span class="rank">{hit.rank}</span> <a class="open" href="{_document(request, hit)}">{title}</a></h2>
{_place(hit)}
{passage(item, end)}
{_score(hit)}
{beside}<p class="ways">{_ways(request, hit, like, hits)}</p>
</li>
"""


def _place(hit: Hit) -> str:
    """Location of a hit, with a button that copies it."""
    place = where(hit)
    since = f' <strong class="warn">{text(since_indexed(hit))}</strong>' if hit.changed else ""
    unseen = f'<span class="unseen"> {isolated(place)}</span>'
    copy = f'<button type="button" class="quiet copy" data-copied="{text(place)}" hidden>Copy{unseen}</button>'
    return f'<p class="place">{isolated(place)}{since} {copy}</p>'


def _document(request: PageRequest, hit: Hit) -> str:
    """Address of the whole document, valid for the generation of the request."""
    request = replace(request, **defaults(FilterOptions), **defaults(ListOptions))
    return f"{request.link(f'/documents/{hit.document_id}', passage=hit.passage_id)}#p{hit.passage_id}"


def _ways(request: PageRequest, hit: Hit, like: int | None, hits: Sequence[Marked]) -> str:
    """Links to the explanation, similar passages and a contrast, valid for the generation of the request."""
    unseen = f'<span class="unseen"> of hit {hit.rank}</span>'
    similar = link(
        "/similar", index=request.index, passage=hit.passage_id, generation=request.generation
    )
    ways = [f'<a class="similar" href="{similar}">More like this{unseen}</a>']
    if like is not None:
        alike = link(
            "/explain",
            index=request.index,
            like=like,
            passage=hit.passage_id,
            generation=request.generation,
        )
        ways.insert(0, f'<a class="why" href="{alike}">Why{unseen}</a>')
    elif request.q:
        ways.insert(
            0,
            f'<a class="why" href="{request.link("/explain", passage=hit.passage_id)}">Why{unseen}</a>',
        )
        if other := next((item.hit for item in hits if item.hit is not hit), None):
            first, second = (other, hit) if other.rank < hit.rank else (hit, other)
            pair = request.link("/contrast", a=first.passage_id, b=second.passage_id)
            named = f'Contrast with {other.rank}<span class="unseen"> for hit {hit.rank}</span>'
            ways.append(f'<a class="contrast" href="{pair}">{named}</a>')
            ways.append(
                '<button type="button" class="quiet mark" aria-pressed="false" hidden>Mark for contrast'
                f"{unseen}</button>"
            )
    return " ".join(ways)


def _score(hit: Hit) -> str:
    """The score, its parts, and its percentile of the null distribution."""
    addends = {} if hit.ranking.rerank else hit.addends
    parts = " + ".join(
        f'<span data-part-of="{name}">{fixed(value, 3)}</span> {name}' for name, value in addends.items()
    )
    breakdown = f" = {parts}" if len(addends) > 1 else f" {''.join(addends)}"
    percentile = percentile_of(hit)
    note = f' <span class="percentile">{text(percentile)}</span>' if percentile else ""
    return f'<p class="score"><b>{fixed(hit.score, 3)}</b>{breakdown}{note}</p>'


def passage(item: Marked, end: float) -> str:
    """Return the excerpt of a passage that contributes most, with highlights.

    Args:
        end: contribution with the darkest shade.
    """
    excerpt, hit = cut(item.hit, item.words or item.marks), item.hit
    kinds = kinds_of_characters(hit.text, hit.hidden, item.marks, end)
    is_code = hit.kind in IN_COLUMNS
    source = hit.text if is_code or "```" in hit.text else _GOES_ON.sub(r"\1 ", hit.text)
    runs = groupby(range(excerpt.start, excerpt.end), lambda i: kinds[i])
    body = "".join(
        marked_run("".join(source[i] for i in run), kind) for kind, run in runs if kind != HIDDEN
    )
    before, after = "… " if excerpt.before else "", " …" if excerpt.after else ""
    kind = " code" if is_code else ""
    return f'<p class="passage{kind}" dir="auto">{before}{body.strip()}{after}</p>'


def kinds_of_characters(
    source: str, hidden: Sequence[tuple[int, int]], marks: Sequence[Highlight], end: float
) -> list[str]:
    """Return for each character the CSS classes of its shade, HIDDEN for markup, or ""."""
    added = [0.0] * len(source)
    for mark in marks:
        for i in range(mark.start, min(mark.end, len(added))):
            added[i] += mark.weight
    kinds = [shade(value, end) for value in added]
    kinds = ["" if kind[1] in "012" else kind for kind in kinds]  # small addends are not marked
    for start, stop in hidden:
        for i in range(start, min(stop, len(kinds))):
            kinds[i] = kinds[i] or HIDDEN
    return kinds


def marked_run(part: str, kind: str) -> str:
    """Return characters of one kind as HTML."""
    return f'<mark class="{kind}">{text(part)}</mark>' if kind and part.strip() else text(part)
