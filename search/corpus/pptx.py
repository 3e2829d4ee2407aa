"""PowerPoint presentations: a page for each slide, its title as heading, then its shapes, then its notes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from search.corpus.archive import Package, attribute, child, local, seen, text_of
from search.corpus.files import Reason
from search.corpus.writing import Extracted, Writing, row

_TITLES = ("title", "ctrTitle")
_NOTES = "Speaker notes"
# Parts that a frame on a slide shows: charts and drawn diagrams.
_SHOWN = ("chart", "diagramData")


def extract(path: str, raw: bytes) -> Extracted:
    """A PowerPoint file. Shapes come in the order in which the file has them, as a screen reader reads them.

    Hidden slides are read as well. Speaker notes stand under a heading of their own, which the text does
    not hold. What a layout or master shows on many slides is left out, and so are comments.

    Raises:
        ReadError: "damaged", "encrypted" or "too large when unpacked".
    """
    package = Package(path, raw, "presentation")
    targets = package.relations(package.main)
    writing = Writing(path)
    slides = child(package.root, "sldIdLst")
    missing = []
    for number, slide in enumerate(() if slides is None else slides, 1):
        _, target = targets.get(_relation(slide, "id"), ("", ""))
        writing.page()
        if target in package.archive:
            _Slide(package, target, writing).write()
        else:
            missing.append(number)
    left_out = (Reason.DAMAGED, f"slide {missing[0]} is missing") if missing else ("", "")
    return writing.done(*package.title_and_metadata(), left_out)


class _Slide:
    def __init__(self, package: Package, part: str, writing: Writing) -> None:
        self._package, self._part, self._writing = package, part, writing
        self._relations = package.relations(part)

    def write(self) -> None:
        shapes = list(_shapes(child(self._package.archive.xml(self._part), "cSld", "spTree")))
        title = next((shape for shape in shapes if _role(shape) in _TITLES and _words(shape)), None)
        if title is not None:
            self._writing.heading(_words(title), 1)
        else:
            self._writing.section("", 1)
        for shape in shapes:
            if shape is not title and _role(shape) != "sldNum":
                self._shape(shape)
        self._notes()

    def _shape(self, shape: Any) -> None:
        if local(shape) == "sp":
            self._writing.group(map(text_of, _paragraphs(shape)))
            return
        rows = (row(map(_words, seen(tr))) for tr in shape.iter("{*}tr"))
        frames = (_labels(self._package.archive.xml(target)) for target in self._frames(shape))
        self._writing.group(chain(rows, chain.from_iterable(frames)))

    def _frames(self, shape: Any) -> Iterator[str]:
        """Parts that hold what a frame shows."""
        used = {value for element in shape.iter("{*}chart", "{*}relIds") for value in element.attrib.values()}
        for id_, (kind, target) in self._relations.items():
            if id_ in used and kind in _SHOWN and target in self._package.archive:
                yield target

    def _notes(self) -> None:
        notes = self._package.part(self._part, "notesSlide")
        self._writing.section(_NOTES, 2)
        for shape in _shapes(None if notes is None else child(notes, "cSld", "spTree")):
            if _role(shape) == "body":
                for paragraph in _paragraphs(shape):
                    self._writing.paragraph(text_of(paragraph))


def _relation(element: Any, name: str) -> str:
    """An attribute in a namespace; the one without is another thing (a slide's number, say)."""
    return next(
        (str(v) for key, v in element.attrib.items() if key.startswith("{") and key.endswith(name)), ""
    )


def _shapes(tree: Any) -> Iterator[Any]:
    """The shapes of a slide, those in groups included."""
    for shape in () if tree is None else seen(tree):
        if local(shape) == "grpSp":
            yield from _shapes(shape)
        elif local(shape) in ("sp", "graphicFrame"):
            yield shape


def _role(shape: Any) -> str:
    """What a placeholder stands for: "title", "body", ...; "" for a shape that is none."""
    for properties in shape:
        placeholder = child(properties, "nvPr", "ph")
        if placeholder is not None:
            return attribute(placeholder, "type")
    return ""


def _paragraphs(shape: Any) -> Iterator[Any]:
    """The paragraphs of a shape, or of a cell."""
    body = child(shape, "txBody")
    return (element for element in (() if body is None else seen(body)) if local(element) == "p")


def _words(shape: Any) -> str:
    return " ".join(map(text_of, _paragraphs(shape))).strip()


def _labels(part: Any) -> Iterator[str]:
    """The texts of a chart or diagram, each once: titles, labels, names of series and categories."""
    labels: dict[str, None] = {}
    for element in part.iter("{*}p", "{*}v"):
        if local(element) == "p":
            labels[text_of(element)] = None
        elif local(element.getparent()) == "pt" and local(element.getparent().getparent()) == "strCache":
            labels[element.text or ""] = None
    yield from labels
