"""Namespaces of an index of documents from memory: one index, many tenants.

Each namespace is an index of its own, in the folder `namespaces` of the index. So nothing of a namespace reaches
another: no document, field, facet, suggested word, count or statistic. A query costs what it costs in an index of that
size. Namespaces are written independently of each other.

The folder is named after the namespace; capital letters and everything but letters, digits, "-" and "_" are
percent-encoded, because some file systems ignore case.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from search.errors import InputError
from search.store.files import DATABASE, NAMESPACES, UNFINISHED, require_no_link

MARK = "@"
"""Stands between the name of an index and that of a namespace: "tickets@acme"."""

_LONGEST = 200  # characters of a folder's name; a file system takes 255 bytes
_PLAIN = re.compile(r"[a-z0-9_-]")


def namespace_path(index: Path, name: str) -> Path:
    """Return the folder of a namespace, which may not exist yet.

    Raises:
        InputError: the name is empty, too long, or not Unicode.
        IndexDamaged: the folder is a link.
    """
    if not isinstance(name, str):
        raise InputError(f"a namespace has a text as its name, not {name!r}.")
    if outer_index(index) != index:
        raise InputError(f"'{name_of_namespace(index)}' is a namespace, which has none of its own.")
    try:
        folder = "".join(
            character
            if _PLAIN.match(character)
            else "".join(f"%{byte:02x}" for byte in character.encode())
            for character in name
        )
    except UnicodeEncodeError:
        folder = ""
    if not folder or len(folder) > _LONGEST:
        raise InputError(
            f"{name[:60]!r} cannot be a namespace: it is empty, longer than {_LONGEST} characters (a special character "
            "counts as several), or not Unicode."
        )
    path = index / NAMESPACES / folder
    require_no_link(path.parent)
    require_no_link(path)
    return path


def namespaces(index: Path) -> list[str]:
    """Return the names of an index's namespaces, sorted."""
    folder = index / NAMESPACES
    require_no_link(folder)
    if not folder.is_dir():
        return []
    return sorted(
        name_of_namespace(path)
        for path in folder.iterdir()
        if (path / DATABASE).is_file() and not path.name.startswith(UNFINISHED)
    )


def name_of_namespace(path: Path) -> str:
    """Return the name of a namespace by its folder."""
    return unquote(path.name)


def outer_index(path: Path) -> Path:
    """Return the index that a namespace belongs to; another index is returned as it is."""
    outer = path.parent.parent
    return outer if path.parent.name == NAMESPACES and (outer / DATABASE).is_file() else path
