"""The socket by which `seewhy query` finds a running server: `$SEEWHY_HOME/server.socket`.

A port says nothing of who listens there. This socket is in the user's own folder and only its owner may connect, so
it needs no token. Where nobody listens any more the system says so. Where there are no such sockets (Windows), or the
path is too long for one, no server is found; of several, the one that was started last.
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
    """Path of the socket."""
    return home() / "server.socket"


@contextmanager
def found_here() -> Iterator[list[socket.socket]]:
    """The socket by which this process is found, until the end; none where there can be none."""
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
