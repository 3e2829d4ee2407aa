"""A zip archive from anybody: no more of it is unpacked than is asked for, and never too much.

Beside it the XML in such archives, and what Word and PowerPoint files have in common: parts, relations between them,
runs of text.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from search.corpus.files import Reason
from search.errors import ReadError

# What is read of an archive, unpacked. XML is packed to a tenth or so; a bomb's share is a thousandth.
MOST_UNPACKED = 256 * 2**20
MOST_ENTRIES = 10_000

_CHUNK = 2**20

# The older kind of Office file. Those of today are wrapped in it when a password protects them.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")

_ENCRYPTED_FLAG = 0x1

# What zipfile lets through when an archive is damaged.
_NOT_UNPACKED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,  # NotImplementedError among them, for ways of packing that it does not know
)


class Archive:
    """The entries of a zip archive, by name, in any case of letters.

    Args:
        path: named in errors.
        raw: the file.
        most: bytes that may be unpacked, all entries together.

    Raises:
        ReadError: "damaged", "encrypted" or "too large when unpacked"; so do the methods.
    """

    def __init__(self, path: str, raw: bytes, most: int = MOST_UNPACKED) -> None:
        self.path = path
        self._left = self._most = most
        if raw.startswith(_OLE):
            if _ENCRYPTED_PACKAGE in raw:
                raise ReadError(path, Reason.ENCRYPTED, "it opens with a password only")
            raise ReadError(path, Reason.DAMAGED, "it is an Office file of the older kind under a newer name")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(raw))
        except _NOT_UNPACKED as error:
            raise ReadError(path, Reason.DAMAGED, "it is no whole zip archive") from error
        entries = self._zip.infolist()
        if len(entries) > MOST_ENTRIES:
            many = f"{len(entries):,} entries; the limit is {MOST_ENTRIES:,}"
            raise ReadError(path, Reason.TOO_LARGE_UNPACKED, many)
        self._entries = {entry.filename.lower(): entry for entry in entries}

    def names(self) -> list[str]:
        """All names, as they are written."""
        return [entry.filename for entry in self._entries.values()]

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._entries

    def read(self, name: str) -> bytes:
        """An entry, unpacked. What the archive says of its size is checked before, what it is while."""
        entry = self._entries.get(name.lower())
        if entry is None:
            raise ReadError(self.path, Reason.DAMAGED, f"'{name}' is missing in it")
        if entry.flag_bits & _ENCRYPTED_FLAG:
            raise ReadError(self.path, Reason.ENCRYPTED, "its entries open with a password only")
        self._spend(0 if entry.file_size <= self._left else entry.file_size)
        chunks: list[bytes] = []
        try:
            with self._zip.open(entry) as stream:
                while chunk := stream.read(_CHUNK):
                    self._spend(len(chunk))
                    chunks.append(chunk)
        except _NOT_UNPACKED as error:
            raise ReadError(self.path, Reason.DAMAGED, f"'{name}' in it cannot be unpacked") from error
        return b"".join(chunks)

    def _spend(self, n_bytes: int) -> None:
        self._left -= n_bytes
        if self._left < 0:
            large = f"at least {self._most - self._left:,} bytes; the limit is {self._most:,}"
            raise ReadError(self.path, Reason.TOO_LARGE_UNPACKED, large)

    def xml(self, name: str, recover: bool = False) -> Any:
        """The root element of an entry. Entities stay as they are, and nothing outside is opened.

        Args:
            recover: take what can be read of XML that is not well-formed.
        """
        from lxml import etree

        parser = etree.XMLParser(
            resolve_entities=False,
            load_dtd=False,
            no_network=True,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
            recover=recover,
        )
        try:
            root = etree.fromstring(self.read(name), parser)
        except etree.XMLSyntaxError as error:
            if error.code == etree.ErrorTypes.ERR_NO_MEMORY:
                raise MemoryError from error
            raise ReadError(self.path, Reason.DAMAGED, f"'{name}' in it: {error.msg}") from error
        if root is None:
            raise ReadError(self.path, Reason.DAMAGED, f"'{name}' in it holds no XML")
        return root


def local(element: Any) -> str:
    """An element's name without its namespace: the strict and the usual kind of Office files agree in it."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """An attribute by its name without namespace; "" if there is none."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return ""


def child(element: Any, *names: str) -> Any:
    """The first child of that name, of that its first child of the next name, and so on; None if none."""
    return element.find("/".join(f"{{*}}{name}" for name in names))


# Not shown: what was deleted or moved away, codes of fields, settings, readings above characters.
_UNSEEN = frozenset("del moveFrom delText instrText fldData pPr rPr sectPr rt tabLst".split())
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}

# The core properties that are about the content, besides the creator.
_PROPERTIES = ("subject", "keywords", "description", "created", "modified")


class Package:
    """An Office file.

    Attributes:
        main: name of the part that everything hangs on.
        root: its root element.

    Raises:
        ReadError: as from `Archive`, and "damaged" when it is no such file.
    """

    def __init__(self, path: str, raw: bytes, root: str) -> None:
        self.archive = Archive(path, raw)
        self.main = next(self.related("", "officeDocument"), "")
        self.root = self.archive.xml(self.main) if self.main else None
        if self.root is None or local(self.root) != root:
            raise ReadError(path, Reason.DAMAGED, f"it holds no {root}")

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """id -> kind and target of what a part refers to within the file."""
        folder, name = posixpath.split(part)
        listed = posixpath.join(folder, "_rels", f"{name}.rels")
        if listed not in self.archive:
            return {}
        targets = {}
        for relation in self.archive.xml(listed):
            if attribute(relation, "TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, attribute(relation, "Target")))
                kind = attribute(relation, "Type").rpartition("/")[2]
                targets[attribute(relation, "Id")] = (kind, target.lstrip("/"))
        return targets

    def related(self, part: str, kind: str) -> Iterator[str]:
        """Names of the parts of a kind that a part refers to and that are there."""
        for relation, target in self.relations(part).values():
            if relation == kind and target in self.archive:
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
            if error.reason != Reason.DAMAGED:
                raise
            return "", {}
        values = {} if properties is None else {local(item): item.text or "" for item in properties}
        metadata = {name: values.get(name, "") for name in _PROPERTIES}
        return values.get("title", ""), {"author": values.get("creator", ""), **metadata}


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
    return "".join(_pieces(parent, aside))


def _pieces(parent: Any, aside: Callable[[Any], bool]) -> Iterator[str]:
    for element in seen(parent):
        name = local(element)
        if name in _UNSEEN or aside(element):
            continue
        if name == "t":
            yield element.text or ""
        elif name in _BREAKS:
            yield _BREAKS[name]
        else:
            yield from _pieces(element, aside)
