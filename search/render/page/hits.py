"""Hits on a page: place, headings, the part of the passage that counts with what counted marked, and the score's parts.

The script moves among them by keyboard, and puts explanations and contrasts beside them; all of these are links too.
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

IN_COLUMNS = ("code", "csv", "jsonl", "xlsx", "notebook")  # kinds whose lines stay as they are
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
class Asked(_Options):  # type: ignore[misc]
    """What is asked, with the names that it has in an address; what is as it is by default stands in none.

    Attributes:
        generation: of the index, when the address was made; None in one that is to hold whatever the index is.
        weight: None for the default.
    """

    index: str = ""
    q: str = ""
    generation: int | None = None

    def link(self, path: str, **more: str | float | Sequence[str] | None) -> str:
        """An address that asks this, for an attribute."""
        default = Asked()
        asked = {
            name: None if value == getattr(default, name) else value for name, value in vars(self).items()
        }
        return link(path, **({"index": None, "q": None} | asked | more))


@dataclass(frozen=True)
class Marked:
    """A hit and what counts in its text.

    Attributes:
        marks: with what each added to the score.
        words: those of the query's words; the passage is cut to these if there are any, so that it stays where it is
            when marks of all tokens follow.
    """

    hit: Hit
    marks: Sequence[Highlight] = ()
    words: Sequence[Highlight] = ()


def listed(asked: Asked, found: Sequence[Marked], like: int | None = None) -> str:
    """Hits as an ordered list; the shades of all end at the same addend, so they can be compared.

    Args:
        asked: with the generation that the hits are of, as numbers of documents hold in it alone.
        like: the passage that they are similar to, for hits of no query.
    """
    end = deepest(found)
    reranked = " data-reranked" if any(one.hit.ranking.rerank for one in found) else ""
    items = "".join(_hit(asked, one, end, like, found) for one in found)
    return f'<ol class="hits"{reranked}>{items}</ol>'


def deepest(found: Sequence[Marked]) -> float:
    """The addend from which on shades are the deepest: one in fifty reaches it, so that a rare word leaves room for
    differences among the others."""
    addends = sorted(abs(mark.weight) for one in found for mark in one.marks)
    return addends[-1 - len(addends) // 50] if addends else 0.0


def _hit(asked: Asked, one: Marked, end: float, like: int | None, found: Sequence[Marked]) -> str:
    hit = one.hit
    title = isolated(headings(hit) or hit.document)
    beside = f'<p class="faint">{text(copies_of(hit))}</p>' if hit.copies else ""
    return f"""<li class="hit" data-passage="{hit.passage_id}">
<h2><span class="rank">{hit.rank}</span> <a class="open" href="{_document(asked, hit)}">{title}</a></h2>
{_place(hit)}
{passage(one, end)}
{_score(hit)}
{beside}<p class="ways">{_ways(asked, hit, like, found)}</p>
</li>
"""


def _place(hit: Hit) -> str:
    """Where it stands, to be copied."""
    place = where(hit)
    since = f' <strong class="warn">{text(since_indexed(hit))}</strong>' if hit.changed else ""
    unseen = f'<span class="unseen"> {isolated(place)}</span>'
    copy = f'<button type="button" class="quiet copy" data-copied="{text(place)}" hidden>Copy{unseen}</button>'
    return f'<p class="place">{isolated(place)}{since} {copy}</p>'


def _document(asked: Asked, hit: Hit) -> str:
    """Where the whole document is read, as long as its number is that of the same one."""
    how = replace(asked, **defaults(FilterOptions), **defaults(ListOptions))
    return f"{how.link(f'/documents/{hit.document_id}', passage=hit.passage_id)}#p{hit.passage_id}"


def _ways(asked: Asked, hit: Hit, like: int | None, found: Sequence[Marked]) -> str:
    """Links to what else can be asked of a hit, as long as the index is the one in which it is a hit."""
    unseen = f'<span class="unseen"> of hit {hit.rank}</span>'
    similar = link("/similar", index=asked.index, passage=hit.passage_id, generation=asked.generation)
    ways = [f'<a class="similar" href="{similar}">More like this{unseen}</a>']
    if like is not None:
        alike = link(
            "/explain", index=asked.index, like=like, passage=hit.passage_id, generation=asked.generation
        )
        ways.insert(0, f'<a class="why" href="{alike}">Why{unseen}</a>')
    elif asked.q:
        ways.insert(
            0, f'<a class="why" href="{asked.link("/explain", passage=hit.passage_id)}">Why{unseen}</a>'
        )
        if other := next((one.hit for one in found if one.hit is not hit), None):
            first, second = (other, hit) if other.rank < hit.rank else (hit, other)
            pair = asked.link("/contrast", a=first.passage_id, b=second.passage_id)
            named = f'Contrast with {other.rank}<span class="unseen"> for hit {hit.rank}</span>'
            ways.append(f'<a class="contrast" href="{pair}">{named}</a>')
            ways.append(
                '<button type="button" class="quiet mark" aria-pressed="false" hidden>Mark for contrast'
                f"{unseen}</button>"
            )
    return " ".join(ways)


def _score(hit: Hit) -> str:
    """The score, its two parts, and where it stands among random pairs."""
    there = {} if hit.ranking.rerank else hit.addends
    said = " + ".join(
        f'<span data-part-of="{name}">{fixed(value, 3)}</span> {name}' for name, value in there.items()
    )
    shown = f" = {said}" if len(there) > 1 else f" {''.join(there)}"
    percentile = percentile_of(hit)
    among = f' <span class="percentile">{text(percentile)}</span>' if percentile else ""
    return f'<p class="score"><b>{fixed(hit.score, 3)}</b>{shown}{among}</p>'


def passage(one: Marked, end: float) -> str:
    """The part of a passage that counts most, with what counted marked.

    Args:
        end: the addend of the deepest shade.
    """
    shown, hit = cut(one.hit, one.words or one.marks), one.hit
    kinds = kinds_of_characters(hit.text, hit.hidden, one.marks, end)
    is_code = hit.kind in IN_COLUMNS
    source = hit.text if is_code or "```" in hit.text else _GOES_ON.sub(r"\1 ", hit.text)
    runs = groupby(range(shown.start, shown.end), lambda at: kinds[at])
    body = "".join(
        marked_run("".join(source[at] for at in run), kind) for kind, run in runs if kind != HIDDEN
    )
    before, after = "… " if shown.before else "", " …" if shown.after else ""
    kind = " code" if is_code else ""
    return f'<p class="passage{kind}" dir="auto">{before}{body.strip()}{after}</p>'


def kinds_of_characters(
    source: str, hidden: Sequence[tuple[int, int]], marks: Sequence[Highlight], end: float
) -> list[str]:
    """For each character the classes of what it added, HIDDEN for markup, "" for any other."""
    added = [0.0] * len(source)
    for mark in marks:
        for at in range(mark.start, min(mark.end, len(added))):
            added[at] += mark.weight
    kinds = [shade(value, end) for value in added]
    kinds = ["" if kind[1] in "012" else kind for kind in kinds]  # what hardly counts is not marked
    for start, stop in hidden:
        for at in range(start, min(stop, len(kinds))):
            kinds[at] = kinds[at] or HIDDEN
    return kinds


def marked_run(shown: str, kind: str) -> str:
    """Characters that are shown alike."""
    return f'<mark class="{kind}">{text(shown)}</mark>' if kind and shown.strip() else text(shown)
