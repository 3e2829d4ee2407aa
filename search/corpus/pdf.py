"""PDF: the text of each page, lines joined to paragraphs, bookmarks as headings."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

from search.corpus.sources import Reason, Skipped
from search.corpus.text import one_line
from search.corpus.writing import Writing, clean
from search.errors import ReadError
from search.records.documents import Document

_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)")
_METADATA = {"Author": "author", "Subject": "subject", "Keywords": "keywords"}
_DATES = {"CreationDate": "created", "ModDate": "modified"}

_NUMBER = re.compile(r"\A\s*(?:\d+|[A-Z])(?:\.\d+)*[.:)]?\s+(?=\S)")

_PASSWORD = 4  # pdfium's number for: a password is needed

# What pdfium puts where a hyphen ended a line.
DIVIDED = "\ufffe"
_DIVIDED_WORD = re.compile(rf"([\w-]{{1,64}}){DIVIDED}([\w-]*)")
_WORD = re.compile(r"\w[\w-]*")

# In heights of a line: how far down the next line of a paragraph is at most, how far it is out of line with the
# one before, in a list as well, and how much smaller or larger its letters are. Chosen by eye.
_FURTHEST_DOWN = 1.9
_INDENT, _LIST_INDENT = 0.9, 3.0
_OTHER_SIZE = 0.2

# A line that ends before this share of the widest one was ended by its writer.
_FULL = 0.8
# Lines of fewer characters than this are more often entries of a list or table than full lines of text.
_FEWEST_CHARACTERS = 25

_ITEM = re.compile(r"[•‣▪◦●○■□–—*-] |\(?(?:\d{1,3}|[a-zA-Z])[.)] ")
_PAGE_LEVEL = 99  # of a page that is a section of its own, below all headings
# Heads and feet of pages are within so many rows from above or below, and on so many pages at least.
_OUTER_ROWS = 3
_FEWEST_RUNNING = 3
_FEWEST_RUNNING_SHARE = 1 / 3
_DIGITS = re.compile(r"\d+")
_OUTER_NUMBER = re.compile(r"\A\d{1,4}\b|\b\d{1,4}\Z")


def extract(path: str, raw: bytes) -> list[Document | Skipped]:
    """A PDF file. Its bookmarks are its headings, each at its words on its page.

    Text is taken in the order in which the file draws it; what is filled into its forms comes at the end of
    the page. Pages that are damaged, or pictures without text, are named in `left_out`. A PDF that opens without
    a password is read, whatever else it forbids.

    Raises:
        ReadError: "damaged", "encrypted", "no text" or "too large".
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(raw)
    except pypdfium2.PdfiumError as error:
        if error.err_code == _PASSWORD:
            raise ReadError(path, Reason.ENCRYPTED, "it opens with a password only") from None
        raise ReadError(path, Reason.DAMAGED, f"it is no whole PDF ({error})") from None
    read = [_page(document, index) for index in range(len(document))]
    pages = [lines for lines, _ in read]
    pictures = [number for number, (_, is_picture) in enumerate(read, 1) if is_picture]
    if not any(pages):
        raise ReadError(path, Reason.NO_TEXT, "a scan can be read once OCR has added the text")
    writing = Writing(path, "pdf")
    headings = _bookmarks(document, len(pages))
    before: list[str] = []
    for number, lines in enumerate(undivided(mark_running(pages))):
        page = list(_paragraphs(lines))
        body = [paragraph.text for paragraph in page if not paragraph.running]
        writing.page()
        if not _goes_on(before, body):
            writing.section("", _PAGE_LEVEL)
        _write(writing, page, headings.get(number, ()))
        before = body or before
    info = document.get_metadata_dict()
    metadata = {ours: info.get(theirs, "") for theirs, ours in _METADATA.items()}
    dates = {ours: _DATE.match(info.get(theirs, "")) for theirs, ours in _DATES.items()}
    metadata |= {name: "-".join(date.groups()) for name, date in dates.items() if date}
    result = writing.done(info.get("Title", ""), metadata)
    if not pictures:
        return [result]
    left_out = f"{len(pictures)} of {len(pages)} pages, the first is page {pictures[0]}"
    return [result, Skipped(path, Reason.NO_TEXT, f"damaged, or pictures, which need OCR: {left_out}")]


