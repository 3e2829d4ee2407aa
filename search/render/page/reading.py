"""A whole document on a page, opened at a passage, with the hits of a query in it marked and linked to each other.

What is shown is what the index holds, as it stands in the file: marks of its format are faint. Of a long document there
is the part around the passage, with links to the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from search.records.contents import DocumentText, StoredPassage
from search.records.documents import PLAIN_KINDS
from search.render.format import escaped_name, fixed
from search.render.page.document import Page, about, isolated, text
from search.render.page.hits import (
    HIDDEN,
    IN_COLUMNS,
    Asked,
    Marked,
    deepest,
    kinds_of_characters,
    marked_run,
)

BEFORE, AFTER = 20_000, 40_000  # characters that are shown before and behind the passage
_LINES = (*PLAIN_KINDS, "html", "csv", "jsonl")  # kinds whose lines a reader finds in the file
_PAGES = {"pptx": "Slide", "xlsx": "Sheet", "notebook": "Cell"}
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_CHANGED = {
    "changed": "The file has changed since it was indexed. This is its text as it was then.",
    "gone": "The file is gone. This is its text as it was when it was indexed.",
}
_NOT_KEPT = '<p class="faint">What stands between passages is not in the index.</p>'


@dataclass(frozen=True)
class _Reading:
    """What is being read.

    Attributes:
        here: the place of the passage that was asked for, or of the first; `opened`, whether it was.
        found: the hits in the document, by passage.
        first, last: the part that is shown, of all passages.
    """

    asked: Asked
    document: DocumentText
    here: int
    opened: bool
    found: Mapping[int, Marked]
    first: int
    last: int

    @property
    def shown(self) -> Sequence[StoredPassage]:
        return self.document.passages[self.first : self.last]

    def to(self, passage: int) -> str:
        """The address of a passage of the document, for an attribute: within the page, if it is shown there."""
        if any(one.passage_id == passage for one in self.shown):
            return f"#p{passage}"
        return f"{self.asked.link(f'/documents/{self.document.document_id}', passage=passage)}#p{passage}"


def reading(
    asked: Asked,
    document: DocumentText,
    passage: int | None = None,
    found: Sequence[Marked] = (),
    best: int = 0,
) -> Page:
    """The page of a document.

    Args:
        asked: index and query, and the generation that the document is of.
        passage: where it is opened; None for its beginning.
        found: its passages that are among the best of the index, and the one where it is opened, with what counts in
            them; `best` of them were looked for.
    """
    ids = [one.passage_id for one in document.passages]
    here = ids.index(passage) if passage in ids else 0
    first, last = _part([len(one.text) for one in document.passages], here)
    hits = {one.hit.passage_id: one for one in sorted(found, key=lambda one: one.hit.start)}
    read = _Reading(asked, document, here, passage in ids, hits, first, last)
    opened = f' data-passage="{passage}"' if passage in ids else ""
    body = f"""<document-reading{opened}>{_changed(document)}{_steps(read, best)}{_rest(read, before=True)}
