"""Page of a whole document, opened at a passage; hits of a query in it are marked and linked to each other.

The text is the one stored in the index, with markup in a faint colour. A long document is cut to the part around the
passage, with links to the other parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from search.records.contents import DocumentText, StoredPassage
from search.records.documents import CONVERTED_KINDS, PLAIN_KINDS
from search.render.format import escaped_name, fixed
from search.render.page.document import Page, about, isolated, text
from search.render.page.hit_list import (
    HIDDEN,
    IN_COLUMNS,
    Marked,
    PageRequest,
    deepest,
    kinds_of_characters,
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
_NOT_KEPT = '<p class="faint">What stands between passages is not in the index.</p>'


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
    hits: Mapping[int, Marked]
    first: int
    last: int

    @property
    def visible(self) -> Sequence[StoredPassage]:
        return self.document.passages[self.first : self.last]

    def to(self, id_: int) -> str:
        """Address of a passage for an attribute: within the page if it is visible there."""
        if any(stored.passage_id == id_ for stored in self.visible):
            return f"#p{id_}"
        return f"{self.request.link(f'/documents/{self.document.document_id}', passage=id_)}#p{id_}"


def reading(
    request: PageRequest,
    document: DocumentText,
    passage: int | None = None,
    hits: Sequence[Marked] = (),
    best: int = 0,
) -> Page:
    """Return the page of a document.

    Args:
        request: index, query, and the generation of the document.
        passage: ID of the passage to open the document at; None for its beginning.
        hits: the document's passages among the `best` first hits of the query, and the requested passage, with
            highlights.
    """
    ids = [stored.passage_id for stored in document.passages]
    here = ids.index(passage) if passage in ids else 0
    first, last = _part([len(stored.text) for stored in document.passages], here)
    by_passage = {item.hit.passage_id: item for item in sorted(hits, key=lambda item: item.hit.start)}
    read = _Reading(request, document, here, passage in ids, by_passage, first, last)
    opened = f' data-passage="{passage}"' if passage in ids else ""
    body = f"""<document-reading{opened}>{_changed(document)}{_steps(read, best)}{_rest(read, before=True)}
