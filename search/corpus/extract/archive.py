"""A zip archive from anybody: no more of it is unpacked than is asked for, and never too much."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

from search.corpus import reasons
from search.corpus.extract.limits import MOST_ENTRIES, MOST_UNPACKED
from search.errors import ReadError

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
                raise ReadError(path, reasons.ENCRYPTED, "it opens with a password only")
            raise ReadError(
                path, reasons.DAMAGED, "it is an Office file of the older kind under a newer name"
            )
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(raw))
        except _NOT_UNPACKED as error:
            raise ReadError(path, reasons.DAMAGED, "it is no whole zip archive") from error
        entries = self._zip.infolist()
        if len(entries) > MOST_ENTRIES:
            raise ReadError(
                path, reasons.TOO_LARGE_UNPACKED, f"{len(entries):,} entries; the limit is {MOST_ENTRIES:,}"
            )
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
            raise ReadError(self.path, reasons.DAMAGED, f"'{name}' is missing in it")
        if entry.flag_bits & _ENCRYPTED_FLAG:
            raise ReadError(self.path, reasons.ENCRYPTED, "its entries open with a password only")
        self._spend(0 if entry.file_size <= self._left else entry.file_size)
        chunks: list[bytes] = []
        try:
            with self._zip.open(entry) as stream:
                while chunk := stream.read(_CHUNK):
                    self._spend(len(chunk))
                    chunks.append(chunk)
        except _NOT_UNPACKED as error:
            raise ReadError(self.path, reasons.DAMAGED, f"'{name}' in it cannot be unpacked") from error
        return b"".join(chunks)

    def _spend(self, n_bytes: int) -> None:
        self._left -= n_bytes
        if self._left < 0:
            raise ReadError(
                self.path,
                reasons.TOO_LARGE_UNPACKED,
                f"at least {self._most - self._left:,} bytes; the limit is {self._most:,}",
            )

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
            raise ReadError(self.path, reasons.DAMAGED, f"'{name}' in it: {error.msg}") from error
        if root is None:
            raise ReadError(self.path, reasons.DAMAGED, f"'{name}' in it holds no XML")
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
    for name in names:
        element = next((inner for inner in element if local(inner) == name), None)
        if element is None:
            return None
    return element
