"""Hits on a page: location, excerpt with highlights, and the score as a bar of its words.

The bars of all hits have the same words in the same order, so that they can be compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from markupsafe import Markup

from search.records import option_tools, options
from search.records.explanations import Highlight
from search.records.hits import Hit
from search.records.option_tools import defaults
from search.records.options import FilterOptions, ListOptions
from search.render.format import cut_in_the_middle, one_line, where
from search.render.hits import Cut, cut
from search.render.page.document import link, text
from search.render.score_parts import Mark, Part, bars

Request = TypeVar("Request")

IN_COLUMNS = tuple("code csv jsonl xlsx ods ics vcf".split())  # kinds whose lines are not joined
HIDDEN = "hidden"
_GOES_ON = re.compile(r"(?m)^([^#>|\s].*)\n(?=[^\s>|#*+\-•`~$\d])")  # a line that the next one continues
_ROWS = 3  # of an excerpt, of 88 characters, and two more if they end the passage
_BLANK = re.compile(r"\n\s*\n")
# Pixels that a letter and the bar take: on a phone, then on a wider screen.
_LETTER, _PHONE, _WIDE = 6.5, 250, 480


def _with_options(cls: type[Request]) -> type[Request]:
    """Add a field for each option that the address of a page may have."""
    for kind in (options.CountOptions, options.RankOptions):
        for name, (type_, option) in option_tools.declared(kind).items():
            cls.__annotations__[name] = type_
            setattr(cls, name, option.default)
    return cls


@dataclass(frozen=True)
@_with_options
class PageRequest:
    """Query and options of a page, named like the parameters in its address, which leaves out defaults.

    Attributes:
        pick: conditions of chosen facet values.
        more, less: IDs of passages that hits should resemble (`more`) and should not resemble (`less`).
        generation: generation of the index when the address was made; None for an address that is valid for every
            generation.
        weight: weight of the cosine; None for the default.
    """

    index: str = ""
    q: str = ""
    pick: tuple[str, ...] = ()
    more: tuple[int, ...] = ()
    less: tuple[int, ...] = ()
    generation: int | None = None

    if TYPE_CHECKING:  # the fields of options

        def __init__(self, index: str = "", q: str = "", **options: Any) -> None: ...

        def __getattr__(self, option: str) -> Any: ...

    def link(self, path: str, **more: Any) -> Markup:
        """Return the address of this request for an attribute; `more` overrides its parameters."""
        return link(path, **({"index": None, "q": None} | self.values | more))

    @property
    def values(self) -> dict[str, Any]:
        """Parameters that differ from their defaults."""
        default = vars(PageRequest())
        return {name: value for name, value in vars(self).items() if value != default[name]}

    def document(self, hit: Hit) -> Markup:
        """Return the address of a hit's document, opened at the passage."""
        whole = dict.fromkeys((*defaults(FilterOptions), *defaults(ListOptions), "pick"))
        address = self.link(f"/documents/{hit.document_id}", **whole | {"passage": hit.passage_id})
        return Markup(f"{address}#p{hit.passage_id}")

    @property
    def is_filtered(self) -> bool:
        return bool(self.where or self.pick or self.since or self.until)


@dataclass(frozen=True)
class BarSegment:
    """A part of a bar, in percent of its full width.

    Attributes:
        fits: screens on which the name has room: "" for none, "wide" or "all".
    """

    part: Part
    x: float
    width: float
    meaning: float
    fits: str