def _page(document: Any, index: int) -> tuple[list[Line], bool]:
    """The lines of a page, and whether it has none because it is a picture or damaged."""
    from pypdfium2 import PdfiumError, raw

    try:
        with closing(document[index]) as page:  # what is filled into forms becomes text of the page
            raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
        opened = document[index]
    except PdfiumError:
        return [], True
    with closing(opened) as page, closing(page.get_textpage()) as text_page:
        lines = list(_lines(text_page))
        objects = (raw.FPDFPage_GetObject(page, i) for i in range(raw.FPDFPage_CountObjects(page)))
        kinds = map(raw.FPDFPageObj_GetType, objects)
        return lines, not lines and raw.FPDF_PAGEOBJ_IMAGE in kinds


def _lines(text_page: Any) -> Iterator[Line]:
    """The lines as pdfium sees them, with the boxes of their first and last characters.

    Where a word is divided at the end of a line, pdfium joins the two lines and puts U+FFFE for the hyphen.
    """
    end = 0
    for row in text_page.get_text_range().split("\r\n"):
        start, end = end, end + len(row) + 2
        if row.strip():
            first = start + len(row) - len(row.lstrip())
            last = start + len(row.rstrip()) - 1
            left, bottom, _, top = _box(text_page, first)
            _, last_bottom, right, last_top = _box(text_page, last)
            yield Line(" ".join(row.split()), left, bottom, top, right, last_bottom, last_top)


def _box(text_page: Any, at: int) -> tuple[float, float, float, float]:
    """Left, bottom, right, top of the character at an offset of the text; zeros if it has none."""
    from pypdfium2 import raw

    index = raw.FPDFText_GetCharIndexFromTextIndex(text_page, at)
    box = raw.FS_RECTF()
    if index < 0 or not raw.FPDFText_GetLooseCharBox(text_page, index, ctypes.byref(box)):
        return 0.0, 0.0, 0.0, 0.0
    return box.left, box.bottom, box.right, box.top


def _bookmarks(document: Any, n_pages: int) -> dict[int, list[tuple[int, str]]]:
    """Page, from 0 -> its bookmarks in order, as level and words; 1 would be the level of the whole's title."""
    import pypdfium2

    bookmarks: dict[int, list[tuple[int, str]]] = {}
    try:
        for bookmark in document.get_toc():
            target = bookmark.get_dest()
            page = None if target is None else target.get_index()
            words = one_line(clean(bookmark.get_title()))
            if page is not None and 0 <= page < n_pages and words:
                bookmarks.setdefault(page, []).append((bookmark.level + 2, words))
    except (pypdfium2.PdfiumError, ValueError):
        pass  # headings are a help; without them the text is the same
    return bookmarks


def _write(writing: Writing, page: Sequence[_Paragraph], headings: Sequence[tuple[int, str]]) -> None:
    """Write a page's paragraphs, with its headings in place.

    A heading that is not found, in a picture say, begins the page if no other one does.
    """
    folded = ["" if paragraph.running else _folded(paragraph.text) for paragraph in page]
    at: dict[int, list[tuple[int, str]]] = {}
    here = 0
    for level, words in headings:
        title = _folded(words)
        place = next(
            (i for i in range(here, len(page)) if folded[i].startswith(title)), None if here else 0
        )
        if place is not None:
            at.setdefault(place, []).append((level, words))
            here = place
    for number, paragraph in enumerate(page or [_Paragraph("", 0, False)]):
        for level, words in at.get(number, ()):
            writing.section(words, level)
        writing.add(paragraph.text, paragraph.line_ends, is_mark=paragraph.running)


def _goes_on(before: Sequence[str], after: Sequence[str]) -> bool:
    """True if the paragraphs of a page begin within the last sentence of those before."""
    return bool(before and after) and before[-1][-1].islower() and after[0][0].islower()


def _folded(words: str) -> str:
    """Words in the form that a bookmark and its page share: no spaces, no number in front, lower case."""
    return "".join(_NUMBER.sub("", words, count=1).split()).casefold()


@dataclass(frozen=True)
class Line:
    """A line of text and its position, in points from the left and from below.

    Where it goes on in further lines of the page after divided words, it begins in one and ends in another. It is
    `running` if it is the head or foot of its page, and is on most pages.
    """

    text: str
    left: float
    bottom: float
    top: float
    right: float
    last_bottom: float
    last_top: float
    running: bool = False

    @property
    def height(self) -> float:
        return self.last_top - self.last_bottom


