"""Hits on a page: location, excerpt with highlights, and the score as a bar of its words.

The bars of all hits have the same words in the same order, so that they can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
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
from search.render.page.score_bar import ScoreBar
from search.render.score_parts import Mark, Part, bars

Request = TypeVar("Request")

IN_COLUMNS = tuple("code csv jsonl xlsx ods ics vcf".split())  # kinds whose lines are not joined
HIDDEN = "hidden"
_ROW_KINDS = ("csv", "jsonl", "xlsx", "ods")
_COLUMNS, _LONGEST_CELL, _LONGEST_NAME = 5, 32, 60  # of a row of a table
_MONTHS = "January February March April May June July August September October November December".split()
_GOES_ON = re.compile(r"(?m)^([^#>|\s].*)\n(?=[^\s>|#*+\-•`~$\d])")  # a line that the next one continues
_ROWS = 3  # of an excerpt, of 88 characters, and two more if they end the passage
_BLANK = re.compile(r"\n\s*\n")
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
    def name(self) -> str:
        """Title of the document, or its name; of a row of a table, its text."""
        if self.hit.kind in _ROW_KINDS and "#" in self.hit.document:
            return shortened(one_line(self.hit.text), _LONGEST_NAME)
        return self.hit.title or self.hit.document.rpartition("/")[2]

    @property
    def in_columns(self) -> bool:
        return self.hit.kind in IN_COLUMNS

    @property
    def passage(self) -> Markup:
        return passage(self.hit, self.marks, self.excerpt or Cut(0, len(self.hit.text), False, False))

    @property
    def bar(self) -> ScoreBar:
        return ScoreBar(self.hit.score, self.parts)


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
