"""Sockets by which programs of the same user find a server: `$SEEWHY_HOME/servers/`.

A port says nothing of who listens there. A socket in a folder that only its owner may look into was put there by the
owner, and nobody else can connect to it. So it needs no token, and where nobody listens any more the system says so.
Where there are no such sockets (Windows), or a path is too long for one, servers are not found.
"""

from __future__ import annotations

import os
import secrets
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from search.files import make_private
from search.store.layout import home

_FAMILY = getattr(socket, "AF_UNIX", None)


def sockets() -> list[Path]:
    """Of servers of this user that listen, or did once."""
    folder = home() / "servers"
    if _FAMILY is None or not _is_private(folder):
        return []
    with suppress(OSError):
        return sorted(folder.glob("*.socket"))
    return []


def connected(place: Path, seconds: float) -> socket.socket:
    """A connection to a server, which fails where an answer takes longer.

    Raises:
        OSError: nobody listens there.
    """
    assert _FAMILY is not None
    connection = socket.socket(_FAMILY, socket.SOCK_STREAM)
    connection.settimeout(seconds)
    try:
        connection.connect(str(place))
    except OSError:
        connection.close()
        raise
    return connection


def local_time() -> list[str | int | None]:
    """What two programs must agree on to mean the same by a time: $TZ, and how far from UTC it is, month by month.

    The names of a zone do not tell it from others: Chicago and Havana have the same.
    """
    month = 2_629_746  # seconds
    return [os.environ.get("TZ"), *(time.localtime(n * month).tm_gmtoff for n in range(816))]


@contextmanager
def found_here() -> Iterator[list[socket.socket]]:
    """The socket by which this process is found, gone at the end; none where there can be none.

    Sockets where nobody listens any more are deleted.
    """
    folder = home() / "servers"
    name = f"{os.getpid()}-{secrets.token_hex(3)}"
    part, place = folder / f"{name}.part", folder / f"{name}.socket"
    try:
        listening = _listening(folder, part, place)
    except OSError:
        yield []
        return
    try:
        yield listening
    finally:
        place.unlink(missing_ok=True)


def _listening(folder: Path, part: Path, place: Path) -> list[socket.socket]:
    make_private(folder)
    if _FAMILY is None or not _is_private(folder):
        return []
    for other in sockets():
        with suppress(OSError):
            _delete_dead(other)
    listening = socket.socket(_FAMILY, socket.SOCK_STREAM)
    try:
        listening.bind(str(part))
        listening.listen()
        part.rename(place)  # so that it is only there while somebody listens
    except OSError:
        listening.close()
        part.unlink(missing_ok=True)
        raise
    return [listening]


def _delete_dead(place: Path) -> None:
    if not stat.S_ISSOCK(place.lstat().st_mode):
        return
    try:
        connected(place, 1).close()
    except ConnectionRefusedError:
        place.unlink()


def _is_private(folder: Path) -> bool:
    """Whether a folder is this user's own, and nobody else may look into it."""
    try:
        seen = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid() and not seen.st_mode & 0o077
