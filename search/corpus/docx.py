"""Word documents: paragraphs, headings by their styles, tables, text boxes, notes, heads and feet of pages.

Read from the XML itself: an interface made for writing leaves out content controls, text boxes, notes and
changes that are marked but not yet accepted, all of which a reader sees.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from search.corpus.archive import Package, attribute, child, local, seen, text_of
from search.corpus.files import Reason
from search.corpus.writing import Extracted, Writing, row
from search.errors import ReadError

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_TITLE_LEVEL = 0
_BODY_LEVEL = "9"  # of an outline: no heading
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
# Around blocks, without a meaning for who reads them.
_WRAPPERS = frozenset("sdt sdtContent customXml ins moveTo body hdr ftr smartTag".split())
_CELLS = _WRAPPERS | {"tbl", "tr", "tc"}
_OFF = ("0", "false", "off")


def extract(path: str, raw: bytes) -> Extracted:
    """A Word file. A title is one that its properties give, else its first heading.

    Heads of pages come first and feet last, each once; a footnote follows its paragraph. Comments and the
    numbers of lists and headings are left out.

    Raises:
        ReadError: "damaged", "encrypted" or "too large when unpacked".
    """
    package = Package(path, raw, "document")
    writing = Writing(path)
    story = _Story(package, writing)
    for part in (*story.margins("header"), child(package.root, "body"), *story.margins("footer")):
        story.blocks(_children(part))
    unread = f"its {' and '.join(story.unread)} cannot be read"
    left_out = (Reason.DAMAGED, unread) if story.unread else ("", "")
    return writing.done(*package.title_and_metadata(), left_out)


class _Story:
    """Writes blocks, and what hangs on them."""

    def __init__(self, package: Package, writing: Writing) -> None:
        self._package, self._writing = package, writing
        self.unread: list[str] = []
        styles = self._part("styles")
        self._levels, self._list_styles = _levels(styles), _list_styles(styles)
        self._notes = {
            kind: {attribute(note, "id"): note for note in _children(self._part(kind))}
            for kind in _NOTES.values()
        }
        self._in_list = False

    def _part(self, kind: str) -> Any:
        """Styles and notes that cannot be read do not make the text itself unreadable."""
        try:
            return self._package.part(self._package.main, kind)
        except ReadError as error:
            if error.reason != Reason.DAMAGED:
                raise
            self.unread.append(kind)
            return None

    def margins(self, kind: str) -> Iterator[Any]:
        """Heads or feet of pages that say different things."""
        said = set()
        for target in self._package.related(self._package.main, kind):
            part = self._package.archive.xml(target)
            words = text_of(part)
            if words not in said:
                yield part
            said.add(words)

    def blocks(self, parent: Any) -> None:
        for element in seen(parent):
            name = local(element)
            if name == "p":
                self._paragraph(element)
            elif name == "tbl":
                self._table(element)
            elif name in _WRAPPERS:
                self.blocks(element)

    def _paragraph(self, element: Any) -> None:
        asides: list[Any] = []
        text = text_of(element, partial(_put_aside, asides))
        level = self._level(element)
        is_item = child(element, "pPr", "numPr") is not None or _style(element) in self._list_styles
        if level is not None:
            self._writing.heading(text, level)
        else:
            self._writing.add(text, 1 if is_item and self._in_list else 2)
        self._in_list = is_item
        self._hang(asides)

    def _hang(self, asides: Iterable[Any]) -> None:
        """Text boxes, and the notes that a paragraph or table refers to."""
        for element in asides:
            notes = self._notes.get(_NOTES.get(local(element), ""), {})
            note = notes.pop(attribute(element, "id"), None)
            self.blocks(element if local(element) == "txbxContent" else note if note is not None else ())

    def _level(self, paragraph: Any) -> int | None:
        own = _value(paragraph, "pPr", "outlineLvl")
        return self._levels.get(_style(paragraph)) if own is None else _outline_level(own)

    def _table(self, table: Any) -> None:
        rows = [list(_deep(tr, "tc")) for tr in _deep(table, "tr") if child(tr, "trPr", "del") is None]
        if all(len(cells) <= 1 for cells in rows):  # a frame around text
            for cell in chain.from_iterable(rows):
                self.blocks(cell)
            return
        asides: list[Any] = []
        aside = partial(_put_aside, asides)

        def words(cell: Any) -> str:
            return " ".join(text_of(paragraph, aside) for paragraph in _deep(cell, "p", _CELLS))

        self._writing.group(row(map(words, cells)) for cells in rows)
        self._in_list = False
        self._hang(asides)


def _put_aside(asides: list[Any], element: Any) -> bool:
    """Take out of running text what is hidden, and put aside text boxes and references to notes."""
    name = local(element)
    if name == "r":
        hidden = _value(element, "rPr", "vanish")
        return hidden is not None and hidden not in _OFF
    if name == "txbxContent" or name in _NOTES:
        asides.append(element)
        return True
    return False


def _children(element: Any) -> Iterable[Any]:
    return () if element is None else element


def _value(element: Any, *names: str) -> str | None:
    """What a child further down is set to; None if there is none."""
    setting = child(element, *names)
    return None if setting is None else attribute(setting, "val")


def _style(paragraph: Any) -> str:
    return _value(paragraph, "pPr", "pStyle") or ""


def _deep(parent: Any, name: str, through: Container[str] = _WRAPPERS) -> Iterator[Any]:
    """The nearest elements of a name beneath `parent`, through wrappers."""
    for element in seen(parent):
        if local(element) == name:
            yield element
        elif local(element) in through:
            yield from _deep(element, name, through)


def _levels(styles: Any) -> dict[str, int]:
    """Style id -> level of the headings in that style. A style takes over what it is based on."""
    own: dict[str, int | None] = {}
    based_on: dict[str, str] = {}
    for style in _children(styles):
        id_, words = attribute(style, "styleId"), _value(style, "name") or ""
        heading, outline = _HEADING.fullmatch(words), _value(style, "pPr", "outlineLvl")
        if heading:
            own[id_] = int(heading[1])
        elif words.lower() == "title":
            own[id_] = _TITLE_LEVEL
        elif outline is not None:
            own[id_] = _outline_level(outline)
        if (base := _value(style, "basedOn")) is not None:
            based_on[id_] = base
    levels: dict[str, int] = {}
    for id_ in own.keys() | based_on.keys():
        style_id, passed = id_, set[str]()
        while style_id not in own and style_id in based_on and style_id not in passed:
            passed.add(style_id)
            style_id = based_on[style_id]
        if (level := own.get(style_id)) is not None:
            levels[id_] = level
    return levels


def _list_styles(styles: Any) -> frozenset[str]:
    """The ids of styles whose paragraphs are entries of a list."""
    numbered = (style for style in _children(styles) if child(style, "pPr", "numPr") is not None)
    return frozenset(attribute(style, "styleId") for style in numbered)


def _outline_level(value: str) -> int | None:
    return int(value) + 1 if value.isdecimal() and value != _BODY_LEVEL else None
