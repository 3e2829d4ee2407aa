"""Where indexes live, and which one a name or a folder means.

An index is a folder with an `index.db` in it. Those without a path of their own are kept in
`$SEEWHY_HOME/indexes/<name>`, or in the platform's folder for user data; never in the folder that
was indexed, which may be synced or read-only.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from search.errors import IndexNotFound, InputError, SearchError, quoted
from search.store.database import has_tables, one_meta, read_meta, reading
from search.store.files import DATABASE as DATABASE
from search.store.files import OWN_NAMES
from search.store.settings import Folders

SCHEMES = {"milvus": "http", "milvus+tls": "https"}
"""Of an address of an index on a server, and its server's own."""

_LONGEST_NAME = 100  # of an index; a file system takes 255 bytes


def home() -> Path:
    """The folder of this user's data: `$SEEWHY_HOME`, or what the platform says."""
    chosen = os.environ.get("SEEWHY_HOME")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("seewhy", appauthor=False)


def is_index(path: Path) -> bool:
    return (path / DATABASE).is_file()


def streamed(index: Path) -> dict[str, Any]:
    """The server that the passages of an index are on (`search.store.milvus.collections.Server`).

    {} for one on this machine, and where that cannot be read.
    """
    with suppress(SearchError), reading(index / DATABASE) as connection:
        if has_tables(connection):
            return dict(one_meta(connection, "server", {}))
    return {}


def is_own(index: Path) -> bool:
    """Whether an index lies in the user's own home of indexes, and so was made there; any other may be of others."""
    return index.resolve().parent == (home() / "indexes").resolve()


def all_indexes() -> list[Path]:
    """Every index under `home()`, by name."""
    folder = home() / "indexes"
    return sorted(path for path in folder.iterdir() if is_index(path)) if folder.is_dir() else []


def folders_of(index: Path) -> Folders | None:
    """What was indexed, None where the index cannot be read."""
    try:
        return Folders.from_meta(read_meta(index / DATABASE))
    except (SearchError, KeyError):
        return None


def place_for(folders: Folders, named: str | None) -> Path:
    """Where the index of some folders is, or is to be made."""
    if named:
        return named_place(named)
    return next(_known_places(folders))


def check_place(index: Path) -> None:
    """Refuse to make an index in a folder that holds something else.

    Raises:
        InputError: naming what is there.
    """
    if is_index(index) or not index.exists():
        return
    if not index.is_dir():
        raise InputError(
            f"the index cannot be kept in '{index}': that is a file. Name another place with --index."
        )
    strange = sorted(path.name for path in index.iterdir() if path.name not in OWN_NAMES)
    if strange:
        raise InputError(
            f"the index cannot be kept in '{index}': the folder holds other things ({', '.join(strange[:3])}). "
            "Name an empty or new folder with --index."
        )


def own_part(folder: Path, index: Path) -> str | None:
    """Where in an indexed folder its own index lies, to be left out; None when it lies elsewhere."""
    root, place = folder.expanduser().resolve(), index.resolve()
    return place.relative_to(root).as_posix() if place.is_relative_to(root) else None


def is_address(what: object) -> bool:
    """Whether something names an index on a server rather than a folder or a name."""
    return isinstance(what, str) and what.partition("://")[0].lower() in SCHEMES


def only_read(address: str) -> InputError:
    """That what was asked for cannot be done to an index on a server."""
    return InputError(
        f"{address} is on a server, for which there is no such command. "
        "Index the folder on this machine, too: seewhy index FOLDER --index NAME"
    )


def named_place(named: str) -> Path:
    """`--index`: a path if it looks like one or exists as an index, otherwise a name under `home()`.

    Raises:
        InputError: it cannot be a name; or it is the address of an index on a server.
    """
    if is_address(named):
        raise only_read(named)
    path = Path(named).expanduser()
    if is_index(path) or os.sep in named or "/" in named or path.is_absolute() or named in (".", ".."):
        return path.resolve()
    if not re.fullmatch(r"[\w.+-]+", named):
        raise InputError(
            f"'{named}' cannot be the name of an index: use letters, digits, '-', '_' and '.'."
        )
    return home() / "indexes" / named


