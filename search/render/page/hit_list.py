"""Hits on a page: location, excerpt with highlights, and the score as a bar of its words.

The bars of all hits have the same words in the same order, so that they can be compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, TypeVar

from markupsafe import Markup

from search.records import option_tools, options
from search.records.explanations import Highlight
from search.records.hits import Hit
from search.records.option_tools import defaults
from search.records.options import FilterOptions, ListOptions
from search.records.shares import Share
from search.render.format import cut_in_the_middle, headings, one_line, shortened, where
from search.render.hits import Cut, body_start, cut
from search.render.page.document import link, text
from search.render.score_parts import OFFSET, Mark, Part, bars

Request = TypeVar("Request")

IN_COLUMNS = tuple("code csv jsonl xlsx ods ics vcf".split())  # kinds whose lines are not joined
HIDDEN = "hidden"
_ROW_KINDS = ("csv", "jsonl", "xlsx", "ods")
_COLUMNS, _LONGEST_CELL = 5, 32  # of a row of a table
_MONTHS = "January February March April May June July August September October November December".split()
_GOES_ON = re.compile(r"(?m)^([^#>|\s].*)\n(?=[^\s>|#*+\-•`~$\d])")  # a line that the next one continues
_ROWS = 3  # of an excerpt, of 88 characters, and two more if they end the passage
_BLANK = re.compile(r"\n\s*\n")
# Pixels that a letter and the bar take: on a phone, then on a wider screen.
_LETTER, _PHONE, _WIDE = 6.5, 250, 480
_NARROWEST = 1.0  # percent of a bar: narrower segments have no label
# Share of the best score below which hits are folded. Of 128 answers among the first ten hits of 73 questions
# (benchmarks/spoken) this folds 3, and no question's only one; 0.7 would fold 14.
WEAKER = 0.6
NEVER_FOLDED = 3  # hits that are never folded


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

    def with_index(self, name: str) -> Markup:
        """Return the address of the query in another index, without what was chosen among its documents."""
        choices = dict.fromkeys(("pick", "more", "less", "without", "generation"))
        return self.link("/", index=name, **choices)

    @property
    def is_filtered(self) -> bool:
        return bool(self.where or self.pick or self.since or self.until)


@dataclass(frozen=True)
class BarSegment:
    """A part of a bar, in percent of its full width.

    Attributes:
        fits: screens on which the name has room: "" for none, "wide" or "all".
        met_fits: screens on which the name has room together with the word that it meets.
    """

    part: Part
    x: float
    width: float
    meaning: float
    fits: str
    met_fits: str


@dataclass(frozen=True)
class HitView:
    """A hit with its highlights and the parts of its score.

    Attributes:
        hit: the hit, without its explanation.
        marks: highlights.
        parts: parts that sum to the score.
        excerpt: span of the passage to show.
        is_weaker: True for a hit far below the best one.
    """

    hit: Hit
    marks: Sequence[Mark] = ()
    parts: Sequence[Part] = ()
    excerpt: Cut | None = None
    is_weaker: bool = False

    @property
    def place(self) -> str:
        """Location of the passage in the index: "mail > deposit.eml:9-12"."""
        folders = self.hit.document.split("/")[:-1]
        last = re.split(r"[/\\]", where(self.hit))[-1]
        return " \u203a ".join([*(cut_in_the_middle(one_line(name), 40) for name in folders), last])

    @property
    def correspondents(self) -> str:
        """Sender, recipients and date of a mail: "Anna \u2192 Viktor, 12 February 2024"; "" for other documents."""
        about = self.hit.metadata if self.hit.kind == "mail" else {}
        people = " \u2192 ".join(filter(None, map(_people, (about.get("from"), about.get("to")))))
        return ", ".join(filter(None, (people, _day(str(about.get("date") or "")))))

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The first other columns of a row of a table, with their values."""
        if self.hit.kind not in _ROW_KINDS or "#" not in self.hit.document:
            return []
        cells = [
            (name, shortened(str(value), _LONGEST_CELL)) for name, value in self.hit.metadata.items()
        ]
        return cells[:_COLUMNS]

    @property
    def heading(self) -> str:
        """Title and headings, outermost first: "Lease \u203a 3 Deposit"; "" if there are none."""
        return headings(self.hit).replace(" > ", " \u203a ")

    @property
    def in_columns(self) -> bool:
        return self.hit.kind in IN_COLUMNS

    @property
    def passage(self) -> Markup:
        return passage(self.hit, self.marks, self.excerpt or Cut(0, len(self.hit.text), False, False))

    def segments(self, full: float) -> list[BarSegment]:
        """Return the bar: positive parts from the left, then negative parts back from their end."""
        parts = sorted(self.parts, key=lambda part: part.value < 0)
        shares = [100 * part.value / full for part in parts]
        ends = list(accumulate(shares, initial=0.0))
        starts = [x + min(share, 0) for x, share in zip(ends, shares, strict=False)]
        spans = list(zip(starts, map(abs, shares), strict=True))
        wide, phone = (_labels(parts, spans, pixels) for pixels in (_WIDE, _PHONE))
        segments = []
        for part, (x, width), on_wide, on_phone in zip(parts, spans, wide, phone, strict=True):
            both = part.meaning > 0 < part.keyword
            meaning = part.meaning / part.value if both else part.meaning > part.keyword
            fits, met_fits = (_screens(on_wide >= length, on_phone >= length) for length in (1, 2))
            segments.append(BarSegment(part, x, width, 100 * meaning, fits, met_fits))
        return segments


