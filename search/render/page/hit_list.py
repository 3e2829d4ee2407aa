"""Hits on a page: location, excerpt with highlights, and the score as a bar of its words.

The bars of all hits have the same words in the same order, so that they can be compared.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, make_dataclass
from itertools import groupby
from typing import Any

from markupsafe import Markup

from search.records.explanations import STOP_WORDS, Explanation, Highlight
from search.records.hits import Hit
from search.records.options import (
    CountOptions,
    FilterOptions,
    ListOptions,
    RankOptions,
    declared,
    defaults,
)
from search.render.format import cut_in_the_middle, headings, one_line, since_indexed, where
from search.render.hits import Cut, cut
from search.render.page.document import link, text
from search.render.why import ALIKE, WordLine, word_lines

IN_COLUMNS = tuple(
    "code csv jsonl xlsx ods ics vcf notebook".split()
)  # kinds whose lines are not joined
HIDDEN = "hidden"
REST = "rest"
MOST_WORDS = 5  # parts of a bar besides the rest, and shaded words of a passage
_ICONS = {
    "mail": "mail",
    "csv": "table",
    "xlsx": "table",
    "ods": "table",
    "jsonl": "table",
    "code": "code",
}
_GOES_ON = re.compile(r"(?m)^([^#>|\s].*)\n(?=[^\s>|#*+\-•`~$\d])")  # a line that the next one continues
_ROWS = 3  # of an excerpt, of 88 characters, and two more if they end the passage
_BLANK = re.compile(r"\n\s*\n")
# Pixels that a letter and the bar take: on a phone, then on a wider screen.
_LETTER, _PHONE, _WIDE = 6.5, 250, 480


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
class Part:
    """Contribution of a query word to a score: `meaning + keyword`.

    Attributes:
        word: the word in lower case; REST for all contributions without a word of their own.
        name: the word as typed.
        alike: the most similar passage word.
        others: other passage words with the largest contributions.
    """

    word: str
    name: str
    meaning: float
    keyword: float = 0.0
    alike: str = ""
    others: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        return self.meaning + self.keyword


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
class Mark:
    """Characters [start, end) of a passage to highlight, with the HTML attributes of the highlight."""

    start: int
    end: int
    attributes: Markup


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
    def title(self) -> str:
        return headings(self.hit) or self.hit.document

    @property
    def place(self) -> str:
        """Location of the passage: "mail > deposit.eml, lines 9-12"."""
        return place_of(self.hit)

    @property
    def since(self) -> str:
        return since_indexed(self.hit)

    @property
    def icon(self) -> str:
        return _ICONS.get(self.hit.kind, "page" if self.hit.page else "text")

    @property
    def in_columns(self) -> bool:
        return self.hit.kind in IN_COLUMNS

    @property
    def sum(self) -> str:
        """The score as a sum, for readers who do not see the bar."""
        addends = ", ".join(f"{part.name} {number(part.value)}" for part in self.parts)
        return f"Score {self.hit.score:.3f} = {addends}"

    @property
    def passage(self) -> Markup:
        return passage(self.hit, self.marks, self.excerpt or Cut(0, len(self.hit.text), False, False))

    def segments(self, full: float) -> list[BarSegment]:
        """Return the bar: positive parts from the left, then negative parts back from their end."""
        segments, x = [], 0.0
        for part in sorted(self.parts, key=lambda part: part.value < 0):
            share = 100 * part.value / full
            meaning = (
                part.meaning / part.value
                if part.meaning > 0 < part.keyword
                else part.meaning > part.keyword
            )
            pixels = len(part.name) * _LETTER
            fits = next(
                (
                    name
                    for name, bar in (("all", _PHONE), ("wide", _WIDE))
                    if pixels <= bar * abs(share) / 100
                ),
                "",
            )
            segments.append(BarSegment(part, x + min(share, 0), abs(share), 100 * meaning, fits))
            x += share
        return segments


def number(value: float) -> str:
    """Format an addend with three decimals and a wide minus sign."""
    return f"{value:.3f}".replace("-", "\u2212")


def place_of(hit: Hit) -> str:
    """Return the location of a passage: its folders within the index, then file and lines, or page."""
    folders = hit.document.split("/")[:-1]
    last = re.split(r"[/\\]", where(hit))[-1]
    return " \u203a ".join([*(cut_in_the_middle(one_line(name), 40) for name in folders), last])


def full_width(views: Iterable[HitView]) -> float:
    """Return the score that fills a bar: the best one, rounded up to tenths."""
    best = max((sum(max(part.value, 0) for part in view.parts) for view in views), default=0.0)
    return math.ceil(best * 10 - 1e-9) / 10 or 1.0


def viewed(hits: Sequence[Hit], keywords: Sequence[Sequence[Highlight]] = ()) -> list[HitView]:
    """Return hits for a page, with the parts of their scores: by word if explained, otherwise by kind."""
    lines = [word_lines(hit.explanation) if hit.explanation else [] for hit in hits]
    words = _chosen(lines)
    views = []
    for at, hit in enumerate(hits):
        if hit.explanation:
            weights = hit.explanation.content_highlights()
            marks = _marks(hit.explanation, words)
            views.append(
                HitView(hit, marks, _parts(hit.explanation, lines[at], words), cut(hit, weights, _ROWS))
            )
        else:
            matching = keywords[at] if keywords else ()
            exact = Markup('class="s2 exact"')
            marks = [Mark(mark.start, mark.end, exact) for mark in matching]
            views.append(HitView(hit, marks, _plain(hit), cut(hit, matching, _ROWS)))
    return views


def _plain(hit: Hit) -> list[Part]:
    """Return the parts of a score by kind: meaning, keywords, reranking."""
    names = {"words": "keywords", "rerank": "reranking"}
    return [
        Part("", names.get(name, name), 0 if name == "words" else value, value if name == "words" else 0)
        for name, value in hit.addends.items()
    ]


def _chosen(lines: Sequence[Sequence[WordLine]]) -> list[str]:
    """Return the words of the bars: those with the largest contributions to all hits, largest first."""
    total: dict[str, float] = defaultdict(float)
    for line in (line for each in lines for line in each):
        if line.is_word or line.share.kind in ("model", "like"):
            total[line.name.casefold()] += abs(line.added)
    content = [word for word in total if word not in STOP_WORDS] or list(total)
    return sorted(content, key=lambda word: -total[word])[:MOST_WORDS]


def _parts(why: Explanation, lines: Sequence[WordLine], words: Sequence[str]) -> list[Part]:
    by_word: dict[str, list[WordLine]] = defaultdict(list)
    for line in lines:
        by_word[line.name.casefold()].append(line)
    pairs = {pair.query.start: pair.passage.text for pair in why.alignment(ALIKE)}
    parts = []
    for word in words:
        matching = by_word.get(word, [])
        keyword = sum(line.keyword for line in matching)
        alike = next((pairs[line.share.start] for line in matching if line.share.start in pairs), "")
        partners = [partner.text for line in matching for partner in line.share.partners]
        others = [
            name
            for name in dict.fromkeys(partners)
            if name not in STOP_WORDS and name != alike.casefold()
        ]
        meaning = sum(line.added for line in matching) - keyword
        parts.append(
            Part(word, matching[0].name if matching else word, meaning, keyword, alike, tuple(others))
        )
    keyword = sum(line.keyword for line in lines if line.name.casefold() not in words)
    meaning = why.score - sum(part.value for part in parts) - keyword
    return [*parts, Part(REST, REST, meaning, keyword)]


def _marks(why: Explanation, words: Sequence[str]) -> list[Mark]:
    """Return highlights for the words of a passage that contribute most, and for all of its keywords."""
    matrices = why.words()
    added = why.passage_added(matrices).tolist()
    rows = {
        i: word.text.casefold() for i, word in enumerate(matrices.query) if word.text.casefold() in words
    }
    exact = {
        at: term.term.casefold()
        for term in why.terms
        if term.term.casefold() in words or term.term.casefold() not in STOP_WORDS
        for place in term.places
        if place.part == "text"
        for at in range(place.start, place.end)
    }
    strength: dict[str, float] = defaultdict(float)
    content = {(mark.start, mark.end) for mark in why.content_highlights()}
    for word, value in zip(matrices.passage, added, strict=True):
        if word.kind == "word" and (word.start, word.end) in content:
            strength[word.text.casefold()] = max(strength[word.text.casefold()], value)
    strongest = sorted(
        (word for word in strength if strength[word] > 0), key=lambda word: -strength[word]
    )
    most = max(strength.values(), default=0.0)
    marks = []
    for j, word in enumerate(matrices.passage):
        if word.kind != "word":
            continue
        term = exact.get(word.start)
        shaded = word.text.casefold() in strongest[:MOST_WORDS] and added[j] > 0.1 * most
        if not shaded and term is None:
            continue
        best = max(rows, key=lambda i: matrices.contributions[i, j], default=-1)
        of = term if term and term in words else rows.get(best, REST)
        level = 1 + (added[j] > 0.3 * most) + (added[j] > 0.6 * most)
        kinds = " ".join((f"s{level if shaded else 1}", *["exact"] * (term is not None)))
        marks.append(Mark(word.start, word.end, _attributes(kinds, of)))
    seen = {at for mark in marks for at in range(mark.start, mark.end)}
    for at in exact.keys() - seen:  # in a part of the passage that the model did not read
        if at - 1 not in exact:
            end = next(end for end in range(at, len(why.passage) + 1) if end not in exact)
            marks.append(Mark(at, end, _attributes("s1 exact", exact[at])))
    return marks


def _attributes(classes: str, word: str) -> Markup:
    return Markup('class="{}" data-w="{}"').format(classes, text(word))


def passage(hit: Hit, marks: Sequence[Mark], excerpt: Cut) -> Markup:
    """Return the excerpt of a passage with its highlights, without its markup."""
    kinds = attributes_of(hit.text, hit.hidden, marks)
    is_code = hit.kind in IN_COLUMNS
    source = hit.text if is_code or "```" in hit.text else _GOES_ON.sub(r"\1 ", hit.text)
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
        for i in range(mark.start, min(mark.end, len(kinds))):
            kinds[i] = kinds[i] or mark.attributes
    return kinds


def marked(source: Sequence[str], kinds: Sequence[str]) -> Markup:
    """Return characters as HTML: highlights as marks, markup in a faint colour; `kinds` as from `attributes_of`."""
    parts = Markup("")
    for kind, run in groupby(zip(source, kinds, strict=True), key=lambda pair: pair[1]):
        part = text("".join(character for character, _ in run))
        if kind == HIDDEN:
            part = Markup('<span class="markup">{}</span>').format(part)
        elif kind and part.strip():
            part = Markup("<mark {}>{}</mark>").format(Markup(kind), part)
        parts += part
    return parts