@dataclass(frozen=True)
class HitView:
    """A hit with its highlights and the parts of its score.

    Attributes:
        marks: highlights.
        parts: parts that sum to the score.
        excerpt: span of the passage to show.
    """

    hit: Hit
    marks: Sequence[Mark] = ()
    parts: Sequence[Part] = ()
    excerpt: Cut | None = None

    @property
    def place(self) -> str:
        """Location of the passage in the index: "mail > deposit.eml:9-12"."""
        folders = self.hit.document.split("/")[:-1]
        last = re.split(r"[/\\]", where(self.hit))[-1]
        return " \u203a ".join([*(cut_in_the_middle(one_line(name), 40) for name in folders), last])

    @property
    def in_columns(self) -> bool:
        return self.hit.kind in IN_COLUMNS

    @property
    def passage(self) -> Markup:
        return passage(self.hit, self.marks, self.excerpt or Cut(0, len(self.hit.text), False, False))

    def segments(self, full: float) -> list[BarSegment]:
        """Return the bar: positive parts from the left, then negative parts back from their end."""
        segments, x = [], 0.0
        for part in sorted(self.parts, key=lambda part: part.value < 0):
            share = 100 * part.value / full
            both = part.meaning > 0 < part.keyword
            meaning = part.meaning / part.value if both else part.meaning > part.keyword
            room = abs(share) / 100 / (len(part.name) * _LETTER)
            fits = "all" if room * _PHONE >= 1 else "wide" if room * _WIDE >= 1 else ""
            segments.append(BarSegment(part, x + min(share, 0), abs(share), 100 * meaning, fits))
            x += share
        return segments


def full_width(views: Iterable[HitView]) -> float:
    """Return the score that fills a bar: the best one, rounded up to tenths."""
    best = max((sum(max(part.value, 0) for part in view.parts) for view in views), default=0.0)
    return math.ceil(best * 10 - 1e-9) / 10 or 1.0


def viewed(hits: Sequence[Hit], keywords: Sequence[Sequence[Highlight]] = ()) -> list[HitView]:
    """Return hits for a page, with the parts of their scores and their highlights; arguments as of `bars`."""
    views = []
    for at, (hit, (parts, marks)) in enumerate(zip(hits, bars(hits, keywords), strict=True)):
        around = keywords[at] if keywords else ()
        if hit.explanation:
            around = hit.explanation.content_highlights()
        views.append(HitView(hit, marks, parts, cut(hit, around, _ROWS)))
    return views


def passage(hit: Hit, marks: Sequence[Mark], excerpt: Cut) -> Markup:
    """Return the excerpt of a passage with its highlights, without its markup."""
    kinds = attributes_of(hit.text, hit.hidden, marks)
    is_code = hit.kind in IN_COLUMNS
    keeps_lines = is_code or "```" in hit.text or "~~~" in hit.text
    source = hit.text if keeps_lines else _GOES_ON.sub(r"\1 ", hit.text)
    visible = [i for i in range(excerpt.start, excerpt.end) if kinds[i] != HIDDEN]
    body = marked([source[i] for i in visible], [kinds[i] for i in visible])
    if not is_code:
        body = Markup(_BLANK.sub("\n", body))
    before, after = "… " if excerpt.before else "", " …" if excerpt.after else ""
    return before + Markup(body.strip()) + after


def attributes_of(source: str, hidden: Sequence[tuple[int, int]], marks: Sequence[Mark]) -> list[str]:
    """Return for each character the attributes of its highlight, HIDDEN for markup, or ""."""
    kinds = [""] * len(source)
    for start, stop in hidden:
        kinds[start:stop] = [HIDDEN] * (min(stop, len(kinds)) - start)
    for mark in marks:
        classes = f"s{mark.level} exact" if mark.exact else f"s{mark.level}"
        attributes = Markup('class="{}" data-w="{}"').format(classes, text(mark.word))
        for i in range(mark.start, min(mark.end, len(kinds))):
            kinds[i] = kinds[i] or attributes
    return kinds


def marked(source: Sequence[str], kinds: Sequence[str]) -> Markup:
    """Return characters as HTML: highlights as marks, markup in a faint colour; `kinds` as from `attributes_of`."""
    html = Markup("")
    for kind, part in runs(source, kinds):
        if kind == HIDDEN:
            html += Markup('<span class="markup">{}</span>').format(text(part))
        elif kind and part.strip():
            html += Markup("<mark {}>{}</mark>").format(Markup(kind), text(part))
        else:
            html += text(part)
    return html


def runs(source: Sequence[str], kinds: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (kind, characters) for each run of characters of one kind."""
    for kind, run in groupby(zip(source, kinds, strict=True), key=lambda pair: pair[1]):
        yield kind, "".join(character for character, _ in run)