<div class="reading">{"".join(_passages(read))}</div>
{_rest(read, before=False)}{_NOT_KEPT if not all(gap.blank for gap in document.gaps) else ""}</document-reading>"""
    title = document.title or document.document
    return Page(title, isolated(title), _about(read), body, ("search.css", "reading.css", "reading.js"))


def _part(sizes: Sequence[int], here: int) -> tuple[int, int]:
    """The first passage that is shown, and the one behind the last."""
    return _reach(sizes, here, BEFORE, -1), _reach(sizes, here, AFTER, 1) + 1


def _reach(sizes: Sequence[int], at: int, most: int, step: int) -> int:
    """The last passage from a place on, in one direction, up to which there are no more characters than that."""
    left = most
    while 0 <= at + step < len(sizes) and sizes[at + step] <= left:
        at += step
        left -= sizes[at]
    return at


def _about(read: _Reading) -> str:
    document = read.document
    here = document.passages[read.here]
    path = escaped_name(document.path)
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
    told = f"<details><summary>Fields</summary>{about(fields)}</details>" if fields else ""
    return about(facts.items()) + told


def _of_page(document: DocumentText, passage: StoredPassage, before: str) -> str:
    name = _PAGES.get(document.kind, "Page").lower()
    return before if passage.page is None else f"{before} {name} {passage.page}"


def _changed(document: DocumentText) -> str:
    said = _CHANGED.get(document.changed)
    return f'<p class="warn" role="note">{said}</p>' if said else ""


def _steps(read: _Reading, best: int) -> str:
    """All hits in the document, in its order, and the way back to all of the index."""
    if not read.asked.q:
        return ""
    ranked = sum(one.hit.rank > 0 for one in read.found.values())
    said = f"{ranked or 'None'} of the {best} best passages for <q>{isolated(read.asked.q)}</q> in this document"
    back = f'<a class="back" href="{read.asked.link("/")}">All hits</a>'
    links = " ".join(
        f'<a href="{read.to(id_)}">{_place(read.document, one)}</a>' for id_, one in read.found.items()
    )
    return (
        f'<nav class="ways" aria-label="Hits in this document"><span>{said}</span> {links} {back}</nav>'
    )


def _place(document: DocumentText, one: Marked) -> str:
    hit = one.hit
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
    """That a part of the document stands on other pages, with the ways there."""
    passages, sizes = read.document.passages, [len(one.text) for one in read.document.passages]
    if (read.first == 0) if before else (read.last == len(passages)):
        return ""
    if before:
        ways = {"The beginning": 0, "Earlier": _reach(sizes, read.first, AFTER, -1)}
    else:
        ways = {"Later": _reach(sizes, read.last - 1, BEFORE, 1), "The end": len(passages) - 1}
    links = " ".join(
        f'<a href="{read.to(passages[at].passage_id)}">{name}</a>' for name, at in ways.items()
    )
    said = f"Passages {read.first + 1:,} to {read.last:,} of {len(passages):,} are shown."
    name = "Before this part" if before else "Behind this part"
    return f'<nav class="ways" aria-label="{name}"><span class="faint">{said}</span> {links}</nav>'


def _passages(read: _Reading) -> Iterator[str]:
    gaps = {gap.end: gap for gap in read.document.gaps}
    end, page = deepest(list(read.found.values())), None
    for passage in read.shown:
        if passage.page not in (None, page):
            page = passage.page
            yield f'<h2 class="page">{_of_page(read.document, passage, "").strip().capitalize()}</h2>'
        gap = gaps.get(passage.start)
        if gap and gap.start and gap.breaks != 1 and passage is not read.shown[0]:
            yield '<span class="line"></span>'
        indent = (
            re.split(r"[\r\n]", read.document.text[gap.start : gap.end])[-1] if gap and gap.blank else ""
        )
        yield _passage(read, passage, indent, end)


def _passage(read: _Reading, passage: StoredPassage, indent: str, end: float) -> str:
    """A passage, with its place among the hits if it is one."""
    found = read.found.get(passage.passage_id)
    lines = "".join(_lines(read.document, passage, found, indent, end))
    kept = f"<pre>{lines}</pre>" if read.document.kind in IN_COLUMNS else lines
    is_here = read.opened and passage is read.document.passages[read.here]
    kinds = " ".join(["read", *["is-hit"] * bool(found), *["is-here"] * is_here])
    step = _step(read, found) if found else ""
    return f'<div class="{kinds}" id="p{passage.passage_id}" tabindex="-1">{step}{kept}</div>\n'


def _step(read: _Reading, one: Marked) -> str:
    """What a hit is, and the ways to the ones before and behind it."""
    ids, hit = list(read.found), one.hit
    at = ids.index(hit.passage_id)
    said = f"Rank {hit.rank}, score {fixed(hit.score, 3)}" if hit.rank else f"Score {fixed(hit.score, 3)}"
    ways = [f'<a href="{read.asked.link("/explain", passage=hit.passage_id)}">Why</a>']
    if at:
        ways.append(f'<a class="previous" href="{read.to(ids[at - 1])}">Previous hit</a>')
    if at + 1 < len(ids):
        ways.append(f'<a class="next" href="{read.to(ids[at + 1])}">Next hit</a>')
    return f'<p class="step"><span>{said}</span> {" ".join(ways)}</p>'


def _lines(
    document: DocumentText, passage: StoredPassage, found: Marked | None, indent: str, end: float
) -> Iterator[str]:
    """The lines of a passage, each with its number if the file has it."""
    spans = [one.span() for one in _LINE.finditer(passage.text) if one.group()]
    counts = document.kind in PLAIN_KINDS and passage.line_end - passage.line_start + 1 == len(spans)
    kinds = kinds_of_characters(passage.text, passage.hidden, found.marks if found else (), end)
    for at, (start, stop) in enumerate(spans):
        known = counts or (at == 0 and document.kind in _LINES)
        number = f' data-n="{passage.line_start + at}"' if known else ""
        shown = "".join(_runs(passage.text[start:stop].rstrip("\r\n"), kinds[start:stop]))
        yield f'<span class="line"{number} dir="auto">{text(indent) if at == 0 else ""}{shown}</span>'


def _runs(line: str, kinds: Sequence[str]) -> Iterator[str]:
    """A line of HTML: what counts is marked, markup is faint."""
    for kind, run in groupby(range(len(line)), lambda at: kinds[at]):
        shown = "".join(line[at] for at in run)
        yield f'<span class="faint">{text(shown)}</span>' if kind == HIDDEN else marked_run(shown, kind)
