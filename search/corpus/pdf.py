"""PDF reader: the text of each page, lines joined to paragraphs, bookmarks as headings."""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

from search.corpus.sources import Reason, Skipped
from search.corpus.text import one_line
from search.corpus.writing import Writing, clean
from search.errors import ReadError
from search.records.documents import OCR_PAGES, ParsedDocument

_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)")
_METADATA = {"Author": "author", "Subject": "subject", "Keywords": "keywords"}
_DATES = {"CreationDate": "created", "ModDate": "modified"}

_NUMBER = re.compile(r"\A\s*(?:\d+|[A-Z])(?:\.\d+)*[.:)]?\s+(?=\S)")

# A gap of this share of a character's height is a space, in scripts that use spaces; pdfium misses some.
_GAP = 0.15
_MOST_WHOLE = 1_000  # words; if so many have no gap, the document has none
_LETTERS = re.compile("[^\\s\u2e80-\ufffd]{4,}")

_PASSWORD = 4  # pdfium's error number for a missing password

# pdfium replaces the hyphen of a divided word by this character.
DIVIDED = "\ufffe"
_DIVIDED_WORD = re.compile(rf"([\w-]{{1,64}}){DIVIDED}([\w-]*)")
_WORD = re.compile(r"\w[\w-]*")

# Limits for the next line of a paragraph, in heights of a line: its distance, its indent (also in a list), and the
# difference in letter size. Chosen by eye.
_FURTHEST_DOWN = 1.9
_INDENT, _LIST_INDENT = 0.9, 3.0
_OTHER_SIZE = 0.2

# A line shorter than this share of the widest one ends its paragraph.
_FULL = 0.8
# Lines of fewer characters than this are more often entries of a list or table than full lines of text.
_FEWEST_CHARACTERS = 25

_ITEM = re.compile(r"[•‣▪◦●○■□–—*-] |\(?(?:\d{1,3}|[a-zA-Z])[.)] ")
# Level of a page that is a section of its own, below all headings.
_PAGE_LEVEL = 99
# Page headers and footers are in so many rows at the top or bottom, on at least so many pages.
_OUTER_ROWS = 3
_FEWEST_RUNNING = 3
_FEWEST_RUNNING_SHARE = 1 / 3
_DIGITS = re.compile(r"\d+")
_OUTER_NUMBER = re.compile(r"\A\d{1,4}\b|\b\d{1,4}\Z")
# An entry of a table of contents: dots lead to a page number.
_CONTENTS = re.compile(r"(?:\. ?){6,}\w{1,5}\Z")


def extract(
    path: str, raw: bytes, recognized: Mapping[int, str] | None = None
) -> list[ParsedDocument | Skipped]:
    """Read a PDF file. Its bookmarks become headings, placed at the matching words of their pages.

    Text is in the order in which the file draws it; the values of form fields come at the end of the page. A `Skipped`
    names pages that are damaged or images without text. A PDF that opens without a password is read, whatever
    permissions it sets.

    Args:
        recognized: page number -> text, of pages that are images, as from `search.corpus.ocr`; None if there is no OCR.

    Raises:
        ReadError: "damaged", "encrypted", "no text" or "too large".
    """
    document, texts = _opened(path, raw), recognized or {}
    whole_words = set[str]()
    read = [_page(document, index, whole_words) for index in range(len(document))]
    pages = [lines for lines, _ in read]
    pictures = [number for number, (_, is_picture) in enumerate(read, 1) if is_picture]
    of_ocr = [number for number in pictures if texts.get(number, "").strip()]
    if not any(pages) and not of_ocr:
        missing = (
            "scanned pages need OCR: --ocr" if recognized is None else "no text in the scanned pages"
        )
        raise ReadError(path, Reason.NO_TEXT, missing)
    writing = Writing(path, "pdf", len(raw))
    headings = _bookmarks(document, len(pages))
    before: list[str] = []
    for number, lines in enumerate(undivided(mark_running(pages))):
        page = list(_paragraphs(lines)) or _scanned(texts.get(number + 1, ""))
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
    if of_ocr:
        result = replace(result, metadata={**result.metadata, OCR_PAGES: of_ocr})
    without = [number for number in pictures if number not in of_ocr]
    if not without:
        return [result]
    left_out = f"{len(without)} of {len(pages)} pages, the first is page {without[0]}"
    return [result, Skipped(path, Reason.NO_TEXT, f"damaged pages or images without OCR: {left_out}")]


def _opened(path: str, raw: bytes) -> Any:
    """Open a PDF file; raise ReadError if it is encrypted or damaged."""
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(raw)
    except pypdfium2.PdfiumError as error:
        if error.err_code == _PASSWORD:
            raise ReadError(path, Reason.ENCRYPTED, "password-protected") from None
        raise ReadError(path, Reason.DAMAGED, "damaged or incomplete PDF") from None


