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
from pathlib import Path

from search.errors import IndexNotFound, InputError, SearchError, quoted
from search.store.database import read_meta
from search.store.files import DATABASE as DATABASE
from search.store.files import OWN_NAMES


def home() -> Path:
    """The folder of this user's data: `$SEEWHY_HOME`, or what the platform says."""
    chosen = os.environ.get("SEEWHY_HOME")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("seewhy", appauthor=False)


def is_index(path: Path) -> bool:
    return (path / DATABASE).is_file()


def is_own(index: Path) -> bool:
    """Whether an index lies in the user's own home of indexes, and so was made there; any other may be of others."""
    return index.resolve().parent == (home() / "indexes").resolve()


def confirmed_root(index: Path, root: str, folder: str | Path | None) -> Path:
    """The folder that an index says it is of, where it may be read: the index is one's own, or `folder` is the same.

    Raises:
        InputError: naming the folder, and how to say that it is right.
    """
    if folder is None and is_own(index):
        return Path(root)
    if folder is None:
        raise InputError(
            f"the index in '{index}' is of the folder '{root}', or says so: it is none of the indexes in {home()}, and "
            f"may come from somebody else. If that folder may be read, name it: --folder {quoted(root)}"
        )
    if Path(folder).expanduser().resolve() != Path(root):
        raise InputError(
            f"the index in '{index}' is of the folder '{root}', not of '{folder}'. Name that one."
        )
    return Path(root)


def all_indexes() -> list[Path]:
    """Every index under `home()`, by name."""
    folder = home() / "indexes"
    return sorted(path for path in folder.iterdir() if is_index(path)) if folder.is_dir() else []


def root_of(index: Path) -> Path | None:
    """The folder that was indexed, None where the index cannot be read."""
    try:
        return Path(read_meta(index / DATABASE)["root"])
    except (SearchError, KeyError):
        return None


def place_for(folder: Path, named: str | None) -> Path:
    """Where the index of `folder` is, or is to be made."""
    if named:
        return named_place(named)
    return next(_known_places(folder))


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
            f"the index cannot be kept in '{index}': the folder holds other things ({', '.join(strange[:3])}"
            f"{' ...' if len(strange) > 3 else ''}). Name an empty or new folder with --index."
        )


def own_part(folder: Path, index: Path) -> str | None:
    """Where in an indexed folder its own index lies, to be left out; None when it lies elsewhere."""
    root, place = folder.expanduser().resolve(), index.resolve()
    return place.relative_to(root).as_posix() if place.is_relative_to(root) else None


def named_place(named: str) -> Path:
    """`--index`: a path if it looks like one or exists as an index, otherwise a name under `home()`."""
    path = Path(named).expanduser()
    if is_index(path) or os.sep in named or "/" in named or path.is_absolute() or named in (".", ".."):
        return path.resolve()
    if not re.fullmatch(r"[\w.+-]+", named):
        raise InputError(f"'{named}' cannot be the name of an index: use letters, digits, '-', '_' and '.'.")
    return home() / "indexes" / named


def find_index(what: str | Path | None = None) -> Path:
    """The index that is meant by an index path, a name, or an indexed folder.

    None means, in this order: `$SEEWHY_INDEX`, the index whose folder contains the current folder,
    the only index there is.

    Raises:
        IndexNotFound: none or several answer to that; the message lists what there is.
    """
    what = what or os.environ.get("SEEWHY_INDEX") or None
    if what is None:
        return _implied()
    if is_index(place := Path(what).expanduser()):
        return place.resolve()
    if not _is_path(str(what)) and is_index(place := home() / "indexes" / str(what)):
        return place
    folder = Path(what).expanduser()
    if folder.is_dir():
        for place in _known_places(folder):
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
    inside = [(root, index) for index in known if (root := root_of(index)) and here.is_relative_to(root)]
    if inside:
        return max(inside, key=lambda pair: len(pair[0].parts))[1]
    if len(known) == 1:
        return known[0]
    raise IndexNotFound(
        "which index? " + _what_there_is()
        if known
        else "there is no index yet. Make one with: seewhy index FOLDER"
    )


def _known_places(folder: Path) -> Iterator[Path]:
    """The places where the index of a folder may be: under its name, or its name and a hash.

    The hash comes in when another folder of the same name is already indexed.
    """
    root = folder.expanduser().resolve()
    name = re.sub(r"[^\w.+-]+", "-", root.name).strip("-.") or "root"
    plain = home() / "indexes" / name
    if not is_index(plain) or root_of(plain) in (root, None):  # one that cannot be read may be this folder's
        yield plain
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:8]
    yield home() / "indexes" / f"{name}-{digest}"


def _what_there_is() -> str:
    known = [f"{index.name} ({root_of(index) or 'unreadable'})" for index in all_indexes()]
    if not known:
        return "No index has been made yet. Make one with: seewhy index FOLDER"
    return f"Choose with --index one of: {', '.join(known)}."