def _people(names: Any) -> str:
    """Return at most two names; an ellipsis stands for the others."""
    listed = [names] if isinstance(names, str) else list(names or ())
    return ", ".join(
        [shortened(str(name), _LONGEST_CELL) for name in listed[:2]] + ["\u2026"] * (len(listed) > 2)
    )


def _day(date: str) -> str:
    """Return an ISO date in words: "12 February 2024"; another text as it is."""
    try:
        day = datetime.fromisoformat(date)
    except ValueError:
        return date
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _labels(parts: Sequence[Part], spans: Sequence[tuple[float, float]], pixels: float) -> list[int]:
    """Return which label each segment has room for: 0 for none, 1 for its name, 2 also for the word that it meets.

    A label begins with its segment and may be longer than it, if it meets no other one. Words come first, wide segments
    before narrow ones.

    Args:
        spans: begin and width of each segment, in percent of the bar.
        pixels: width of the bar.
    """
    labels, taken = [0] * len(parts), list[tuple[float, float]]()
    order = sorted(range(len(parts)), key=lambda at: (not parts[at].is_word, -spans[at][1]))
    for at in order:
        x, width = spans[at]
        names = [parts[at].name, *([f"{parts[at].name} ~ {parts[at].met}"] if parts[at].met else [])]
        for length in range(len(names), 0, -1):
            end = x + 100 * (len(names[length - 1]) + 1) * _LETTER / pixels
            is_free = parts[at].word != OFFSET and all(end <= start or x >= stop for start, stop in taken)
            if width >= _NARROWEST and end <= 100 and is_free:
                labels[at] = length
                taken.append((x, end))
                break
    return labels


def _screens(wide: bool, phone: bool) -> str:
    return "all" if wide and phone else "wide" if wide else ""


def full_width(views: Iterable[HitView]) -> float:
    """Return the score that fills a bar: 1, whatever the hits, or more for scores of a reranker.

    On a fixed scale, the hits of a question without an answer have short bars.
    """
    best = max((sum(max(part.value, 0) for part in view.parts) for view in views), default=0.0)
    return max(1.0, math.ceil(best * 10 - 1e-9) / 10)


def weaker_from(scores: Sequence[float]) -> int:
    """Return the position of the first hit that is far below the best one; the number of hits if there is none."""
    least = WEAKER * scores[0] if scores else 0.0
    return next(
        (at for at, score in enumerate(scores) if at >= NEVER_FOLDED and score < least), len(scores)
    )