def page_pictures(raw: bytes, resolution: int, most_pixels: int) -> Iterator[tuple[int, Any]]:
    """Yield the numbers of the pages without text that are images, and these pages as pictures of Pillow.

    Args:
        resolution: dots per inch, less for a page of more than `most_pixels`.
    """
    from pypdfium2 import PdfiumError

    document, whole_words = _opened("", raw), set[str]()
    for index in range(len(document)):
        if not _page(document, index, whole_words)[1]:
            continue
        with suppress(PdfiumError), closing(document[index]) as page:  # a damaged page has no text
            width, height = page.get_size()
            scale = min(resolution / 72, (most_pixels / max(1.0, width * height)) ** 0.5)
            yield index + 1, page.render(scale=scale).to_pil()


def _scanned(text: str) -> list[_Paragraph]:
    """Return the paragraphs of a text that was recognised on a page."""
    parts = filter(None, (" ".join(part.split()) for part in text.split("\n\n")))
    return [_Paragraph(part, 2, False) for part in parts]


def _page(document: Any, index: int, whole_words: set[str]) -> tuple[list[Line], bool]:
    """Return the lines of a page; and True if it has none because it is an image or damaged."""
    from pypdfium2 import PdfiumError, raw

    try:
        with closing(document[index]) as page:  # form values become text of the page
            raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
        opened = document[index]
    except PdfiumError:
        return [], True
    with closing(opened) as page, closing(page.get_textpage()) as text_page:
        lines = list(_lines(text_page, whole_words))
        objects = (raw.FPDFPage_GetObject(page, i) for i in range(raw.FPDFPage_CountObjects(page)))
        kinds = map(raw.FPDFPageObj_GetType, objects)
        return lines, not lines and raw.FPDF_PAGEOBJ_IMAGE in kinds


def _lines(text_page: Any, whole_words: set[str]) -> Iterator[Line]:
    """Yield the lines found by pdfium, with the boxes of their first and last characters.

    pdfium joins two lines at a hyphenated word and writes U+FFFE in place of the hyphen.

    Args:
        whole_words: words in which no gap was found, so that each is examined once; "" is added at the first gap.
    """
    end = 0
    for row in text_page.get_text_range().split("\r\n"):
        start, end = end, end + len(row) + 2
        if row.strip():
            first = start + len(row) - len(row.lstrip())
            last = start + len(row.rstrip()) - 1
            left, bottom, _, top = _box(text_page, first)
            _, last_bottom, right, last_top = _box(text_page, last)
            words = _spaced(text_page, row, start, whole_words).split()
            yield Line(" ".join(words), left, bottom, top, right, last_bottom, last_top)


def _spaced(text_page: Any, row: str, start: int, whole_words: set[str]) -> str:
    """Return a row with a space in each gap within a word. Evenly spaced letters stay one word."""
    pieces, done = list[str](), 0
    if len(whole_words) >= _MOST_WHOLE and "" not in whole_words:
        return row
    for word in _LETTERS.finditer(row):
        if word[0] in whole_words:
            continue
        gaps = list(_gaps(text_page, start, *word.span()))
        if not gaps or 2 * len(gaps) >= len(word[0]) - 1:
            whole_words.add(word[0])
            continue
        whole_words.add("")
        pieces += [row[first:last] for first, last in pairwise([done, *gaps])]
        done = gaps[-1]
    return " ".join([*pieces, row[done:]])


def _gaps(text_page: Any, start: int, first: int, last: int) -> Iterator[int]:
    """Yield the offsets of gaps in the word [first, last) of a row, which starts at `start` in the text of its page."""
    from pypdfium2 import raw

    index = raw.FPDFText_GetCharIndexFromTextIndex(text_page, start + first) - first
    box = raw.FS_RECTF()
    right, pointer = math.inf, ctypes.byref(box)
    for at in range(first, last):
        if not raw.FPDFText_GetLooseCharBox(text_page, index + at, pointer):
            return
        if box.left - right > _GAP * (box.top - box.bottom) > 0:
            yield at
        right = box.right


def _box(text_page: Any, at: int) -> tuple[float, float, float, float]:
    """Return left, bottom, right, top of the character at an offset of the text; zeros if it has no box."""
    from pypdfium2 import raw

    index = raw.FPDFText_GetCharIndexFromTextIndex(text_page, at)
    box = raw.FS_RECTF()
    if index < 0 or not raw.FPDFText_GetLooseCharBox(text_page, index, ctypes.byref(box)):
        return 0.0, 0.0, 0.0, 0.0
    return box.left, box.bottom, box.right, box.top


