"""Page of a whole document, opened at a passage; hits of a query in it are marked.

The text is the one stored in the index. It is set for reading; a switch shows its source, with markup and line
numbers. A long document is cut to the part around the passage, with links to the other parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from search.records.contents import DocumentText, StoredPassage
from search.records.documents import CONVERTED_KINDS, PLAIN_KINDS
from search.render.format import fixed
from search.render.page.document import Page, Site, drawn, text
from search.render.page.hit_list import (
    HIDDEN,
    IN_COLUMNS,
    HitView,
    PageRequest,
    attributes_of,
    marked_run,
)

BEFORE, AFTER = 20_000, 40_000  # characters that are shown before and after the passage
_LINES = (*PLAIN_KINDS, *CONVERTED_KINDS)  # kinds whose lines a reader finds in the file
_PAGES = {"pptx": "Slide", "xlsx": "Sheet", "odp": "Slide", "ods": "Sheet", "notebook": "Cell"}
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_CHANGED = {
    "changed": "The file has changed since it was indexed. This is its text as it was then.",
    "gone": "The file is gone. This is its text as it was when it was indexed.",
}
_HEADING = re.compile(r"#{1,6} |=+ \S")
_ITEM = re.compile(r"[-*+\u2022] |\d{1,3}[.)] ")


@dataclass(frozen=True)
class _Reading:
    """State of a document page.

    Attributes:
        here: position of the requested passage; 0 if none was requested.
        opened: True if a passage was requested.
        hits: passage ID -> hit in the document.
        first, last: half-open range of the visible passages.
    """

    request: PageRequest
    document: DocumentText
    here: int
    opened: bool
    hits: Mapping[int, HitView]
    first: int
    last: int

    @property
    def visible(self) -> Sequence[StoredPassage]:
        return self.document.passages[self.first : self.last]

    def to(self, id_: int) -> Markup:
        """Return the address of a passage for an attribute; within the page if the passage is visible."""
        if any(stored.passage_id == id_ for stored in self.visible):
            return Markup(f"#p{id_}")
        address = self.request.link(f"/documents/{self.document.document_id}", passage=id_)
        return Markup(f"{address}#p{id_}")


def reading(
    request: PageRequest,
    document: DocumentText,
    passage: int | None = None,
    hits: Sequence[HitView] = (),
    best: int = 0,
) -> Page:
    """Return the page of a document.

    Args:
        request: index and query.
        passage: ID of the passage to open the document at; None for its beginning.
        hits: the document's passages among the `best` first hits of the query, and the requested passage, with
            highlights.
    """
    ids = [stored.passage_id for stored in document.passages]
    here = ids.index(passage) if passage in ids else 0
    first, last = _part([len(stored.text) for stored in document.passages], here)
    by_passage = {item.hit.passage_id: item for item in sorted(hits, key=lambda item: item.hit.start)}
    read = _Reading(request, document, here, passage in ids, by_passage, first, last)
    title = document.title or document.document
    body = drawn(
        "document.html",
        site=Site("/documents", request.index),
        request=request,
        document=document,
        title=title,
        opened=passage if passage in ids else None,
        place=_where(read),
        metadata=_fields(document),
        changed=_CHANGED.get(document.changed, ""),
        before=_rest(read, before=True),
        after=_rest(read, before=False),
        passages=Markup("".join(_passages(read))),
        not_kept=not all(gap.blank for gap in document.gaps),
        hits=[(read.to(id_), _place(document, item)) for id_, item in read.hits.items()],
        best=best,
        heat=_heat(read),
        in_columns=document.kind in IN_COLUMNS,
    )
    return Page(title, "", "", body, ("reading.css", "reading.js"))


def _heat(read: _Reading) -> list[tuple[float, float, float]]:
    """Return a mark for each hit: start and length in percent of the document, and opacity."""
    whole = max(len(read.document.text), 1)
    best = max((item.hit.score for item in read.hits.values()), default=0.0) or 1.0
    return [
        (
            100 * item.hit.start / whole,
            max(100 * (item.hit.end - item.hit.start) / whole, 0.5),
            max(item.hit.score / best, 0.1),
        )
        for item in read.hits.values()
    ]


def _part(sizes: Sequence[int], here: int) -> tuple[int, int]:
    """Return the half-open range of the passages to show around `here`; `sizes` are in characters."""
    return _reach(sizes, here, BEFORE, -1), _reach(sizes, here, AFTER, 1) + 1


def _reach(sizes: Sequence[int], i: int, limit: int, step: int) -> int:
    """Return the position of the farthest passage from `i` that is within `limit` characters.

    Args:
        step: 1 to go forwards, -1 to go backwards.
    """
    left = limit
    while 0 <= i + step < len(sizes) and sizes[i + step] <= left:
        i += step
        left -= sizes[i]
    return i


def _where(read: _Reading) -> str:
    document = read.document
    here = document.passages[read.here]
    path = document.document.replace("/", " \u203a ")
    if document.kind in _LINES and document.path:
        return f"{path}, line {here.line_start:,}" if read.opened else path
    return _of_page(document, here, path)


def _fields(document: DocumentText) -> list[tuple[str, str]]:
    """Return the fields of a document, with their values as text."""
    return [
        (name, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
        for name, value in document.metadata.items()
    ]


def _of_page(document: DocumentText, passage: StoredPassage, before: str) -> str:
    name = _PAGES.get(document.kind, "Page").lower()
    return before if passage.page is None else f"{before} {name} {passage.page}"


def _place(document: DocumentText, item: HitView) -> str:
    hit = item.hit
    page = _PAGES.get(document.kind, "Page").lower()
    place = (
        f"{page} {hit.page}"
        if hit.page
        else f"line {hit.line_start:,}"
        if document.kind in _LINES
        else "passage"
    )
    return f"{place}, rank {hit.rank}" if hit.rank else place


def _rest(read: _Reading, *, before: bool) -> Markup:
    """Return links to the parts of the document before or after this one; "" if there are none."""
    passages, sizes = read.document.passages, [len(stored.text) for stored in read.document.passages]
    if (read.first == 0) if before else (read.last == len(passages)):
        return Markup("")
    if before:
        ways = {"The beginning": 0, "Earlier": _reach(sizes, read.first, AFTER, -1)}
    else:
        ways = {"Later": _reach(sizes, read.last - 1, BEFORE, 1), "The end": len(passages) - 1}
    links = " ".join(
        f'<a href="{read.to(passages[i].passage_id)}">{name}</a>' for name, i in ways.items()
    )
    extent = f"Passages {read.first + 1:,} to {read.last:,} of {len(passages):,} are shown."
    name = "Before this part" if before else "After this part"
    return Markup(
        f'<nav class="ways" aria-label="{name}"><span class="faint">{extent}</span> {links}</nav>'
    )


def _passages(read: _Reading) -> Iterator[str]:
    gaps = {gap.end: gap for gap in read.document.gaps}
    page = None
    for passage in read.visible:
        if passage.page not in (None, page):
            page = passage.page
            yield f'<h2 class="page">{_of_page(read.document, passage, "").strip().capitalize()}</h2>'
        gap = gaps.get(passage.start)
        if gap and gap.start and gap.breaks != 1 and passage is not read.visible[0]:
            yield '<span class="line"></span>'
        indent = (
            re.split(r"[\r\n]", read.document.text[gap.start : gap.end])[-1] if gap and gap.blank else ""
        )
        yield _passage(read, passage, indent)


def _passage(read: _Reading, passage: StoredPassage, indent: str) -> str:
    """Return the HTML of a passage, with its rank if it is a hit."""
    item = read.hits.get(passage.passage_id)
    lines = "".join(_lines(read.document, passage, item, indent))
    kept = f"<pre>{lines}</pre>" if read.document.kind in IN_COLUMNS else lines
    is_here = read.opened and passage is read.document.passages[read.here]
    kinds = " ".join(["read", *["is-hit"] * bool(item), *["is-here"] * is_here])
    step = _step(read, item) if item else ""
    return f'<div class="{kinds}" id="p{passage.passage_id}" tabindex="-1">{step}{kept}</div>\n'


def _step(read: _Reading, item: HitView) -> str:
    """Return the HTML of the rank and score of a hit, with a link to its explanation."""
    hit = item.hit
    rank = f"Rank {hit.rank}, score" if hit.rank else "Score"
    why = read.request.link("/explain", passage=hit.passage_id, generation=read.document.generation)
    return f'<p class="step">{rank} {fixed(hit.score, 3)} <a href="{why}">Why</a></p>'


def _lines(
    document: DocumentText, passage: StoredPassage, item: HitView | None, indent: str
) -> Iterator[str]:
    """Yield the lines of a passage, numbered if the kind of file has line numbers."""
    spans = [match.span() for match in _LINE.finditer(passage.text) if match.group()]
    counts = document.kind in PLAIN_KINDS and passage.line_end - passage.line_start + 1 == len(spans)
    kinds = attributes_of(passage.text, passage.hidden, item.marks if item else ())
    for i, (start, stop) in enumerate(spans):
        numbered = counts or (i == 0 and document.kind in _LINES)
        number = f' data-n="{passage.line_start + i}"' if numbered else ""
        content = "".join(_runs(passage.text[start:stop].rstrip("\r\n"), kinds[start:stop]))
        kind = _kind_of(passage.text[start:stop].strip())
        yield f'<span class="line {kind}"{number} dir="auto">{text(indent) if i == 0 else ""}{content}</span>\n'


def _kind_of(line: str) -> str:
    """Return the kind of a line: "heading", "item" of a list, "row", "blank", or "flow" for other text."""
    if not line:
        return "blank"
    if _HEADING.match(line):
        return "heading"
    return "item" if _ITEM.match(line) else "row" if line.startswith(("|", ">", "    ")) else "flow"


def _runs(line: str, kinds: Sequence[str]) -> Iterator[str]:
    """Yield the parts of a line as HTML, with highlights marked and markup in a faint colour."""
    for kind, run in groupby(range(len(line)), lambda i: kinds[i]):
        part = "".join(line[i] for i in run)
        yield (f'<span class="markup">{text(part)}</span>' if kind == HIDDEN else marked_run(part, kind))
