"""What Word and PowerPoint files have in common: parts, relations between them, runs of text."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from typing import Any

from search.corpus import reasons
from search.corpus.extract.archive import Archive, attribute, child, local
from search.errors import ReadError

# Not shown: what was deleted or moved away, codes of fields, settings, readings above characters.
_UNSEEN = frozenset("del moveFrom delText instrText fldData pPr rPr sectPr rt tabLst".split())
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}

# The core properties that are about the content, by the names they have in metadata.
_PROPERTIES = {
    "creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "description": "description",
    "created": "created",
    "modified": "modified",
}


class Package:
    """An Office file.

    Attributes:
        main: name of the part that everything hangs on.
        root: its root element.

    Raises:
        ReadError: as from `Archive`, and "damaged" when it is no such file.
    """

    def __init__(self, path: str, raw: bytes, root: str) -> None:
        self.path = path
        self.archive = Archive(path, raw)
        self.main = next(self.related("", "officeDocument"), "")
        self.root = self.archive.xml(self.main) if self.main else None
        if self.root is None or local(self.root) != root:
            raise ReadError(path, reasons.DAMAGED, f"it holds no {root}")

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """id -> kind and target of what a part refers to within the file."""
        folder, name = posixpath.split(part)
        listed = posixpath.join(folder, "_rels", f"{name}.rels")
        if listed not in self.archive:
            return {}
        found = {}
        for relation in self.archive.xml(listed):
            if attribute(relation, "TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, attribute(relation, "Target")))
                kind = attribute(relation, "Type").rpartition("/")[2]
                found[attribute(relation, "Id")] = (kind, target.lstrip("/"))
        return found

    def related(self, part: str, kind: str) -> Iterator[str]:
        """Names of the parts of a kind that a part refers to and that are there."""
        for found, target in self.relations(part).values():
            if found == kind and target in self.archive:
                yield target

    def part(self, part: str, kind: str) -> Any:
        """The root element of the first related part of a kind; None if there is none."""
        target = next(self.related(part, kind), None)
        return None if target is None else self.archive.xml(target)

    def title_and_metadata(self) -> tuple[str, dict[str, str]]:
        """What the file says about itself; nothing if that cannot be read."""
        try:
            properties = self.part("", "core-properties")
        except ReadError as error:
            if error.reason != reasons.DAMAGED:
                raise
            return "", {}
        values = {} if properties is None else {local(item): item.text or "" for item in properties}
        found = {ours: values[theirs] for theirs, ours in _PROPERTIES.items() if values.get(theirs)}
        return values.get("title", ""), found


def seen(parent: Any) -> Iterator[Any]:
    """The children of an element; of alternatives the first only, so that nothing comes twice."""
    for element in parent:
        if local(element) == "AlternateContent":
            chosen = child(element, "Choice")
            chosen = child(element, "Fallback") if chosen is None or not len(chosen) else chosen
            yield from () if chosen is None else seen(chosen)
        else:
            yield element


def text_of(parent: Any, aside: Callable[[Any], bool] = lambda element: False) -> str:
    """The text of a paragraph, in order.

    Args:
        parent: a paragraph.
        aside: is shown every element, and takes those (True) that are no part of the running text.
    """
    pieces: list[str] = []
    _collect(parent, aside, pieces)
    return "".join(pieces)


def _collect(parent: Any, aside: Callable[[Any], bool], pieces: list[str]) -> None:
    for element in seen(parent):
        name = local(element)
        if name in _UNSEEN or aside(element):
            continue
        if name == "t":
            pieces.append(element.text or "")
        elif name in _BREAKS:
            pieces.append(_BREAKS[name])
        else:
            _collect(element, aside, pieces)