def _bookmarks(document: Any, n_pages: int) -> dict[int, list[tuple[int, str]]]:
    """Return the bookmarks of each page (from 0) as (level, words). Level 1 is the title of the document."""
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

    A heading that is not found in the text starts the page, unless another heading does.
    """
    folded = ["" if paragraph.running else _folded(paragraph.text) for paragraph in page]
    headings_of: dict[int, list[tuple[int, str]]] = {}
    latest = 0  # paragraph of the last heading
    for level, words in headings:
        title = _folded(words)
        matches = (i for i in range(latest, len(page)) if folded[i].startswith(title))
        paragraph_number = next(matches, None if latest else 0)
        if paragraph_number is not None:
            headings_of.setdefault(paragraph_number, []).append((level, words))
            latest = paragraph_number
    for number, paragraph in enumerate(page or [_Paragraph("", 0, False)]):
        for level, words in headings_of.get(number, ()):
            writing.section(words, level)
        writing.add(paragraph.text, paragraph.line_ends, is_mark=paragraph.running)


def _goes_on(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return True if the first paragraph of a page continues the last sentence of the page before."""
    return bool(before and after) and before[-1][-1].islower() and after[0][0].islower()


def _folded(words: str) -> str:
    """Normalise words to compare a bookmark with its page: no spaces, no leading number, lower case."""
    return "".join(_NUMBER.sub("", words, count=1).split()).casefold()


@dataclass(frozen=True)
class Line:
    """A line of text and its position, in points from the left and from the bottom of the page.

    After a hyphenated word it includes the next line of the page. `running` marks page headers and footers, and
    entries of a table of contents.
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
    """Return the lines of all pages, with `running` set on page headers, footers and entries of tables of contents.

    A line is a header or footer if many pages have the same words, ignoring numbers, or their page number at the same
    place.
    """
    signs = [{line: _signs(line, number) for line in _outer(page)} for number, page in enumerate(pages)]
    counts = Counter(chain(*(set(chain(*page.values())) for page in signs)))
    fewest = max(_FEWEST_RUNNING, _FEWEST_RUNNING_SHARE * len(pages))
    running = {sign for sign, count in counts.items() if count >= fewest}
    return [
        [
            replace(
                line,
                running=not running.isdisjoint(page_signs.get(line, ()))
                or bool(_CONTENTS.search(line.text)),
            )
            for line in page
        ]
        for page, page_signs in zip(pages, signs, strict=True)
    ]


def _outer(page: Sequence[Line]) -> list[Line]:
    """Return the lines in the first and last rows of a page."""
    lines = [line for line in page if line.height]
    rows = sorted({round(line.bottom) for line in lines})
    return [line for line in lines if round(line.bottom) in rows[:_OUTER_ROWS] + rows[-_OUTER_ROWS:]]


def _signs(line: Line, page: int) -> list[tuple[int, str | int]]:
    """Return keys of a line by which page headers and footers are recognised.

    Each has the line's position, with the line's words without numbers, or with its first or last number minus the page
    number.
    """
    words, numbers = _DIGITS.sub("#", line.text), _OUTER_NUMBER.findall(line.text)
    return [
        (round(line.bottom), words),
        *((round(line.bottom), int(number) - page) for number in numbers),
    ]


@dataclass(frozen=True)
class _Paragraph:
    """A paragraph, with its distance in lines from the previous one; `running` is True for page headers and footers."""

    text: str
    line_ends: int
    running: bool


def _paragraphs(lines: Sequence[Line]) -> Iterator[_Paragraph]:
    """Yield the paragraphs of a page: lines that continue each other are joined with a space.

    In case of doubt, lines stay separate paragraphs, which does little harm.
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
    """Return True if a line is directly below another and of the same size."""
    step = line.last_bottom - following.bottom
    other_size = abs(following.top - following.bottom - line.height)
    return 0 < step <= _FURTHEST_DOWN * line.height and other_size <= _OTHER_SIZE * line.height


def _runs_on(lines: Sequence[Line], line: Line, following: Line) -> bool:
    """Return True if a line continues the sentence of the line above."""
    if len(line.text) < _FEWEST_CHARACTERS or _ITEM.match(following.text):
        return False
    # The first line of a paragraph may be indented; the first line of a list item never is.
    indent = _LIST_INDENT if _ITEM.match(line.text) else _INDENT
    out_of_line = following.left - line.left
    if not -_LIST_INDENT * line.height <= out_of_line <= indent * line.height:
        return False
    # A line with a divided word may end in another column of the page than it began.
    same = (other for other in lines if other.running == line.running)
    aligned = [other for other in same if abs(other.left - line.left) <= _LIST_INDENT * line.height]
    undivided = [other for other in aligned if other.bottom == other.last_bottom]
    widest = max(other.right for other in undivided or aligned)
    return line.right - line.left >= _FULL * (widest - line.left)


def undivided(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return all lines, with hyphenated words joined as they are written elsewhere in the document.

    A hyphen at the end of a line is part of the word ("well-known") or only divides it ("vocab-ulary"). It is kept if
    the document has the hyphenated word elsewhere, or has both halves as words but not the joined word.
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