def viewed(
    hits: Sequence[Hit],
    keywords: Sequence[Sequence[Highlight]] = (),
    sentences: Sequence[tuple[int, int]] = (),
    shares: Sequence[Sequence[Share]] = (),
) -> list[HitView]:
    """Return hits for a page, with the parts of their scores and their highlights.

    Args:
        keywords, shares: as of `bars`.
        sentences: span of the sentences of each hit that answer. Of a table or a program, and without them, the lines
            with the strongest highlights are shown.
    """
    views = []
    for at, (hit, (parts, marks)) in enumerate(zip(hits, bars(hits, keywords, shares), strict=True)):
        around = keywords[at] if keywords else ()
        if hit.explanation:
            around = hit.explanation.content_highlights()
        if sentences and hit.kind not in IN_COLUMNS:
            body, (start, end) = body_start(hit), sentences[at]
            start = max(start, body)
            excerpt = Cut(start, end, bool(hit.text[body:start].strip()), bool(hit.text[end:].strip()))
        else:
            excerpt = cut(hit, around, _ROWS)
        # Templates keep their values until Python collects its garbage; an explanation has traces of 100 MB.
        views.append(HitView(replace(hit, explanation=None), marks, parts, excerpt))
    first = weaker_from([hit.score for hit in hits])
    return [replace(view, is_weaker=at >= first) for at, view in enumerate(views)]


def passage(hit: Hit, marks: Sequence[Mark], excerpt: Cut) -> Markup:
    """Return the excerpt of a passage with its highlights, without its markup."""
    kinds = attributes_of(hit.text, hit.hidden, marks)
    is_code = hit.kind in IN_COLUMNS
    keeps_lines = is_code or _has_code(hit.text, excerpt)
    source = hit.text if keeps_lines else _GOES_ON.sub(r"\1 ", hit.text)
    visible = [i for i in range(excerpt.start, excerpt.end) if kinds[i] != HIDDEN]
    body = marked([source[i] for i in visible], [kinds[i] for i in visible])
    if not is_code:
        body = Markup(_BLANK.sub("\n", body))
    before, after = "… " if excerpt.before else "", " …" if excerpt.after else ""
    return before + Markup(body.strip()) + after


def _has_code(source: str, excerpt: Cut) -> bool:
    """Return True if an excerpt of Markdown has lines between fences."""
    before, part = source[: excerpt.start], source[excerpt.start : excerpt.end]
    return any(fence in part or before.count(fence) % 2 for fence in ("```", "~~~"))


def attributes_of(source: str, hidden: Sequence[tuple[int, int]], marks: Sequence[Mark]) -> list[str]:
    """Return for each character the attributes of its highlight, HIDDEN for markup, or ""."""
    kinds = [""] * len(source)
    for start, stop in hidden:
        kinds[start:stop] = [HIDDEN] * (min(stop, len(kinds)) - start)
    for mark in marks:
        classes = f"s{mark.level} exact" if mark.exact else f"s{mark.level}"
        attributes = f'class="{classes}" data-w="{text(mark.word)}"'
        for i in range(mark.start, min(mark.end, len(kinds))):
            kinds[i] = kinds[i] or attributes
    return kinds


def marked(source: Sequence[str], kinds: Sequence[str]) -> Markup:
    """Return characters as HTML: highlights as marks, markup in a faint colour; `kinds` as from `attributes_of`."""
    parts: list[str] = []
    for kind, part in runs(source, kinds):
        if kind == HIDDEN:
            parts.append(f'<span class="markup">{text(part)}</span>')
        elif kind and part.strip():
            parts.append(f"<mark {kind}>{text(part)}</mark>")
        else:
            parts.append(text(part))
    return Markup("".join(parts))


def runs(source: Sequence[str], kinds: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (kind, characters) for each run of characters of one kind."""
    start = 0
    for kind, run in groupby(kinds):
        end = start + len(list(run))
        yield kind, "".join(source[start:end])
        start = end
