"""Locations of indexes: find the path of an index by its name or its indexed folder.

An index is a folder that contains an `index.db`. By default it is `$SEEWHY_HOME/indexes/<name>`, or in the platform's
folder for user data; never in the indexed folder, which may be synced or read-only.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from search.errors import NO_INDEX, IndexNotFound, InputError, SearchError, quoted
from search.files import home
from search.store.contents import require_no_contents
from search.store.database import has_contents, has_tables, one_meta, read_meta, reading
from search.store.files import DATABASE as DATABASE
from search.store.files import is_own_name
from search.store.home import is_own
from search.store.namespaces import MARK, namespace_path
from search.store.settings import Folders

SCHEMES = {"milvus": "http", "milvus+tls": "https"}
"""Scheme in the address of an index -> scheme in the URL of its server."""

_LONGEST_NAME = 100  # of an index; a file system takes 255 bytes
_MOST_NAMES = 10  # of indexes in a message


def is_index(path: Path) -> bool:
    return (path / DATABASE).is_file()


def streamed(index: Path) -> dict[str, Any]:
    """Return the fields of the `search.store.milvus.collections.Server` that stores an index's passages.

    The result is {} if the passages are on this machine, or if the index cannot be read.
    """
    with suppress(SearchError), reading(index / DATABASE) as connection:
        if has_tables(connection):
            return dict(one_meta(connection, "server", {}))
    return {}


def all_indexes() -> list[Path]:
    """List the indexes under `home()`, by name."""
    folder = home() / "indexes"
    return sorted(path for path in folder.iterdir() if is_index(path)) if folder.is_dir() else []


def folders_of(index: Path) -> Folders | None:
    """Return the folders that were indexed; None if the index cannot be read."""
    try:
        return Folders.from_meta(read_meta(index / DATABASE))
    except (SearchError, KeyError):
        return None


def index_path_for(folders: Folders, name: str | None) -> Path:
    """Return the path for the index of some folders; the index may not exist yet.

    Args:
        name: name or path that the user chose for the index; None to derive a name from the folders.

    Raises:
        InputError: the index has documents from memory, or the name is that of a namespace.
    """
    if not name:
        return next(_candidate_paths(folders))
    require_no_namespace(
        name, "Namespaces have documents from memory; choose another name for the index."
    )
    index = index_path_of(name)
    require_no_contents(index / DATABASE)
    return index


def require_usable_path(index: Path) -> None:
    """Check that an index can be stored at a path.

    Raises:
        InputError: the path is a file, or a folder with files that do not belong to an index.
    """
    if is_index(index) or not index.exists():
        return
    if not index.is_dir():
        raise InputError(
            f"cannot store an index in '{index}', which is a file. Choose another place with --index."
        )
    others = sorted(path.name for path in index.iterdir() if not is_own_name(path.name))
    if others:
        raise InputError(
            f"cannot store an index in '{index}': the folder contains other files "
            f"({', '.join(others[:3])}). Choose an empty or new folder with --index."
        )


def path_inside(folder: Path, index: Path) -> str | None:
    """Return the path of an index relative to its indexed folder; None if it is outside the folder."""
    root, resolved = folder.expanduser().resolve(), index.resolve()
    return resolved.relative_to(root).as_posix() if resolved.is_relative_to(root) else None


def is_address(name: object) -> bool:
    """Return True if a name is the address of an index on a server."""
    return isinstance(name, str) and name.partition("://")[0].lower() in SCHEMES


def needs_local_index(address: str) -> InputError:
    """Return the error for a command that does not support indexes on a server."""
    return InputError(
        f"{address} is on a server; this command needs an index on this machine. Create one with: "
        "seewhy index FOLDER --index NAME"
    )


def index_path_of(name: str) -> Path:
    """Resolve the value of `--index`: a path if it looks like one or is an index, else a name in `home()`.

    Raises:
        InputError: `name` is not a valid name, or is the address of an index on a server.
    """
    if is_address(name):
        raise needs_local_index(name)
    if namespace := as_namespace(name):
        return namespace_path(index_path_of(namespace[0]), namespace[1])
    path = Path(name).expanduser()
    if is_index(path) or _is_path(name) or path.is_absolute():
        return path.resolve()
    if not re.fullmatch(r"[\w.+-]+", name):
        raise InputError(f"'{name}' is not a valid index name. Use letters, digits, '-', '_' and '.'.")
    return home() / "indexes" / name


def existing_index_path(name: str) -> Path:
    """Resolve the name or path of an existing index; indexed folders are not accepted.

    Raises:
        IndexNotFound: there is no such index; the message lists the indexes.
    """
    own = home() / "indexes" / name
    index = own if not _is_path(name) and is_index(own) else index_path_of(name)
    if is_index(index) and (is_own(index) or folders_of(index) is not None):
        return index
    if is_index(index):
        raise IndexNotFound(
            f"the file {DATABASE} in '{name}' is not a readable index, so seewhy leaves it unchanged. "
            "If it is a damaged index, delete the folder by hand."
        )
    problem = "is a folder, not an index" if index.is_dir() else "no such index"
    choices = _choices("Give the name of one of these:", name)
    raise IndexNotFound(f"'{name}': {problem}. {choices}")


def find_index(name: str | Path | None = None) -> Path:
    """Find an index as `find_index_path` does; its passages must be on this machine.

    Raises:
        InputError: the passages are on a server.
    """
    index = find_index_path(name)
    if server := streamed(index):
        raise needs_local_index(server["address"])
    return index


def find_index_path(name: str | Path | None = None) -> Path:
    """Find an index by its path, its name, or its indexed folder.

    None means the index of `$SEEWHY_INDEX`; without it, the index whose folder contains the current folder; otherwise
    the only index.

    Raises:
        IndexNotFound: no index matches, or several; the message lists the indexes.
    """
    default = "" if name else variable()
    try:
        return _index_by_name(name or default) if name or default else _default_index()
    except IndexNotFound as error:
        if not default:
            raise
        raise IndexNotFound(f"the environment variable SEEWHY_INDEX is '{default}': {error}") from None


def variable() -> str:
    """Value of `$SEEWHY_INDEX`; "" if it is not set."""
    return os.environ.get("SEEWHY_INDEX", "")


def _index_by_name(name: str | Path) -> Path:
    if is_address(name):
        raise needs_local_index(str(name))
    if is_index(path := Path(name).expanduser()):
        return path.resolve()
    if not _is_path(str(name)) and is_index(path := home() / "indexes" / str(name)):
        return path
    folder = Path(name).expanduser()
    if folder.is_dir():
        alone = Folders(folder.resolve())
        with_others = (index for index, folders in _readable() if alone.root in folders.paths)
        for index in (*_candidate_paths(alone), *with_others):
            if is_index(index):
                return index
        raise IndexNotFound(
            f"the folder '{name}' has no index yet. Create one with: seewhy index {quoted(name)}"
        )
    if namespace := as_namespace(str(name)):
        index = _index_by_name(namespace[0])
        if is_index(path := namespace_path(index, namespace[1])):
            return path
        raise IndexNotFound(f"the index '{namespace[0]}' has no namespace '{namespace[1]}'.")
    raise IndexNotFound(f"no index '{name}'. {_choices(name=str(name))}")


def as_namespace(name: str) -> tuple[str, str] | None:
    """Split "tickets@acme" into the names of an index and a namespace; None for the name of an index.

    It is split at the first mark that stands behind an existing index, as namespaces and folders may have marks, too.
    Without such an index, only a name is split, and no path.
    """
    if is_index(Path(name).expanduser()):
        return None
    inner = [at for at, character in enumerate(name) if character == MARK and 0 < at < len(name) - 1]
    splits = [(name[:at], name[at + len(MARK) :]) for at in inner]
    for index, namespace in splits:
        own = home() / "indexes" / index
        if is_index(Path(index).expanduser()) or (not _is_path(index) and is_index(own)):
            return index, namespace
    return splits[0] if splits and not _is_path(name) else None


def require_no_namespace(name: str, remedy: str) -> None:
    """Raise InputError if the name of a new index is that of a namespace.

    Args:
        remedy: what to do instead.
    """
    if as_namespace(name):
        raise InputError(f"'{name}' names a namespace. {remedy}")


def _is_path(name: str) -> bool:
    return os.sep in name or "/" in name or name in (".", "..")


def _default_index() -> Path:
    indexes = all_indexes()
    try:
        current = Path.cwd().resolve()
    except OSError:  # it was deleted
        current = Path()
    # The innermost folder; of equal ones, the index with fewer folders.
    inside = [
        (len(folder.parts), -len(folders.paths), index)
        for index, folders in _readable()
        for folder in folders.paths
        if current.is_relative_to(folder)
    ]
    if inside:
        return max(inside, key=lambda entry: entry[:2])[2]
    if len(indexes) == 1:
        return indexes[0]
    raise IndexNotFound(f"which index? {_choices()}" if indexes else NO_INDEX)


def _readable() -> Iterator[tuple[Path, Folders]]:
    """Yield the readable indexes under `home()`, with their folders."""
    return ((index, folders) for index in all_indexes() if (folders := folders_of(index)))


def _candidate_paths(folders: Folders) -> Iterator[Path]:
    """Yield the possible paths for the index of some folders: named after the folders, then with a hash added.

    The hash is needed if other folders with the same names are already indexed.
    """
    names = [re.sub(r"[^\w.+-]+", "-", path.name).strip("-.") or "root" for path in folders.paths]
    name = "+".join(names)[:_LONGEST_NAME]
    without_hash = home() / "indexes" / name
    if not is_index(without_hash) or _may_belong(without_hash, folders):
        yield without_hash
    digest = hashlib.sha256(b"\0".join(map(os.fsencode, folders.paths))).hexdigest()[:8]
    yield home() / "indexes" / f"{name}-{digest}"


def _may_belong(index: Path, folders: Folders) -> bool:
    """Return True if an index belongs to some folders, or is unreadable and has no documents from memory."""
    return folders_of(index) in (folders, None) and not has_contents(index / DATABASE)


def _choices(advice: str = "Choose one with --index:", name: str = "") -> str:
    """Return a sentence that lists the indexes: their names, and their folders if no name was given.

    Args:
        name: a name that is no index; an index with nearly the same name is suggested.
    """
    indexes = all_indexes()
    if not indexes:
        return f"{NO_INDEX[0].upper()}{NO_INDEX[1:]}"
    names = [index.name for index in indexes]
    near = difflib.get_close_matches(name, names, 1, cutoff=0.75)
    if not name:
        names = [f"{index.name} ({folders_of(index) or 'unreadable'})" for index in indexes]
    question = f"Did you mean '{near[0]}'? " if near else ""
    more = f" and {len(names) - _MOST_NAMES:,} more: seewhy list" if len(names) > _MOST_NAMES else "."
    return f"{question}{advice} {', '.join(names[:_MOST_NAMES])}{more}"