def mark_running(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The lines of all pages; `running` is set on the heads and feet of many pages.

    The other pages have in the same place the same words, but for numbers, or any words with the number of that
    page.
    """
    signs = [{line: _signs(line, number) for line in _outer(page)} for number, page in enumerate(pages)]
    counts = Counter(chain(*(set(chain(*page.values())) for page in signs)))
    fewest = max(_FEWEST_RUNNING, _FEWEST_RUNNING_SHARE * len(pages))
    running = {sign for sign, count in counts.items() if count >= fewest}
    return [
        [replace(line, running=not running.isdisjoint(its.get(line, ()))) for line in page]
        for page, its in zip(pages, signs, strict=True)
    ]


def _outer(page: Sequence[Line]) -> list[Line]:
    """The lines in the first and last rows of a page."""
    lines = [line for line in page if line.height]
    rows = sorted({round(line.bottom) for line in lines})
    return [line for line in lines if round(line.bottom) in rows[:_OUTER_ROWS] + rows[-_OUTER_ROWS:]]


def _signs(line: Line, page: int) -> list[tuple[int, str | int]]:
    """Position of a line, with its words but for numbers, and with its first or last number minus the page's."""
    words, numbers = _DIGITS.sub("#", line.text), _OUTER_NUMBER.findall(line.text)
    return [
        (round(line.bottom), words),
        *((round(line.bottom), int(number) - page) for number in numbers),
    ]


@dataclass(frozen=True)
class _Paragraph:
    """A paragraph, its distance in lines from the one before, and whether it is the head or foot of its page."""

    text: str
    line_ends: int
    running: bool


def _paragraphs(lines: Sequence[Line]) -> Iterator[_Paragraph]:
    """The texts of a page's lines, joined with a space where one line runs on in the next.

    In doubt they are not joined: a line alone costs little.
    """
    texts, line_ends = [line.text for line in lines[:1]], 2
    for line, following in pairwise(lines):
        close = line.running == following.running and _is_close(line, following)
        if close and _runs_on(lines, line, following):
            texts.append(following.text)
        else:
            yield _Paragraph(" ".join(texts), line_ends, line.running)
            texts, line_ends = [following.text], 1 if close else 2
    if texts:
        yield _Paragraph(" ".join(texts), line_ends, lines[-1].running)


def _is_close(line: Line, following: Line) -> bool:
    """True if a line is right below another and looks alike."""
    step = line.last_bottom - following.bottom
    other_size = abs(following.top - following.bottom - line.height)
    return 0 < step <= _FURTHEST_DOWN * line.height and other_size <= _OTHER_SIZE * line.height


def _runs_on(lines: Sequence[Line], line: Line, following: Line) -> bool:
    """True if the line below continues the sentence of this one."""
    if len(line.text) < _FEWEST_CHARACTERS or _ITEM.match(following.text):
        return False
    # The first line of a paragraph may be indented, of an entry in a list it never is.
    indent = _LIST_INDENT if _ITEM.match(line.text) else _INDENT
    out_of_line = following.left - line.left
    if not -_LIST_INDENT * line.height <= out_of_line <= indent * line.height:
        return False
    # A line with a divided word may end in another column than it began in.
    same = (other for other in lines if other.running == line.running)
    here = [other for other in same if abs(other.left - line.left) <= _LIST_INDENT * line.height]
    whole = [other for other in here if other.bottom == other.last_bottom]
    widest = max(other.right for other in whole or here)
    return line.right - line.left >= _FULL * (widest - line.left)


def undivided(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """All lines, with each divided word joined as elsewhere in the document.

    A hyphen at the end of a line belongs to the word ("well-known") or only divides it ("vocab-ulary"). It
    is kept if the word has it elsewhere, or if both halves are words of the document and the whole is not.
    """
    texts = [_DIVIDED_WORD.sub(" ", line.text) for page in pages for line in page]
    words = {word.casefold() for text in texts for word in _WORD.findall(text)}

    def whole(match: re.Match[str]) -> str:
        before, after = match[1].casefold(), match[2].casefold()
        is_compound = f"{before}-{after}" in words or {before, after} <= words
        if before + after in words or ((match[1] + match[2]).isalpha() and not is_compound):
            return match[1] + match[2]
        return f"{match[1]}-{match[2]}"

    return [
        [replace(line, text=_DIVIDED_WORD.sub(whole, line.text).replace(DIVIDED, "-")) for line in page]
        for page in pages
    ]