def existing_place(named: str) -> Path:
    """An index that is named itself, by its name or path, not by its folder.

    Raises:
        IndexNotFound: there is no such index; the message lists what there is.
    """
    own = home() / "indexes" / named
    place = own if not _is_path(named) and is_index(own) else named_place(named)
    if is_index(place) and (is_own(place) or folders_of(place) is not None):
        return place
    if is_index(place):
        raise IndexNotFound(
            f"the file {DATABASE} in '{named}' is of no index that can be read. If it is one, delete it yourself."
        )
    no = "is a folder and no index" if place.is_dir() else "there is no such index"
    raise IndexNotFound(f"'{named}': {no}. {_what_there_is()}")


def find_index(what: str | Path | None = None) -> Path:
    """As `find_place`, an index whose passages are on this machine.

    Raises:
        InputError: they are on a server.
    """
    place = find_place(what)
    if server := streamed(place):
        raise only_read(server["address"])
    return place


def find_place(what: str | Path | None = None) -> Path:
    """The index that is meant by an index path, a name, or an indexed folder.

    None means, in this order: `$SEEWHY_INDEX`, the index whose folder contains the current folder,
    the only index there is.

    Raises:
        IndexNotFound: none or several answer to that; the message lists what there is.
    """
    named = "" if what else variable()
    try:
        return _found(what or named) if what or named else _implied()
    except IndexNotFound as error:
        if not named:
            raise
        raise IndexNotFound(f"the variable SEEWHY_INDEX names '{named}': {error}") from None


def variable() -> str:
    """The index that the environment names; "" for none."""
    return os.environ.get("SEEWHY_INDEX", "")


def _found(what: str | Path) -> Path:
    """What `find_place` finds for what is named."""
    if is_address(what):
        raise only_read(str(what))
    if is_index(place := Path(what).expanduser()):
        return place.resolve()
    if not _is_path(str(what)) and is_index(place := home() / "indexes" / str(what)):
        return place
    folder = Path(what).expanduser()
    if folder.is_dir():
        alone = Folders(folder.resolve())
        with_others = (index for index, held in _readable() if alone.root in held.paths)
        for place in (*_known_places(alone), *with_others):
            if is_index(place):
                return place
        raise IndexNotFound(
            f"the folder '{what}' has no index yet. Make one with: seewhy index {quoted(what)}"
        )
    raise IndexNotFound(f"there is no index '{what}'. {_what_there_is()}")


def _is_path(what: str) -> bool:
    return os.sep in what or "/" in what or what in (".", "..")


def _implied() -> Path:
    known = all_indexes()
    try:
        here = Path.cwd().resolve()
    except OSError:  # it was deleted
        here = Path()
    inside = [
        (
            len(folder.parts),
            -len(held.paths),
            index,
        )  # the innermost, and of equals what has fewer beside it
        for index, held in _readable()
        for folder in held.paths
        if here.is_relative_to(folder)
    ]
    if inside:
        return max(inside, key=lambda found: found[:2])[2]
    if len(known) == 1:
        return known[0]
    raise IndexNotFound(
        "which index? " + _what_there_is()
        if known
        else "there is no index yet. Make one with: seewhy index FOLDER"
    )


def _readable() -> Iterator[tuple[Path, Folders]]:
    """Every index under `home()` that can be read, with its folders."""
    return ((index, held) for index in all_indexes() if (held := folders_of(index)))


def _known_places(folders: Folders) -> Iterator[Path]:
    """The places where the index of some folders may be: under their names, or these and a hash.

    The hash comes in when other folders of the same names are already indexed.
    """
    names = [re.sub(r"[^\w.+-]+", "-", path.name).strip("-.") or "root" for path in folders.paths]
    name = "+".join(names)[:_LONGEST_NAME]
    plain = home() / "indexes" / name
    if not is_index(plain) or folders_of(plain) in (
        folders,
        None,
    ):  # one that cannot be read may be theirs
        yield plain
    digest = hashlib.sha256(b"\0".join(map(os.fsencode, folders.paths))).hexdigest()[:8]
    yield home() / "indexes" / f"{name}-{digest}"


def _what_there_is() -> str:
    known = [f"{index.name} ({folders_of(index) or 'unreadable'})" for index in all_indexes()]
    if not known:
        return "No index has been made yet. Make one with: seewhy index FOLDER"
    return f"Choose with --index one of: {', '.join(known)}."
