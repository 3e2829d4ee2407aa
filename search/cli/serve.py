"""seewhy serve, seewhy mcp"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.options import EngineOptions, ServedIndexes, panel
from search.cli.output import flushed, note
from search.errors import NO_INDEX, IndexNotFound, InputError, OptionalDependency, SearchError

if TYPE_CHECKING:
    from search.serving.app_state import AppState


_SECONDS_FOR_MODEL = 10.0  # to load it; a download may take longer
network_option = panel("Network")


@dataclass(frozen=True)
class NetworkOptions:
    """Options for the server's address and for access to it."""

    host: Annotated[
        str, network_option(metavar="ADDRESS", help="Address to listen on; unless local, give --token.")
    ] = "127.0.0.1"
    port: Annotated[
        int, network_option("--port", "-p", metavar="N", min=0, max=65535, help="Port; 0: any free one.")
    ] = 8765
    token: Annotated[
        str,
        network_option(
            envvar="SEEWHY_TOKEN",
            metavar="SECRET",
            help="Secret that clients must send; 'new' creates one. Safer: set $SEEWHY_TOKEN.",
        ),
    ] = ""
    origin: Annotated[
        list[str] | None,
        network_option(metavar="URL", help="Website whose pages may call the API; may be repeated."),
    ] = None
    writable: Annotated[
        bool,
        network_option("--writable", help="Let clients change indexes made by upsert; needs --token."),
    ] = False


def serve(
    network: NetworkOptions,
    engine: EngineOptions,
    index: ServedIndexes = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Open the page in your browser when it is ready.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
) -> None:
    """Serve a search page and an HTTP API.

    Only this machine has access. To give others access, add --host and --token. Only --writable allows changes.
    """
    for package in ("fastapi", "uvicorn"):
        if find_spec(package) is None:
            raise OptionalDependency(package, "server", "the server")
    from search.indexing.background import completing
    from search.serving.app import application
    from search.serving.app_state import AppState
    from search.serving.guard import Settings
    from search.serving.life import configured, live, url_of

    token = secrets.token_urlsafe(24) if network.token == "new" else network.token
    settings = Settings(network.host, token, tuple(network.origin or ()), network.writable)
    served = AppState.open(index or (), **vars(engine))
    if not served.indexes:
        raise IndexNotFound(NO_INDEX)
    for text in served.notes:
        note(f"note: {text}", quiet)
    listening = _listening(network.host, network.port)
    address = url_of(*listening.getsockname()[:2])
    if token != network.token:
        note(f"token for this run: {token}", False)
    note(f"{', '.join(served.indexes)}: {address}  (Ctrl-C stops it)", quiet)
    prepare = partial(_prepare, served, address if open_ else "", quiet)
    with completing(served.to_complete):
        live(
            configured(application(served, settings)),
            listening,
            [prepare],
            served.ends,
        )


def _prepare(served: AppState, address: str, quiet: bool, ends: threading.Event) -> None:
    """Load what the first queries need, open the page in a browser, then make the maps and questions of start pages."""
    served.warm(ends, partial(note, quiet=quiet))
    if address and not ends.is_set():
        import webbrowser

        webbrowser.open(address)
    from search.index import searcher_of

    for index in served.indexes.values():
        if not ends.is_set():
            with suppress(SearchError):
                searcher_of(index).map()
                searcher_of(index).suggestions()


def _listening(host: str, port: int) -> socket.socket:
    """Return a TCP socket that listens on an address and a port.

    Raises:
        InputError: the port is in use, or the address does not exist.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        listening = socket.create_server((host, port), family=family, dualstack_ipv6=both)
        # asyncio sets TCP_NODELAY only if the protocol is TCP; else the second half of an answer waits 40 ms.
        return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, listening.detach())
    except OSError as error:
        raise InputError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}. To use a free port, add: --port 0"
        ) from None


def mcp(
    engine: EngineOptions,
    index: ServedIndexes = None,
) -> None:
    """Let AI agents search, over the Model Context Protocol (MCP).

    The agent's program starts this command and talks to it over standard input and output. Access is read-only.
    """
    if find_spec("mcp") is None:
        raise OptionalDependency("mcp", "mcp", "answering agents")
    from search.serving.app_state import AppState
    from search.serving.mcp.server import answer

    if sys.stdin.isatty():
        note("Waiting for an agent on standard input (Model Context Protocol). Stop with Ctrl-D.")
    # Without --index, serve only the indexes in the data folder: others may have come with somebody's files.
    served, ends = AppState.open(index or (), own=True, **vars(engine)), threading.Event()
    for text in served.notes:
        note(f"note: {text}")
    warming = threading.Thread(target=served.warm, args=(ends, note), daemon=True)
    warming.start()
    try:
        answer(served)
    finally:
        ends.set()
        # Native code that loads a model would crash while Python ends.
        warming.join(_SECONDS_FOR_MODEL)
    if warming.is_alive():
        flushed()
        os._exit(0)
