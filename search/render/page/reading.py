"""Page of a whole document, opened at a passage; hits of a query in it are marked.

The text is rendered for reading, or shown as its source with line numbers. A long document is cut to the part around
the passage, with links to the other parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from search.records.contents import DocumentText, StoredPassage
from search.records.documents import CONVERTED_KINDS, PLAIN_KINDS
from search.records.hits import Hit
from search.render.page.document import Page, Site, drawn
from search.render.page.hit_list import IN_COLUMNS, HitView, PageRequest, attributes_of, marked
from search.render.page.rendering import Renderer

BEFORE, AFTER = 20_000, 40_000  # characters that are shown before and after the passage
_LINES = (*PLAIN_KINDS, *CONVERTED_KINDS)  # kinds whose lines a reader finds in the file
_PAGES = {"pptx": "Slide", "xlsx": "Sheet", "odp": "Slide", "ods": "Sheet", "notebook": "Cell"}
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


def reading(
    request: PageRequest,
    document: DocumentText,
    passage: int | None = None,
    hits: Sequence[HitView] = (),
    *,
    best: int = 0,
    source: bool = False,
    near: Sequence[Hit] | None = None,
    file_text: str | None = None,
) -> Page:
    """Return the page of a document.

    Args:
        request: index and query.
        passage: ID of the passage to open the document at; None for its beginning.
        hits: the document's passages among the `best` first hits of the query, and the requested passage, with
            highlights.
        source: show the source instead of the rendered text.
        near: passages of near documents that it is not linked with; None if they were not requested.
        file_text: the text of the unchanged file, with the markup between passages.
    """
    passages = document.passages
    ids, sizes = [stored.passage_id for stored in passages], [len(stored.text) for stored in passages]
    position = ids.index(passage) if passage in ids else 0
    opened = ids[position] if passage in ids else None
    first, last = _part(sizes, position)
    by_id = {item.hit.passage_id: item for item in sorted(hits, key=lambda item: item.hit.start)}

    def to(i: int) -> Markup:
        """Return the address of a passage; within the page if the passage is visible."""
        position = "" if first <= i < last else address(passage=ids[i])
        return Markup(f"{position}#p{ids[i]}")

    def address(**more: Any) -> Markup:
        return request.link(f"/documents/{document.document_id}", **{"passage": opened, **more})

    visible = passages[first:last]
    pages = [_page_of(document, stored.page).capitalize() for stored in visible]
    as_source = source or document.kind in IN_COLUMNS
    whole = file_text or document.text
    texts = (_sources if as_source else _rendered)(document, visible, by_id, whole)
    body = drawn(
        "document.html",
        site=Site("/documents", request.index),
        request=request,
        document=document,
        title=document.title or document.document,
        opened=opened,
        place=_place(document, passages[position], bool(opened)),
        to=to,
        address=address,
        rows=list(zip(visible, texts, pages, [None, *pages], strict=False)),
        range=(first, last),
        earlier=_reach(sizes, first, AFTER, -1),
        later=_reach(sizes, last - 1, BEFORE, 1),
        not_kept=file_text is None and not all(gap.blank for gap in document.gaps),
        hits=by_id,
        named=[(to(ids.index(id_)), _named(document, item)) for id_, item in by_id.items()],
        best=best,
        source=source,
        near=near,
        as_source=as_source,
    )
    return Page(document.title or document.document, "", body, ("reading.js",))


def _part(sizes: Sequence[int], position: int) -> tuple[int, int]:
    """Return the half-open range of the passages to show around `position`; `sizes` are in characters."""
    return _reach(sizes, position, BEFORE, -1), _reach(sizes, position, AFTER, 1) + 1


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


def _place(document: DocumentText, passage: StoredPassage, opened: bool) -> str:
    """Return the location of a passage: path, and its line or page."""
    path = document.document.replace("/", " \u203a ")
    if document.kind in _LINES and document.path:
        return f"{path}, line {passage.line_start:,}" if opened else path
    return f"{path} {_page_of(document, passage.page)}".strip()


def _page_of(document: DocumentText, page: int | None) -> str:
    return f"{_PAGES.get(document.kind, 'Page').lower()} {page}" if page else ""


def _named(document: DocumentText, item: HitView) -> str:
    """Return the name of a hit's link."""
    hit = item.hit
    line = f"line {hit.line_start:,}" if document.kind in _LINES else "passage"
    place = _page_of(document, hit.page) or line
    return f"hit {hit.rank} ({place})" if hit.rank else place


def _kinds(passage: StoredPassage, hits: Mapping[int, HitView]) -> list[str]:
    item = hits.get(passage.passage_id)
    return attributes_of(passage.text, passage.hidden, item.marks if item else ())


def _rendered(
    document: DocumentText,
    passages: Sequence[StoredPassage],
    hits: Mapping[int, HitView],
    whole: str,
) -> Iterator[Markup]:
    """Yield the passages, rendered; `whole` is the text that they are spans of."""
    headings = [passage.heading.rpartition(" > ")[2] for passage in passages]
    renderer = Renderer(document.kind, headings)
    at = 0
    for passage in passages:
        gap = whole[at : passage.start]
        yield renderer.html(gap, passage.text, _kinds(passage, hits))
        at = passage.end


def _sources(
    document: DocumentText, passages: Sequence[StoredPassage], hits: Mapping[int, HitView], whole: str
) -> Iterator[Markup]:
    """Yield the passages with their markup; lines are numbered if the kind of file has line numbers."""
    for passage in passages:
        spans = [match.span() for match in _LINE.finditer(passage.text) if match.group()]
        counts = document.kind in PLAIN_KINDS and passage.line_end - passage.line_start + 1 == len(spans)
        kinds = _kinds(passage, hits)
        lines = Markup("")
        for i, (start, stop) in enumerate(spans):
            line = passage.text[start:stop].rstrip("\r\n")
            content = marked(line, kinds[start : start + len(line)])
            number = passage.line_start + i if counts or (i == 0 and document.kind in _LINES) else ""
            lines += Markup('<span class="line" data-n="{}">{}</span>').format(number, content)
        yield Markup("<pre>{}</pre>").format(lines)