<div class="reading">{"".join(_passages(read))}</div>
{_rest(read, before=False)}{_NOT_KEPT if not all(gap.blank for gap in document.gaps) else ""}</document-reading>"""
    title = document.title or document.document
    return Page(title, isolated(title), _about(read), body, ("search.css", "reading.css", "reading.js"))


def _part(sizes: Sequence[int], here: int) -> tuple[int, int]:
    """Half-open range of the passages to show."""
    return _reach(sizes, here, BEFORE, -1), _reach(sizes, here, AFTER, 1) + 1


def _reach(sizes: Sequence[int], i: int, limit: int, step: int) -> int:
    """Return the position of the last passage, in one direction from `i`, within `limit` characters."""
    left = limit
    while 0 <= i + step < len(sizes) and sizes[i + step] <= left:
        i += step
        left -= sizes[i]
    return i


def _about(read: _Reading) -> str:
    document = read.document
    here = document.passages[read.here]
    path = escaped_name(document.path or document.document)
    place = f"{path}:{here.line_start}" if document.kind in _LINES else _of_page(document, here, path)
    facts = {
        "Document": isolated(document.document),
        "Place": isolated(place),
        "Kind": text(document.kind),
    }
    fields = [
        (text(name), isolated(", ".join(map(str, value)) if isinstance(value, list) else str(value)))
        for name, value in document.metadata.items()
    ]
    details = f"<details><summary>Fields</summary>{about(fields)}</details>" if fields else ""
    return about(facts.items()) + details


def _of_page(document: DocumentText, passage: StoredPassage, before: str) -> str:
    name = _PAGES.get(document.kind, "Page").lower()
    return before if passage.page is None else f"{before} {name} {passage.page}"


def _changed(document: DocumentText) -> str:
    message = _CHANGED.get(document.changed)
    return f'<p class="warn" role="note">{message}</p>' if message else ""


def _steps(read: _Reading, best: int) -> str:
    """Return links to all hits in the document, in the order of the text, and a link back to the results."""
    if not read.request.q:
        return ""
    ranked = sum(item.hit.rank > 0 for item in read.hits.values())
    summary = f"This document has {ranked or 'none'} of the {best} best passages for <q>{isolated(read.request.q)}</q>"
    back = f'<a class="back" href="{read.request.link("/")}">All hits</a>'
    links = " ".join(
        f'<a href="{read.to(id_)}">{_place(read.document, item)}</a>' for id_, item in read.hits.items()
    )
    return f'<nav class="ways" aria-label="Hits in this document"><span>{summary}</span> {links} {back}</nav>'


def _place(document: DocumentText, item: Marked) -> str:
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


def _rest(read: _Reading, *, before: bool) -> str:
    """Links to the parts of the document on other pages; "" if there are none."""
    passages, sizes = read.document.passages, [len(stored.text) for stored in read.document.passages]
    if (read.first == 0) if before else (read.last == len(passages)):
        return ""
    if before:
        ways = {"The beginning": 0, "Earlier": _reach(sizes, read.first, AFTER, -1)}
    else:
        ways = {"Later": _reach(sizes, read.last - 1, BEFORE, 1), "The end": len(passages) - 1}
    links = " ".join(
        f'<a href="{read.to(passages[i].passage_id)}">{name}</a>' for name, i in ways.items()
    )
    extent = f"Passages {read.first + 1:,} to {read.last:,} of {len(passages):,} are shown."
    name = "Before this part" if before else "Behind this part"
    return f'<nav class="ways" aria-label="{name}"><span class="faint">{extent}</span> {links}</nav>'


def _passages(read: _Reading) -> Iterator[str]:
    gaps = {gap.end: gap for gap in read.document.gaps}
    end, page = deepest(list(read.hits.values())), None
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
        yield _passage(read, passage, indent, end)


def _passage(read: _Reading, passage: StoredPassage, indent: str, end: float) -> str:
    """A passage, with its rank if it is a hit."""
    item = read.hits.get(passage.passage_id)
    lines = "".join(_lines(read.document, passage, item, indent, end))
    kept = f"<pre>{lines}</pre>" if read.document.kind in IN_COLUMNS else lines
    is_here = read.opened and passage is read.document.passages[read.here]
    kinds = " ".join(["read", *["is-hit"] * bool(item), *["is-here"] * is_here])
    step = _step(read, item) if item else ""
    return f'<div class="{kinds}" id="p{passage.passage_id}" tabindex="-1">{step}{kept}</div>\n'


def _step(read: _Reading, item: Marked) -> str:
    """Rank and score of a hit, with links to the previous and the next one."""
    ids, hit = list(read.hits), item.hit
    i = ids.index(hit.passage_id)
    note = (
        f"Rank {hit.rank}, score {fixed(hit.score, 3)}" if hit.rank else f"Score {fixed(hit.score, 3)}"
    )
    ways = [f'<a href="{read.request.link("/explain", passage=hit.passage_id)}">Why</a>']
    if i:
        ways.append(f'<a class="previous" href="{read.to(ids[i - 1])}">Previous hit</a>')
    if i + 1 < len(ids):
        ways.append(f'<a class="next" href="{read.to(ids[i + 1])}">Next hit</a>')
    return f'<p class="step"><span>{note}</span> {" ".join(ways)}</p>'


def _lines(
    document: DocumentText, passage: StoredPassage, item: Marked | None, indent: str, end: float
) -> Iterator[str]:
    """Yield the lines of a passage, numbered if the kind of file has line numbers."""
    spans = [match.span() for match in _LINE.finditer(passage.text) if match.group()]
    counts = document.kind in PLAIN_KINDS and passage.line_end - passage.line_start + 1 == len(spans)
    kinds = kinds_of_characters(passage.text, passage.hidden, item.marks if item else (), end)
    for i, (start, stop) in enumerate(spans):
        numbered = counts or (i == 0 and document.kind in _LINES)
        number = f' data-n="{passage.line_start + i}"' if numbered else ""
        content = "".join(_runs(passage.text[start:stop].rstrip("\r\n"), kinds[start:stop]))
        yield f'<span class="line"{number} dir="auto">{text(indent) if i == 0 else ""}{content}</span>'


def _runs(line: str, kinds: Sequence[str]) -> Iterator[str]:
    """Yield the runs of a line as HTML: highlights marked, markup faint."""
    for kind, run in groupby(range(len(line)), lambda i: kinds[i]):
        part = "".join(line[i] for i in run)
        yield (f'<span class="faint">{text(part)}</span>' if kind == HIDDEN else marked_run(part, kind))
