"""The socket by which `seewhy query` finds a running server: `$SEEWHY_HOME/server.socket`.

Anybody could listen on a port. This socket is in the user's own folder and only its owner can connect, so it needs no
token. If the server has ended, the connection fails. If several servers run, the command finds the one that was started
last. On Windows, which lacks such sockets, and if the path is too long for a socket, it finds none.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from search.files import make_private
from search.store.layout import home


def place() -> Path:
    """Return the path of the socket."""
    return home() / "server.socket"


@contextmanager
def found_here() -> Iterator[list[socket.socket]]:
    """Open the socket by which `seewhy query` finds this process, and delete it at the end.

    Yields:
        The socket in a list, which is empty if no socket can be created.
    """
    part = place().with_name(f"{os.getpid()}.part")
    with ExitStack() as further:
        try:
            make_private(home())
            listening = further.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listening.bind(str(part))
            part.chmod(0o600)
            listening.listen()
            part.replace(place())
        except (OSError, AttributeError):
            part.unlink(missing_ok=True)
            yield []
            return
        further.callback(place().unlink, missing_ok=True)
        yield [listening]
